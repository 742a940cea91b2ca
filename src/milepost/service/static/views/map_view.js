/** A release on the map: ask anywhere, compare sites, see the centre. */

import { card, element, say, shape } from "../dom.js";
import { DistanceGrid } from "../charts/distance_grid.js";
import { MapFigure } from "../charts/map_figure.js";
import { groupChart, groupPicker, ofGroup } from "./group_comparison.js";
import { amount, pointText } from "../numbers.js";
import { SiteRanking } from "./site_ranking.js";
import { errorMessage } from "../api_error.js";
import { latestOnly, releasePath } from "../api_client.js";
import { SiteMarkers } from "../charts/site_markers.js";
import { CandidateSites } from "../candidate_sites.js";
import { siteForm } from "../forms/site_form.js";

const STAR = "M0,-9L2.1,-2.9 8.6,-2.8 3.4,1.1 5.3,7.3 0,3.6 -5.3,7.3 -3.4,1.1 -8.6,-2.8 -2.1,-2.9Z";

/** @returns {{root: HTMLElement, close: () => void}} */
export function mapView(release, service) {
  const path = (verb) => releasePath(release.id, verb);
  const sites = new CandidateSites(release);
  let group = release.labels[0];
  const ofChosen = () => (group === undefined ? {} : { group });
  let asked = null; // {point, value, error} or {point} while the answer is awaited
  let centre = null;

  const figure = new MapFigure(release, (point, byKey) => ask(point, byKey), "asks there");
  const problem = element("p", { class: "problem", role: "alert" });
  const waiting = element("p", { class: "waiting" }, "Drawing the map …");
  const groups = element("div", { class: "asked-groups" });
  const centreLine = element("p", { class: "centre-line" });

  figure.painters.push(() => {
    if (centre) {
      const [x, y] = figure.projection.pixel(centre.point);
      const text = `Centre: ${amount(centre.distance, centre.error, release.distance_unit)}`;
      const star = shape(
        "path",
        { class: "centre", d: STAR, transform: `translate(${x},${y})` },
        shape("title", {}, text),
      );
      figure.over.append(star);
    }
    if (asked) {
      const [x, y] = figure.projection.pixel(asked.point);
      figure.over.append(shape("circle", { class: "asked", cx: x, cy: y, r: 5 }));
      callout(false);
    }
  });
  const ranking = new SiteRanking(sites, release.distance_unit);
  new SiteMarkers(figure, sites);
  figure.marked = () => [...sites.all.map((site) => site.point), ...(centre ? [centre.point] : [])];

  function callout(focus) {
    const close = () => {
      asked = null;
      figure.refresh();
      figure.call(null);
      figure.svg.focus({ preventScroll: true });
    };
    const add = element("button", { type: "button", class: "small", onclick: () => addHere() }, "Add site here");
    const shown =
      asked.value === undefined
        ? element("strong", { class: "answer waiting" }, "…")
        : element(
            "strong",
            { class: "answer", data: { value: asked.value, error: asked.error, point: JSON.stringify(asked.point) } },
            amount(asked.value, asked.error, release.distance_unit),
          );
    figure.call(
      asked.point,
      element("button", { type: "button", class: "remove", "aria-label": "Close", onclick: close }, "×"),
      element("span", { class: "callout-words" }, group === undefined ? "mean distance" : `mean distance to ${group}`),
      shown,
      element("span", { class: "where" }, pointText(asked.point)),
      add,
    );
    if (focus) add.focus({ preventScroll: true });
    function addHere() {
      const site = sites.add(asked.point);
      asked = null;
      figure.call(null);
      figure.refresh();
      figure.svg.querySelector(`[data-site="${site.id}"]`)?.focus({ preventScroll: true });
      say(`${site.name} added`);
    }
  }

  async function ask(point, byKey) {
    asked = { point };
    const mine = asked;
    problem.textContent = "";
    figure.refresh();
    try {
      if (group === undefined) {
        const answer = await service.post(path("distances"), { points: [point] });
        Object.assign(mine, { value: answer.distances[0], error: answer.errors[0] });
      } else {
        const answer = await service.post(path("nearest"), { points: [point] });
        Object.assign(mine, ofGroup(answer, group));
        if (mine === asked) groups.replaceChildren(card(`Groups at ${pointText(point)}`, groupChart(answer)));
      }
      if (mine !== asked) return;
      callout(byKey);
      say(`At ${pointText(point)}: ${amount(mine.value, mine.error, release.distance_unit)}`);
    } catch (thrown) {
      if (mine !== asked) return;
      asked = null;
      figure.call(null);
      figure.refresh();
      problem.textContent = errorMessage(thrown);
    }
  }

  const rank = latestOnly(async () => {
    const now = [...sites.all];
    if (!now.length) return;
    const points = now.map((site) => site.point);
    try {
      const alone = await service.post(path("distances"), { points, ...ofChosen() });
      // to compare all at once each may fail with an equal share only; where that cannot be had, each one's own error
      const confidence = 1 - (1 - alone.confidence) / now.length;
      const joint = await service.post(path("distances"), { points, ...ofChosen(), confidence }).catch(() => alone);
      problem.textContent = "";
      sites.answer(now, alone.distances, alone.errors, joint.errors);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }, 100);
  sites.addEventListener("change", (event) => event.detail === "places" && rank());

  async function draw() {
    waiting.hidden = false;
    centre = null;
    try {
      figure.setField(new DistanceGrid(await service.post(path("grid"), { steps: 100, ...ofChosen() })));
      waiting.hidden = true;
      centre = await service.post(path("center"), ofChosen());
      const text = amount(centre.distance, centre.error, centre.distance_unit);
      const where = pointText(centre.point.map((part) => Number(part.toPrecision(6))));
      const star = element("span", { class: "star", "aria-hidden": "true" }, "★");
      centreLine.replaceChildren(star, ` Centre, the place with the least mean distance: ${where}, ${text}`);
      figure.refresh();
    } catch (thrown) {
      waiting.hidden = true;
      problem.textContent = errorMessage(thrown);
    }
  }

  const picker = groupPicker(release, (label) => {
    group = label;
    asked = null;
    figure.call(null);
    draw();
    rank();
  });
  const root = element(
    "div",
    { class: "view map-view" },
    element("div", { class: "view-main" }, picker, problem, waiting, figure.root, centreLine),
    element(
      "aside",
      { class: "view-side" },
      groups,
      card(
        "Sites",
        ranking.root,
        siteForm(release, (point, name) => sites.add(point, name)),
      ),
    ),
  );
  queueMicrotask(() => figure.redraw());
  draw();
  rank();
  return { root, close: () => figure.close() };
}
