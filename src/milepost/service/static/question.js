/** A question to a session: sent under a name of its own, and again under the same one when the network failed. */

import { ApiError } from "./api_error.js";
import { sessionPath } from "./api_client.js";

export class QuestionSender {
  constructor(session, service) {
    this.session = session;
    this.service = service;
    this.place = `milepost.question.${session.id}`;
  }

  /** The question that was sent without an answer coming back: {name, point} or null. */
  get pending() {
    try {
      return JSON.parse(sessionStorage.getItem(this.place) ?? "null");
    } catch {
      return null;
    }
  }

  /** Ask for a point; the same point that is still pending goes out under its old name, and costs nothing twice. */
  async ask(point) {
    const before = this.pending;
    const same = before !== null && JSON.stringify(before.point) === JSON.stringify(point);
    const question = same ? before : { name: crypto.randomUUID?.() ?? randomName(), point };
    sessionStorage.setItem(this.place, JSON.stringify(question));
    try {
      const headers = { "Idempotency-Key": question.name };
      const answer = await this.service.post(sessionPath(this.session.id, "ask"), { point }, headers);
      sessionStorage.removeItem(this.place);
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof ApiError && thrown.passing)) sessionStorage.removeItem(this.place);
      throw thrown;
    }
  }
}

/** Where the page is not served by HTTPS or from this computer, randomUUID is not there. */
function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
