/** What a release or session promises, in plain words: who is protected, how strongly, how exact the answers are. */

import { element } from "../dom.js";
import { brief, moment, plusMinus, whole } from "../numbers.js";
import { releasePath } from "../api_client.js";

/** "Each single row of the table" */
function who(protects, lines) {
  const said = lines?.find((line) => line.heading === "Protected")?.text.split(":")[0] ?? "each single row of the table";
  return [said.charAt(0).toUpperCase() + said.slice(1), `A table with ${protects} would give almost the same answers.`];
}

/** What ε means for one person. */
function strength({ guarantee: { epsilon, delta, text }, protects }) {
  const name = text ?? `ε = ${epsilon}${delta ? `, δ = ${delta}` : ""}`;
  if (epsilon === null || epsilon === undefined) return [name, "Smaller numbers protect more."];
  const factor = Math.exp(epsilon);
  const times = factor >= 1000 ? "e to the ε" : `${Number(factor.toPrecision(2))}`;
  const odds = delta > 0 ? `, but for a chance of 1 in ${whole(Number((1 / delta).toPrecision(2)))}` : "";
  const rows = /^the rows/.test(protects) ? "rows" : "row";
  const otherwise = /removed/.test(protects)
    ? `without your ${rows}`
    : `with other ${rows === "row" ? "data" : "rows"} in place of your ${rows}`;
  return [name, `Whatever is seen here would be at most ${times} times as likely ${otherwise}${odds}.`];
}

/** How exact answers are. */
function exactness({ error, confidence, diameter, unit, labels }, lines) {
  const scale = `Distances go up to ${brief(diameter)}${unit && `\u00a0${unit}`}.`;
  if (error === null || error === undefined) return ["Said with every answer", scale];
  // of groups the statement knows more than one number: from the best to the worst that has an answer at all
  const span = labels?.length
    ? lines?.find((line) => line.heading === "Accuracy")?.text.match(/within (.+?) of the truth/)?.[1]
    : null;
  return [
    span ? `± ${span}` : plusMinus(error, unit),
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

/** Terms and what they are, one below the other. */
function terms(pairs) {
  return element(
    "dl",
    { class: "terms" },
    ...pairs.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, String(text))]),
  );
}

/** @returns {HTMLElement} the three facts in a row */
export function promise(thing, lines = null) {
  return element(
    "div",
    { class: "facts" },
    fact("Who is protected", who(thing.protects, lines)),
    fact("How strongly", strength(thing)),
    fact("How exact", exactness(thing, lines)),
  );
}

/** @returns {HTMLElement} the full statement, the facts of the card and the file, behind "more" */
export function more(release, statement, service) {
  const save = element("button", { type: "button", class: "quiet" }, "Download the release");
  save.addEventListener("click", async () => {
    const url = URL.createObjectURL(await service.file(release.id));
    element("a", { href: url, download: `${release.id}.milepost` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  const facts = Object.entries(release.facts ?? {}).map(([word, text]) => [
    word,
    typeof text === "object" ? JSON.stringify(text) : text,
  ]);
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
      element("section", {}, element("h3", {}, "The card"), terms(facts), save),
    ),
  );
}

/** @returns {HTMLElement} the title and a line about what it is */
export function heading(thing, kind) {
  const parts = [
    `${kind === "session" ? `Session for ${thing.analyst}` : "Release"}${thing.dataset ? `, of ${thing.dataset}` : ""}`,
    `${thing.kind}: ${thing.columns.length > 6 ? `${whole(thing.columns.length)} columns` : thing.columns.join(", ")}`,
    thing.rows ? `${thing.rows} rows` : null,
    thing.labels?.length ? `${whole(thing.labels.length)} groups` : null,
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
