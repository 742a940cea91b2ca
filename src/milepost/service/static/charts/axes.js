/** The axes, the grid lines and the scale bar of a map. */

import { shape } from "../dom.js";

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
  return shape("path", { class: "grid", d: lines.join(""), "clip-path": "url(#border-clip)", "aria-hidden": "true" });
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
