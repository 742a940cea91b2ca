/** Sends questions to a session. After a failure, it repeats a question with the same Idempotency-Key. */

import { ApiError } from "./api_error.js";
import { sessionPath } from "./api_client.js";

export class QuestionSender {
  constructor(session, service) {
    this.session = session;
    this.service = service;
    this.storageKey = `milepost.question.${session.id}`;
  }

  /** The question that was sent and has no answer yet: {name, point}, or null. */
  get pending() {
    try {
      return JSON.parse(sessionStorage.getItem(this.storageKey) ?? "null");
    } catch {
      return null;
    }
  }

  /** Ask about a point. A pending question about the same point keeps its name, so it is charged once. */
  async ask(point) {
    const pending = this.pending;
    const same = pending !== null && JSON.stringify(pending.point) === JSON.stringify(point);
    const question = same ? pending : { name: crypto.randomUUID?.() ?? randomName(), point };
    sessionStorage.setItem(this.storageKey, JSON.stringify(question));
    try {
      const headers = { "Idempotency-Key": question.name };
      const answer = await this.service.post(sessionPath(this.session.id, "ask"), { point }, headers);
      sessionStorage.removeItem(this.storageKey);
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof ApiError && thrown.temporary)) sessionStorage.removeItem(this.storageKey);
      throw thrown;
    }
  }
}

/** Return a random name without `crypto.randomUUID`, which browsers offer for HTTPS and localhost only. */
function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
