"""Find the spelling of a city that people use, without learning what anyone typed.

The spellings are real: Python's time zones (`zoneinfo`) have the older names of cities next to the current ones. The
24,000 typed names are synthetic and seeded, typing errors included, so that the exact answers can be shown. Run it with
`python -m examples.names --output names.png`; docs/examples.md explains it.
"""

import argparse
import string
from pathlib import Path
from zoneinfo import available_timezones

import numpy as np
from matplotlib.figure import Figure

import milepost as mp

SPELLINGS = {  # the country, which people choose from a list: the older and newer name of the city that they type
    "Ukraine": ("Europe/Kiev", "Europe/Kyiv"),
    "India": ("Asia/Calcutta", "Asia/Kolkata"),
    "Nepal": ("Asia/Katmandu", "Asia/Kathmandu"),
    "Bangladesh": ("Asia/Dacca", "Asia/Dhaka"),
    "Myanmar": ("Asia/Rangoon", "Asia/Yangon"),
    "Vietnam": ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
    "Mongolia": ("Asia/Ulan_Bator", "Asia/Ulaanbaatar"),
    "Greenland": ("America/Godthab", "America/Nuuk"),
}
EPSILON = 1.0  # pure: δ = 0
LONGEST = 8  # the maximum number of edits; public


def spellings() -> dict[str, tuple[str, str]]:
    """Return both names of each country's city, as the time zone database spells them; they are public and real."""
    known = available_timezones()
    missing = [zone for pair in SPELLINGS.values() for zone in pair if zone not in known]
    if missing:
        raise SystemExit(f"this system's time zones lack {', '.join(missing)}: pip install tzdata")
    return {country: (_city(older), _city(newer)) for country, (older, newer) in SPELLINGS.items()}


def _city(zone: str) -> str:
    return zone.split("/")[-1].replace("_", " ")


def typed(names: dict[str, tuple[str, str]], n: int = 24_000) -> tuple[list[str], list[str]]:
    """Return private, synthetic rows of a country and a city, with one letter in twenty mistyped."""
    generator = np.random.default_rng(5)
    habits = dict(
        zip(names, generator.uniform(0.1, 0.9, len(names)).tolist(), strict=True)
    )  # whether a person uses the newer name
    countries, cities = [], []
    for country in generator.choice(list(names), n).tolist():
        letters = list(names[country][int(generator.random() < habits[country])])
        for place in np.flatnonzero(generator.random(len(letters)) < 0.05).tolist():
            letters[place] = str(generator.choice(["", letters[place] * 2, *string.ascii_lowercase]))
        countries.append(country)
        cities.append("".join(letters))
    return countries, cities


def suggestions(found: dict[str, mp.Sites], truth: dict[str, dict[str, float]]) -> str:
    """Return a line for each country: both names, their mean edit distances, and which name to suggest."""
    lines = [
        f"{'country':<11} {'nearest name':<12} {'edits':>11} exact   {'other name':<12} {'edits':>11} exact   suggest"
    ]
    for country, (first, second) in found.items():
        cells = [
            f"{site.name:<12} {site.mean_distance:4.2f} ± {site.error:4.2f}  {truth[country][site.name]:4.2f}  "
            for site in (first, second)
        ]
        lines.append(f"{country:<11} {' '.join(cells)} {first.name if second.beyond_noise else 'either'}")
    return "\n".join(lines)


def draw(
    found: dict[str, mp.Sites], truth: dict[str, dict[str, float]], names: dict[str, tuple[str, str]], output: Path
) -> None:
    """Draw both names of each city with their errors, in front of the exact answers."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for row, (country, ranked) in enumerate(found.items()):
        axes.plot([site.mean_distance for site in ranked], [row, row], color="#cccccc", lw=2, zorder=1)
        for site, side in zip(ranked, ("right", "left"), strict=True):
            color = "#2f6fb0" if site.name == names[country][1] else "#b97a1d"
            axes.errorbar(site.mean_distance, row, xerr=site.error, fmt="o", ms=6, color=color, capsize=3)
            axes.plot(truth[country][site.name], row, "|", ms=16, color="#333333", zorder=3)
            place = (site.mean_distance, row - 0.2)
            axes.annotate(site.name, place, (0, 4), textcoords="offset points", ha=side, color=color)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.8)
    axes.set_xlim(left=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.set_xlabel("mean number of edits from what people typed (orange: older name, blue: newer; | exact)")
    axes.set_title(f"Which spelling do people use? Private, ε = {EPSILON:g}, with 95 % errors", loc="left", fontsize=11)
    figure.savefig(output, dpi=110)


def main(output: Path | None = None) -> None:
    """Find the spelling that a form should suggest."""
    names = spellings()
    countries, cities = typed(names)
    queries = [name for pair in names.values() for name in pair]
    space = mp.AnyMetric(mp.edit_distance, diameter=LONGEST, queries=queries)
    synopsis = mp.release(cities, space, epsilon=EPSILON, groups=countries, labels=list(names))
    print(f"{synopsis}, protects {synopsis.change}\n")
    found = {country: synopsis.group(country).sites(list(pair)) for country, pair in names.items()}
    truth = {}
    for country, pair in names.items():  # possible only because the names are synthetic
        own = [city for city, its in zip(cities, countries, strict=True) if its == country]
        truth[country] = dict(zip(pair, mp.exact_mean_distance(own, space, list(pair)).tolist(), strict=True))
    print(suggestions(found, truth))
    if output:
        draw(found, truth, names, output)
        print(f"\nThe picture is at {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the picture goes, such as names.png")
    main(parser.parse_args().output)
