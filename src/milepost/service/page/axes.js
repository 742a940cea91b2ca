/** The axes of a frame, and the bar that says how long a kilometre is. */

import { shape } from "./dom.js";

const KM_PER_DEGREE = 111.19492664455873;

/** "52.4° N" */
function degrees(value, [positive, negative], places) {
  const turned = value > 180 ? value - 360 : value < -180 ? value + 360 : value;
  const side = turned === 0 ? "" : ` ${turned > 0 ? positive : negative}`;
  return `${Math.abs(turned).toFixed(places)}°${side}`;
}

function tickTexts(ticks, frame, axis) {
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : 1;
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  if (frame.geographic) return ticks.map((tick) => degrees(tick, axis ? ["N", "S"] : ["E", "W"], places));
  return ticks.map((tick) =>
    tick.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }),
  );
}

/** Where the ticks are, along x and along y. */
function ticksOf(frame) {
  const across = frame.x.ticks(Math.max(2, Math.floor(frame.plotWidth / (frame.geographic ? 66 : 72))));
  return [across, frame.y.ticks(Math.max(2, Math.floor(frame.plotHeight / 60)))];
}

/** @returns {SVGGElement} fine lines through the ticks, for a map that has nothing else to go by */
export function grid(frame) {
  const [across, upward] = ticksOf(frame);
  const lines = [
    ...across.map((tick) => `M${frame.x(tick)},0V${frame.plotHeight}`),
    ...upward.map((tick) => `M0,${frame.y(tick)}H${frame.plotWidth}`),
  ];
  return shape("path", { class: "grid", d: lines.join(""), "clip-path": "url(#border-clip)", "aria-hidden": "true" });
}

/** @returns {SVGGElement} ticks, their numbers and the names of the axes */
export function axes(frame, unit) {
  const group = shape("g", { class: "axes", "aria-hidden": "true" });
  const [nameX, nameY] = frame.labels(unit);
  const [across, upward] = ticksOf(frame);
  const wordsX = tickTexts(across, frame, 0);
  const wordsY = tickTexts(upward, frame, 1);
  across.forEach((tick, index) => {
    const x = Math.round(frame.x(tick)) + 0.5;
    group.append(
      shape("line", { x1: x, x2: x, y1: frame.plotHeight, y2: frame.plotHeight + 5 }),
      shape("text", { x, y: frame.plotHeight + 18, "text-anchor": "middle" }, wordsX[index]),
    );
  });
  upward.forEach((tick, index) => {
    const y = Math.round(frame.y(tick)) + 0.5;
    group.append(
      shape("line", { x1: -5, x2: 0, y1: y, y2: y }),
      shape("text", { x: -8, y: y + 4, "text-anchor": "end" }, wordsY[index]),
    );
  });
  if (!frame.geographic) {
    // degrees name themselves; other axes need their columns' names
    group.append(
      shape(
        "text",
        { class: "axis-name", x: frame.plotWidth / 2, y: frame.plotHeight + 36, "text-anchor": "middle" },
        nameX,
      ),
      shape(
        "text",
        {
          class: "axis-name",
          transform: `translate(${-frame.margin.left + 13},${frame.plotHeight / 2}) rotate(-90)`,
          "text-anchor": "middle",
        },
        nameY,
      ),
    );
  }
  return group;
}

/** @returns {SVGGElement | null} a bar of a round number of kilometres at the middle latitude */
export function scaleBar(frame) {
  if (!frame.geographic) return null;
  const perPixel = ((frame.extent[0][1] - frame.extent[0][0]) / frame.plotWidth) * KM_PER_DEGREE * frame.squeeze;
  const room = Math.min(110, frame.plotWidth / 4) * perPixel;
  const power = 10 ** Math.floor(Math.log10(room));
  const length = [5, 2, 1].map((times) => times * power).find((candidate) => candidate <= room);
  const words = length < 1 ? `${Number((length * 1000).toPrecision(1))} m` : `${length.toLocaleString("en")} km`;
  const width = length / perPixel;
  const [x, y] = [10.5, frame.plotHeight - 12.5];
  return shape(
    "g",
    { class: "scale-bar", "aria-hidden": "true" },
    shape("path", { d: `M${x},${y - 5}v5h${width}v-5` }),
    shape("text", { x: x + width / 2, y: y - 6, "text-anchor": "middle" }, words),
  );
}
