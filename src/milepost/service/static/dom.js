/** Functions that create elements. They never parse text as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Element} target
 * @param {Record<string, any>} attributes  values of `on…` are listeners; `data` and `style` are objects
 */
function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) target.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(target.dataset, value);
    else if (name === "style") for (const [property, setting] of Object.entries(value)) target.style.setProperty(property, setting);
    else if (name === "value") target.value = value;
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @returns {any} an HTML element; null children are skipped */
export function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  created.append(...children.flat().filter((child) => child !== null && child !== undefined));
  setAttributes(created, attributes); // after the children, because the value of a select needs its options
  return created;
}

/** @returns {any} an SVG element */
export function shape(tag, attributes = {}, ...children) {
  const created = document.createElementNS(SVG, tag);
  setAttributes(created, attributes);
  created.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return created;
}

/** @returns {any} the element with this id */
export function byId(id) {
  return document.getElementById(id);
}

/** Give a text to screen readers. */
export function say(text) {
  byId("status").textContent = text;
}

/** @returns {HTMLElement} a control with a label, and an optional hint below it */
export function labelled(text, control, hint = null) {
  return element(
    "label",
    { class: "labelled" },
    element("span", {}, text),
    control,
    hint && element("small", {}, hint),
  );
}

/** @returns {HTMLElement} a card with a heading */
export function card(title, ...children) {
  return element("section", { class: "card" }, element("h2", {}, title), ...children);
}
