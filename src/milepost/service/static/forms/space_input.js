/** A space: an input for each of its fields, as the OpenAPI document of the service lists them, or JSON. */

import { element, labelled } from "../dom.js";

const FIRST = "great-circle";
const EXAMPLE = '{"space": "great-circle", "center": [52.5, 13.4], "radius_km": 30}';
const documents = new WeakMap(); // the schemas of spaces, by service

/** @returns {Promise<any[]>} a JSON schema for each space */
function spaceSchemas(service) {
  if (!documents.has(service)) {
    documents.set(
      service,
      service.get("/v1/openapi.json").then(({ components }) => components.schemas.SpaceSpec.oneOf),
    );
  }
  return documents.get(service);
}

/** Report a problem of an input, or none, and say whether there is none. */
function check(input, problem) {
  input.setCustomValidity(problem);
  return input.reportValidity();
}

/**
 * The input of a field: a number, a text, a yes or no, and JSON for anything else.
 * @returns {{name: string, node: HTMLElement, read: () => any}} `read` gives undefined for an empty input, and null
 *   after a report where it cannot be read
 */
function fieldInput(name, schema, required) {
  const example = schema.examples[0];
  if (schema.type === "boolean") {
    const box = element("input", { type: "checkbox", name });
    return { name, node: labelled(name, box, schema.description), read: () => box.checked || undefined };
  }
  const simple = { number: "any", integer: "1" }[schema.type];
  const text = schema.type === "string" ? example : JSON.stringify(example);
  const input = element("input", {
    type: simple ? "number" : "text",
    step: simple,
    name,
    required,
    placeholder: required ? null : text,
    value: required ? text : null,
    autocomplete: "off",
    spellcheck: "false",
  });
  const read = () => {
    if (input.value === "") return undefined;
    if (simple) return input.valueAsNumber;
    if (schema.type === "string") return input.value;
    try {
      return JSON.parse(input.value);
    } catch {
      check(input, `This is not JSON; write it like ${text}`);
      return null;
    }
  };
  input.addEventListener("input", () => input.setCustomValidity(""));
  return { name, node: labelled(name, input, schema.description), read };
}

/** The inputs of one space. */
function fieldInputs(schema) {
  const { space, ...fields } = schema.properties;
  const inputs = Object.entries(fields).map(([name, field]) => fieldInput(name, field, schema.required.includes(name)));
  const read = () => {
    const values = { space: space.const };
    for (const { name, read } of inputs) {
      const value = read();
      if (value === null) return null;
      if (value !== undefined) values[name] = value;
    }
    return values;
  };
  return { node: element("div", { class: "compact" }, ...inputs.map(({ node }) => node)), read };
}

/** A text of JSON. */
function jsonInput() {
  const area = element("textarea", { rows: 3, name: "space", required: true, spellcheck: "false", value: EXAMPLE });
  const read = () => {
    try {
      const spec = JSON.parse(area.value);
      const named = spec && typeof spec === "object" && spec.space;
      return check(area, named ? "" : 'A space needs a field "space", such as "l1".') ? spec : null;
    } catch {
      check(area, "This is not JSON: look for missing quotes and commas.");
      return null;
    }
  };
  area.addEventListener("input", () => area.setCustomValidity(""));
  return { node: labelled("JSON", area, "the fields of a space, as in a TOML file"), read };
}

/** @returns {{node: HTMLElement, read: () => any}} `read` gives null, and says why, where an input is no space */
export function spaceInput(service) {
  const kind = element("select", { name: "kind" }, element("option", { value: "" }, "as JSON"));
  const place = element("div", {});
  let shown = jsonInput();
  let schemas = [];
  const show = () => {
    const schema = schemas.find(({ title }) => title === kind.value);
    shown = schema ? fieldInputs(schema) : jsonInput();
    place.replaceChildren(shown.node);
  };
  kind.addEventListener("change", show);
  show();
  spaceSchemas(service)
    .then((found) => {
      schemas = found;
      kind.prepend(...found.map(({ title }) => element("option", { value: title }, title)));
      kind.value = FIRST;
      show();
    })
    .catch(() => {}); // JSON remains
  const node = element("div", { class: "wide" }, labelled("Space", kind), place);
  return { node, read: () => shown.read() };
}

/** A number that may be left empty; undefined then, so that it is not sent. */
export function optionalNumber(input) {
  return input.value === "" ? undefined : input.valueAsNumber;
}
