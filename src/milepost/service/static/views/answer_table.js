/** A table of answers, the newest first. */

import { element } from "../dom.js";
import { amount, pointText, withUnit } from "../numbers.js";

const MAX_ROWS = 20;

export class AnswerTable {
  /**
   * @param {string[]} columns
   * @param {string} unit
   */
  constructor(columns, unit, title = "Answers so far") {
    this.unit = unit;
    this.body = element("tbody");
    const pointName = columns.length > 0 && columns.length <= 6 ? columns.join(", ") : "point";
    this.root = element(
      "div",
      { class: "answers", hidden: true, tabindex: "0", role: "region", "aria-label": title },
      element(
        "table",
        {},
        element("caption", {}, title),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col" }, pointName),
            element("th", { scope: "col", class: "number" }, withUnit("mean distance", unit)),
          ),
        ),
        this.body,
      ),
    );
  }

  /** Add an answer at the top. */
  add(point, value, error, note = null) {
    this.root.hidden = false;
    const row = element(
      "tr",
      {},
      element("td", {}, pointText(point), note && element("small", {}, ` ${note}`)),
      element("td", { class: "number", data: { value, error } }, amount(value, error)),
    );
    this.body.prepend(row);
    while (this.body.children.length > MAX_ROWS) this.body.lastElementChild.remove();
  }
}
