/** A session: questions one after another, how many are left, and the transcript. */

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
 * @param {(remaining: number | null) => void} onleft  is told how many questions are left
 * @returns {{root: HTMLElement, close: () => void}}
 */
export function sessionView(session, service, me, onleft) {
  const mine = session.analyst === me.name;
  const questioner = new QuestionSender(session, service);
  const status = element("p", { class: "session-status" });
  const problem = element("p", { class: "problem", role: "alert" });
  const again = element("button", { type: "button", hidden: true }, "Send it again");
  const waiting = element(
    "p",
    { class: "waiting calm", hidden: true },
    "Waiting for the answer … answers leave on a clock.",
  );
  const latest = element("div", { class: "latest" });
  const table = transcriptTable(session);
  let remaining = session.remaining;
  let questions = [];
  let picked = null;
  const onMap = session.view === "map" && session.extent;
  const figure = onMap ? new MapFigure(session, pick, "chooses that point") : null;

  function exhausted() {
    const many = session.limit === null ? "all its" : `all ${whole(session.limit)}`;
    return `This session has answered ${many} questions. Its answers stay below; ask your curator for a new session.`;
  }

  function tell() {
    const words = {
      opening: "This session is being opened.",
      closed: "This session is closed. Its answers stay below, but it takes no more questions.",
      failed: "This session could not be opened. Your curator knows why.",
    };
    status.textContent =
      words[session.state] ??
      (remaining === null
        ? "This session takes any number of questions."
        : remaining === 0
          ? exhausted()
          : `${whole(remaining)} of ${whole(session.limit)} questions left.`);
    status.classList.toggle("ended", remaining === 0 || session.state !== "open");
    status.dataset.remaining = remaining;
    onleft(remaining);
  }

  function pick(point, byKey) {
    picked = point;
    figure.refresh();
    const close = element(
      "button",
      { type: "button", class: "remove", "aria-label": "Close", onclick: () => unpick() },
      "×",
    );
    const button = element("button", { type: "button", class: "small primary", onclick: () => ask(point) }, "Ask here");
    const cost = remaining === null ? "" : `one of ${whole(remaining)} questions left`;
    figure.call(
      point,
      close,
      element("span", { class: "where" }, pointText(point)),
      element("span", { class: "callout-words" }, cost),
      button,
    );
    if (byKey) button.focus({ preventScroll: true });
  }

  function unpick() {
    picked = null;
    figure?.call(null);
    figure?.refresh();
  }

  async function ask(point) {
    problem.textContent = "";
    again.hidden = true;
    waiting.hidden = false;
    say("Waiting for the answer");
    if (figure)
      figure.call(
        point,
        element("span", { class: "where" }, pointText(point)),
        element("strong", { class: "answer waiting calm" }, "waiting …"),
      );
    try {
      const answer = await questioner.ask(point);
      remaining = answer.remaining;
      const text = amount(answer.value, answer.error, answer.distance_unit);
      const data = { value: answer.value, error: answer.error, point: JSON.stringify(point) };
      latest.replaceChildren(
        element("p", { class: "callout-words" }, `mean distance, at ${pointText(point)}`),
        element("strong", { class: "answer big", data }, text),
      );
      unpick();
      say(`Answer: ${text}. ${remaining ?? "Any number of"} questions left.`);
      await read();
      figure?.svg.focus({ preventScroll: true });
    } catch (thrown) {
      unpick();
      if (thrown.code === "question_limit_reached") remaining = 0;
      problem.textContent = thrown.code === "question_limit_reached" ? exhausted() : errorMessage(thrown);
      again.hidden = questioner.pending === null;
    }
    waiting.hidden = true;
    tell();
  }

  /** The transcript anew, and its points on the map. */
  async function read() {
    try {
      const transcript = await service.get(sessionPath(session.id, "transcript"));
      questions = transcript.questions;
      if (transcript.remaining !== undefined) remaining = transcript.remaining;
      table.show(questions);
      const values = questions.map((question) => question.value);
      if (figure && values.length > 1) {
        const [low, high] = d3.extent(values);
        figure.key.replaceChildren(legend(low, high, d3.ticks(low, high, 5), session.distance_unit));
      }
      figure?.refresh();
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
    tell();
  }

  figure?.painters.push(() => {
    const [low, high] = d3.extent(questions, (question) => question.value);
    for (const { point, value, error } of questions) {
      const [x, y] = figure.projection.pixel(point);
      const text = amount(value, error, session.distance_unit);
      figure.over.append(
        shape(
          "circle",
          { class: "answer-mark", cx: x, cy: y, r: 7, fill: colourOf((value - low) / (high - low || 1)) },
          shape("title", {}, `${pointText(point)}: ${text}`),
        ),
        shape("text", { class: "answer-number", x: x + 11, y: y + 4 }, value.toPrecision(3)),
      );
    }
    if (picked) {
      const [x, y] = figure.projection.pixel(picked);
      figure.over.append(shape("circle", { class: "asked", cx: x, cy: y, r: 5 }));
    }
  });
  if (figure) figure.marked = () => questions.map((question) => question.point);
  again.addEventListener("click", () => ask(questioner.pending.point));
  const takes = mine && session.state === "open";
  const form = pointForm(session.fields, isSingleText(session.fields), "Ask", ask);
  const typed = figure
    ? element("details", { class: "typed" }, element("summary", {}, "Type coordinates"), form)
    : form;
  const foreign = mine ? null : element("p", { class: "hint" }, `Only ${session.analyst} may ask here.`);
  const answered = card("Answer", status, foreign, waiting, problem, again, latest, figure && takes ? typed : null);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "view-main" }, figure ? figure.root : takes ? card("Ask about one point", form) : null),
    element("aside", { class: "view-side" }, answered),
    element("div", { class: "view-main" }, table.root),
  );
  if (questioner.pending && takes) {
    const about = pointText(questioner.pending.point);
    problem.textContent = `The answer about ${about} did not arrive. Send the question again: it is charged only once.`;
    again.hidden = false;
  }
  if (figure && !takes) figure.onpick = () => {};
  queueMicrotask(() => figure?.redraw());
  tell();
  read();
  return { root, close: () => figure?.close() };
}
