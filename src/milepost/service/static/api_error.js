/** A request the service did not grant, and what to tell a person about it. */

const SENTENCES = {
  unauthorized: "This key is not known here, or it was revoked. Check it, or ask your curator for a new one.",
  forbidden: "Your key does not allow this. It is for the curator, or for the person a session was opened for.",
  not_found: "There is nothing by this name here, or it is not yours to see.",
  method_not_allowed: "The service does not know this request. The page may be older than the service: load it again.",
  exists: "This name is taken. Choose another one.",
  question_differs: "This question was sent before with another point. Ask it again as a new question.",
  question_limit_reached:
    "This session has answered all its questions. Its answers stay below; ask your curator for a new session.",
  session_closed: "This session is closed. Its answers stay below, but it takes no more questions.",
  budget_exceeded: "The privacy budget of this dataset does not allow it. What was released before stays usable.",
  quota_exceeded: "Your own share of this dataset's privacy budget is used up. Ask your curator.",
  refused: "This cannot be done as asked.",
  too_large: "That is too much for one request. Ask for fewer points at once.",
  invalid: "Something in this request is missing or is not of the kind expected.",
  bad_point:
    "This point does not belong to the space of this release. Check that it lies inside, with every part filled in.",
  bad_group: "This release has groups, and this is none of them; or it has none. Choose one of the list.",
  not_supported: "This release cannot answer that kind of question.",
  rate_limited: "These were many questions in a short time. Wait a moment, then go on.",
  busy: "The service has too much to do right now. Try again in a moment.",
  timeout: "The answer took too long and was given up. Try again, or ask for less.",
  internal:
    "Something went wrong in the service; the fault is not yours. Try again, and tell your curator if it stays.",
  network: "The service cannot be reached. Check the connection; nothing was lost.",
};

export class ApiError extends Error {
  /** @param {{code: string, status: number, message?: string, path?: any[], detail?: string}} error */
  constructor(error, retryAfter = null) {
    super(error.message ?? error.code);
    this.code = error.code;
    this.status = error.status;
    this.path = error.path ?? null;
    this.detail = error.detail ?? null;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may yet be granted: it failed on the way, not on its content. */
  get passing() {
    return ["network", "busy", "timeout", "internal", "rate_limited"].includes(this.code);
  }

  /** What to tell a person. */
  get errorMessage() {
    const wait = this.code === "rate_limited" && this.retryAfter ? ` (${this.retryAfter} s)` : "";
    const where = this.path?.length > 1 ? ` Look at: ${this.path.slice(1).join(" › ")}.` : "";
    const detail = this.detail ? ` ${this.detail}` : "";
    return `${SENTENCES[this.code] ?? this.message}${wait}${["invalid"].includes(this.code) ? where : ""}${detail}`;
  }
}

/** The message for whatever was thrown. */
export function errorMessage(thrown) {
  if (thrown instanceof ApiError) return thrown.errorMessage;
  console.error(thrown);
  return "Something went wrong in this page. Load it again.";
}
