"""Find the best base for a flying clinic without learning who is ill or where anyone lives.

The geography is real: the 263 airfields of Alaska, most of them in villages without roads (from the package
vega_datasets), and Natural Earth's coast. The 20,000 patients around them are synthetic and seeded, so that the exact
answers can be shown. Run it with `python -m examples.clinic --output clinic.png`; docs/examples.md explains it.
"""

import argparse
import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from vega_datasets import data

import milepost as mp

FloatArray = NDArray[np.float64]
REGION = mp.GreatCircle((60, -155), radius_km=1_650)  # public: all of Alaska, to the Aleutian Islands
BASES = ["Anchorage", "Bethel", "Fairbanks", "Galena", "Juneau", "Kodiak", "McGrath", "Nome"]  # candidates
EPSILON, DELTA = 1.0, 1e-6
KM = 111.2  # a degree of latitude


def airfields() -> pd.DataFrame:
    """Return the airfields of Alaska, which are public and real."""
    airports = pd.DataFrame(data.airports())
    return airports[airports["state"] == "AK"][["iata", "city", "latitude", "longitude"]]


def patients(fields: pd.DataFrame, n: int = 20_000) -> pd.DataFrame:
    """Return private, synthetic homes within some kilometers of an airfield; some airfields have more than others."""
    generator = np.random.default_rng(12)
    villages = generator.choice(len(fields), n, p=generator.dirichlet(np.full(len(fields), 0.7)))
    homes = fields[["latitude", "longitude"]].iloc[villages].reset_index(drop=True)
    east, north = generator.normal(0, 6 / KM, (2, n))
    homes["latitude"] += north
    homes["longitude"] += east / np.cos(np.radians(homes["latitude"]))
    return homes


def candidates(fields: pd.DataFrame) -> pd.DataFrame:
    """Return the first airfield of each candidate town, by its name; they are public."""
    towns = fields[fields["city"].isin(BASES) & fields["iata"].str.isalpha()]
    return towns.drop_duplicates("city").set_index("city")[["latitude", "longitude"]]


def compared(ranked: mp.Sites, truth: dict[str, float]) -> str:
    """Return private and exact mean distances, the nearest base first."""
    lines = [f"{'base':<10} {'private, km':>14} {'exact':>7} {'off by':>7}  farther than the first?"]
    for site in ranked:
        private, exact = f"{site.mean_distance:.1f} ± {site.error:.1f}", truth[site.name]
        verdict = "" if site.rank == 1 else "yes" if site.beyond_noise else "too close to call"
        lines.append(
            f"{site.name:<10} {private:>14} {exact:7.1f} {site.mean_distance - exact:+7.1f}  {verdict}".rstrip()
        )
    return "\n".join(lines)


def coast(west: float, east: float) -> FloatArray:
    """Return Natural Earth's coastlines between two longitudes as longitudes and latitudes; NaN ends a line."""
    land = json.loads((files("milepost") / "service/static/vendor/land-50m.json").read_text())
    scale, shift = np.array(land["transform"]["scale"]), np.array(land["transform"]["translate"])
    lines = [np.full((1, 2), np.nan)]
    for arc in land["arcs"]:
        line = np.cumsum(arc, axis=0) * scale + shift  # TopoJSON stores steps on a grid
        line[:, 0] -= 360 * np.round((line[:, 0] - (west + east) / 2) / 360)
        line[(line[:, 0] < west) | (line[:, 0] > east)] = np.nan
        if len(arc) > 2 and np.isfinite(line).any():  # two points form the antimeridian, where the map is cut
            lines += [line, lines[0]]
    return np.concatenate(lines)


def draw(synopsis: mp.Synopsis, ranked: mp.Sites, fields: pd.DataFrame, output: Path) -> None:
    """Draw the library's map, with the public coast and airfields on top."""
    figure = synopsis.plot(ranked)
    axes = figure.axes[0]
    axes.autoscale(False)
    (west, east), clip = axes.get_xlim(), axes.patches[0]
    axes.plot(*coast(west, east).T, color="#333333", lw=0.6, zorder=1.5, clip_path=clip)
    axes.plot(fields["longitude"], fields["latitude"], ".", ms=2.5, color="#c0392b", zorder=1.6)
    axes.set_xlabel("longitude (°)\nred: airfields, which are public, as is the coast")
    figure.savefig(output, dpi=110)


def main(output: Path | None = None) -> None:
    """Choose a base for 20,000 patients."""
    fields = airfields()
    homes, bases = patients(fields), candidates(fields)
    # add-remove: it is private who is a patient, and not only where a patient lives
    synopsis = mp.release(homes, REGION, epsilon=EPSILON, delta=DELTA, neighbors="add-remove")
    print(f"{synopsis}, protects {synopsis.change}\n")
    ranked = synopsis.sites(bases)
    truth = dict(
        zip(bases.index, mp.exact_mean_distance(homes, REGION, bases), strict=True)
    )  # possible only because the patients are synthetic
    print(compared(ranked, truth))
    latitude, longitude = synopsis.center()
    saved = ranked[0].mean_distance - synopsis.mean_distance([latitude, longitude]) + 2 * synopsis.error(uniform=True)
    print(f"\nNo place is nearer than {ranked[0].name} by more than {saved:.0f} km; the best one looks to be at")
    print(f"{latitude:.1f}° N, {-longitude:.1f}° W.")
    if output:
        draw(synopsis, ranked, fields, output)
        print(f"The map is at {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the picture goes, such as clinic.png")
    main(parser.parse_args().output)
