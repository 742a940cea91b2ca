/** Differences of releases to the first and to the one before, with bands for their intervals. */

import { element, shape } from "../dom.js";
import { withUnit } from "../numbers.js";
import { responsiveChart, seriesLegend } from "./responsive_chart.js";

/**
 * @param {{labels: string[], to_first: any[], to_previous: any[], distance_unit: string}} drift  a response of `POST /v1/drift`
 * @returns {HTMLElement}
 */
export function driftChart(drift) {
  const labels = drift.labels.slice(1);
  const series = [drift.to_first, drift.to_previous];
  const label = `Energy distances of ${labels.join(", ")} to the first release and to the one before; the table below has the numbers`;
  const chart = responsiveChart(label, 0.5, ({ width, height, plot, axes }) => {
    const x = d3.scalePoint(d3.range(labels.length), [0, width]).padding(0.5);
    x.tickText = (index) => labels[index];
    const top = d3.max(series.flat(), (difference) => difference.high) || 1;
    const y = d3.scaleLinear([0, top * 1.05], [height, 0]).nice();
    axes(x, y, "", withUnit("energy distance", drift.distance_unit));
    series.forEach((differences, index) => {
      const shift = labels.length > 1 ? 0 : 12 * (index ? 1 : -1); // two single points side by side
      const at = (i) => x(i) + shift;
      const area = d3.area(
        (_, i) => at(i),
        (difference) => y(difference.low),
        (difference) => y(difference.high),
      );
      const line = d3.line(
        (_, i) => at(i),
        (difference) => y(difference.value),
      );
      const group = shape("g", { class: `series-${index + 1}` });
      group.append(shape("path", { class: "band", d: area(differences) }), shape("path", { class: "line", d: line(differences) }));
      differences.forEach(({ value, low, high }, i) => {
        const bar = `M${at(i) - 4},${y(low)}h8M${at(i) - 4},${y(high)}h8M${at(i)},${y(low)}V${y(high)}`;
        group.append(shape("path", { class: "error-bar", d: bar }), shape("circle", { cx: at(i), cy: y(value), r: 4 }));
      });
      plot.append(group);
    });
  });
  return element("div", { class: "curves" }, chart, seriesLegend(["to the first", "to the one before"]));
}
