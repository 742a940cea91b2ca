/** A bar for each dataset with the spent share of its privacy budget. */

import { element } from "../dom.js";
import { percent, tight } from "../numbers.js";

/** @returns {HTMLElement} */
export function budgetBar(dataset) {
  const share = Math.min(Math.max(dataset.share ?? 0, 0), 1);
  // show ε first, which the text has in brackets after μ² or ρ
  const [, counted, inBrackets] = dataset.remaining.match(/^(.+) \((.+)\)$/) ?? [];
  const remaining = inBrackets ?? dataset.remaining;
  const text = `${percent(share)} of the budget of ${dataset.name} is spent. Remaining: ${remaining}.`;
  return element(
    "div",
    { class: "budget", data: { dataset: dataset.name } },
    element("p", {}, element("strong", {}, dataset.name), element("span", {}, `${percent(share)} spent`)),
    element(
      "div",
      {
        class: share >= 0.9 ? "meter nearly" : "meter",
        role: "meter",
        "aria-valuemin": 0,
        "aria-valuemax": 100,
        "aria-valuenow": Math.round(100 * share),
        "aria-valuetext": text,
        "aria-label": `Budget of ${dataset.name}`,
      },
      element("span", { style: { width: `${100 * share}%` } }),
    ),
    element("small", {}, tight(`Remaining: ${remaining}, of ${dataset.cap}`)),
    element("small", {}, tight(`Accounting: ${[dataset.accounting, counted].filter(Boolean).join(", ")}`)),
  );
}

/** @returns {HTMLElement} */
export function budgets(datasets) {
  return element(
    "section",
    { class: "sidebar-part" },
    element("h2", {}, "Privacy budgets"),
    ...(datasets.length ? datasets.map(budgetBar) : [element("p", { class: "hint" }, "There are no datasets yet.")]),
  );
}
