/** Markers of sites on the map. A person drags them, moves them with arrow keys, and removes them with Delete. */

import { say, shape } from "../dom.js";
import { amount, pointText } from "../numbers.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PIN = "M0,0C-3,-7 -11,-10 -11,-19A11,11 0 1 1 11,-19C11,-10 3,-7 0,0Z";

export class SiteMarkers {
  /**
   * @param {import("./map_figure.js").MapFigure} figure
   * @param {import("../candidate_sites.js").CandidateSites} sites
   */
  constructor(figure, sites) {
    this.figure = figure;
    this.sites = sites;
    this.layer = null;
    figure.overlays.push(() => this.paint());
    sites.addEventListener("change", () => this.paint());
  }

  paint() {
    const { projection, top } = this.figure;
    if (!projection) return;
    if (!this.layer?.isConnected) {
      this.layer = shape("g", { class: "sites" });
      top.append(this.layer);
    }
    const first = this.sites.ranked()[0];
    const oldMarks = new Map([...this.layer.children].map((mark) => [mark.dataset.site, mark]));
    for (const site of this.sites.all) {
      const mark = oldMarks.get(String(site.id)) ?? this.#mark(site);
      oldMarks.delete(String(site.id));
      const [x, y] = projection.pixel(site.point);
      mark.setAttribute("transform", `translate(${x},${y})`);
      mark.classList.toggle("first", site === first && this.sites.all.length > 1);
      const text = site.value === undefined ? "" : ` ${amount(site.value, site.error, this.figure.release.distance_unit)}.`;
      mark.setAttribute(
        "aria-label",
        `${site.name}, at ${pointText(site.point)}.${text} Arrow keys move the site, Delete removes it.`,
      );
    }
    for (const mark of oldMarks.values()) mark.remove();
  }

  #mark(site) {
    const mark = shape(
      "g",
      {
        class: "site",
        tabindex: "0",
        role: "button",
        "aria-roledescription": "movable site",
        data: { site: String(site.id) },
      },
      shape("circle", { class: "grip", cy: -16, r: 22 }),
      shape("path", { class: "pin", d: PIN }),
      shape("text", { y: -14.5, "text-anchor": "middle" }, site.letter),
    );
    let offset = null;
    mark.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      mark.setPointerCapture(event.pointerId);
      const [x, y] = this.figure.projection.pixel(site.point);
      offset = [x - event.clientX, y - event.clientY];
      mark.classList.add("dragged");
      this.figure.showCallout(null);
    });
    mark.addEventListener("pointermove", (event) => {
      if (!offset) return;
      this.sites.move(site, this.figure.projection.point(event.clientX + offset[0], event.clientY + offset[1]));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      mark.addEventListener(end, () => {
        if (!offset) return;
        offset = null;
        mark.classList.remove("dragged");
        this.sites.refresh();
        say(`${site.name} moved to ${pointText(site.point)}`);
      });
    }
    mark.addEventListener("keydown", (event) => {
      if (event.key in STEPS) {
        const size = event.shiftKey ? 1 : 8;
        const [dx, dy] = STEPS[event.key].map((step) => step * size);
        this.sites.move(site, this.figure.projection.moved(site.point, dx, dy));
      } else if (event.key === "Delete" || event.key === "Backspace") {
        this.sites.remove(site);
        this.figure.svg.focus();
        say(`${site.name} removed`);
      } else return;
      event.preventDefault();
    });
    this.layer.append(mark);
    return mark;
  }
}
