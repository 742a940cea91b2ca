"""Pictures of the pages: `python -m docs.pictures` draws all of them anew, `python -m docs.pictures NAME …` some.

`tutorial` also writes the tutorial's output anew, so that page and map are of one run. Noise is never seeded, so
pictures with noise differ a little each time. What is measured is printed, too.
"""

import math
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

import milepost as mp
from milepost._typing import FloatArray
from milepost.reporting.plotting.style import ANSWER, INK, LINES, OTHER, clean_axes
from tests.blocks import here, written

DOCS = Path(__file__).parent
GREY = "#999999"
EPSILON, DELTA = 1.0, 1e-6
LINE = mp.L1([(0.0, 1.0)])
BOUND = "the paper's own bound α"


def single(n: int) -> float:
    """Standard deviation of the noise of one worst-placed query that is answered alone, distances up to 1."""
    return 1 / (n * mp.Guarantee(EPSILON, DELTA).mu)


def panels(*titles: str, width: float = 10, height: float = 3.8) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(1, len(titles))))
    for each, title in zip(axes, titles, strict=True):
        clean_axes(each)
        each.set_title(title, color=INK, fontsize=11, loc="left")
    return figure, axes


def people(n: int) -> FloatArray:
    """n made-up people on the line from 0 to 1, in two clusters."""
    generator = np.random.default_rng(4)
    places = np.where(generator.random(n) < 0.6, generator.normal(0.3, 0.08, n), generator.normal(0.75, 0.06, n))
    return np.clip(places, 0, 1)


def line() -> Figure:
    """Five people: their distances, the mean, and its slope."""
    figure, (left, right) = panels("The mean of five distances is a convex curve", "Its slope counts people")
    homes, y = np.array([0.15, 0.3, 0.38, 0.7, 0.85]), np.linspace(0, 1, 501)
    for home in homes:
        left.plot(y, np.abs(y - home), color=GREY, lw=0.9, label="distance to one person" if home == homes[0] else None)
    left.plot(y, np.abs(y[:, None] - homes).mean(axis=1), color=ANSWER, lw=2.4, label="mean distance F(y)")
    left.plot(homes, 0 * homes, "o", color=OTHER, ms=7, label="people", clip_on=False, zorder=5)
    left.set_ylim(0, 1)
    left.set(xlabel="place y", ylabel="distance")
    left.legend(frameon=False, fontsize=9, loc="upper center")
    share = np.searchsorted(homes, y, side="right") / len(homes)
    right.plot(y, 2 * share - 1, color=ANSWER, lw=2.4)
    right.plot(homes, 0 * homes - 1, "o", color=OTHER, ms=7, clip_on=False, zorder=5)
    right.axhline(0, color=GREY, lw=0.8)
    right.annotate(
        "slope 0: the centre,\nhalf of the people on either side",
        (0.38, 0),
        (0.44, -0.62),
        fontsize=9,
        color=INK,
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    right.set(xlabel="place y", ylabel="slope of F", ylim=(-1, 1))
    shares = right.secondary_yaxis("right", functions=(_share, _slope))
    shares.set_ylabel("share of people at or below y", color=INK)
    return figure


def _share(slope: ArrayLike) -> FloatArray:
    return (np.asarray(slope, dtype=np.float64) + 1) / 2


def _slope(share: ArrayLike) -> FloatArray:
    return 2 * np.asarray(share, dtype=np.float64) - 1


def noise() -> Figure:
    """Noisy slopes of a real release, and the curve that they add up to."""
    figure, (left, right) = panels(
        "Released: the slope in every cell, with noise", "Added up: the curve, with an even error"
    )
    n = 400
    homes = people(n)
    synopsis = mp.release(homes, LINE, epsilon=EPSILON, delta=DELTA, mechanism="slopes")
    cells = _cells(n)
    y = np.linspace(0, 1, cells + 1)
    raw, exact = np.asarray(synopsis.mean_distance(y, raw=True)), np.asarray(mp.exact_mean_distance(homes, LINE, y))
    left.stairs(np.diff(exact) * cells, y, baseline=None, color=GREY, lw=1.6, label="without noise")
    left.stairs(np.diff(raw) * cells, y, baseline=None, color=ANSWER, lw=1.6, label="released")
    left.set(xlabel="place y", ylabel="slope of F")
    fine = np.linspace(0, 1, 401)
    values, error = np.asarray(synopsis.mean_distance(fine)), synopsis.error()
    right.fill_between(fine, values - error, values + error, color=ANSWER, alpha=0.25, lw=0, label="± error, 95 %")
    right.plot(fine, mp.exact_mean_distance(homes, LINE, fine), color=GREY, lw=1.6, label="without noise")
    right.plot(fine, values, color=ANSWER, lw=1.6, label="released")
    right.set(xlabel="place y", ylabel="mean distance F(y)")
    for each in (left, right):
        each.legend(frameon=False, fontsize=9)
    return figure


def _cells(n: int) -> int:
    """Into how many cells slopes divides the line for n people."""
    predictions = mp.plan(LINE, n=n, epsilon=EPSILON, delta=DELTA).predictions
    return next(one.cells for one in predictions if one.mechanism == "slopes" and one.cells is not None)


def flat() -> Figure:
    """Noise of an answer at every place: of slopes, measured; of answers from noisy histograms, by formula."""
    figure, (axes,) = panels("Noise of an answer ÷ that of one query alone", width=7)
    n, releases, y = 2_000, 300, np.linspace(0, 1, 41)
    homes = people(n)
    exact = np.asarray(mp.exact_mean_distance(homes, LINE, y))
    found = [mp.release(homes, LINE, epsilon=EPSILON, delta=DELTA, mechanism="slopes") for _ in range(releases)]
    errors = np.array([one.mean_distance(y, raw=True) - exact for one in found]) / single(n)
    for bins, color in (
        (256, OTHER),
        (32, LINES),
    ):  # a replaced person moves two counts: √2 times one query's noise each
        middles = (np.arange(bins) + 0.5) / bins
        axes.plot(
            y,
            math.sqrt(2) * np.sqrt(((y[:, None] - middles) ** 2).sum(axis=1)),
            color=color,
            lw=1.8,
            label=f"noisy counts of {bins} bins, added up (formula)",
        )
    measured = np.sqrt(np.mean(errors**2, axis=0))
    print(
        f"flat: slopes, {releases} releases, n = {n:,}: {measured.min():.2f} to {measured.max():.2f} × one query alone"
    )
    axes.plot(y, measured, color=ANSWER, lw=2.2, label=f"slopes (measured, {releases} releases)")
    axes.axhline(1, color=GREY, lw=1, ls=":")
    axes.set(xlabel="place y", ylabel="ratio", yscale="log", ylim=(0.7, 50), yticks=[1, 3, 10, 30])
    axes.set_yticklabels(["1", "3", "10", "30"])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9, loc="upper center", ncols=1)
    return figure


def embedding() -> Figure:
    """A distance in the plane as a mean over directions, and how near that is."""
    figure, (left, right) = panels(
        "A way in the plane, seen from 8 directions", "Mean over directions ÷ the true distance"
    )
    (a, b), turns = np.array([(-0.55, -0.35), (0.5, 0.3)]), np.arange(8) * math.pi / 8
    for turn in turns:
        ray = np.array([math.cos(turn), math.sin(turn)])
        left.plot(*np.outer([-1, 1], ray).T, color=GREY, lw=0.7)
        left.plot(*np.outer([a @ ray, b @ ray], ray).T, color=LINES, lw=3, alpha=0.8, solid_capstyle="butt")
    left.plot(*np.array([a, b]).T, "o-", color=ANSWER, lw=2.2, ms=7)
    left.add_patch(Circle((0, 0), 1, fill=False, color=GREY, lw=1))
    left.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    left.grid(visible=False)
    left.spines[:].set_visible(False)
    angles = np.linspace(0, math.pi, 361)
    ends = 0.9 * np.column_stack([np.cos(angles), np.sin(angles)])
    for count, color in ((4, OTHER), (8, LINES), (16, GREY), (64, ANSWER)):
        space = mp.L2(center=[0, 0], radius=1, directions=count)
        embedding = space.position(np.vstack([ends, -ends])).astype(float)
        ratio = np.abs(embedding[: len(ends)] - embedding[len(ends) :]) @ space.embedding.quantum / 1.8
        print(f"embedding: {count} directions, off by at most {np.abs(ratio - 1).max():.2%}")
        right.plot(np.degrees(angles), ratio, color=color, lw=1.8, label=f"{count} directions")
    right.set(xlabel="direction of the way (°)", ylabel="ratio", xticks=[0, 45, 90, 135, 180])
    right.legend(frameon=False, fontsize=9, loc="upper center", ncols=4, bbox_to_anchor=(0.5, -0.18))
    return figure


def paper() -> Figure:
    """Errors of all answers at once, 95 %, on the line against n: those of the library, and the paper's bound."""
    figure, (axes,) = panels(
        f"Error of all answers at once, one column, ε = {EPSILON:g}, δ = {DELTA:g}", width=7.5, height=4.2
    )
    sizes = [10**k for k in range(3, 9)]
    curves: dict[str, list[float]] = {}
    for n in sizes:
        for prediction in mp.plan(LINE, n=n, epsilon=EPSILON, delta=DELTA).predictions:
            if prediction.mechanism == "tangents":
                curves.setdefault(BOUND, []).append(float(prediction.details["paper's alpha"]))
            if prediction.uniform is not None:
                curves.setdefault(prediction.mechanism, []).append(prediction.uniform)
    for name, color, words in (
        (BOUND, GREY, BOUND),
        ("tangents", OTHER, "its mechanism, with all constants worked out (tangents)"),
        ("slopes", ANSWER, "slopes"),
        ("hats", LINES, "hats, which needs no δ"),
    ):
        axes.loglog(sizes, curves[name], "o-", ms=3.5, color=color, lw=1.8, label=words)
        print(f"paper: {words}:", *(f"{error:.2g}" for error in curves[name]))
    axes.axhline(1, color=GREY, lw=1, ls=":")
    axes.annotate(
        "the largest distance there is",
        (sizes[-1], 1),
        (0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color=INK,
    )
    axes.set(xlabel="people in the table, n", ylabel="error ÷ largest distance")
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def price() -> Figure:
    """Measured error of k queries: noise for each, and one release for all."""
    figure, (axes,) = panels("Error of one answer among k, measured", width=7, height=4.2)
    n, releases = 10_000, {1: 400, 10: 200, 100: 40, 1_000: 20}
    counts, homes, grid = list(releases), people(n), (np.arange(1_000) + 0.5) / 1_000
    truth = np.asarray(mp.exact_mean_distance(homes, LINE, grid))

    def measured(name: str, count: int) -> float:
        taken = slice(500 // count, None, 1_000 // count)
        points, delta = grid[taken, None], 0.0 if name == "laplace" else DELTA
        queries = None if name == "slopes" else points
        times = 400 if name == "slopes" else releases[count]  # its answers hang together, so that one counts for all
        found = [
            mp.release(homes, LINE, epsilon=EPSILON, delta=delta, mechanism=name, queries=queries) for _ in range(times)
        ]
        errors = [one.mean_distance(points, raw=True) - truth[taken] for one in found]
        return float(np.sqrt(np.mean(np.square(errors)))) / single(n)

    for name, color, words in (
        ("laplace", GREY, "noise for each query, pure ε (laplace): k"),
        ("gaussian", OTHER, "noise for each query (gaussian): √k"),
        ("slopes", ANSWER, "one release for all (slopes): flat"),
    ):
        ratios = [measured(name, count) for count in counts]
        print(f"price: {name}, k = 1, 10, 100, 1000:", *(f"{ratio:.2f}" for ratio in ratios))
        axes.loglog(counts, ratios, "o-", color=color, lw=2, label=words)
    axes.set(xlabel="questions asked, k", ylabel="error ÷ that of one query alone", xticks=counts, yticks=[1, 10, 100])
    axes.set_xticklabels([f"{count:,}" for count in counts])
    axes.set_yticklabels(["1", "10", "100"])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9)
    return figure


def tutorial() -> None:
    """Run the tutorial, write what it printed, and keep its map."""
    page, before = DOCS / "tutorial.md", Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        text = written(page.read_text(encoding="utf-8"), here)
        picture = Path("map.png").read_bytes()
        os.chdir(before)
    page.write_text(text, encoding="utf-8")
    (DOCS / "images" / "tutorial-map.png").write_bytes(picture)


PICTURES: dict[str, Callable[[], Figure]] = {
    "line": line,
    "noise": noise,
    "flat": flat,
    "embedding": embedding,
    "paper": paper,
    "price": price,
}


def main(names: list[str]) -> None:
    """Draw what is named, or everything."""
    for name in names or [*PICTURES, "tutorial"]:
        if name == "tutorial":
            tutorial()
        else:
            PICTURES[name]().savefig(DOCS / "images" / f"{name}.png", dpi=130, facecolor="white")
        print(f"drew {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
