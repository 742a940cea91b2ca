/** A map with layers, a cross-hair and a callout. A person picks a point with mouse, touch or keyboard. */

import { axes, gridLines, scaleBar } from "./axes.js";
import { basemapPath } from "./basemap.js";
import { contourLines, legend } from "./contours.js";
import { element, say, shape } from "../dom.js";
import { Projection } from "./projection.js";
import { pointText } from "../numbers.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class MapFigure {
  /**
   * @param {any} release  a release or session
   * @param {(point: number[], byKey: boolean) => void} onpick
   * @param {string} verb  what Enter does, for screen readers
   */
  constructor(release, onpick, verb) {
    this.release = release;
    this.onpick = onpick;
    this.grid = null;
    this.cross = null;
    this.markedPoints = () => []; // points that the callout should not cover
    this.overlays = []; // functions that draw over the map, called after every change
    this.canvas = element("canvas", { class: "colours", "aria-hidden": "true" });
    this.svg = shape("svg", {
      class: "map",
      tabindex: "0",
      role: "application",
      "aria-label": `Map of ${release.title}. The arrow keys move the cross-hair, with Shift in small steps. Enter ${verb}.`,
    });
    this.callout = element("div", { class: "callout", hidden: true });
    this.stage = element("div", { class: "stage" }, this.canvas, this.svg, this.callout);
    this.legend = element("div", { class: "legend-area" });
    this.root = element("figure", { class: "figure" }, this.stage, this.legend);
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("keydown", (event) => this.#handleKey(event));
    this.svg.addEventListener("focus", () => this.#showCross());
    this.svg.addEventListener("blur", () => this.plot && d3.select(this.plot).selectAll(".cross").remove());
    this.observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && width !== this.drawnWidth) requestAnimationFrame(() => this.root.isConnected && this.redraw());
    });
    this.observer.observe(this.root);
  }

  /** @param {import("./distance_grid.js").DistanceGrid | null} grid */
  setGrid(grid) {
    this.grid = grid;
    this.redraw();
  }

  close() {
    this.observer.disconnect();
  }

  /** Draw everything again, for another width or grid. */
  redraw() {
    this.drawnWidth = Math.floor(this.legend.clientWidth); // the width of the figure without its padding
    if (!this.drawnWidth) return;
    const maxHeight = Math.max(320, Math.min(globalThis.innerHeight * 0.78, 720));
    const projection = new Projection(this.release, this.drawnWidth, maxHeight);
    this.projection = projection;
    const { margin } = projection;
    this.svg.setAttribute("viewBox", `0 0 ${projection.width} ${projection.height}`);
    for (const [attribute, value] of [
      ["width", projection.width],
      ["height", projection.height],
    ])
      this.svg.setAttribute(attribute, value);
    this.stage.style.setProperty("width", `${projection.width}px`);
    const position = { left: margin.left, top: margin.top, width: projection.plotWidth, height: projection.plotHeight };
    for (const [side, value] of Object.entries(position)) this.canvas.style.setProperty(side, `${value}px`);
    this.plot = shape("g", { class: "plot", transform: `translate(${margin.left},${margin.top})` });
    const clip = shape("clipPath", { id: projection.clipId }, shape("path", { d: projection.outline() }));
    const background = shape("path", { class: this.grid ? "background with-colours" : "background", d: projection.outline() });
    const basemap = shape("g", { class: "basemap", "clip-path": projection.clip, "aria-hidden": "true" });
    const outline = shape("path", { class: "outline", d: projection.outline() });
    this.plot.append(shape("defs", {}, clip), background, basemap);
    this.plot.append(this.grid ? contourLines(this.grid, projection) : gridLines(projection));
    this.plot.append(outline, axes(projection, this.release.distance_unit));
    const bar = scaleBar(projection);
    if (bar) this.plot.append(bar);
    this.overlay = shape("g", { class: "overlay" });
    this.top = shape("g", { class: "top-layer" }); // `refresh` keeps these elements, because they can have the focus
    this.plot.append(this.overlay, this.top);
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.site : undefined;
    this.svg.replaceChildren(this.plot);
    this.canvas.hidden = this.grid === null;
    if (this.grid) this.grid.paint(this.canvas, projection);
    if (this.grid)
      this.legend.replaceChildren(legend(this.grid.low, this.grid.high, this.grid.levels, this.release.distance_unit, this.grid.name, this.grid.colour));
    if (projection.geographic) {
      basemapPath(projection).then((path) => path && this.projection === projection && basemap.append(shape("path", { d: path })));
    }
    this.refresh();
    if (focused) this.svg.querySelector(`[data-site="${focused}"]`)?.focus();
    if (document.activeElement === this.svg) this.#showCross();
  }

  /** Draw the overlays again. */
  refresh() {
    if (!this.projection) return;
    this.overlay.replaceChildren();
    for (const draw of this.overlays) draw();
  }

  /** Show the callout beside a point; null hides it. */
  showCallout(point, ...content) {
    this.callout.hidden = point === null;
    if (point === null || !this.projection) return;
    this.callout.replaceChildren(...content);
    const [x, y] = this.projection.pixel(point);
    const [left, top] = [x + this.projection.margin.left, y + this.projection.margin.top];
    const [width, height] = [this.callout.offsetWidth, this.callout.offsetHeight];
    const candidates = [
      [left - width / 2, top - height - 14],
      [left - width / 2, top + 14],
      [left + 16, top - height / 2],
      [left - width - 16, top - height / 2],
    ];
    const positions = candidates.map(([sx, sy]) => [
      Math.min(Math.max(sx, 4), Math.max(this.projection.width - width - 4, 4)),
      Math.min(Math.max(sy, -24), this.projection.height - height),
    ]);
    const covers = ([sx, sy], [px, py], room) =>
      px > sx - room && px < sx + width + room && py > sy - room && py < sy + height + room;
    const marks = this.markedPoints().map((mark) =>
      this.projection.pixel(mark).map((at, axis) => at + (axis ? this.projection.margin.top - 14 : this.projection.margin.left)),
    );
    const cost = (position) =>
      (covers(position, [left, top], 8) ? 100 : 0) + marks.filter((mark) => covers(position, mark, 14)).length;
    const [sx, sy] = d3.least(positions, cost);
    this.callout.style.setProperty("left", `${sx}px`);
    this.callout.style.setProperty("top", `${sy}px`);
  }

  #click(event) {
    if (event.target.closest("[data-site]")) return;
    const box = this.svg.getBoundingClientRect();
    const scale = this.projection.width / box.width; // if the page is zoomed
    const px = (event.clientX - box.left) * scale - this.projection.margin.left;
    const py = (event.clientY - box.top) * scale - this.projection.margin.top;
    if (px < -8 || py < -8 || px > this.projection.plotWidth + 8 || py > this.projection.plotHeight + 8) return;
    this.cross = this.projection.point(px, py);
    this.onpick(this.cross, false);
  }

  #handleKey(event) {
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
      this.showCallout(null);
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
