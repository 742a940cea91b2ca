/** The drift of several releases in order: differences to the first and to the one before. */

import { driftChart } from "../charts/drift_chart.js";
import { card, element, labelled, say } from "../dom.js";
import { interval, moment, withUnit } from "../numbers.js";
import { errorMessage } from "../api_error.js";

/** Return the releases that can be compared, by the kind of their space, for kinds with at least two. */
export function comparableReleases(releases) {
  const kinds = d3.group(
    releases.filter(({ supports }) => supports.includes("difference")),
    ({ kind, columns }) => (columns.length > 6 ? `${kind}: ${columns.length} columns` : `${kind}: ${columns.join(", ")}`),
  );
  return new Map([...kinds].filter(([, members]) => members.length > 1));
}

function pValue(p) {
  return p < 0.001 ? "< 0.001" : `= ${Number(p.toPrecision(2))}`;
}

/** The differences as a table, with both p-values below each number. */
function driftTable({ labels, to_first: toFirst, to_previous: toPrevious, distance_unit: unit }) {
  const cell = (difference) =>
    element(
      "td",
      { class: "number", data: { value: difference.value, low: difference.low, high: difference.high } },
      interval(difference),
      element("small", {}, `p tables ${pValue(difference.p_tables)}`),
      element("small", {}, `p population ${pValue(difference.p_population)}`),
    );
  const head = ["release", withUnit("to the first", unit), withUnit("to the one before", unit)];
  const rows = toFirst.map((difference, index) =>
    element("tr", {}, element("th", { scope: "row" }, labels[index + 1]), cell(difference), cell(toPrevious[index])),
  );
  return element(
    "div",
    { class: "answers drift-table", tabindex: "0", role: "region", "aria-label": "Energy distances" },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head.map((text, index) => element("th", { scope: "col", class: index ? "number" : null }, text)))),
      element("tbody", {}, ...rows),
    ),
  );
}

/** @returns {{root: HTMLElement, close: () => void}} */
export function driftView({ releases, service }) {
  const kinds = comparableReleases(releases);
  const names = [...kinds.keys()];
  let order = []; // [{release, chosen}]
  const kind = element("select", { name: "kind" }, ...names.map((name) => element("option", {}, name)));
  const list = element("ol", { class: "drift-list", "aria-label": "Releases in order" });
  const group = element("select", { name: "group" });
  const groupLabel = labelled("Group", group);
  const button = element("button", { type: "submit", class: "primary" }, "Compare in this order");
  const problem = element("p", { class: "problem", role: "alert" });
  const result = element("div", { class: "comparison" });

  function move(index, step, name) {
    const [item] = order.splice(index, 1);
    order.splice(index + step, 0, item);
    show();
    const target = list.children[index + step].querySelector(`[data-move="${step}"]:not(:disabled)`);
    (target ?? list.children[index + step].querySelector("button:not(:disabled)"))?.focus();
    say(`${name} is now number ${index + step + 1}`);
  }

  function show() {
    const rows = order.map((item, index) => {
      const name = item.release.title || item.release.id;
      const box = element("input", { type: "checkbox", onchange: () => choose(item, box.checked) });
      box.checked = item.chosen;
      const arrow = (step, sign, word) =>
        element(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `Move ${name} ${word}`,
            disabled: index + step < 0 || index + step >= order.length,
            data: { move: step },
            onclick: () => move(index, step, name),
          },
          sign,
        );
      return element(
        "li",
        {},
        element("label", {}, box, element("span", {}, name, element("small", {}, ` ${moment(item.release.created)}`))),
        arrow(-1, "↑", "up"),
        arrow(1, "↓", "down"),
      );
    });
    list.replaceChildren(...rows);
    const chosen = order.filter((item) => item.chosen);
    const labels = chosen.length ? chosen[0].release.labels : [];
    const kept = group.selectedIndex;
    group.replaceChildren(...labels.map((label) => element("option", {}, String(label))));
    group.selectedIndex = Math.min(Math.max(kept, 0), labels.length - 1);
    groupLabel.hidden = !labels.length;
    button.disabled = chosen.length < 2;
  }

  function choose(item, chosen) {
    item.chosen = chosen;
    show();
    list.children[order.indexOf(item)].querySelector("input").focus();
  }

  function pickKind() {
    const members = kinds.get(names[kind.selectedIndex]);
    const extent = JSON.stringify(members[0].extent);
    order = members.map((release) => ({ release, chosen: JSON.stringify(release.extent) === extent }));
    result.replaceChildren();
    problem.textContent = "";
    show();
  }

  const form = element(
    "form",
    { class: "drift-form" },
    names.length > 1 ? labelled("Space", kind) : null,
    list,
    groupLabel,
    element("div", {}, button),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = order.filter((item) => item.chosen).map((item) => item.release);
    const labels = chosen[0].labels;
    problem.textContent = "";
    button.disabled = true;
    result.replaceChildren(element("p", { class: "waiting calm" }, "Comparing …"));
    try {
      const drift = await service.post("/v1/drift", {
        releases: chosen.map(({ id }) => id),
        labels: chosen.map(({ id, title }) => title || id),
        ...(labels.length ? { group: labels[group.selectedIndex] } : {}),
      });
      const hint = element(
        "p",
        { class: "hint" },
        `Energy distances with 95 % intervals; the first release is ${drift.labels[0]}. p tables: the probability that noise ` +
          "alone makes equal tables look so different. p population: that noise and sampling do that, at most.",
      );
      result.replaceChildren(card("Differences", hint, driftChart(drift), driftTable(drift)));
      say("The differences are there.");
    } catch (thrown) {
      result.replaceChildren();
      const where = thrown.code === "not_supported" && thrown.path?.[1] === "releases" ? chosen[thrown.path[2]] : null;
      problem.textContent = where
        ? `${where.title || where.id} cannot be compared with the others: its space is different, or it has too few rows.${thrown.detail ? ` ${thrown.detail}` : ""}`
        : errorMessage(thrown);
    }
    button.disabled = false;
  });
  kind.addEventListener("change", pickKind);
  if (names.length) pickKind();
  const root = element(
    "div",
    { class: "drift" },
    element(
      "header",
      { class: "heading" },
      element("h1", { tabindex: "-1" }, "Drift"),
      element("p", {}, "How do the tables of several releases differ from the first one, and from the one before? Nothing is spent."),
    ),
    names.length
      ? card("Releases in order", form, problem)
      : element("p", { class: "hint empty" }, "There are no two releases of the same kind to compare."),
    result,
  );
  return { root, close: () => {} };
}
