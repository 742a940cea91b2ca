/** The view of a session: questions, the number that remains, and the transcript. */

import { card, element, say, shape } from "../dom.js";
import { colourOf } from "../charts/distance_grid.js";
import { MapFigure } from "../charts/map_figure.js";
import { legend } from "../charts/contours.js";
import { amount, pointText, whole } from "../numbers.js";
import { isSingleText, pointForm } from "../forms/point_form.js";
import { QuestionSender } from "../question.js";
import { errorMessage } from "../api_error.js";
import { sessionPath } from "../api_client.js";
import { transcriptTable } from "./transcript.js";

/**
 * @param {(remaining: number | null) => void} onremaining  receives the number of remaining questions
 * @returns {{root: HTMLElement, close: () => void}}
 */
export function sessionView(session, service, me, onremaining) {
  const mine = session.analyst === me.name;
  const sender = new QuestionSender(session, service);
  const status = element("p", { class: "session-status" });
  const problem = element("p", { class: "problem", role: "alert" });
  const repeat = element("button", { type: "button", hidden: true }, "Send it again");
  const waiting = element(
    "p",
    { class: "waiting calm", hidden: true },
    "Waiting for the answer … the service sends answers at fixed moments.",
  );
  const latest = element("div", { class: "latest" });
  const table = transcriptTable(session);
  let remaining = session.remaining;
  let questions = [];
  let pickedPoint = null;
  const onMap = session.view === "map" && session.extent;
  const figure = onMap ? new MapFigure(session, pick, "chooses that point") : null;

  function limitText() {
    const count = session.limit === null ? "all its" : `all ${whole(session.limit)}`;
    return `This session has answered ${count} questions. You can still read its answers below. Ask your curator for a new session.`;
  }

  function showStatus() {
    const messages = {
      opening: "The service is opening this session.",
      closed: "This session is closed. You can still read its answers below.",
      failed: "The service could not open this session. The list of jobs gives the reason.",
    };
    status.textContent =
      messages[session.state] ??
      (remaining === null
        ? "This session has no limit of questions."
        : remaining === 0
          ? limitText()
          : `${whole(remaining)} of ${whole(session.limit)} questions remain.`);
    status.classList.toggle("ended", remaining === 0 || session.state !== "open");
    status.dataset.remaining = remaining;
    onremaining(remaining);
  }

  function pick(point, byKey) {
    pickedPoint = point;
    figure.refresh();
    const close = element(
      "button",
      { type: "button", class: "remove", "aria-label": "Close", onclick: () => unpick() },
      "×",
    );
    const button = element("button", { type: "button", class: "small primary", onclick: () => ask(point) }, "Ask here");
    const cost = remaining === null ? "" : `uses one of ${whole(remaining)} remaining questions`;
    figure.showCallout(
      point,
      close,
      element("span", { class: "where" }, pointText(point)),
      element("span", { class: "callout-label" }, cost),
      button,
    );
    if (byKey) button.focus({ preventScroll: true });
  }

  function unpick() {
    pickedPoint = null;
    figure?.showCallout(null);
    figure?.refresh();
  }

  async function ask(point) {
    problem.textContent = "";
    repeat.hidden = true;
    waiting.hidden = false;
    say("Waiting for the answer");
    if (figure)
      figure.showCallout(
        point,
        element("span", { class: "where" }, pointText(point)),
        element("strong", { class: "answer waiting calm" }, "waiting …"),
      );
    try {
      const answer = await sender.ask(point);
      remaining = answer.remaining;
      const text = amount(answer.value, answer.error, answer.distance_unit);
      const data = { value: answer.value, error: answer.error, point: JSON.stringify(point) };
      latest.replaceChildren(
        element("p", { class: "callout-label" }, `mean distance, at ${pointText(point)}`),
        element("strong", { class: "answer big", data }, text),
      );
      unpick();
      say(`Answer: ${text}. ${remaining === null ? "There is no limit." : `${remaining} questions remain.`}`);
      await loadTranscript();
      figure?.svg.focus({ preventScroll: true });
    } catch (thrown) {
      unpick();
      if (thrown.code === "question_limit_reached") remaining = 0;
      problem.textContent = thrown.code === "question_limit_reached" ? limitText() : errorMessage(thrown);
      repeat.hidden = sender.pending === null;
    }
    waiting.hidden = true;
    showStatus();
  }

  /** Load the transcript, and show its points on the map. */
  async function loadTranscript() {
    try {
      const transcript = await service.get(sessionPath(session.id, "transcript"));
      questions = transcript.questions;
      if (transcript.remaining !== undefined) remaining = transcript.remaining;
      table.show(questions);
      const values = questions.map((question) => question.value);
      if (figure && values.length > 1) {
        const [low, high] = d3.extent(values);
        figure.legend.replaceChildren(legend(low, high, d3.ticks(low, high, 5), session.distance_unit));
      }
      figure?.refresh();
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
    showStatus();
  }

  figure?.overlays.push(() => {
    const [low, high] = d3.extent(questions, (question) => question.value);
    for (const { point, value, error } of questions) {
      const [x, y] = figure.projection.pixel(point);
      const text = amount(value, error, session.distance_unit);
      figure.overlay.append(
        shape(
          "circle",
          { class: "answer-mark", cx: x, cy: y, r: 7, fill: colourOf((value - low) / (high - low || 1)) },
          shape("title", {}, `${pointText(point)}: ${text}`),
        ),
        shape("text", { class: "answer-number", x: x + 11, y: y + 4 }, value.toPrecision(3)),
      );
    }
    if (pickedPoint) {
      const [x, y] = figure.projection.pixel(pickedPoint);
      figure.overlay.append(shape("circle", { class: "question-point", cx: x, cy: y, r: 5 }));
    }
  });
  if (figure) figure.markedPoints = () => questions.map((question) => question.point);
  repeat.addEventListener("click", () => ask(sender.pending.point));
  const canAsk = mine && session.state === "open";
  const form = pointForm(session.fields, isSingleText(session.fields), "Ask", ask);
  const typedForm = figure
    ? element("details", { class: "typed" }, element("summary", {}, "Type coordinates"), form)
    : form;
  const ownerHint = mine ? null : element("p", { class: "hint" }, `Only ${session.analyst} may ask in this session.`);
  const answerCard = card("Answer", status, ownerHint, waiting, problem, repeat, latest, figure && canAsk ? typedForm : null);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "view-main" }, figure ? figure.root : canAsk ? card("Ask about one point", form) : null),
    element("aside", { class: "view-side" }, answerCard),
    element("div", { class: "view-main" }, table.root),
  );
  if (sender.pending && canAsk) {
    const where = pointText(sender.pending.point);
    problem.textContent = `The answer for ${where} did not arrive. Send the question again: it counts once.`;
    repeat.hidden = false;
  }
  if (figure && !canAsk) figure.onpick = () => {};
  queueMicrotask(() => figure?.redraw());
  showStatus();
  loadTranscript();
  return { root, close: () => figure?.close() };
}
