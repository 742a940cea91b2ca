/** Lines of equal distance with their numbers, and the legend of the colours. */

import { element, shape } from "./dom.js";
import { colourOf } from "./field.js";
import { withUnit } from "./numbers.js";

const APART = 34; // pixels between two numbers at least

/** Where along a level its number fits best: inside the border, not at the edge, far from the other numbers. */
function spotFor(line, frame, taken) {
  let best = null;
  for (let index = 0; index < line.length; index += 1) {
    const [x, y] = line[index];
    if (x < 24 || y < 16 || x > frame.plotWidth - 24 || y > frame.plotHeight - 30) continue;
    const reach = [[-16, 0], [16, 0], [0, -9], [0, 9]];
    if (!reach.every(([dx, dy]) => frame.border.inside(frame.x.invert(x + dx), frame.y.invert(y + dy)))) continue;
    const distance = d3.min(taken, ([tx, ty]) => Math.hypot(x - tx, y - ty)) ?? Infinity;
    if (distance < APART) continue;
    // one below the other, to the lower left, reads like a ruler laid from the centre
    const score = -Math.abs((x - frame.plotWidth / 2) * 0.6 - (frame.plotHeight / 2 - y)) - (y < frame.plotHeight / 2 ? 0 : 60);
    if (best === null || score > best.score) best = { x, y, score };
  }
  return best;
}

/** @returns {SVGGElement} */
export function contourLines(field, frame) {
  const lines = shape("g", { class: "contours", "aria-hidden": "true", "clip-path": "url(#border-clip)" });
  const numbers = shape("g", { class: "contour-numbers", "aria-hidden": "true" });
  const taken = [];
  const draw = d3.line();
  for (const { level, lines: rings } of field.contours(frame)) {
    for (const ring of rings) lines.append(shape("path", { d: `${draw(ring)}Z` }));
    const spot = spotFor(rings.flat(), frame, taken);
    if (!spot) continue;
    taken.push([spot.x, spot.y]);
    numbers.append(
      shape("text", { x: spot.x, y: spot.y + 4, "text-anchor": "middle" }, level.toLocaleString("en", { maximumFractionDigits: 6 })),
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
    .map((level) => element("span", { style: { left: share(level) } }, level.toLocaleString("en", { maximumFractionDigits: 6 })));
  return element(
    "div",
    { class: "legend", role: "img", "aria-label": `Colours: ${words}, light ${low.toPrecision(4)} to dark ${high.toPrecision(4)} ${unit}` },
    element("span", { class: "legend-name" }, withUnit(words, unit)),
    element("div", { class: "legend-bar" }, canvas, element("div", { class: "legend-ticks" }, ...ticks)),
  );
}
