/** The transcript of a session as a table. */

import { card, element } from "../dom.js";
import { amount, pointText, withUnit } from "../numbers.js";

/** @returns {{root: HTMLElement, show: (questions: any[]) => void}} */
export function transcriptTable(session) {
  const body = element("tbody");
  const emptyHint = element("p", { class: "hint" }, "There are no questions yet.");
  const few = session.columns.length <= 6;
  const head = (title, number) => element("th", { scope: "col", class: number ? "number" : null }, title);
  const columns = few ? session.columns.map((column) => head(column)) : [head("point")];
  const table = element(
    "table",
    { class: "transcript", hidden: true },
    element("thead", {}, element("tr", {}, head("#"), ...columns, head(withUnit("mean distance", session.distance_unit), true))),
    body,
  );
  const scroller = element(
    "div",
    { class: "answers", tabindex: "0", role: "region", "aria-label": "Transcript" },
    table,
  );
  return {
    root: card("Transcript", emptyHint, scroller),
    show(questions) {
      emptyHint.hidden = questions.length > 0;
      table.hidden = questions.length === 0;
      const rows = questions.map((question, index) => {
        const parts = few && Array.isArray(question.point) ? question.point.map(String) : [pointText(question.point)];
        return element(
          "tr",
          { data: { name: question.name } },
          element("td", {}, String(index + 1)),
          ...parts.map((part) => element("td", {}, part)),
          element(
            "td",
            { class: "number", data: { value: question.value, error: question.error } },
            amount(question.value, question.error),
          ),
        );
      });
      body.replaceChildren(...rows.reverse());
    },
  };
}
