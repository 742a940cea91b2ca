/** Elements of the page, made by a call instead of by a string: nothing a server says is ever read as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Element} target
 * @param {Record<string, any>} attributes  `onclick` and the like are listeners, `data` and `style` are objects
 */
function dress(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) target.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(target.dataset, value);
    else if (name === "style") for (const [word, set] of Object.entries(value)) target.style.setProperty(word, set);
    else if (name === "value") target.value = value;
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @returns {any} an HTML element; children that are null are left out */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  dress(made, attributes); // after the children, since a select's value needs its options
  return made;
}

/** @returns {any} an SVG element */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  dress(made, attributes);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** @returns {any} the element of the shell with this id */
export function byId(id) {
  return document.getElementById(id);
}

/** Say something to those who do not see the screen. */
export function say(text) {
  byId("status").textContent = text;
}

/** A labelled control; `hint` is one more line. */
export function labelled(words, control, hint = null) {
  return element(
    "label",
    { class: "labelled" },
    element("span", {}, words),
    control,
    hint && element("small", {}, hint),
  );
}

/** A card with a heading. */
export function card(title, ...children) {
  return element("section", { class: "card" }, element("h2", {}, title), ...children);
}
