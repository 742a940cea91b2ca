/** A chart that is drawn again whenever its width changes. */

import { element, shape } from "../dom.js";
import { chartAxes } from "./axes.js";

const MARGIN = { top: 12, right: 14, bottom: 44, left: 54 };

/**
 * @param {string} label  of the picture, for screen readers
 * @param {number} ratio  of height to width
 * @param {(chart: {width: number, height: number, plot: SVGGElement, axes: (x: any, y: any, nameX: string, nameY: string) => void}) => void} draw
 * @returns {HTMLElement}
 */
export function responsiveChart(label, ratio, draw) {
  const svg = shape("svg", { class: "chart", role: "img", "aria-label": label });
  const root = element("figure", { class: "chart-figure" }, svg);
  let drawnWidth = 0;
  function redraw(fullWidth) {
    drawnWidth = fullWidth;
    const fullHeight = Math.round(Math.min(Math.max(fullWidth * ratio, 190), 340));
    for (const [name, value] of Object.entries({ width: fullWidth, height: fullHeight, viewBox: `0 0 ${fullWidth} ${fullHeight}` }))
      svg.setAttribute(name, value);
    const plot = shape("g", { transform: `translate(${MARGIN.left},${MARGIN.top})` });
    const [width, height] = [fullWidth - MARGIN.left - MARGIN.right, fullHeight - MARGIN.top - MARGIN.bottom];
    const axes = (x, y, nameX, nameY) => plot.append(chartAxes(x, y, MARGIN, nameX, nameY));
    draw({ width, height, plot, axes });
    svg.replaceChildren(plot);
  }
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== drawnWidth) requestAnimationFrame(() => root.isConnected && redraw(width));
  }).observe(root);
  return root;
}

/** @returns {HTMLElement} the names of two series with their colours */
export function seriesLegend(names) {
  const key = (name, index) =>
    element("li", {}, element("span", { class: `key series-${index + 1}`, "aria-hidden": "true" }), name);
  return element("ul", { class: "series-legend" }, ...names.map(key));
}
