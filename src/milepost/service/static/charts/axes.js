/** The axes of charts, and the axes, the grid lines and the scale bar of a map. */

import { shape } from "../dom.js";

const CHARACTER = 7; // pixels of the width of a character, about
const KM_PER_DEGREE = 111.19492664455873;

/** Format an angle: "52.4° N". */
function degrees(value, [positive, negative], digits) {
  const wrapped = value > 180 ? value - 360 : value < -180 ? value + 360 : value;
  const side = wrapped === 0 ? "" : ` ${wrapped > 0 ? positive : negative}`;
  return `${Math.abs(wrapped).toFixed(digits)}°${side}`;
}

function tickTexts(ticks, projection, axis) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (projection.geographic) return ticks.map((tick) => degrees(tick, axis ? ["N", "S"] : ["E", "W"], digits));
  return ticks.map((tick) =>
    tick.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  );
}

/** Return the ticks along x and along y. */
function ticksOf(projection) {
  const ticksX = projection.x.ticks(Math.max(2, Math.floor(projection.plotWidth / (projection.geographic ? 66 : 72))));
  return [ticksX, projection.y.ticks(Math.max(2, Math.floor(projection.plotHeight / 60)))];
}

/** @returns {SVGGElement} thin lines through the ticks, for a map without contours */
export function gridLines(projection) {
  const [ticksX, ticksY] = ticksOf(projection);
  const lines = [
    ...ticksX.map((tick) => `M${projection.x(tick)},0V${projection.plotHeight}`),
    ...ticksY.map((tick) => `M0,${projection.y(tick)}H${projection.plotWidth}`),
  ];
  return shape("path", { class: "grid", d: lines.join(""), "clip-path": projection.clip, "aria-hidden": "true" });
}

/** @returns {SVGGElement} ticks, their labels and the names of the axes */
export function axes(projection, unit) {
  const group = shape("g", { class: "axes", "aria-hidden": "true" });
  const [nameX, nameY] = projection.labels(unit);
  const [ticksX, ticksY] = ticksOf(projection);
  const labelsX = tickTexts(ticksX, projection, 0);
  const labelsY = tickTexts(ticksY, projection, 1);
  ticksX.forEach((tick, index) => {
    const x = Math.round(projection.x(tick)) + 0.5;
    group.append(
      shape("line", { x1: x, x2: x, y1: projection.plotHeight, y2: projection.plotHeight + 5 }),
      shape("text", { x, y: projection.plotHeight + 18, "text-anchor": "middle" }, labelsX[index]),
    );
  });
  ticksY.forEach((tick, index) => {
    const y = Math.round(projection.y(tick)) + 0.5;
    group.append(
      shape("line", { x1: -5, x2: 0, y1: y, y2: y }),
      shape("text", { x: -8, y: y + 4, "text-anchor": "end" }, labelsY[index]),
    );
  });
  if (!projection.geographic) {
    // degrees need no name
    group.append(
      shape(
        "text",
        { class: "axis-name", x: projection.plotWidth / 2, y: projection.plotHeight + 36, "text-anchor": "middle" },
        nameX,
      ),
      shape(
        "text",
        {
          class: "axis-name",
          transform: `translate(${-projection.margin.left + 13},${projection.plotHeight / 2}) rotate(-90)`,
          "text-anchor": "middle",
        },
        nameY,
      ),
    );
  }
  return group;
}

/** Shorten a text in its middle: the ends of names of releases tell them apart. */
function shortened(text, length) {
  if (text.length <= length) return text;
  return `${text.slice(0, Math.ceil(length / 2) - 1)}…${text.slice(text.length - Math.floor(length / 2))}`;
}

/**
 * @param {any} x  a scale of numbers, or one of points with a `tickText`
 * @param {any} y  a scale of numbers
 * @param {{left: number}} margin  around the plot
 * @returns {SVGGElement} ticks, lines through those along y, and the names of the axes of a chart
 */
export function chartAxes(x, y, margin, nameX, nameY) {
  const [width, height] = [x.range()[1], y.range()[0]];
  const group = shape("g", { class: "axes", "aria-hidden": "true" });
  const text = x.tickText ?? ((tick) => tick.toLocaleString("en"));
  const places = x.tickText ? x.domain() : x.ticks(Math.max(2, Math.floor(width / 64)));
  const longest = Math.max(...places.map((tick) => text(tick).length)) * CHARACTER + 10;
  const interval = x.tickText ? Math.ceil((places.length * Math.min(longest, 100)) / width) : 1;
  const room = Math.floor(((width / places.length) * interval - 10) / CHARACTER);
  for (const tick of places.filter((_, index) => index % interval === 0)) {
    const label = text(tick);
    group.append(
      shape("line", { x1: x(tick), x2: x(tick), y1: height, y2: height + 5 }),
      shape(
        "text",
        { x: x(tick), y: height + 19, "text-anchor": "middle" },
        x.tickText ? shortened(label, room) : label,
      ),
    );
  }
  for (const tick of y.ticks(Math.max(2, Math.min(6, Math.floor(height / 36))))) {
    group.append(
      shape("line", { class: "rule", x1: 0, x2: width, y1: y(tick), y2: y(tick) }),
      shape("text", { x: -9, y: y(tick) + 4, "text-anchor": "end" }, tick.toLocaleString("en", { maximumFractionDigits: 8 })),
    );
  }
  const middle = `translate(${-margin.left + 14},${height / 2}) rotate(-90)`;
  group.append(
    shape("text", { class: "axis-name", x: width / 2, y: height + 39, "text-anchor": "middle" }, nameX),
    shape("text", { class: "axis-name", transform: middle, "text-anchor": "middle" }, nameY),
  );
  return group;
}

/** @returns {SVGGElement | null} a bar of a round length at the middle latitude */
export function scaleBar(projection) {
  if (!projection.geographic) return null;
  const perPixel = ((projection.extent[0][1] - projection.extent[0][0]) / projection.plotWidth) * KM_PER_DEGREE * projection.longitudeScale;
  const maxLength = Math.min(110, projection.plotWidth / 4) * perPixel;
  const power = 10 ** Math.floor(Math.log10(maxLength));
  const length = [5, 2, 1].map((factor) => factor * power).find((candidate) => candidate <= maxLength);
  const text = length < 1 ? `${Number((length * 1000).toPrecision(1))} m` : `${length.toLocaleString("en")} km`;
  const width = length / perPixel;
  const [x, y] = [10.5, projection.plotHeight - 12.5];
  return shape(
    "g",
    { class: "scale-bar", "aria-hidden": "true" },
    shape("path", { d: `M${x},${y - 5}v5h${width}v-5` }),
    shape("text", { x: x + width / 2, y: y - 6, "text-anchor": "middle" }, text),
  );
}
