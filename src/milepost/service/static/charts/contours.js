/** Contours with their labels, and the legend of the colours. */

import { element, shape } from "../dom.js";
import { colourOf } from "./distance_grid.js";
import { withUnit } from "../numbers.js";

const MIN_GAP = 34; // pixels between two labels

/** Return the ray from the smallest value that has the most room; the labels of contours are near it. */
function labelRay(grid, projection) {
  const smallest = d3.leastIndex(grid.values, (value) => (Number.isNaN(value) ? Infinity : value));
  const start = [projection.x(grid.xs[smallest % grid.columns]), projection.y(grid.ys[Math.floor(smallest / grid.columns)])];
  const directions = d3.range(16).map((step) => [Math.cos((step * Math.PI) / 8), Math.sin((step * Math.PI) / 8)]);
  const room = ([dx, dy]) => {
    let length = 0;
    while (length < 3000 && fits(start[0] + length * dx, start[1] + length * dy, projection)) length += 8;
    return length * (0.5 + Math.abs(dy)); // labels are wider than high: a vertical ray has room for more
  };
  return { start, direction: d3.greatest(directions, (one, other) => d3.ascending(room(one), room(other))) };
}

/** Return whether a label fits at a pixel: inside the border, and not over the scale bar. */
function fits(x, y, projection) {
  if (x < 18 || y < 12 || x > projection.plotWidth - 18 || y > projection.plotHeight - (x < 140 ? 34 : 12)) return false;
  const corners = [
    [-15, 0],
    [15, 0],
    [0, -8],
    [0, 8],
  ];
  return corners.every(([dx, dy]) => projection.border.inside(projection.x.invert(x + dx), projection.y.invert(y + dy)));
}

/** Return the position of a contour's label: near the ray, and away from other labels. */
function labelPosition(line, projection, { start, direction }, labels) {
  let best = null;
  for (const [x, y] of line) {
    if (!fits(x, y, projection)) continue;
    if (labels.some(([tx, ty]) => Math.abs(x - tx) < MIN_GAP && Math.abs(y - ty) < 17)) continue;
    const [ox, oy] = [x - start[0], y - start[1]];
    const along = ox * direction[0] + oy * direction[1];
    const score = -Math.abs(ox * direction[1] - oy * direction[0]) - (along < 0 ? 1e4 : 0);
    if (best === null || score > best.score) best = { x, y, score };
  }
  return best;
}

/** @returns {SVGGElement} */
export function contourLines(grid, projection) {
  const lines = shape("g", { class: "contours", "aria-hidden": "true", "clip-path": projection.clip });
  const numbers = shape("g", { class: "contour-numbers", "aria-hidden": "true" });
  const labels = [];
  const ray = labelRay(grid, projection);
  const draw = d3.line();
  const interval = projection.plotWidth < 340 ? 2 : 1; // a small map has room for every second contour
  const contours = grid.contours(projection).filter((_, index) => index % interval === 0);
  for (const { level, lines: rings } of contours) {
    for (const ring of rings) lines.append(shape("path", { d: `${draw(ring)}Z` }));
    const position = labelPosition(rings.flat(), projection, ray, labels);
    if (!position) continue;
    labels.push([position.x, position.y]);
    numbers.append(
      shape(
        "text",
        { x: position.x, y: position.y + 4, "text-anchor": "middle" },
        level.toLocaleString("en", { maximumFractionDigits: 6 }),
      ),
    );
  }
  return shape("g", {}, lines, numbers);
}

/** @returns {HTMLElement} the colours with the levels of the contours */
export function legend(low, high, levels, unit, name = "mean distance", colour = colourOf) {
  const canvas = element("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  for (let step = 0; step < 256; step += 1) {
    context.fillStyle = colour(step / 255);
    context.fillRect(step, 0, 1, 1);
  }
  const share = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const interval = Math.max(1, Math.ceil(levels.length / 7));
  const ticks = levels
    .filter((_, index) => index % interval === 0)
    .map((level) =>
      element("span", { style: { left: share(level) } }, level.toLocaleString("en", { maximumFractionDigits: 6 })),
    );
  return element(
    "div",
    {
      class: "legend",
      role: "img",
      "aria-label": `Colours: ${name}, from ${low.toPrecision(4)} to ${high.toPrecision(4)} ${unit}`,
    },
    element("span", { class: "legend-name" }, withUnit(name, unit)),
    element("div", { class: "legend-bar" }, canvas, element("div", { class: "legend-ticks" }, ...ticks)),
  );
}
