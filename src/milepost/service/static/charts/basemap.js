/** The world's coastline, Natural Earth's at 1:50 million, bundled with the page. */

let land = null;

/** A ring whose longitudes go on beyond 180° instead of jumping to the other side; one around a pole is closed there. */
function unrolled(ring) {
  let before = ring[0][0];
  const places = ring.map(([x, y]) => [(before = x + 360 * Math.round((before - x) / 360)), y]);
  const [start, end] = [places[0], places.at(-1)];
  if (Math.abs(start[0] - end[0]) < 180) return places;
  const pole = 90 * Math.sign(start[1]);
  return [...places, [end[0], pole], [start[0], pole], start];
}

/** @returns {Promise<{rings: [number, number][][], west: number, east: number}[]>} polygons, read once */
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
 * The land inside a map as the path of an SVG, or null where there is no basemap to see.
 * The projection is that of the map, straight degrees, so clipping on the plane is all it takes.
 */
export async function basemapPath(projection) {
  const [[left, right], [bottom, top]] = projection.extent;
  if (right - left < 0.6 && top - bottom < 0.6) return null; // finer than the data is
  const polygons = await load();
  const clip = d3.geoIdentity().clipExtent([
    [-2, -2],
    [projection.plotWidth + 2, projection.plotHeight + 2],
  ]);
  const draw = d3.geoPath({ stream: (sink) => clip.stream(sink) });
  const paths = [-360, 0, 360].flatMap((turn) =>
    polygons
      .filter(({ west, east }) => west + turn < right && east + turn > left)
      .map(({ rings }) => {
        const coordinates = rings.map((ring) => ring.map(([x, y]) => [projection.x(x + turn), projection.y(y)]));
        return draw({ type: "Polygon", coordinates });
      }),
  );
  return paths.filter(Boolean).join("") || null;
}
