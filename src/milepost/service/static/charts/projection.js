/** The projection of a map, from points of a space to pixels and back. */

import { borderOf, clampInside } from "./space_border.js";
import { withUnit } from "../numbers.js";

let clipCount = 0; // every map has its own clip path
const MARGIN = { top: 10, right: 14, bottom: 44, left: 56 };

export class Projection {
  /**
   * @param {any} release  a release or session with two columns of numbers
   * @param {number} width  of the figure, in pixels
   * @param {number} maxHeight  of the figure, in pixels
   */
  constructor(release, width, maxHeight) {
    this.geographic = release.geographic;
    this.columns = release.columns;
    this.steps = (release.fields ?? []).map((field) => field.step ?? null);
    const [first, second] = release.extent;
    const extent = this.geographic ? [second, first] : [first, second];
    this.border = borderOf(extent, this.geographic, release.card?.space ?? null);
    const [[left, right], [bottom, top]] = extent;
    // a degree of longitude is shorter than a degree of latitude
    const longitudeScale = this.geographic ? Math.max(Math.cos((((bottom + top) / 2) * Math.PI) / 180), 0.1) : 1;
    const ratio = Math.min(Math.max((top - bottom) / ((right - left) * longitudeScale), 0.2), 5);
    const narrow = width < 480;
    this.margin = { ...MARGIN, left: narrow ? 46 : MARGIN.left, right: narrow ? 8 : MARGIN.right };
    if (this.geographic) this.margin.bottom = 28; // degrees need no name
    const maxPlotWidth = width - this.margin.left - this.margin.right;
    const maxPlotHeight = maxHeight - this.margin.top - this.margin.bottom;
    this.plotWidth = Math.round(Math.min(maxPlotWidth, maxPlotHeight / ratio));
    this.plotHeight = Math.round(this.plotWidth * ratio);
    this.width = this.margin.left + this.plotWidth + this.margin.right;
    this.height = this.margin.top + this.plotHeight + this.margin.bottom;
    this.x = d3.scaleLinear([left, right], [0, this.plotWidth]);
    this.y = d3.scaleLinear([bottom, top], [this.plotHeight, 0]);
    this.extent = extent;
    this.clipId = `border-clip-${(clipCount += 1)}`;
    this.longitudeScale = longitudeScale;
  }

  /** The clip path of the border, as an attribute has it. */
  get clip() {
    return `url(#${this.clipId})`;
  }

  /** The columns of x and y. */
  get names() {
    const [first, second] = this.columns;
    return this.geographic ? [second, first] : [first, second];
  }

  /** Return the labels of the axes. */
  labels(unit) {
    if (this.geographic) return ["longitude", "latitude"];
    return this.names.map((name) => withUnit(name, unit));
  }

  /** Return [x, y] of a point of the space. */
  xy(point) {
    return this.geographic ? [point[1], point[0]] : [point[0], point[1]];
  }

  /** Return the pixel of a point on the plot. */
  pixel(point) {
    const [x, y] = this.xy(point);
    return [this.x(x), this.y(y)];
  }

  /** Return the nearest point inside the space, rounded to a tenth of a pixel. */
  point(px, py) {
    const box = (value, [low, high]) => Math.min(Math.max(value, low), high);
    const target = [box(this.x.invert(px), this.extent[0]), box(this.y.invert(py), this.extent[1])];
    const [x, y] = clampInside(this.border, ...target).map((value, axis) => this.#rounded(value, axis));
    return this.geographic ? [y, x] : [x, y];
  }

  /** Move a point by a number of pixels. */
  moved(point, dx, dy) {
    const [px, py] = this.pixel(point);
    return this.point(px + dx, py + dy);
  }

  #rounded(value, axis) {
    const step = this.steps[this.geographic ? 1 - axis : axis];
    const [low, high] = this.extent[axis];
    if (step) return Math.min(low + Math.round((value - low) / step) * step, high);
    const perPixel = (high - low) / (axis ? this.plotHeight : this.plotWidth);
    const digits = Math.min(Math.max(Math.ceil(1 - Math.log10(perPixel)), 0), 12);
    return Math.min(Math.max(Number(value.toFixed(digits)), low), high);
  }

  /** Return the border as a path for SVG or canvas. */
  outline() {
    const { ring } = this.border;
    if (ring === null) return `M0,0H${this.plotWidth}V${this.plotHeight}H0Z`;
    return `M${ring.map(([x, y]) => `${this.x(x).toFixed(1)},${this.y(y).toFixed(1)}`).join("L")}Z`;
  }
}
