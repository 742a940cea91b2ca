/** Groups of a release: a picker for the group to draw, and a chart of their distances from a point. */

import { barChart } from "../charts/bars.js";
import { element, labelled } from "../dom.js";
import { amount, percent } from "../numbers.js";

/** @returns {HTMLElement | null} a picker for the group of the map or curve, or null without groups */
export function groupPicker(release, onpick) {
  if (!release.labels.length) return null;
  const options = release.labels.map((label) => element("option", { value: String(label) }, String(label)));
  const select = element(
    "select",
    { id: "group", onchange: () => onpick(release.labels[select.selectedIndex]) },
    ...options,
  );
  return element("div", { class: "picker" }, labelled("Group shown", select));
}

/** Return the answer of one group, from a response of `POST …/nearest` for one point. */
export function ofGroup(answer, group) {
  const index = answer.labels.indexOf(group);
  return { value: answer.distances[0][index], error: answer.errors[0][index] };
}

/** Return a sentence about the nearest group and how certain it is. */
function verdict(answer) {
  const nearest = answer.nearest[0];
  if (nearest === null || nearest === undefined) return "No group has enough rows for an answer.";
  const [margin, flip] = [answer.margins[0], answer.flip_probabilities[0]];
  if (margin === null) return `${nearest} is the only group with an answer.`;
  const ahead = amount(margin, null, answer.distance_unit);
  const chance = flip > 0 ? percent(flip) : "less than 0.01 %";
  const tie = flip >= 0.05 ? ", so treat it as a tie" : "";
  const odds =
    flip === null || flip === undefined ? "" : ` The probability that noise alone changes this is ${chance}${tie}.`;
  return `Nearest: ${nearest}, ahead by ${ahead}.${odds}`;
}

/** @returns {HTMLElement} a ranked bar chart, from a response of `POST …/nearest` for one point */
export function groupChart(answer) {
  const bars = answer.labels.map((label, index) => ({
    name: String(label),
    value: answer.distances[0][index],
    error: answer.errors[0][index],
    mark: label === answer.nearest[0] ? "nearest" : "",
    undetectable: answer.detectable[index] === false,
  }));
  bars.sort((one, other) => one.undetectable - other.undetectable || one.value - other.value);
  return element(
    "div",
    { class: "groups" },
    element("p", { class: "verdict" }, verdict(answer)),
    barChart(bars, answer.distance_unit, "Groups, the nearest first"),
  );
}
