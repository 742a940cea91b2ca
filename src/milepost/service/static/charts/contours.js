/** Lines of equal distance with their numbers, and the legend of the colours. */

import { element, shape } from "../dom.js";
import { colourOf } from "./distance_grid.js";
import { withUnit } from "../numbers.js";

const APART = 34; // pixels from one number to the next at least

/** The way from the least value on which the border is farthest: numbers stand along it like on a ruler. */
function ruler(field, projection) {
  const least = d3.leastIndex(field.values, (value) => (Number.isNaN(value) ? Infinity : value));
  const start = [projection.x(field.xs[least % field.columns]), projection.y(field.ys[Math.floor(least / field.columns)])];
  const ways = d3.range(16).map((step) => [Math.cos((step * Math.PI) / 8), Math.sin((step * Math.PI) / 8)]);
  const room = ([dx, dy]) => {
    let far = 0;
    while (far < 3000 && fits(start[0] + far * dx, start[1] + far * dy, projection)) far += 8;
    return far * (0.5 + Math.abs(dy)); // numbers are wider than high: one above the other they are closer
  };
  return { start, way: d3.greatest(ways, (one, other) => d3.ascending(room(one), room(other))) };
}

/** Whether a number fits there: inside the border and away from the scale bar. */
function fits(x, y, projection) {
  if (x < 18 || y < 12 || x > projection.plotWidth - 18 || y > projection.plotHeight - (x < 140 ? 34 : 12)) return false;
  const reach = [
    [-15, 0],
    [15, 0],
    [0, -8],
    [0, 8],
  ];
  return reach.every(([dx, dy]) => projection.border.inside(projection.x.invert(x + dx), projection.y.invert(y + dy)));
}

/** Where along a level its number stands: near the ruler, and away from the other numbers. */
function spotFor(line, projection, { start, way }, taken) {
  let best = null;
  for (const [x, y] of line) {
    if (!fits(x, y, projection)) continue;
    if (taken.some(([tx, ty]) => Math.abs(x - tx) < APART && Math.abs(y - ty) < 17)) continue;
    const [ox, oy] = [x - start[0], y - start[1]];
    const along = ox * way[0] + oy * way[1];
    const score = -Math.abs(ox * way[1] - oy * way[0]) - (along < 0 ? 1e4 : 0);
    if (best === null || score > best.score) best = { x, y, score };
  }
  return best;
}

/** @returns {SVGGElement} */
export function contourLines(field, projection) {
  const lines = shape("g", { class: "contours", "aria-hidden": "true", "clip-path": "url(#border-clip)" });
  const numbers = shape("g", { class: "contour-numbers", "aria-hidden": "true" });
  const taken = [];
  const along = ruler(field, projection);
  const draw = d3.line();
  const few = projection.plotWidth < 340 ? 2 : 1; // a small map has room for every second line
  const drawn = field.contours(projection).filter((_, index) => index % few === 0);
  for (const { level, lines: rings } of drawn) {
    for (const ring of rings) lines.append(shape("path", { d: `${draw(ring)}Z` }));
    const spot = spotFor(rings.flat(), projection, along, taken);
    if (!spot) continue;
    taken.push([spot.x, spot.y]);
    numbers.append(
      shape(
        "text",
        { x: spot.x, y: spot.y + 4, "text-anchor": "middle" },
        level.toLocaleString("en", { maximumFractionDigits: 6 }),
      ),
    );
  }
  return shape("g", {}, lines, numbers);
}

/** @returns {HTMLElement} the colours with the levels of the contours under them */
export function legend(low, high, levels, unit, words = "mean distance") {
  const canvas = element("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  for (let step = 0; step < 256; step += 1) {
    context.fillStyle = colourOf(step / 255);
    context.fillRect(step, 0, 1, 1);
  }
  const share = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const most = Math.max(1, Math.ceil(levels.length / 7));
  const ticks = levels
    .filter((_, index) => index % most === 0)
    .map((level) =>
      element("span", { style: { left: share(level) } }, level.toLocaleString("en", { maximumFractionDigits: 6 })),
    );
  return element(
    "div",
    {
      class: "legend",
      role: "img",
      "aria-label": `Colours: ${words}, light ${low.toPrecision(4)} to dark ${high.toPrecision(4)} ${unit}`,
    },
    element("span", { class: "legend-name" }, withUnit(words, unit)),
    element("div", { class: "legend-bar" }, canvas, element("div", { class: "legend-ticks" }, ...ticks)),
  );
}
