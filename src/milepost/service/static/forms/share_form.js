/** The form for a share of people: between two values of a column, or with a label. */

import { element, labelled } from "../dom.js";

/**
 * @param {any[]} fields  of the release that have numbers or labels
 * @param {(share: any, question: string) => Promise<void>} onask
 * @returns {HTMLElement}
 */
export function shareForm(fields, onask) {
  const column = element("select", { name: "column" }, ...fields.map(({ name }) => element("option", {}, name)));
  const low = element("input", { name: "low", type: "number", step: "any" });
  const high = element("input", { name: "high", type: "number", step: "any" });
  const label = element("select", { name: "label" });
  const ends = [labelled("From", low), labelled("To", high)];
  const labels = labelled("With the value", label);
  const field = () => fields[column.selectedIndex];

  function choose() {
    const { type, low: from, high: to, labels: names } = field();
    const numbers = type === "number";
    for (const end of ends) end.hidden = !numbers;
    labels.hidden = numbers;
    if (numbers) {
      low.placeholder = from ?? "";
      high.placeholder = to ?? "";
      for (const end of [low, high]) end.value = "";
    } else label.replaceChildren(...[...names, "other"].map((name) => element("option", {}, String(name))));
  }

  const button = element("button", { type: "submit" }, "Show the share");
  const form = element(
    "form",
    { class: "share-form" },
    element("h3", {}, "Share of people"),
    labelled("Column", column),
    ...ends,
    labels,
    button,
  );
  column.addEventListener("change", choose);
  for (const end of [low, high]) end.addEventListener("input", () => high.setCustomValidity(""));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { name, type, low: least, high: most } = field();
    const [from, to] = [low, high].map((end) => (end.value === "" ? null : end.valueAsNumber));
    if (type === "number" && from !== null && to !== null && from > to) {
      high.setCustomValidity("This must not be below the first value.");
      high.reportValidity();
      return;
    }
    button.disabled = true;
    try {
      if (type !== "number") await onask({ column: name, label: label.value }, `${name} ${label.value}`);
      else await onask({ column: name, low: from, high: to }, `${name} ${from ?? least ?? "…"} to ${to ?? most ?? "…"}`);
    } finally {
      button.disabled = false;
    }
  });
  choose();
  return form;
}
