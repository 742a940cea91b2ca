/** The land of the world, from Natural Earth at 1:50 million. */

let land = null;

/** Return a ring with continuous longitudes, also beyond 180°. A ring around a pole is closed at the pole. */
function unrolled(ring) {
  let previous = ring[0][0];
  const points = ring.map(([x, y]) => [(previous = x + 360 * Math.round((previous - x) / 360)), y]);
  const [start, end] = [points[0], points.at(-1)];
  if (Math.abs(start[0] - end[0]) < 180) return points;
  const pole = 90 * Math.sign(start[1]);
  return [...points, [end[0], pole], [start[0], pole], start];
}

/** @returns {Promise<{rings: [number, number][][], west: number, east: number}[]>} polygons, loaded once */
function load() {
  land ??= fetch("/static/vendor/land-50m.json")
    .then((response) => response.json())
    .then((atlas) => {
      const { geometry, features } = topojson.feature(atlas, atlas.objects.land);
      const shapes = features ? features.map((feature) => feature.geometry) : [geometry];
      const polygons = shapes.flatMap(({ type, coordinates }) => (type === "Polygon" ? [coordinates] : coordinates));
      return polygons.map((polygon) => {
        const rings = polygon.map(unrolled);
        const [west, east] = d3.extent(rings[0], ([x]) => x);
        return { rings, west, east };
      });
    });
  return land;
}

/**
 * Return the land inside a map as an SVG path, or null if the map has none.
 * The map shows degrees without distortion, so a rectangle clips the land.
 */
export async function basemapPath(projection) {
  const [[left, right], [bottom, top]] = projection.extent;
  if (right - left < 0.6 && top - bottom < 0.6) return null; // the map is finer than the data
  const polygons = await load();
  const clip = d3.geoIdentity().clipExtent([
    [-2, -2],
    [projection.plotWidth + 2, projection.plotHeight + 2],
  ]);
  const draw = d3.geoPath({ stream: (sink) => clip.stream(sink) });
  const paths = [-360, 0, 360].flatMap((offset) =>
    polygons
      .filter(({ west, east }) => west + offset < right && east + offset > left)
      .map(({ rings }) => {
        const coordinates = rings.map((ring) => ring.map(([x, y]) => [projection.x(x + offset), projection.y(y)]));
        return draw({ type: "Polygon", coordinates });
      }),
  );
  return paths.filter(Boolean).join("") || null;
}
