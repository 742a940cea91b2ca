/** A card that compares a release with another one, or two of its groups: how different the tables are, and where. */

import { barChart } from "../charts/bars.js";
import { cumulativeCurves } from "../charts/cumulative_curves.js";
import { DistanceGrid } from "../charts/distance_grid.js";
import { MapFigure } from "../charts/map_figure.js";
import { card, element, labelled, say } from "../dom.js";
import { brief, columnName, interval, percent, probability, whole } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

const MAX_BARS = 8;
const MAX_CURVES = 3;
const MIN_SHARE = 0.05; // of the difference, for a curve to be drawn
const FREE_FIELDS = ["directions", "bounds_provenance"]; // of a space, in which two releases may differ
const SIGNIFICANT = 0.05;

/** Return both tests as sentences. */
export function testSentences({ p_tables: tables, p_population: population }) {
  return [
    tables < SIGNIFICANT
      ? `The tables are different: the noise of privacy alone makes two equal tables look so different with a probability of ${probability(tables)}.`
      : `The tables may be equal: the noise of privacy alone makes two equal tables look so different with a probability of ${probability(tables)}.`,
    population < SIGNIFICANT
      ? `The populations are different: noise and chance make two samples of one population look so different with a probability of ${atMost(population)}.`
      : `Both may be samples of one population: noise and chance make such samples look so different with a probability of ${atMost(population)}.`,
  ];
}

function atMost(p) {
  return p < 0.0001 ? probability(p) : `at most ${probability(p)}`;
}

function wholePercent(share) {
  return share > 0 && share < 0.01 ? "less than 1 %" : `${Math.round(100 * share)} %`;
}

/** Return the fields in which the spaces of two releases differ, with their values. */
function differingFields(one, other) {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => !FREE_FIELDS.includes(name));
  const text = (value) => (value === undefined || value === "" ? "none" : JSON.stringify(value).replaceAll('"', ""));
  return names
    .filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
    .map((name) => `${name.replaceAll("_", " ")}: ${text(one[name])} and ${text(other[name])}`);
}

/** Bars of the columns or directions that differ most; directions of a map have no meaning of their own. */
function differingParts({ parts_of: partsOf, parts, value }, view) {
  const columns = partsOf === "columns";
  if (!(value > 0) || parts.length < 2 || (!columns && view === "map")) return [];
  if (!columns && parts[0].share < MIN_SHARE) {
    const largest = percent(parts[0].share);
    return [element("p", { class: "hint" }, `No single direction stands out: the one that differs most adds ${largest}.`)];
  }
  const bars = parts.slice(0, MAX_BARS).map(({ name, share }) => ({
    name: columnName(name),
    value: 100 * share,
    error: null,
    text: wholePercent(share),
  }));
  const title = `Share of ${columns ? "each column" : "the largest directions"} in the difference`;
  return [element("h3", {}, title), barChart(bars, "%", title, 100)];
}

/** A map of the mean distance to the second table, less that to the first one. */
function differenceMap(release, first, second, names) {
  const unit = release.distance_unit;
  const grid = DistanceGrid.difference(first, second, "difference of mean distances");
  const figure = new MapFigure(
    { ...release, title: "where the tables differ" },
    (point) => {
      const value = grid.at(...figure.projection.xy(point));
      const nearer = value < 0 ? "nearer to" : "farther from";
      const text = `${brief(Math.abs(value))}${unit && ` ${unit}`} ${nearer} ${names[1]}`;
      figure.showCallout(point, element("strong", {}, text), element("span", { class: "where" }, point.join(", ")));
      say(text);
    },
    "shows the difference at its point",
  );
  figure.setGrid(grid);
  return figure;
}

/**
 * @param {any} release
 * @param {any[]} releases  all of them
 * @returns {{root: HTMLElement | null, close: () => void}} without root if there is nothing to compare with
 */
export function comparisonCard(release, releases, service) {
  const others = releases.filter(
    ({ id, kind, supports }) =>
      supports.includes("difference") && kind === release.kind && (id !== release.id || release.labels.length > 1),
  );
  others.sort((one, other) => (one.id === release.id) - (other.id === release.id));
  if (!release.supports.includes("difference") || !others.length) return { root: null, close: () => {} };
  let figure = null;
  const nameOf = ({ id, title }) => (id === release.id ? "this release" : title || id);
  const select = element("select", { name: "other" }, ...others.map((other) => element("option", {}, nameOf(other))));
  const groupSelect = (name) => element("select", { name });
  const [own, theirs] = [groupSelect("group"), groupSelect("other_group")];
  const [ownLabel, theirLabel] = [labelled("Group", own), labelled("Its group", theirs)];
  const problem = element("p", { class: "problem", role: "alert" });
  const result = element("div", { class: "comparison" });
  const button = element("button", { type: "submit", class: "primary" }, "Compare");
  const other = () => others[select.selectedIndex];
  const fill = (control, label, labels) => {
    control.replaceChildren(...labels.map((name) => element("option", {}, String(name))));
    label.hidden = !labels.length;
  };

  function choose() {
    fill(theirs, theirLabel, other().labels);
    if (other().id === release.id) theirs.selectedIndex = own.selectedIndex === 0 ? 1 : 0;
  }

  function sides() {
    return {
      ...(release.labels.length ? { group: release.labels[own.selectedIndex] } : {}),
      ...(other().labels.length ? { other_group: other().labels[theirs.selectedIndex] } : {}),
    };
  }

  /** Explain a refusal by the fields of both spaces that differ. */
  async function explain(thrown, picked) {
    if (thrown.code !== "not_supported") return errorMessage(thrown);
    const { card: picture } = await service.get(releasePath(picked.id));
    const fields = differingFields(release.card.space, picture.space);
    if (!fields.length) return "One of the groups has too few rows to compare, or one of the releases holds no shares that can be compared.";
    return `These releases have different spaces, so their tables cannot be compared. ${fields.join("; ")}.`;
  }

  async function show(answer, picked, params) {
    const names = [release, picked].map(({ id, title }, index) => {
      const group = index ? params.other_group : params.group;
      return group === undefined ? title || id : picked.id === release.id ? String(group) : `${title || id}, ${group}`;
    });
    const data = { value: answer.value, low: answer.low, high: answer.high };
    const [tables, population] = testSentences(answer);
    const parts = [
      element("p", { class: "callout-label" }, `energy distance, ${names[0]} and ${names[1]}`),
      element("strong", { class: "answer-difference big", data }, interval(answer, answer.distance_unit)),
      element(
        "p",
        { class: "hint" },
        `The ${100 * answer.confidence} % interval is in brackets, and 0 means equal tables. ` +
          `The tables have ${answer.sizes.map(whole).join(" and ")} rows.`,
      ),
      element("p", { class: "verdict tables" }, tables),
      element("p", { class: "verdict population" }, population),
    ];
    if (answer.p_tables < SIGNIFICANT) parts.push(...differingParts(answer, release.view), ...(await pictures(answer, picked, params, names)));
    result.replaceChildren(...parts);
    say(`Energy distance ${interval(answer, answer.distance_unit)}. ${tables} ${population}`);
  }

  /** A map of where the tables differ, or their curves. */
  async function pictures(answer, picked, params, names) {
    if (release.view === "map") {
      const grids = await Promise.all([
        service.post(releasePath(release.id, "grid"), { steps: 80, ...(params.group === undefined ? {} : { group: params.group }) }),
        service.post(releasePath(picked.id, "grid"), {
          steps: 80,
          ...(params.other_group === undefined ? {} : { group: params.other_group }),
        }),
      ]);
      figure?.close();
      figure = differenceMap(release, ...grids, names);
      const hint = `Red points are nearer to the people of ${names[1]}, blue ones to those of ${names[0]}.`;
      return [element("h3", {}, "Where they differ"), element("p", { class: "hint" }, hint), figure.root];
    }
    const shares = new Map(answer.parts.map(({ name, share }) => [name, share]));
    const curves = answer.curves
      .slice(0, MAX_CURVES)
      .filter(({ name }, index) => index === 0 || (shares.get(name) ?? 0) >= MIN_SHARE);
    if (!curves.length) return [];
    return [element("h3", {}, "Cumulative shares of both tables"), ...curves.map((curve) => cumulativeCurves(curve, names))];
  }

  const form = element(
    "form",
    { class: "comparison-form" },
    release.labels.length ? ownLabel : null,
    labelled("Compare with", select),
    theirLabel,
    button,
  );
  select.addEventListener("change", choose);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [picked, params] = [other(), sides()];
    problem.textContent = "";
    button.disabled = true;
    result.replaceChildren(element("p", { class: "waiting calm" }, "Comparing …"));
    try {
      await show(await service.post(releasePath(release.id, "difference"), { other: picked.id, ...params }), picked, params);
    } catch (thrown) {
      result.replaceChildren();
      problem.textContent = await explain(thrown, picked).catch(errorMessage);
    }
    button.disabled = false;
  });
  fill(own, ownLabel, release.labels);
  choose();
  const hint = "How different are two tables? The answer comes from released files, and is free.";
  return {
    root: card("Compare with another release", element("p", { class: "hint" }, hint), form, problem, result),
    close: () => figure?.close(),
  };
}
