/** The map as a figure: layers over one projection, a cross-hair, and a way to pick a point by mouse, touch or keys. */

import { axes, grid, scaleBar } from "./axes.js";
import { basemapPath } from "./basemap.js";
import { contourLines, legend } from "./contours.js";
import { element, say, shape } from "../dom.js";
import { Projection } from "./projection.js";
import { pointText } from "../numbers.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class MapFigure {
  /**
   * @param {any} release  or session: columns, extent, geographic, unit, title
   * @param {(point: number[], byKey: boolean) => void} onpick
   * @param {string} verb  what picking does, for those who hear the page
   */
  constructor(release, onpick, verb) {
    this.release = release;
    this.onpick = onpick;
    this.field = null;
    this.cross = null;
    this.marked = () => []; // points that a callout should not cover
    this.painters = []; // what is drawn over the map, called after every new projection
    this.canvas = element("canvas", { class: "field", "aria-hidden": "true" });
    this.svg = shape("svg", {
      class: "map",
      tabindex: "0",
      role: "application",
      "aria-label": `Map of ${release.title}. Arrow keys move the cross-hair, with shift slowly; Enter ${verb}.`,
    });
    this.callout = element("div", { class: "callout", hidden: true });
    this.stage = element("div", { class: "stage" }, this.canvas, this.svg, this.callout);
    this.key = element("div", { class: "key" });
    this.root = element("figure", { class: "figure" }, this.stage, this.key);
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("keydown", (event) => this.#press(event));
    this.svg.addEventListener("focus", () => this.#showCross());
    this.svg.addEventListener("blur", () => this.plot && d3.select(this.plot).selectAll(".cross").remove());
    this.observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && width !== this.seen) requestAnimationFrame(() => this.root.isConnected && this.redraw());
    });
    this.observer.observe(this.root);
  }

  /** @param {import("./distance_grid.js").DistanceGrid | null} field */
  setField(field) {
    this.field = field;
    this.redraw();
  }

  close() {
    this.observer.disconnect();
  }

  /** Everything anew, for another width or field. */
  redraw() {
    this.seen = Math.floor(this.key.clientWidth); // as wide as the figure within its padding
    if (!this.seen) return;
    const most = Math.max(320, Math.min(globalThis.innerHeight * 0.78, 720));
    const projection = new Projection(this.release, this.seen, most);
    this.projection = projection;
    const { margin } = projection;
    this.svg.setAttribute("viewBox", `0 0 ${projection.width} ${projection.height}`);
    for (const [part, value] of [
      ["width", projection.width],
      ["height", projection.height],
    ])
      this.svg.setAttribute(part, value);
    this.stage.style.setProperty("width", `${projection.width}px`);
    const place = { left: margin.left, top: margin.top, width: projection.plotWidth, height: projection.plotHeight };
    for (const [side, value] of Object.entries(place)) this.canvas.style.setProperty(side, `${value}px`);
    this.plot = shape("g", { class: "plot", transform: `translate(${margin.left},${margin.top})` });
    const clip = shape("clipPath", { id: "border-clip" }, shape("path", { d: projection.outline() }));
    const ground = shape("path", { class: this.field ? "ground with-field" : "ground", d: projection.outline() });
    const basemap = shape("g", { class: "basemap", "clip-path": "url(#border-clip)", "aria-hidden": "true" });
    const outline = shape("path", { class: "outline", d: projection.outline() });
    this.plot.append(shape("defs", {}, clip), ground, basemap);
    this.plot.append(this.field ? contourLines(this.field, projection) : grid(projection));
    this.plot.append(outline, axes(projection, this.release.distance_unit));
    const bar = scaleBar(projection);
    if (bar) this.plot.append(bar);
    this.over = shape("g", { class: "over" });
    this.top = shape("g", { class: "top-layer" }); // what can be focused is not drawn anew by `refresh`
    this.plot.append(this.over, this.top);
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.site : undefined;
    this.svg.replaceChildren(this.plot);
    this.canvas.hidden = this.field === null;
    if (this.field) this.field.paint(this.canvas, projection);
    if (this.field)
      this.key.replaceChildren(legend(this.field.low, this.field.high, this.field.levels, this.release.distance_unit));
    if (projection.geographic) {
      basemapPath(projection).then((path) => path && this.projection === projection && basemap.append(shape("path", { d: path })));
    }
    this.refresh();
    if (focused) this.svg.querySelector(`[data-site="${focused}"]`)?.focus();
    if (document.activeElement === this.svg) this.#showCross();
  }

  /** Only what lies over the map. */
  refresh() {
    if (!this.projection) return;
    this.over.replaceChildren();
    for (const paint of this.painters) paint();
  }

  /** The callout beside a point; null hides it. */
  call(point, ...content) {
    this.callout.hidden = point === null;
    if (point === null || !this.projection) return;
    this.callout.replaceChildren(...content);
    const [x, y] = this.projection.pixel(point);
    const [left, top] = [x + this.projection.margin.left, y + this.projection.margin.top];
    const [width, height] = [this.callout.offsetWidth, this.callout.offsetHeight];
    const spots = [
      [left - width / 2, top - height - 14],
      [left - width / 2, top + 14],
      [left + 16, top - height / 2],
      [left - width - 16, top - height / 2],
    ];
    const within = spots.map(([sx, sy]) => [
      Math.min(Math.max(sx, 4), Math.max(this.projection.width - width - 4, 4)),
      Math.min(Math.max(sy, -24), this.projection.height - height),
    ]);
    const covers = ([sx, sy], [px, py], room) =>
      px > sx - room && px < sx + width + room && py > sy - room && py < sy + height + room;
    const marks = this.marked().map((mark) =>
      this.projection.pixel(mark).map((at, axis) => at + (axis ? this.projection.margin.top - 14 : this.projection.margin.left)),
    );
    const cost = (spot) =>
      (covers(spot, [left, top], 8) ? 100 : 0) + marks.filter((mark) => covers(spot, mark, 14)).length;
    const [sx, sy] = d3.least(within, (spot) => cost(spot));
    this.callout.style.setProperty("left", `${sx}px`);
    this.callout.style.setProperty("top", `${sy}px`);
  }

  #click(event) {
    if (event.target.closest("[data-site]")) return;
    const box = this.svg.getBoundingClientRect();
    const scale = this.projection.width / box.width; // where the page is zoomed
    const px = (event.clientX - box.left) * scale - this.projection.margin.left;
    const py = (event.clientY - box.top) * scale - this.projection.margin.top;
    if (px < -8 || py < -8 || px > this.projection.plotWidth + 8 || py > this.projection.plotHeight + 8) return;
    this.cross = this.projection.point(px, py);
    this.onpick(this.cross, false);
  }

  #press(event) {
    if (event.target !== this.svg) return;
    if (event.key in STEPS) {
      const size = event.shiftKey ? 1 : 12;
      const [dx, dy] = STEPS[event.key].map((step) => step * size);
      this.cross = this.projection.moved(this.cross ?? this.#middle(), dx, dy);
      this.#showCross();
      say(pointText(this.cross));
    } else if (event.key === "Enter" || event.key === " ") {
      this.cross ??= this.#middle();
      this.onpick(this.cross, true);
    } else if (event.key === "Escape") {
      this.call(null);
    } else return;
    event.preventDefault();
  }

  #middle() {
    return this.projection.point(this.projection.plotWidth / 2, this.projection.plotHeight / 2);
  }

  #showCross() {
    if (!this.projection || !this.svg.matches(":focus-visible")) return;
    this.cross ??= this.#middle();
    const [x, y] = this.projection.pixel(this.cross);
    d3.select(this.plot).selectAll(".cross").remove();
    const path = `M${x - 18},${y}h13M${x + 5},${y}h13M${x},${y - 18}v13M${x},${y + 5}v13`;
    this.plot.append(
      shape("g", { class: "cross" }, shape("path", { class: "halo", d: path }), shape("path", { d: path })),
    );
  }
}
