/** Ranked bars from zero, each with its error bar. */

import { element } from "../dom.js";
import { amount } from "../numbers.js";

const SHOWN = 30;

/**
 * @typedef {{name: string, value: number | null, error: number | null, mark?: string, quiet?: boolean}} Bar
 * @param {Bar[]} bars  in the order they are shown
 * @param {string} unit
 * @param {string} label  of the whole chart
 */
export function barChart(bars, unit, label) {
  const visible = bars.filter((bar) => !bar.quiet);
  const largest = Math.max(...visible.map((bar) => (bar.value ?? 0) + (bar.error ?? 0)), 0) || 1;
  const share = (value) => `${Math.min(Math.max((100 * value) / largest, 0), 100)}%`;
  const list = element("ol", { class: "bars", "aria-label": label });
  const row = (bar, index) =>
    element(
      "li",
      { class: bar.mark ? "marked" : bar.quiet ? "faint" : null, data: { name: bar.name } },
      element("span", { class: "bar-name" }, bar.name, bar.mark ? element("em", {}, ` ${bar.mark}`) : null),
      element(
        "span",
        { class: "bar-value", data: { value: bar.value, error: bar.error } },
        bar.quiet ? "too few rows to say" : amount(bar.value, bar.error, unit),
      ),
      element(
        "span",
        { class: "track", "aria-hidden": "true" },
        element("span", { class: "bar", style: { width: bar.quiet ? "0" : share(bar.value ?? 0) } }),
        bar.error > 0 && !bar.quiet
          ? element("span", {
              class: "whisker",
              style: { left: share(bar.value - bar.error), right: `calc(100% - ${share(bar.value + bar.error)})` },
            })
          : null,
      ),
      element("span", { class: "unseen" }, `, place ${index + 1}`),
    );
  list.append(...bars.slice(0, SHOWN).map(row));
  if (bars.length <= SHOWN) return list;
  const more = element("button", { type: "button", class: "quiet" }, `Show all ${bars.length.toLocaleString("en")}`);
  more.addEventListener("click", () => {
    list.append(...bars.slice(SHOWN).map((bar, index) => row(bar, index + SHOWN)));
    more.remove();
  });
  return element("div", {}, list, more);
}
