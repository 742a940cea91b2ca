/** The border of a space on the map: a spherical cap, a disc or a box. */

const KM_PER_DEGREE = 111.19492664455873; // on a sphere with the library's radius, 6371.0088 km

/**
 * @typedef {[number, number]} Position
 * @typedef {{ring: Position[] | null, inside: (x: number, y: number) => boolean, middle: Position}} Border
 */

/** @returns {Border} of a cap, in degrees of longitude and latitude */
function cap([latitude, longitude], kilometres) {
  const degrees = kilometres / KM_PER_DEGREE;
  const middle = [longitude, latitude];
  const inside = (x, y) => (d3.geoDistance(middle, [x, y]) * 180) / Math.PI <= degrees * (1 + 1e-9);
  if (Math.abs(latitude) + degrees >= 89.9) return { ring: null, inside, middle }; // it contains a pole
  const circle = d3.geoCircle().center(middle).radius(degrees).precision(0.5)().coordinates[0];
  const ring = circle.map(([x, y]) => [x + 360 * Math.round((longitude - x) / 360), y]);
  return { ring, inside, middle };
}

/** @returns {Border} of a disc in the plane */
function disc([x0, y0], radius) {
  const angles = d3.range(181).map((step) => (step * Math.PI) / 90);
  const ring = angles.map((angle) => [x0 + radius * Math.cos(angle), y0 + radius * Math.sin(angle)]);
  return { ring, inside: (x, y) => Math.hypot(x - x0, y - y0) <= radius * (1 + 1e-9), middle: [x0, y0] };
}

/** @returns {Border} of a box */
function box([[left, right], [bottom, top]]) {
  const inside = (x, y) => x >= left && x <= right && y >= bottom && y <= top;
  const ring = [
    [left, bottom],
    [right, bottom],
    [right, top],
    [left, top],
    [left, bottom],
  ];
  return { ring, inside, middle: [(left + right) / 2, (bottom + top) / 2] };
}

/**
 * Return the border that the card of a release describes. A session has no card: its extent gives the border.
 * @param {[[number, number], [number, number]]} extent  along x, along y
 */
export function borderOf(extent, geographic, space = null) {
  if (space?.kind === "great-circle" && space.radius_km) return cap(space.center, space.radius_km);
  if (space?.kind === "l2" && space.radius && space.center?.length === 2) return disc(space.center, space.radius);
  if (geographic && space === null) {
    const [[left, right], [bottom, top]] = extent;
    if (top < 89 && bottom > -89)
      return cap([(bottom + top) / 2, (left + right) / 2], ((top - bottom) / 2) * KM_PER_DEGREE);
  }
  return box(extent);
}

/** Return the point if it is inside, or the last point inside on the line from the middle to it. */
export function clampInside(border, x, y) {
  if (border.inside(x, y)) return [x, y];
  const [x0, y0] = border.middle;
  let [near, far] = [0, 1];
  for (let step = 0; step < 30; step += 1) {
    const half = (near + far) / 2;
    if (border.inside(x0 + half * (x - x0), y0 + half * (y - y0))) near = half;
    else far = half;
  }
  const share = near * 0.999; // slightly inside, so that the rounded point stays inside
  return [x0 + share * (x - x0), y0 + share * (y - y0)];
}
