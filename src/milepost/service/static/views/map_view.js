/** The view of a release as a map: answers at any point, a ranking of sites, and the centre. */

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
  const groupParam = () => (group === undefined ? {} : { group });
  let question = null; // {point, value, error}, or {point} before the answer
  let centre = null;

  const figure = new MapFigure(release, (point, byKey) => ask(point, byKey), "asks about its point");
  const problem = element("p", { class: "problem", role: "alert" });
  const waiting = element("p", { class: "waiting" }, "Drawing the map …");
  const groups = element("div", { class: "point-groups" });
  const centreLine = element("p", { class: "centre-line" });

  figure.overlays.push(() => {
    if (centre) {
      const [x, y] = figure.projection.pixel(centre.point);
      const text = `Centre: ${amount(centre.distance, centre.error, release.distance_unit)}`;
      const star = shape(
        "path",
        { class: "centre", d: STAR, transform: `translate(${x},${y})` },
        shape("title", {}, text),
      );
      figure.overlay.append(star);
    }
    if (question) {
      const [x, y] = figure.projection.pixel(question.point);
      figure.overlay.append(shape("circle", { class: "question-point", cx: x, cy: y, r: 5 }));
      callout(false);
    }
  });
  const ranking = new SiteRanking(sites, release.distance_unit);
  new SiteMarkers(figure, sites);
  figure.markedPoints = () => [...sites.all.map((site) => site.point), ...(centre ? [centre.point] : [])];

  function callout(focus) {
    const close = () => {
      question = null;
      figure.refresh();
      figure.showCallout(null);
      figure.svg.focus({ preventScroll: true });
    };
    const add = element("button", { type: "button", class: "small", onclick: () => addHere() }, "Add site here");
    const answerText =
      question.value === undefined
        ? element("strong", { class: "answer waiting" }, "…")
        : element(
            "strong",
            { class: "answer", data: { value: question.value, error: question.error, point: JSON.stringify(question.point) } },
            amount(question.value, question.error, release.distance_unit),
          );
    figure.showCallout(
      question.point,
      element("button", { type: "button", class: "remove", "aria-label": "Close", onclick: close }, "×"),
      element("span", { class: "callout-label" }, group === undefined ? "mean distance" : `mean distance to ${group}`),
      answerText,
      element("span", { class: "where" }, pointText(question.point)),
      add,
    );
    if (focus) add.focus({ preventScroll: true });
    function addHere() {
      const site = sites.add(question.point);
      question = null;
      figure.showCallout(null);
      figure.refresh();
      figure.svg.querySelector(`[data-site="${site.id}"]`)?.focus({ preventScroll: true });
      say(`${site.name} added`);
    }
  }

  async function ask(point, byKey) {
    question = { point };
    const current = question;
    problem.textContent = "";
    figure.refresh();
    try {
      if (group === undefined) {
        const answer = await service.post(path("distances"), { points: [point] });
        Object.assign(current, { value: answer.distances[0], error: answer.errors[0] });
      } else {
        const answer = await service.post(path("nearest"), { points: [point] });
        Object.assign(current, ofGroup(answer, group));
        if (current === question) groups.replaceChildren(card(`Groups at ${pointText(point)}`, groupChart(answer)));
      }
      if (current !== question) return;
      callout(byKey);
      say(`At ${pointText(point)}: ${amount(current.value, current.error, release.distance_unit)}`);
    } catch (thrown) {
      if (current !== question) return;
      question = null;
      figure.showCallout(null);
      figure.refresh();
      problem.textContent = errorMessage(thrown);
    }
  }

  const rank = latestOnly(async () => {
    const all = [...sites.all];
    if (!all.length) return;
    const points = all.map((site) => site.point);
    try {
      const single = await service.post(path("distances"), { points, ...groupParam() });
      // joint intervals split the failure probability among all sites; without them, use the error of each site
      const confidence = 1 - (1 - single.confidence) / all.length;
      const joint = await service.post(path("distances"), { points, ...groupParam(), confidence }).catch(() => single);
      problem.textContent = "";
      sites.setAnswers(all, single.distances, single.errors, joint.errors);
    } catch (thrown) {
      problem.textContent = errorMessage(thrown);
    }
  }, 100);
  sites.addEventListener("change", (event) => event.detail === "points" && rank());

  async function draw() {
    waiting.hidden = false;
    centre = null;
    try {
      figure.setGrid(new DistanceGrid(await service.post(path("grid"), { steps: 100, ...groupParam() })));
      waiting.hidden = true;
      centre = await service.post(path("center"), groupParam());
      const text = amount(centre.distance, centre.error, centre.distance_unit);
      const where = pointText(centre.point.map((part) => Number(part.toPrecision(6))));
      const star = element("span", { class: "star", "aria-hidden": "true" }, "★");
      centreLine.replaceChildren(star, ` Centre, the point with the smallest mean distance: ${where}, ${text}`);
      figure.refresh();
    } catch (thrown) {
      waiting.hidden = true;
      problem.textContent = errorMessage(thrown);
    }
  }

  const picker = groupPicker(release, (label) => {
    group = label;
    question = null;
    figure.showCallout(null);
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
