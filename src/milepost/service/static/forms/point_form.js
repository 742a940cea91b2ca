/** A form for one point, from the fields of a release or session. */

import { element, labelled } from "../dom.js";

const MANY = 16; // more fields than this are pasted, not typed

/**
 * @typedef {{name: string, type: "number", low: number | null, high: number | null, step: number | null}} NumberField
 * @typedef {{name: string, type: "category" | "flag" | "text", labels?: any[]}} WordField
 */

/** One control and how to read it. */
function control(field) {
  if (field.type === "category") {
    const options = field.labels.map((label) => element("option", {}, String(label)));
    const select = element("select", { name: field.name }, ...options);
    return { node: labelled(field.name, select), read: () => field.labels[select.selectedIndex] };
  }
  if (field.type === "flag") {
    const box = element("input", { type: "checkbox", name: field.name });
    return { node: element("label", { class: "flag" }, box, element("span", {}, field.name)), read: () => box.checked };
  }
  if (field.type === "number") {
    const { low = null, high = null, step = null } = field;
    const input = element("input", {
      type: "number",
      name: field.name,
      min: low,
      max: high,
      step: step ?? "any",
      required: true,
    });
    if (low !== null && high !== null) {
      const middle = step ? low + Math.round((high - low) / 2 / step) * step : (low + high) / 2;
      input.value = Number(middle.toPrecision(6));
    }
    const hint = low !== null && high !== null ? `${low} to ${high}` : null;
    return { node: labelled(field.name, input, hint), read: () => input.valueAsNumber };
  }
  const text = element("input", { type: "text", name: field.name, required: true, autocomplete: "off" });
  return { node: labelled(field.name, text), read: () => text.value };
}

/** Many fields at once, as pasted numbers or words with commas between them. */
function pasted(fields) {
  const area = element("textarea", { rows: 5, name: "point", required: true, spellcheck: "false" });
  const numeric = fields.every((field) => field.type === "number");
  const names = `${fields[0].name}, ${fields[1].name}, …, ${fields.at(-1).name}`;
  const hint = `${fields.length} ${numeric ? "numbers" : "values"}, separated by commas: ${names}`;
  const read = () => {
    const parts = area.value
      .trim()
      .replace(/^\[|\]$/g, "")
      .split(/[,;\s]+/)
      .filter(Boolean);
    const wrong = parts.findIndex((part, index) => fields[index]?.type === "number" && !Number.isFinite(Number(part)));
    const problem =
      parts.length !== fields.length
        ? `There are ${parts.length} values; this space needs ${fields.length}.`
        : wrong >= 0
          ? `Value ${wrong + 1} is not a number: ${parts[wrong].slice(0, 20)}`
          : "";
    area.setCustomValidity(problem);
    if (!area.reportValidity()) return null;
    const flags = { true: true, yes: true, 1: true };
    return parts.map((part, index) => {
      const { type } = fields[index];
      return type === "number" ? Number(part) : type === "flag" ? Boolean(flags[part.toLowerCase()]) : part;
    });
  };
  area.addEventListener("input", () => area.setCustomValidity(""));
  return { node: labelled("Point", area, hint), read };
}

/**
 * @param {(NumberField | WordField)[]} fields
 * @param {boolean} single  whether a point is one text rather than a list
 * @param {string} verb  on the button
 * @param {(point: any) => Promise<void>} onask
 * @returns {HTMLFormElement}
 */
export function pointForm(fields, single, verb, onask) {
  const many = fields.length > MANY;
  const controls = many ? [pasted(fields)] : fields.map(control);
  const button = element("button", { type: "submit", class: "primary" }, verb);
  const form = element(
    "form",
    { class: many ? "point-form pasted" : "point-form" },
    ...controls.map(({ node }) => node),
    element("div", { class: "buttons" }, button),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const point = many ? controls[0].read() : controls.map(({ read }) => read());
    if (point === null) return;
    button.disabled = true;
    try {
      await onask(single ? point[0] : point);
    } finally {
      button.disabled = false;
    }
  });
  return form;
}

/** Whether points of this space are one text each: the contract writes them as strings then. */
export function isSingleText(fields) {
  return fields.length === 1 && fields[0].type === "text";
}
