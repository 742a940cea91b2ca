/** The axes of a projection, and the bar that says how long a kilometre is. */

import { shape } from "../dom.js";

const KM_PER_DEGREE = 111.19492664455873;

/** "52.4° N" */
function degrees(value, [positive, negative], places) {
  const turned = value > 180 ? value - 360 : value < -180 ? value + 360 : value;
  const side = turned === 0 ? "" : ` ${turned > 0 ? positive : negative}`;
  return `${Math.abs(turned).toFixed(places)}°${side}`;
}

function tickTexts(ticks, projection, axis) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (projection.geographic) return ticks.map((tick) => degrees(tick, axis ? ["N", "S"] : ["E", "W"], places));
  return ticks.map((tick) =>
    tick.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }),
  );
}

/** Where the ticks are, along x and along y. */
function ticksOf(projection) {
  const across = projection.x.ticks(Math.max(2, Math.floor(projection.plotWidth / (projection.geographic ? 66 : 72))));
  return [across, projection.y.ticks(Math.max(2, Math.floor(projection.plotHeight / 60)))];
}

/** @returns {SVGGElement} fine lines through the ticks, for a map that has nothing else to go by */
export function grid(projection) {
  const [across, upward] = ticksOf(projection);
  const lines = [
    ...across.map((tick) => `M${projection.x(tick)},0V${projection.plotHeight}`),
    ...upward.map((tick) => `M0,${projection.y(tick)}H${projection.plotWidth}`),
  ];
  return shape("path", { class: "grid", d: lines.join(""), "clip-path": "url(#border-clip)", "aria-hidden": "true" });
}

/** @returns {SVGGElement} ticks, their numbers and the names of the axes */
export function axes(projection, unit) {
  const group = shape("g", { class: "axes", "aria-hidden": "true" });
  const [nameX, nameY] = projection.labels(unit);
  const [across, upward] = ticksOf(projection);
  const wordsX = tickTexts(across, projection, 0);
  const wordsY = tickTexts(upward, projection, 1);
  across.forEach((tick, index) => {
    const x = Math.round(projection.x(tick)) + 0.5;
    group.append(
      shape("line", { x1: x, x2: x, y1: projection.plotHeight, y2: projection.plotHeight + 5 }),
      shape("text", { x, y: projection.plotHeight + 18, "text-anchor": "middle" }, wordsX[index]),
    );
  });
  upward.forEach((tick, index) => {
    const y = Math.round(projection.y(tick)) + 0.5;
    group.append(
      shape("line", { x1: -5, x2: 0, y1: y, y2: y }),
      shape("text", { x: -8, y: y + 4, "text-anchor": "end" }, wordsY[index]),
    );
  });
  if (!projection.geographic) {
    // degrees name themselves; other axes need their columns' names
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

/** @returns {SVGGElement | null} a bar of a round number of kilometres at the middle latitude */
export function scaleBar(projection) {
  if (!projection.geographic) return null;
  const perPixel = ((projection.extent[0][1] - projection.extent[0][0]) / projection.plotWidth) * KM_PER_DEGREE * projection.squeeze;
  const room = Math.min(110, projection.plotWidth / 4) * perPixel;
  const power = 10 ** Math.floor(Math.log10(room));
  const length = [5, 2, 1].map((times) => times * power).find((candidate) => candidate <= room);
  const words = length < 1 ? `${Number((length * 1000).toPrecision(1))} m` : `${length.toLocaleString("en")} km`;
  const width = length / perPixel;
  const [x, y] = [10.5, projection.plotHeight - 12.5];
  return shape(
    "g",
    { class: "scale-bar", "aria-hidden": "true" },
    shape("path", { d: `M${x},${y - 5}v5h${width}v-5` }),
    shape("text", { x: x + width / 2, y: y - 6, "text-anchor": "middle" }, words),
  );
}
