/** The service behind the page, as one person's key sees it. */

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

  /** @returns {Promise<Blob>} the release as the file that may be published */
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
        throw new ApiError({ code: "unauthorized", status: 401 }); // a key with signs that no key has
      }
      throw new ApiError({ code: "network", status: 0 });
    }
    if (response.ok) return response;
    let error = null;
    try {
      error = (await response.json()).error;
    } catch {
      // a proxy in between may answer with a page of its own
    }
    throw new ApiError(error ?? { code: "internal", status: response.status }, response.headers.get("Retry-After"));
  }
}

/** Paths of a release or session. */
export function releasePath(id, verb = "") {
  return `/v1/releases/${encodeURIComponent(id)}${verb && `/${verb}`}`;
}

/** @see releasePath */
export function sessionPath(id, verb = "") {
  return `/v1/sessions/${encodeURIComponent(id)}${verb && `/${verb}`}`;
}

/**
 * Calls of `task` where only the newest matters: one at a time, the last one wanted runs when the one before has ended.
 * The answers of a dragged site come as fast as the service gives them, and no faster than `pause` milliseconds.
 */
export function latestOnly(task, pause = 80) {
  let running = false;
  let requested = null;
  return async function call(...args) {
    requested = args;
    if (running) return;
    running = true;
    try {
      while (requested) {
        const now = requested;
        requested = null;
        await task(...now);
        await new Promise((done) => setTimeout(done, pause));
      }
    } finally {
      running = false;
    }
  };
}
