/** The charges to the budget of a dataset. */

import { element, labelled } from "../dom.js";
import { moment, tight } from "../numbers.js";
import { errorMessage } from "../api_error.js";

/** @returns {HTMLElement} */
export function chargesPanel(workspace) {
  const body = element("tbody");
  const problem = element("p", { class: "problem", role: "alert" });
  const select = element(
    "select",
    { onchange: () => show() },
    ...workspace.datasets.map(({ name }) => element("option", {}, name)),
  );
  async function show() {
    problem.textContent = "";
    try {
      const { charges } = await workspace.service.get(`/v1/datasets/${encodeURIComponent(select.value)}/charges`);
      const rows = charges.map((charge) =>
        element(
          "tr",
          {},
          element("td", {}, moment(charge.charged), element("small", {}, ` ${charge.label ?? ""}`)),
          element(
            "td",
            {},
            charge.what,
            ["settled", "spent"].includes(charge.state) ? null : element("small", {}, ` ${charge.state}`),
          ),
          element(
            "td",
            { class: "number" },
            tight(charge.guarantee).replace("e-", "e\u2011"),
            charge.cost === charge.guarantee ? null : element("small", {}, ` ${tight(charge.cost)}`),
          ),
        ),
      );
      body.replaceChildren(...rows);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }
  if (!workspace.datasets.length) return element("p", { class: "hint" }, "There are no datasets yet.");
  show();
  const head = ["charged", "for", "guarantee"].map((title, index) =>
    element("th", { scope: "col", class: index === 2 ? "number" : null }, title),
  );
  return element(
    "div",
    { class: "latest", id: "charges" },
    labelled("Dataset", select),
    problem,
    element("div", { class: "answers" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)),
  );
}
