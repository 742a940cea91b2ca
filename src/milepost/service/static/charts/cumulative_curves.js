/** The cumulative shares of two tables along one column or direction. */

import { element, shape } from "../dom.js";
import { responsiveChart, seriesLegend } from "./responsive_chart.js";

/**
 * @param {{name: string, positions: number[], first: number[], second: number[]}} curve
 * @param {string[]} names  of both tables
 * @returns {HTMLElement}
 */
export function cumulativeCurves(curve, names) {
  const label = `Shares of people at or below each value of ${curve.name}, in ${names[0]} and in ${names[1]}`;
  const chart = responsiveChart(label, 0.5, ({ width, height, plot, axes }) => {
    const x = d3.scaleLinear(d3.extent(curve.positions), [0, width]);
    const y = d3.scaleLinear([0, 1], [height, 0]);
    axes(x, y, curve.name, "share at or below");
    [curve.first, curve.second].forEach((shares, index) => {
      const line = d3.line(
        (_, i) => x(curve.positions[i]),
        (share) => y(share),
      );
      plot.append(shape("path", { class: `line series-${index + 1}`, d: line(shares) }));
    });
  });
  return element("div", { class: "curves" }, chart, seriesLegend(names));
}
