/** The form for a site whose coordinates are typed. */

import { element, labelled } from "../dom.js";

/** @returns {HTMLElement} */
export function siteForm(release, onadd) {
  const name = element("input", { name: "name", maxlength: 60, placeholder: "optional", autocomplete: "off" });
  const parts = release.columns.map((column, index) => {
    const [low, high] = release.extent[index];
    return element("input", {
      name: column,
      type: "number",
      step: "any",
      min: low,
      max: high,
      required: true,
      inputmode: "decimal",
    });
  });
  const form = element(
    "form",
    { class: "site-form" },
    labelled("Name", name),
    ...parts.map((part, index) => labelled(release.columns[index], part)),
    element("button", { type: "submit" }, "Add site"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onadd(
      parts.map((part) => part.valueAsNumber),
      name.value.trim(),
    );
    form.reset();
    name.focus();
  });
  return element("details", { class: "typed" }, element("summary", {}, "Type coordinates"), form);
}
