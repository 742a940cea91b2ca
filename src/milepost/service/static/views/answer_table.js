/** Answers so far, the newest first, as a table. */

import { element } from "../dom.js";
import { amount, pointText, withUnit } from "../numbers.js";

const KEPT = 20;

export class AnswerTable {
  /**
   * @param {string[]} columns
   * @param {string} unit
   */
  constructor(columns, unit, words = "Answers so far") {
    this.unit = unit;
    this.body = element("tbody");
    const asked = columns.length > 0 && columns.length <= 6 ? columns.join(", ") : "point";
    this.root = element(
      "div",
      { class: "answers", hidden: true, tabindex: "0", role: "region", "aria-label": words },
      element(
        "table",
        {},
        element("caption", {}, words),
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col" }, asked),
            element("th", { scope: "col", class: "number" }, withUnit("mean distance", unit)),
          ),
        ),
        this.body,
      ),
    );
  }

  /** One more answer on top. */
  add(point, value, error, note = null) {
    this.root.hidden = false;
    const row = element(
      "tr",
      {},
      element("td", {}, pointText(point), note && element("small", {}, ` ${note}`)),
      element("td", { class: "number", data: { value, error } }, amount(value, error)),
    );
    this.body.prepend(row);
    while (this.body.children.length > KEPT) this.body.lastElementChild.remove();
  }
}
