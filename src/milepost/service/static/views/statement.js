/** The promise of a release or session in plain words: who is protected, how strongly, how exact answers are. */

import { element } from "../dom.js";
import { brief, moment, plusMinus, whole } from "../numbers.js";
import { releasePath } from "../api_client.js";

/** Who is protected: "Each single row of the table". */
function who({ change }) {
  return [change.protected, `A table with ${change.text} would give almost the same answers.`];
}

/** What ε means for one person. */
function strength({ guarantee: { epsilon, delta, text }, change }) {
  const factor = Math.exp(epsilon);
  const times = factor >= 1000 ? "e to the ε" : `${Number(factor.toPrecision(2))}`;
  const odds = delta > 0 ? `, but for a chance of 1 in ${whole(Number((1 / delta).toPrecision(2)))}` : "";
  const rows = change.privacy_unit !== null && change.contributions > 1 ? "rows" : "row";
  const otherwise =
    change.neighbors === "add-remove"
      ? `without your ${rows}`
      : `with other ${rows === "row" ? "data" : "rows"} in place of your ${rows}`;
  return [text, `Whatever is seen here would be at most ${times} times as likely ${otherwise}${odds}.`];
}

/** How exact answers are; errors of groups are a range. */
function exactness({ error, min_error: minError, confidence, diameter, distance_unit: unit }) {
  const scale = `Distances go up to ${brief(diameter)}${unit && `\u00a0${unit}`}.`;
  if (error === null || error === undefined) return ["Each answer has its own error", scale];
  const range = (minError ?? error) < error ? `${plusMinus(minError)} to ${plusMinus(error, unit).slice(2)}` : null;
  return [
    range ?? plusMinus(error, unit),
    `Answers are that close to the truth, with ${100 * (confidence ?? 0.95)}\u00a0% confidence. ${scale}`,
  ];
}

function fact(title, [head, text]) {
  return element(
    "div",
    { class: "fact" },
    element("h2", {}, title),
    element("strong", {}, head),
    element("p", {}, text),
  );
}

/** Terms with their texts, one below the other. */
function terms(pairs) {
  return element(
    "dl",
    { class: "terms" },
    ...pairs.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, String(text))]),
  );
}

/** @returns {HTMLElement} the three facts in a row */
export function promise(thing) {
  return element(
    "div",
    { class: "facts" },
    fact("Who is protected", who(thing)),
    fact("How strongly", strength(thing)),
    fact("How exact", exactness(thing)),
  );
}

/** @returns {HTMLElement} the full statement, the facts and the file, behind "more" */
export function more(release, statement, service) {
  const save = element("button", { type: "button", class: "quiet" }, "Download the release");
  save.addEventListener("click", async () => {
    const url = URL.createObjectURL(await service.file(release.id));
    element("a", { href: url, download: `${release.id}.milepost` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  return element(
    "details",
    { class: "more" },
    element("summary", {}, "More: the full statement"),
    element(
      "div",
      { class: "more-body" },
      element(
        "section",
        {},
        element("h3", {}, "Privacy statement"),
        terms(statement.lines.map(({ heading, text }) => [heading, text])),
      ),
      element("section", {}, element("h3", {}, "The release"), terms(Object.entries(release.facts)), save),
    ),
  );
}

/** @returns {HTMLElement} the title, and a line with dataset, space, size and date */
export function heading(thing, kind) {
  const parts = [
    `${kind === "session" ? `Session for ${thing.analyst}` : "Release"}${thing.dataset ? `, of ${thing.dataset}` : ""}`,
    `${thing.kind}: ${thing.columns.length > 6 ? `${whole(thing.columns.length)} columns` : thing.columns.join(", ")}`,
    thing.size,
    thing.created ? moment(thing.created) : null,
  ];
  return element(
    "header",
    { class: "heading" },
    element("h1", { tabindex: "-1" }, thing.title || thing.id),
    element("p", {}, parts.filter(Boolean).join(" · ")),
  );
}

/** @returns {Promise<any>} */
export function loadStatement(release, service) {
  return service.get(releasePath(release.id, "statement"));
}
