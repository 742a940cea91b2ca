"""The demo: find the best site for a clinic without learning where anyone lives. The homes are synthetic."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from milepost._typing import FloatArray
from milepost.demo.without_privacy import without_privacy
from milepost.pipeline.plan import Plan, plan
from milepost.pipeline.release import exact_mean_distance, release
from milepost.reporting.plotting import style
from milepost.spaces.geographic import GreatCircle
from milepost.synopsis.synopsis import Synopsis

REGION = GreatCircle((52.52, 13.405), radius_km=30)
EPSILON, DELTA = 1.0, 1e-6
SITES = {
    "Alexanderplatz": (52.5219, 13.4132),
    "Tempelhof": (52.4736, 13.4017),
    "Spandau": (52.5351, 13.1999),
    "Köpenick": (52.4438, 13.5726),
    "Potsdam": (52.3906, 13.0645),
}
QUARTERS = {  # where synthetic people live: center in degrees, spread in km, share of the people
    "Mitte": ((52.525, 13.395), 4.0, 0.30),
    "Neukölln": ((52.470, 13.435), 3.0, 0.20),
    "Spandau": ((52.540, 13.205), 2.5, 0.12),
    "Marzahn": ((52.545, 13.565), 2.5, 0.13),
    "Potsdam": ((52.400, 13.060), 2.0, 0.07),
    "elsewhere": ((52.510, 13.400), 12.0, 0.18),
}
KM = 111.2  # a degree of latitude


@dataclass(frozen=True)
class SiteResult:
    """One candidate site: the private answer, its error, and the exact answer, which only a demo may show."""

    site: str
    private: float
    error: float
    exact: float

    @property
    def difference(self) -> float:
        """Return the private answer minus the exact one."""
        return self.private - self.exact

    @property
    def within_error(self) -> bool:
        """Return whether the private answer is within its error."""
        return abs(self.difference) <= self.error


@dataclass(frozen=True)
class Demo:
    """The results of a run of the demo, the nearest site first, and the paths of its two pictures."""

    synopsis: Synopsis
    results: tuple[SiteResult, ...]
    picture: Path
    exact_picture: Path


def homes(n: int, seed: int = 7) -> FloatArray:
    """Return n synthetic homes in and around a city: float64[n, 2], latitude and longitude in degrees."""
    generator = np.random.default_rng(seed)
    middles, spreads, shares = zip(*QUARTERS.values(), strict=True)
    quarter = generator.choice(len(shares), size=n, p=shares)
    offset = generator.normal(size=(n, 2)) * np.array(spreads)[quarter, None] / KM
    offset[:, 1] /= np.cos(np.radians(REGION.latitude))
    result: FloatArray = np.array(middles)[quarter] + offset
    return result


def run(output: Path, n: int = 200_000, console: Console | None = None) -> Demo:
    """Run the demo on a console, and save the picture at `output` and one without privacy next to it."""
    style.check_plot_path(output)
    console = console or Console(highlight=False)
    console.print(
        f"A region of 30 km around a city has {n:,} homes, and nobody may learn who lives where.\n"
        "Which of five sites for a clinic is nearest, on average and as the crow flies?\n"
        "(The homes are made up, so the exact answers can be shown.)\n"
    )
    console.print("The plan, before any data is touched:", _plan_table(plan(REGION, n=n, epsilon=EPSILON, delta=DELTA)))
    with console.status("Releasing …"):
        people = homes(n)
        synopsis = release(people, REGION, epsilon=EPSILON, delta=DELTA)
    results = _site_results(synopsis, people)
    console.print(
        f"The release, by {synopsis.mechanism} with {synopsis.guarantee}, answers for any place. The sites, ranked:",
        _result_table(results),
        sep="\n",
    )
    console.print(_verdict(results) + "\n")
    exact_picture = output.with_stem(output.stem + "-without-privacy")
    with console.status("Drawing …"):
        style.save(synopsis.plot(SITES), output)
        figure = without_privacy(people, synopsis).plot(SITES)
        figure.axes[0].set_title(f"The same without privacy, n = {n:,}", fontsize=11, loc="left")
        style.save(figure, exact_picture)
    console.print(f"The map is at {output}, the same without privacy at {exact_picture}", soft_wrap=True, markup=False)
    return Demo(synopsis, results, output, exact_picture)


def _site_results(synopsis: Synopsis, people: FloatArray) -> tuple[SiteResult, ...]:
    ranked = synopsis.sites(SITES)
    truth = dict(zip(SITES, exact_mean_distance(people, REGION, list(SITES.values())).tolist(), strict=True))
    return tuple(SiteResult(site.name, site.mean_distance, site.error, truth[site.name]) for site in ranked)


def _plan_table(demo_plan: Plan) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("mechanism")
    for name in ("error of one answer", "of all at once", "the paper's own"):
        table.add_column(name, justify="right")
    for prediction in demo_plan.predictions:
        paper = prediction.details.get("paper's alpha")
        bound = f"± {paper:.3g} km" if isinstance(paper, float) else ""
        table.add_row(prediction.mechanism, f"± {prediction.error:.3g} km", f"± {prediction.uniform:.3g} km", bound)
    return table


def _result_table(results: tuple[SiteResult, ...]) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("site", no_wrap=True)
    table.add_column("mean distance in km, private", justify="right", no_wrap=True)
    for name in ("exact", "difference", "within the error"):
        table.add_column(name, justify="right")
    for result in results:
        table.add_row(
            result.site,
            f"{result.private:.4f} ± {result.error:.4f}",
            f"{result.exact:.4f}",
            f"{result.difference:+.4f}",
            "yes" if result.within_error else "no",
        )
    return table


def _verdict(results: tuple[SiteResult, ...]) -> str:
    best, second = results[:2]
    if second.private - best.private > best.error + second.error:
        return f"{best.site} is the nearest: it leads by more than both errors together."
    return f"{best.site} and {second.site} are too close to call at this error; {best.site} looks a little better."
