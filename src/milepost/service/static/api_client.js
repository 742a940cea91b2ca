/** A client of the HTTP interface, with the key of one person. */

import { ApiError } from "./api_error.js";

export class ApiClient {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
  }

  /** @returns {Promise<any>} */
  get(path) {
    return this.#send(path, {});
  }

  /** @returns {Promise<any>} */
  post(path, body, headers = {}) {
    return this.#send(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  }

  /** @returns {Promise<Blob>} the file of a release */
  async file(id) {
    return (await this.#fetch(`/v1/releases/${encodeURIComponent(id)}/file`, {})).blob();
  }

  async #send(path, options) {
    const response = await this.#fetch(path, options);
    return response.status === 204 ? null : response.json();
  }

  async #fetch(path, options) {
    let response;
    try {
      response = await fetch(path, {
        cache: "no-store",
        credentials: "omit",
        ...options,
        headers: { ...options.headers, Authorization: `Bearer ${this.key}` },
      });
    } catch (thrown) {
      if (thrown instanceof TypeError && /header|ISO-8859/i.test(thrown.message)) {
        throw new ApiError({ code: "unauthorized", status: 401 }); // the key has characters that a header cannot contain
      }
      throw new ApiError({ code: "network", status: 0 });
    }
    if (response.ok) return response;
    let error = null;
    try {
      error = (await response.json()).error;
    } catch {
      // a proxy may respond with an HTML page
    }
    throw new ApiError(error ?? { code: "internal", status: response.status }, response.headers.get("Retry-After"));
  }
}

/** @returns {string} the path of a release, or of one of its addresses */
export function releasePath(id, verb = "") {
  return `/v1/releases/${encodeURIComponent(id)}${verb && `/${verb}`}`;
}

/** @returns {string} the path of a session, or of one of its addresses */
export function sessionPath(id, verb = "") {
  return `/v1/sessions/${encodeURIComponent(id)}${verb && `/${verb}`}`;
}

/**
 * Return a function that calls `task`, one call at a time. If several calls arrive while one runs, only the last of them
 * follows, after a pause.
 * @param {(...args: any[]) => Promise<void>} task
 * @param {number} pause  in milliseconds
 */
export function latestOnly(task, pause = 80) {
  let running = false;
  let latest = null;
  return async function call(...args) {
    latest = args;
    if (running) return;
    running = true;
    try {
      while (latest) {
        const current = latest;
        latest = null;
        await task(...current);
        await new Promise((done) => setTimeout(done, pause));
      }
    } finally {
      running = false;
    }
  };
}
