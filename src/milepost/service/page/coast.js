/** The world's coastline, Natural Earth's at 1:50 million, bundled with the page. */

let land = null;

/** @returns {Promise<any>} the land as one GeoJSON feature, read once */
function load() {
  land ??= fetch("/static/vendor/land-50m.json")
    .then((response) => response.json())
    .then((atlas) => topojson.feature(atlas, atlas.objects.land));
  return land;
}

/**
 * The land inside a frame as the path of an SVG, or null where there is no coast to see.
 * The projection is the frame's own: straight degrees, so d3's clipping on the plane is all it takes.
 */
export async function coastPath(frame) {
  const [[left, right], [bottom, top]] = frame.extent;
  if (right - left < 0.6 && top - bottom < 0.6) return null; // finer than the data is
  const shape = await load();
  const turned = [-360, 0, 360].filter((turn) => left < 180 + turn && right > -180 + turn);
  const paths = turned.map((turn) => {
    const projection = d3.geoTransform({
      point(x, y) {
        this.stream.point(frame.x(x + turn), frame.y(y));
      },
    });
    const clip = d3.geoIdentity().clipExtent([
      [-2, -2],
      [frame.plotWidth + 2, frame.plotHeight + 2],
    ]);
    return d3.geoPath({ stream: (sink) => projection.stream(clip.stream(sink)) })(shape);
  });
  return paths.filter(Boolean).join("") || null;
}
