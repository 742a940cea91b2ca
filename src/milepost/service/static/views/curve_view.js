/** The view of a release with one column: a curve, and the answers at points of it. */

import { AnswerTable } from "./answer_table.js";
import { Curve } from "../charts/curve.js";
import { card, element, say } from "../dom.js";
import { groupChart, groupPicker, ofGroup } from "./group_comparison.js";
import { amount, plusMinus } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

/** @returns {{root: HTMLElement, close: () => void}} */
export function curveView(release, service) {
  let group = release.labels[0];
  const groupParam = () => (group === undefined ? {} : { group });
  const problem = element("p", { class: "problem", role: "alert" });
  const waiting = element("p", { class: "waiting" }, "Drawing the curve …");
  const groups = element("div");
  const latest = element(
    "p",
    {},
    element("span", { class: "hint" }, "Click on the curve, or use the arrow keys and Enter, to ask."),
  );
  const answers = new AnswerTable(release.columns, release.distance_unit);
  const note = element("p", { class: "hint" });
  const curve = new Curve(release, ask);

  async function ask(x) {
    problem.textContent = "";
    const point = [x];
    try {
      let result;
      if (group === undefined) {
        const answer = await service.post(releasePath(release.id, "distances"), { points: [point] });
        result = { value: answer.distances[0], error: answer.errors[0] };
      } else {
        const answer = await service.post(releasePath(release.id, "nearest"), { points: [point] });
        result = ofGroup(answer, group);
        groups.replaceChildren(card(`Groups at ${Number(x.toPrecision(6))}`, groupChart(answer)));
      }
      curve.answers = [{ x, ...result }, ...curve.answers].slice(0, 12);
      curve.draw();
      answers.add([Number(x.toPrecision(7))], result.value, result.error, group ?? null);
      const text = amount(result.value, result.error, release.distance_unit);
      latest.replaceChildren(
        `${release.columns[0]} ${Number(x.toPrecision(6))}: `,
        element("strong", { class: "answer", data: { ...result, point: JSON.stringify(point) } }, text),
      );
      say(`At ${Number(x.toPrecision(6))}: ${text}`);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }

  async function draw() {
    waiting.hidden = false;
    curve.answers = [];
    try {
      const answer = await service.post(releasePath(release.id, "grid"), { steps: 200, ...groupParam() });
      curve.setGrid(answer);
      const maxError = plusMinus(answer.error, answer.distance_unit);
      note.textContent = `The band shows the error: at most ${maxError} with ${100 * answer.confidence} % confidence.`;
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
    waiting.hidden = true;
  }

  const picker = groupPicker(release, (label) => {
    group = label;
    draw();
  });
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "view-main" }, picker, problem, waiting, curve.root, note),
    element("aside", { class: "view-side" }, card("Answers", latest, answers.root), groups),
  );
  draw();
  return { root, close: () => curve.close() };
}
