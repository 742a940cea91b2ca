/** The plan: what each mechanism would promise, before anything is spent. */

import { element, labelled, say } from "../dom.js";
import { brief, whole } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { optionalNumber, spaceInput } from "./space_input.js";

/** Mechanisms and their errors, the best first. */
function table({ predictions, refused }) {
  const head = ["mechanism", "error", "size"].map((word, index) =>
    element("th", { scope: "col", class: index ? "number" : null }, word),
  );
  const rows = [...predictions]
    .sort((one, other) => one.error - other.error)
    .map((one) =>
      element(
        "tr",
        {},
        element("td", {}, one.mechanism),
        element("td", { class: "number" }, `± ${brief(one.error)}`),
        element("td", { class: "number" }, `${whole(Math.ceil(one.bytes / 1024))} kB`),
      ),
    );
  const others = Object.entries(refused).map(([name, why]) =>
    element("tr", {}, element("td", {}, name), element("td", { colspan: 2 }, why)),
  );
  return element(
    "div",
    { class: "answers" },
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows, ...others)),
  );
}

/** @returns {HTMLElement} */
export function planForm(service) {
  const space = spaceInput(service);
  const rows = element("input", { type: "number", min: 1, value: 100000, required: true });
  const epsilon = element("input", { type: "number", min: 0, step: "any", value: 1 });
  const error = element("input", { type: "number", min: 0, step: "any" });
  const delta = element("input", { type: "number", min: 0, max: 1, step: "any", value: 0.000001 });
  const problem = element("p", { class: "problem", role: "alert" });
  const result = element("div", {});
  const form = element(
    "form",
    { class: "compact", id: "plan-form" },
    space.node,
    labelled("Rows", rows),
    labelled("ε", epsilon),
    labelled("or error", error),
    labelled("δ", delta),
    element("div", { class: "wide" }, element("button", { type: "submit" }, "Plan")),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const spec = space.read();
    if (spec === null) return;
    problem.textContent = "";
    result.replaceChildren(element("p", { class: "waiting calm" }, "Planning …"));
    const requested = error.value === "" ? { epsilon: optionalNumber(epsilon) } : { error: error.valueAsNumber };
    try {
      const plan = await service.post("/v1/plan", {
        space: spec,
        n: rows.valueAsNumber,
        delta: optionalNumber(delta),
        ...requested,
      });
      const spent = element(
        "p",
        { class: "hint" },
        `For ε = ${brief(plan.epsilon)}${plan.delta ? `, δ = ${plan.delta}` : ""}:`,
      );
      result.replaceChildren(spent, table(plan));
      say("The plan is there.");
    } catch (thrown) {
      result.replaceChildren();
      problem.textContent = errorMessage(thrown);
    }
  });
  return element("div", { class: "latest" }, form, problem, result);
}
