/** Errors of requests, with messages for people. */

const SENTENCES = {
  unauthorized: "The service does not know this key, or it was revoked. Check the key, or ask your curator for a new one.",
  forbidden: "Your key does not allow this. Ask your curator.",
  not_found: "This does not exist, or your key has no access to it.",
  method_not_allowed: "The service does not support this request. Reload the page: it may be older than the service.",
  exists: "This name exists already. Choose another name.",
  question_differs: "This question was sent before with another point. Ask it again as a new question.",
  question_limit_reached:
    "This session has answered all its questions. You can still read its answers below. Ask your curator for a new session.",
  session_closed: "This session is closed. You can still read its answers below.",
  budget_exceeded: "The remaining privacy budget of the dataset is too small. Nothing was spent.",
  quota_exceeded: "The remaining share of the dataset's privacy budget is too small. Nothing was spent. Ask your curator.",
  refused: "The service refuses this request.",
  too_large: "This request exceeds a limit of the service. Ask about fewer points at a time.",
  invalid: "A field is missing or has a wrong value.",
  bad_point: "This point does not belong to the space. Check that all values are given and within their limits.",
  bad_group: "The release does not have this group. Choose a group from the list.",
  bad_column: "The release does not have this column, or the column cannot answer this.",
  not_supported: "This release cannot answer this kind of question.",
  rate_limited: "You have sent too many requests. Wait a moment, and try again.",
  busy: "The service has too much to do. Try again in a moment.",
  timeout: "The request took too long. Try again, or ask about fewer points.",
  internal: "The service failed to answer. Try again. If it fails again, tell your curator.",
  network: "The page cannot reach the service. Check your connection, and try again.",
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

  /** Whether the same request may succeed later: its content is not the reason. */
  get temporary() {
    return ["network", "busy", "timeout", "internal", "rate_limited"].includes(this.code);
  }

  /** The message for a person. */
  get errorMessage() {
    const wait = this.code === "rate_limited" && this.retryAfter ? ` (${this.retryAfter} s)` : "";
    const where = this.path?.length > 1 ? ` The field is ${this.path.slice(1).join(" › ")}.` : "";
    const detail = this.detail ? ` ${this.detail.charAt(0).toUpperCase()}${this.detail.slice(1)}` : "";
    return `${SENTENCES[this.code] ?? this.message}${wait}${this.code === "invalid" ? where : ""}${detail}`;
  }
}

/** @returns {string} the message for any exception */
export function errorMessage(thrown) {
  if (thrown instanceof ApiError) return thrown.errorMessage;
  console.error(thrown);
  return "This page has failed. Reload it.";
}
