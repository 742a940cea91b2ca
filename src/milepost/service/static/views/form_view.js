/** The view of a release with a form for one point. */

import { AnswerTable } from "./answer_table.js";
import { card, element, say } from "../dom.js";
import { groupChart } from "./group_comparison.js";
import { amount, pointText } from "../numbers.js";
import { isSingleText, pointForm } from "../forms/point_form.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

/** @returns {{root: HTMLElement, close: () => void}} */
export function formView(release, service) {
  const grouped = release.labels.length > 0;
  const problem = element("p", { class: "problem", role: "alert" });
  const latest = element("div", { class: "latest" });
  const answers = new AnswerTable(release.columns, release.distance_unit);

  async function ask(point) {
    problem.textContent = "";
    try {
      if (grouped) {
        const answer = await service.post(releasePath(release.id, "nearest"), { points: [point] });
        const index = answer.labels.indexOf(answer.nearest[0]);
        latest.replaceChildren(groupChart(answer));
        answers.add(point, answer.distances[0][index], answer.errors[0][index], `nearest: ${answer.nearest[0]}`);
        say(latest.querySelector(".verdict").textContent);
        return;
      }
      const answer = await service.post(releasePath(release.id, "distances"), { points: [point] });
      const [value, error] = [answer.distances[0], answer.errors[0]];
      const text = amount(value, error, answer.distance_unit);
      const data = { value, error, point: JSON.stringify(point) };
      latest.replaceChildren(
        element("p", { class: "callout-label" }, "mean distance"),
        element("strong", { class: "answer big", data }, text),
        element("p", { class: "hint" }, `with ${100 * answer.confidence} % confidence, for ${pointText(point)}`),
      );
      answers.add(point, value, error);
      say(`Mean distance ${text}`);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }

  const form = pointForm(release.fields, isSingleText(release.fields), "Ask", ask);
  const root = element(
    "div",
    { class: "view" },
    element("div", { class: "view-main" }, card("Ask about one point", form, problem)),
    element("aside", { class: "view-side" }, card("Answer", latest, answers.root)),
  );
  latest.append(element("p", { class: "hint" }, "Fill in the form. Questions to a release are free."));
  return { root, close: () => {} };
}
