/** A release that answers the points it knows: all of them, ranked. */

import { barChart } from "../charts/bars.js";
import { card, element, labelled } from "../dom.js";
import { groupPicker } from "./group_comparison.js";
import { pointText } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

const AT_ONCE = 5000;

/** @returns {{root: HTMLElement, close: () => void}} */
export function listView(release, service) {
  let group = release.labels[0];
  let bars = [];
  const problem = element("p", { class: "problem", role: "alert" });
  const chart = element("div", {}, element("p", { class: "waiting" }, "Asking for all points …"));
  const filter = element("input", { type: "search", placeholder: "part of a name", oninput: () => show() });

  function show() {
    const text = filter.value.trim().toLowerCase();
    const matching = text ? bars.filter((bar) => bar.name.toLowerCase().includes(text)) : bars;
    chart.replaceChildren(
      matching.length
        ? barChart(matching, release.distance_unit, "Points, the nearest first")
        : element("p", { class: "hint" }, "No point has this in its name."),
    );
  }

  async function ask() {
    const known = release.given_queries ?? [];
    problem.textContent = "";
    try {
      const found = [];
      for (let start = 0; start < known.length; start += AT_ONCE) {
        const points = known.slice(start, start + AT_ONCE);
        const answer = await service.post(releasePath(release.id, "distances"), {
          points,
          ...(group === undefined ? {} : { group }),
        });
        points.forEach((point, index) =>
          found.push({ name: pointText(point), value: answer.distances[index], error: answer.errors[index] }),
        );
      }
      bars = found.sort((one, other) => one.value - other.value);
      show();
    } catch (thrown) {
      chart.replaceChildren();
      problem.textContent = errorMessage(thrown);
    }
  }

  const picker = groupPicker(release, (label) => {
    group = label;
    ask();
  });
  const count = release.given_queries?.length ?? 0;
  ask();
  const tools = count > 12 ? labelled("Find", filter) : null;
  const body = card(`The ${count.toLocaleString("en")} known points, nearest first`, picker, tools, problem, chart);
  return { root: element("div", { class: "view single" }, body), close: () => {} };
}
