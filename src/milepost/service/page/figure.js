/** The map as a figure: layers over one frame, a cross-hair, and a way to pick a point by mouse, touch or keys. */

import { axes, grid, scaleBar } from "./axes.js";
import { coastPath } from "./coast.js";
import { contourLines, legend } from "./contours.js";
import { element, say, shape } from "./dom.js";
import { Frame } from "./frame.js";
import { pointText } from "./numbers.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Figure {
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
    this.painters = []; // what is drawn over the map, called after every new frame
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

  /** @param {import("./field.js").Field | null} field */
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
    const frame = new Frame(this.release, this.seen, most);
    this.frame = frame;
    const { margin } = frame;
    this.svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    for (const [part, value] of [
      ["width", frame.width],
      ["height", frame.height],
    ])
      this.svg.setAttribute(part, value);
    this.stage.style.setProperty("width", `${frame.width}px`);
    const place = { left: margin.left, top: margin.top, width: frame.plotWidth, height: frame.plotHeight };
    for (const [side, value] of Object.entries(place)) this.canvas.style.setProperty(side, `${value}px`);
    this.plot = shape("g", { class: "plot", transform: `translate(${margin.left},${margin.top})` });
    const clip = shape("clipPath", { id: "border-clip" }, shape("path", { d: frame.outline() }));
    const ground = shape("path", { class: this.field ? "ground with-field" : "ground", d: frame.outline() });
    const coast = shape("g", { class: "coast", "clip-path": "url(#border-clip)", "aria-hidden": "true" });
    const outline = shape("path", { class: "outline", d: frame.outline() });
    this.plot.append(shape("defs", {}, clip), ground, coast);
    this.plot.append(this.field ? contourLines(this.field, frame) : grid(frame));
    this.plot.append(outline, axes(frame, this.release.unit));
    const bar = scaleBar(frame);
    if (bar) this.plot.append(bar);
    this.over = shape("g", { class: "over" });
    this.top = shape("g", { class: "top-layer" }); // what can be focused is not drawn anew by `refresh`
    this.plot.append(this.over, this.top);
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.site : undefined;
    this.svg.replaceChildren(this.plot);
    this.canvas.hidden = this.field === null;
    if (this.field) this.field.paint(this.canvas, frame);
    if (this.field)
      this.key.replaceChildren(legend(this.field.low, this.field.high, this.field.levels, this.release.unit));
    if (frame.geographic) {
      coastPath(frame).then((path) => path && this.frame === frame && coast.append(shape("path", { d: path })));
    }
    this.refresh();
    if (focused) this.svg.querySelector(`[data-site="${focused}"]`)?.focus();
    if (document.activeElement === this.svg) this.#showCross();
  }

  /** Only what lies over the map. */
  refresh() {
    if (!this.frame) return;
    this.over.replaceChildren();
    for (const paint of this.painters) paint();
  }

  /** The callout beside a point; null hides it. */
  call(point, ...content) {
    this.callout.hidden = point === null;
    if (point === null || !this.frame) return;
    this.callout.replaceChildren(...content);
    const [x, y] = this.frame.pixel(point);
    const [left, top] = [x + this.frame.margin.left, y + this.frame.margin.top];
    const [width, height] = [this.callout.offsetWidth, this.callout.offsetHeight];
    const spots = [
      [left - width / 2, top - height - 14],
      [left - width / 2, top + 14],
      [left + 16, top - height / 2],
      [left - width - 16, top - height / 2],
    ];
    const within = spots.map(([sx, sy]) => [
      Math.min(Math.max(sx, 4), Math.max(this.frame.width - width - 4, 4)),
      Math.min(Math.max(sy, -24), this.frame.height - height),
    ]);
    const covers = ([sx, sy], [px, py], room) =>
      px > sx - room && px < sx + width + room && py > sy - room && py < sy + height + room;
    const marks = this.marked().map((mark) =>
      this.frame.pixel(mark).map((at, axis) => at + (axis ? this.frame.margin.top - 14 : this.frame.margin.left)),
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
    const scale = this.frame.width / box.width; // where the page is zoomed
    const px = (event.clientX - box.left) * scale - this.frame.margin.left;
    const py = (event.clientY - box.top) * scale - this.frame.margin.top;
    if (px < -8 || py < -8 || px > this.frame.plotWidth + 8 || py > this.frame.plotHeight + 8) return;
    this.cross = this.frame.point(px, py);
    this.onpick(this.cross, false);
  }

  #press(event) {
    if (event.target !== this.svg) return;
    if (event.key in STEPS) {
      const size = event.shiftKey ? 1 : 12;
      const [dx, dy] = STEPS[event.key].map((step) => step * size);
      this.cross = this.frame.moved(this.cross ?? this.#middle(), dx, dy);
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
    return this.frame.point(this.frame.plotWidth / 2, this.frame.plotHeight / 2);
  }

  #showCross() {
    if (!this.frame || !this.svg.matches(":focus-visible")) return;
    this.cross ??= this.#middle();
    const [x, y] = this.frame.pixel(this.cross);
    d3.select(this.plot).selectAll(".cross").remove();
    const path = `M${x - 18},${y}h13M${x + 5},${y}h13M${x},${y - 18}v13M${x},${y + 5}v13`;
    this.plot.append(
      shape("g", { class: "cross" }, shape("path", { class: "halo", d: path }), shape("path", { d: path })),
    );
  }
}
