/** Single columns of a release: means, standard deviations, shares of labels, and a form for a share. */

import { barChart } from "../charts/bars.js";
import { card, element, labelled, say } from "../dom.js";
import { shareForm } from "../forms/share_form.js";
import { brief, columnName, interval } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

const MAX_COLUMNS = 8; // before the button that shows more

/** A column of numbers: its mean and standard deviation, and a strip from its low to its high bound. */
function numberRow(field, mean, variance) {
  const [low, high] = [field.low ?? 0, field.high ?? 1];
  const deviation = Object.fromEntries(["value", "low", "high"].map((name) => [name, Math.sqrt(variance[name])]));
  const place = (value) => `${(100 * Math.min(Math.max(value - low, 0), high - low)) / (high - low)}%`;
  const span = (from, to) => ({ left: place(from), right: `calc(100% - ${place(to)})` });
  const data = { value: mean.value, low: mean.low, high: mean.high };
  return element(
    "li",
    { class: "column-row", data: { column: field.name } },
    element("h3", {}, columnName(field.name)),
    element("p", { class: "mean", data }, element("span", {}, "mean"), element("b", {}, interval(mean))),
    element("p", { class: "deviation" }, element("span", {}, "standard deviation"), element("span", {}, interval(deviation))),
    element(
      "div",
      { class: "strip", "aria-hidden": "true" },
      element("span", { class: "spread", style: span(mean.value - deviation.value, mean.value + deviation.value) }),
      element("span", { class: "whisker", style: span(mean.low, mean.high) }),
      element("span", { class: "dot", style: { left: place(mean.value) } }),
    ),
    element("p", { class: "scale", "aria-hidden": "true" }, element("span", {}, brief(low)), element("span", {}, brief(high))),
  );
}

/** A column of labels, or a flag: the share of each label. */
function labelRow(name, shares) {
  const bars = shares.map(({ label, value, low, high }) => ({
    name: label,
    value: 100 * value,
    error: 100 * Math.max(high - value, value - low),
  }));
  return element(
    "li",
    { class: "column-row", data: { column: name } },
    element("h3", {}, columnName(name)),
    barChart(bars, "%", `Shares of ${name}`, 100),
  );
}

function row(field, estimates) {
  const own = estimates.filter(({ column }) => column === field.name);
  const mean = own.find(({ statistic }) => statistic === "mean");
  if (mean && field.type === "flag") return labelRow(field.name, [{ ...mean, label: "yes" }]);
  if (mean) return numberRow(field, mean, own.find(({ statistic }) => statistic === "variance"));
  return own.length ? labelRow(field.name, own) : null;
}

/** @returns {HTMLElement} */
export function columnsCard(release, service) {
  let group = release.labels[0];
  let shown = MAX_COLUMNS;
  // nothing was released about a column without width or weight
  const released = release.fields.filter(
    ({ low, high }, index) => (low ?? 0) < (high ?? 1) && release.card.space.weights?.[index] !== 0,
  );
  const problem = element("p", { class: "problem", role: "alert" });
  const list = element("ul", { class: "column-rows", "aria-label": "Columns" });
  const more = element("button", { type: "button", class: "quiet", hidden: true });
  const answers = element("ul", { class: "share-answers", "aria-label": "Shares" });
  const ask = (body) =>
    service.post(releasePath(release.id, "columns"), group === undefined ? body : { ...body, group });

  async function show() {
    problem.textContent = "";
    const fields = released.slice(0, shown);
    try {
      const { estimates } = await ask({ columns: fields.map(({ name }) => name) });
      list.replaceChildren(...fields.map((field) => row(field, estimates)).filter(Boolean));
      more.hidden = shown >= released.length;
      more.textContent = `Show more of the ${released.length.toLocaleString("en")} columns`;
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }

  async function askShare(share, question) {
    problem.textContent = "";
    try {
      const { estimates } = await ask({ shares: [share] });
      const text = interval(estimates[0], "%", 100);
      const { value, low, high } = estimates[0];
      const who = group === undefined ? question : `${question}, ${group}`;
      const answer = element("strong", { class: "answer-share", data: { value, low, high } }, text);
      answers.prepend(element("li", {}, element("span", {}, who), answer));
      say(`${who}: ${text}`);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }

  more.addEventListener("click", () => {
    shown += 50;
    show();
  });
  const options = release.labels.map((label) => element("option", {}, String(label)));
  const picker = element("select", {}, ...options);
  picker.addEventListener("change", () => {
    group = release.labels[picker.selectedIndex];
    show();
  });
  show();
  const asked = released.filter(({ type }) => type !== "flag");
  return card(
    "Columns",
    element("p", { class: "hint" }, "Questions about single columns are free. The 95 % intervals are in brackets."),
    release.labels.length ? element("div", { class: "picker" }, labelled("Columns of group", picker)) : null,
    problem,
    list,
    more,
    asked.length ? shareForm(asked, askShare) : null,
    answers,
  );
}
