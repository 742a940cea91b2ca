"""The demo: where should the next clinic stand, if nobody may learn where anyone lives? Made-up data, seeded."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from milepost import plots
from milepost.arrays import FloatArray
from milepost.plan import Plan, plan
from milepost.release import exact, interactive, release
from milepost.session import Session
from milepost.spaces import L1
from milepost.synopsis import Synopsis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CITY = L1({"east": (0, 10), "north": (0, 10)})
EPSILON, DELTA = 1.0, 1e-6
BLOCK = 0.2  # km between two parallel streets
SITES = {
    "Market Square": (3.0, 7.0),
    "Town Hall": (4.4, 5.0),
    "Harbour Gate": (7.6, 2.4),
    "University": (8.2, 7.8),
    "North Hill": (2.0, 9.4),
}
QUERIES = 400


@dataclass(frozen=True)
class Visit:
    """One candidate site: the private answer, its promised error, and the truth that only a demo may show."""

    site: str
    private: float
    error: float
    exact: float

    @property
    def difference(self) -> float:
        """How far the private answer is off."""
        return self.private - self.exact

    @property
    def kept(self) -> bool:
        """Whether the answer is within its promise."""
        return abs(self.difference) <= self.error


@dataclass(frozen=True)
class Demo:
    """What a run of the demo found."""

    synopsis: Synopsis
    visits: tuple[Visit, ...]
    asked: int
    kept: int
    updates: int
    most_updates: int
    picture: Path


def homes(n: int, seed: int = 7) -> FloatArray:
    """n made-up homes along the streets of a city of 10 by 10 km: float64[n, 2], east and north in km."""
    generator = np.random.default_rng(seed)
    middle = np.array([[3.0, 6.5], [7.5, 2.5], [5.0, 5.0]])
    spread = np.array([[0.9, 0.8], [1.1, 0.7], [3.0, 3.0]])
    quarter = generator.choice(3, size=n, p=[0.45, 0.25, 0.3])
    result = np.clip(generator.normal(middle[quarter], spread[quarter]), 0, 10)
    street = generator.integers(2, size=n)  # whether the home's street runs north or east
    rows = np.arange(n)
    result[rows, street] = np.rint(result[rows, street] / BLOCK) * BLOCK
    return result


def curve(values: FloatArray, grid: FloatArray) -> FloatArray:
    """The exact mean of |value − g| at every g of a grid, by sorting once. NOT PRIVATE."""
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, grid)
    result: FloatArray = (sums[-1] - 2 * sums[below] + (2 * below - len(ordered)) * grid) / len(ordered)
    return result


def run(output: Path, n: int = 1_000_000, console: Console | None = None) -> Demo:
    """Tell the story on a console, and save the picture at `output`."""
    plots.check_picture(output)
    console = console or Console(highlight=False)
    planned = plan(CITY, n=n, epsilon=EPSILON, delta=DELTA, max_queries=QUERIES)
    with console.status("Building the city …"):
        people = homes(n)
    console.print(
        f"A city of 10 × 10 km has {n:,} homes, and nobody may learn who lives where.\n"
        "Which of five sites for a clinic has the shortest walk, along the streets\n"
        "and on average? (The homes are made up, so the exact answers can be shown.)\n"
    )
    console.print("The plan, before any data is touched:", _forecast(planned), sep="\n")
    with console.status("Releasing …"):
        synopsis = release(people, CITY, epsilon=EPSILON, delta=DELTA)
    visits = _visit(synopsis, people)
    console.print(
        f"The release, by {synopsis.mechanism} with {synopsis.guarantee}, answers every question:",
        _table(visits),
        sep="\n",
    )
    console.print(_verdict(visits) + "\n")

    with (
        console.status("Asking a session …"),
        interactive(people, CITY, epsilon=EPSILON, delta=DELTA, max_queries=QUERIES, mechanism="tangents") as session,
    ):
        kept = _stroll(session, people)
        asked, updates, most_updates = session.asked, session.updates, session.most_updates
    console.print(
        f"A session of the paper's own mechanism, with a budget of its own\n"
        f"({session.guarantee}), took {asked} questions one after another. It learned from\n"
        f"the data {updates} times (at most {most_updates}) and answered all others from that;\n"
        f"{kept} of {asked} answers are within ± {session.error:.3f} km.\n"
    )
    with console.status("Drawing …"):
        paper = release(people, CITY, epsilon=EPSILON, delta=DELTA, mechanism="tangents")
        plots.save(picture(paper, synopsis, people), output)
    console.print(f"The picture is at {output}", soft_wrap=True, markup=False)
    return Demo(synopsis, visits, asked, kept, updates, most_updates, output)


def picture(paper: Synopsis, synopsis: Synopsis, people: FloatArray) -> "Figure":
    """Both coordinates of the paper's mechanism and of the release beside the truth."""
    grid = np.linspace(0, 10, 501)
    return plots.plot_lines(
        paper, [curve(column, grid) for column in people.T], [grid, grid], ["east", "north"], "km", synopsis
    )


def _visit(synopsis: Synopsis, people: FloatArray) -> tuple[Visit, ...]:
    places = list(SITES.values())
    private, truth = synopsis.mean_distance(places), exact(people, CITY, places)
    rows = zip(SITES, private.tolist(), truth.tolist(), strict=True)
    return tuple(Visit(site, answer, synopsis.error(), true) for site, answer, true in rows)


def _forecast(planned: Plan) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("mechanism")
    for name in ("promised error", "updates at most", "the paper's own"):
        table.add_column(name, justify="right")
    for prediction in planned.predictions:
        updates, paper = prediction.details.get("updates", ""), prediction.details.get("paper's alpha")
        bound = f"± {paper:.3g} km" if isinstance(paper, float) else ""
        table.add_row(prediction.mechanism, f"± {prediction.error:.3g} km", str(updates), bound)
    return table


def _table(visits: tuple[Visit, ...]) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("site", no_wrap=True)
    table.add_column("walk in km, private", justify="right", no_wrap=True)
    for name in ("exact", "difference", "within the promise"):
        table.add_column(name, justify="right")
    for visit in visits:
        table.add_row(
            visit.site,
            f"{visit.private:.4f} ± {visit.error:.4f}",
            f"{visit.exact:.4f}",
            f"{visit.difference:+.4f}",
            "yes" if visit.kept else "no",
        )
    return table


def _verdict(visits: tuple[Visit, ...]) -> str:
    best, second = sorted(visits, key=lambda visit: visit.private)[:2]
    if second.private - best.private > best.error + second.error:
        return f"{best.site} has the shortest walk: it leads by more than both errors together."
    return f"{best.site} and {second.site} are too close to call at this error; {best.site} looks a little better."


def _stroll(session: Session, people: FloatArray) -> int:
    """Ask along a walk through the city; how many answers were within the promise."""
    turn = np.linspace(0, 12 * np.pi, QUERIES)
    radius = np.linspace(0.2, 4.8, QUERIES)
    points = 5 + radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    answers = np.array([session.ask(point).value for point in points])
    truth = curve(people[:, 0], points[:, 0]) + curve(people[:, 1], points[:, 1])
    return int(np.sum(np.abs(answers - truth) <= session.error))
