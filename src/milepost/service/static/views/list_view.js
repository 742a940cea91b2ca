/** The view of a release with given points: all of them, ranked. */

import { barChart } from "../charts/bars.js";
import { card, element, labelled } from "../dom.js";
import { groupPicker } from "./group_comparison.js";
import { pointText } from "../numbers.js";
import { errorMessage } from "../api_error.js";
import { releasePath } from "../api_client.js";

const MAX_POINTS = 5000; // in one request

/** @returns {{root: HTMLElement, close: () => void}} */
export function listView(release, service) {
  let group = release.labels[0];
  let bars = [];
  const problem = element("p", { class: "problem", role: "alert" });
  const chart = element("div", {}, element("p", { class: "waiting" }, "Loading the answers …"));
  const filter = element("input", { type: "search", placeholder: "part of a point", oninput: () => show() });

  function show() {
    const text = filter.value.trim().toLowerCase();
    const matching = text ? bars.filter((bar) => bar.name.toLowerCase().includes(text)) : bars;
    chart.replaceChildren(
      matching.length
        ? barChart(matching, release.distance_unit, "Points, the nearest first")
        : element("p", { class: "hint" }, "No point matches."),
    );
  }

  async function ask() {
    const allPoints = release.given_queries ?? [];
    problem.textContent = "";
    try {
      const answers = [];
      for (let start = 0; start < allPoints.length; start += MAX_POINTS) {
        const points = allPoints.slice(start, start + MAX_POINTS);
        const answer = await service.post(releasePath(release.id, "distances"), {
          points,
          ...(group === undefined ? {} : { group }),
        });
        points.forEach((point, index) =>
          answers.push({ name: pointText(point), value: answer.distances[index], error: answer.errors[index] }),
        );
      }
      bars = answers.sort((one, other) => one.value - other.value);
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
  const body = card(`${count.toLocaleString("en")} given points, the nearest first`, picker, tools, problem, chart);
  return { root: element("div", { class: "view single" }, body), close: () => {} };
}
