/** A curve of mean distances with a band of errors. A person picks a point with mouse, touch or keyboard. */

import { chartAxes } from "./axes.js";
import { element, say, shape } from "../dom.js";
import { amount, withUnit } from "../numbers.js";

const MARGIN = { top: 14, right: 16, bottom: 46, left: 58 };

export class Curve {
  /** @param {(x: number) => void} onpick */
  constructor(release, onpick) {
    this.release = release;
    this.onpick = onpick;
    this.grid = null;
    this.answers = []; // [{x, value, error}]
    this.svg = shape("svg", {
      class: "map curve",
      tabindex: "0",
      role: "application",
      "aria-label": `Curve of ${release.title}. The left and right keys move along the curve, with Shift in small steps. Enter asks.`,
    });
    this.callout = element("div", { class: "callout reading", hidden: true });
    this.stage = element("div", { class: "stage wide" }, this.svg, this.callout);
    this.root = element("figure", { class: "figure" }, this.stage);
    this.svg.addEventListener("pointermove", (event) => this.#showReading(this.#nearestX(event)));
    this.svg.addEventListener("pointerleave", () => this.#showReading(null));
    this.svg.addEventListener("blur", () => this.#showReading(null));
    this.svg.addEventListener("click", (event) => this.grid && this.onpick(this.#nearestX(event)));
    this.svg.addEventListener("keydown", (event) => this.#handleKey(event));
    this.observer = new ResizeObserver(() => requestAnimationFrame(() => this.root.isConnected && this.draw()));
    this.observer.observe(this.root);
  }

  close() {
    this.observer.disconnect();
  }

  setGrid(grid) {
    this.grid = grid;
    this.draw();
  }

  draw() {
    const width = Math.floor(this.stage.clientWidth);
    if (!width || !this.grid) return;
    const height = Math.round(Math.min(Math.max(width * 0.52, 260), 460));
    const { x: xs, values, errors, error } = this.grid;
    const half = (index) => errors?.[index] ?? error ?? 0;
    const defined = d3.range(xs.length).filter((index) => values[index] !== null);
    const [plotWidth, plotHeight] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    this.x = d3.scaleLinear(d3.extent(xs), [0, plotWidth]);
    const top = d3.max(defined, (index) => values[index] + half(index));
    this.y = d3.scaleLinear([0, top * 1.05], [plotHeight, 0]).nice();
    for (const [attribute, value] of [
      ["width", width],
      ["height", height],
    ])
      this.svg.setAttribute(attribute, value);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const band = d3.area(
      (i) => this.x(xs[i]),
      (i) => this.y(values[i] - half(i)),
      (i) => this.y(values[i] + half(i)),
    );
    const line = d3.line(
      (i) => this.x(xs[i]),
      (i) => this.y(values[i]),
    );
    const unit = this.release.distance_unit;
    const plot = shape("g", { class: "plot", transform: `translate(${MARGIN.left},${MARGIN.top})` });
    plot.append(
      chartAxes(this.x, this.y, MARGIN, ...[this.release.columns[0], "mean distance"].map((name) => withUnit(name, unit))),
      shape("path", { class: "band", d: band(defined) }),
      shape("path", { class: "line", d: line(defined) }),
    );
    for (const point of this.answers) {
      const [px, low, high] = [this.x(point.x), this.y(point.value - point.error), this.y(point.value + point.error)];
      plot.append(
        shape("path", { class: "error-bar", d: `M${px - 4},${low}h8M${px - 4},${high}h8M${px},${low}V${high}` }),
        shape("circle", { class: "question-point", cx: px, cy: this.y(point.value), r: 5 }),
      );
    }
    this.reading = shape("g", { class: "reading-mark" });
    plot.append(this.reading);
    this.svg.replaceChildren(plot);
  }

  /** Return the x of the grid that is nearest to the pointer. */
  #nearestX(event) {
    if (!this.x) return null;
    const box = this.svg.getBoundingClientRect();
    const { x: xs } = this.grid;
    const target = this.x.invert(event.clientX - box.left - MARGIN.left);
    return xs[d3.bisectCenter(xs, target)];
  }

  #showReading(x) {
    if (!this.grid || !this.reading) return;
    this.readingX = x ?? this.readingX;
    this.callout.hidden = x === null;
    this.reading.replaceChildren();
    if (x === null) return;
    const index = this.grid.x.indexOf(x);
    const value = this.grid.values[index];
    const error = this.grid.errors?.[index] ?? this.grid.error;
    const [px, py] = [this.x(x), this.y(value)];
    this.reading.append(
      shape("line", { x1: px, x2: px, y1: 0, y2: this.y.range()[0] }),
      shape("circle", { cx: px, cy: py, r: 4 }),
    );
    this.callout.replaceChildren(
      element("span", { class: "callout-label" }, `${this.release.columns[0]} ${Number(x.toPrecision(6))}`),
      element("strong", {}, amount(value, error, this.release.distance_unit)),
    );
    const left = px + MARGIN.left - this.callout.offsetWidth / 2;
    const maxLeft = this.stage.clientWidth - this.callout.offsetWidth - 4;
    this.callout.style.left = `${Math.min(Math.max(left, 4), maxLeft)}px`;
    this.callout.style.top = `${Math.max(py + MARGIN.top - this.callout.offsetHeight - 16, 0)}px`;
  }

  #handleKey(event) {
    if (!this.grid) return;
    const { x: xs } = this.grid;
    const here = this.readingX === undefined ? Math.floor(xs.length / 2) : xs.indexOf(this.readingX);
    const step = event.shiftKey ? 1 : Math.max(1, Math.round(xs.length / 40));
    const targets = { ArrowLeft: here - step, ArrowRight: here + step, Home: 0, End: xs.length - 1 };
    if (event.key in targets) {
      const x = xs[Math.min(Math.max(targets[event.key], 0), xs.length - 1)];
      this.#showReading(x);
      say(this.callout.textContent);
    } else if (event.key === "Enter" || event.key === " ") this.onpick(xs[here]);
    else return;
    event.preventDefault();
  }
}
