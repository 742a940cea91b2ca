/** Mean distances on a grid, with levels, colours and contours. */

/** Return the colour of a share from 0 (near, light) to 1 (far, dark), which colour-blind people can distinguish. */
export function colourOf(share) {
  return d3.interpolateViridis(1 - 0.92 * Math.min(Math.max(share, 0), 1));
}

/** Return the colour of a share from 0 (red) over 0.5 (white) to 1 (blue). */
function divergingColour(share) {
  return d3.interpolateRdBu(share);
}

export class DistanceGrid {
  /**
   * @param {any} answer  a response of `POST …/grid`, with rows along y
   * @param {string} name  of the values
   * @param {(share: number) => string} colour  of a share between the lowest and the highest value
   */
  constructor(answer, name = "mean distance", colour = colourOf) {
    this.name = name;
    this.colour = colour;
    const ascending = answer.y[0] <= answer.y[answer.y.length - 1];
    this.xs = answer.x;
    this.ys = ascending ? answer.y : [...answer.y].reverse();
    const rows = ascending ? answer.values : [...answer.values].reverse();
    this.columns = this.xs.length;
    this.rows = this.ys.length;
    this.values = Float64Array.from(rows.flat(), (value) => (value === null ? NaN : value));
    this.low = d3.min(this.values);
    this.high = d3.max(this.values);
    this.#setLevels();
    for (let step = 0; step < 3; step += 1) this.#extrapolate();
  }

  /** Return the second grid less the first one, with zero in the middle of the colours. */
  static difference(first, second, name) {
    const values = second.values.map((row, i) =>
      row.map((value, j) => (value === null || first.values[i][j] === null ? null : value - first.values[i][j])),
    );
    const grid = new DistanceGrid({ ...second, values }, name, divergingColour);
    grid.high = d3.max(grid.values, Math.abs) || 1;
    grid.low = -grid.high;
    grid.#setLevels();
    return grid;
  }

  #setLevels() {
    this.levels = d3.ticks(this.low, this.high, 8).filter((level) => level > this.low && level < this.high);
  }

  /** Extrapolate by one cell beyond the border, so that colours and contours reach it. */
  #extrapolate() {
    const before = this.values.slice();
    const at = (row, column) =>
      row < 0 || column < 0 || row >= this.rows || column >= this.columns ? NaN : before[row * this.columns + column];
    for (let row = 0; row < this.rows; row += 1) {
      for (let column = 0; column < this.columns; column += 1) {
        if (!Number.isNaN(at(row, column))) continue;
        const estimates = [];
        for (const [dr, dc] of [
          [0, 1],
          [0, -1],
          [1, 0],
          [-1, 0],
          [1, 1],
          [1, -1],
          [-1, 1],
          [-1, -1],
        ]) {
          const near = at(row + dr, column + dc);
          const next = at(row + 2 * dr, column + 2 * dc);
          if (!Number.isNaN(near)) estimates.push(Number.isNaN(next) ? near : 2 * near - next);
        }
        if (estimates.length) this.values[row * this.columns + column] = d3.mean(estimates);
      }
    }
  }

  /** Interpolate the value at a point; NaN if one of the four grid points is missing. */
  at(x, y) {
    const locate = (axis, value) => {
      const last = axis.length - 1;
      const share = ((value - axis[0]) / (axis[last] - axis[0])) * last;
      const cell = Math.min(Math.max(Math.floor(share), 0), last - 1);
      return [cell, share - cell];
    };
    const [column, u] = locate(this.xs, x);
    const [row, v] = locate(this.ys, y);
    const corner = row * this.columns + column;
    const low = this.values[corner] * (1 - u) + this.values[corner + 1] * u;
    const high = this.values[corner + this.columns] * (1 - u) + this.values[corner + this.columns + 1] * u;
    return low * (1 - v) + high * v;
  }

  /** Paint the colours into a canvas behind the plot of `projection`. */
  paint(canvas, projection) {
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(projection.plotWidth * ratio), Math.round(projection.plotHeight * ratio)];
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    const image = new ImageData(width, height);
    const colours = d3.range(512).map((step) => d3.rgb(this.colour(step / 511)));
    const scale = 511 / (this.high - this.low || 1);
    for (let py = 0, offset = 0; py < height; py += 1) {
      const y = projection.y.invert((py + 0.5) / ratio);
      for (let px = 0; px < width; px += 1, offset += 4) {
        const value = this.at(projection.x.invert((px + 0.5) / ratio), y);
        if (Number.isNaN(value)) continue;
        const colour = colours[Math.min(Math.max(Math.round((value - this.low) * scale), 0), 511)];
        image.data[offset] = colour.r;
        image.data[offset + 1] = colour.g;
        image.data[offset + 2] = colour.b;
        image.data[offset + 3] = 255;
      }
    }
    const buffer = document.createElement("canvas");
    Object.assign(buffer, { width, height });
    buffer.getContext("2d").putImageData(image, 0, 0);
    context.scale(ratio, ratio);
    context.clip(new Path2D(projection.outline())); // clipping works for drawImage, not for putImageData
    context.drawImage(buffer, 0, 0, projection.plotWidth, projection.plotHeight);
  }

  /** Return the contours as lists of pixels: [{level, lines}]. */
  contours(projection) {
    const cell = (axis, share) => axis[0] + ((share - 0.5) / (axis.length - 1)) * (axis[axis.length - 1] - axis[0]);
    const filled = Array.from(this.values, (value) =>
      Number.isNaN(value) ? this.high + (this.high - this.low) : value,
    );
    return d3
      .contours()
      .size([this.columns, this.rows])
      .thresholds(this.levels)(filled)
      .map(({ value, coordinates }) => ({
        level: value,
        lines: coordinates
          .flat()
          .map((ring) => ring.map(([i, j]) => [projection.x(cell(this.xs, i)), projection.y(cell(this.ys, j))])),
      }));
  }
}
