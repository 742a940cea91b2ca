/** A bar chart with error bars, in a given order. */

import { element } from "../dom.js";
import { amount } from "../numbers.js";

const MAX_BARS = 30; // before the button that shows all

/**
 * @typedef {{name: string, value: number | null, error: number | null, text?: string, mark?: string, undetectable?: boolean}} Bar
 * @param {Bar[]} bars  in their order; a text stands instead of value and error
 * @param {string} unit
 * @param {string} label  of the chart
 * @param {number | null} full  the value of a whole bar; by default that of the largest
 */
export function barChart(bars, unit, label, full = null) {
  const visible = bars.filter((bar) => !bar.undetectable);
  const largest = full ?? Math.max(...visible.map((bar) => (bar.value ?? 0) + (bar.error ?? 0)), 1e-300);
  const share = (value) => `${Math.min(Math.max((100 * value) / largest, 0), 100)}%`;
  const list = element("ol", { class: "bars", "aria-label": label });
  const row = (bar, index) =>
    element(
      "li",
      { class: bar.mark ? "marked" : bar.undetectable ? "faint" : null, data: { name: bar.name } },
      element("span", { class: "bar-name" }, bar.name, bar.mark ? element("em", {}, ` ${bar.mark}`) : null),
      element(
        "span",
        { class: "bar-value", data: { value: bar.value, error: bar.error } },
        bar.undetectable ? "too few rows for an answer" : (bar.text ?? amount(bar.value, bar.error, unit)),
      ),
      element(
        "span",
        { class: "track", "aria-hidden": "true" },
        element("span", { class: "bar", style: { width: bar.undetectable ? "0" : share(bar.value ?? 0) } }),
        bar.error > 0 && !bar.undetectable
          ? element("span", {
              class: "whisker",
              style: { left: share(bar.value - bar.error), right: `calc(100% - ${share(bar.value + bar.error)})` },
            })
          : null,
      ),
      element("span", { class: "unseen" }, `, rank ${index + 1}`),
    );
  list.append(...bars.slice(0, MAX_BARS).map(row));
  if (bars.length <= MAX_BARS) return list;
  const more = element("button", { type: "button", class: "quiet" }, `Show all ${bars.length.toLocaleString("en")}`);
  more.addEventListener("click", () => {
    list.append(...bars.slice(MAX_BARS).map((bar, index) => row(bar, index + MAX_BARS)));
    more.remove();
  });
  return element("div", {}, list, more);
}
