"""Find the segment that is closest to a new customer, without revealing anything about the existing customers.

The program makes 30,000 synthetic rows of 10,000 customers, plans and makes one release with a group for each segment,
compares three new customers with all segments and with the exact answers, which only synthetic data allow, recommends,
and fits a private classifier to one row of each customer. Run it with `python examples/retailer.py --output
retailer.png`; docs/groups.md and docs/examples.md explain it.
"""

import argparse
import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

import milepost as mp
from milepost.sklearn import NearestGroup

TYPICAL = {"budget": (20, 10), "family": (60, 25), "premium": (150, 8)}  # spend and visits a month
SHARES = (0.5, 0.35, 0.15)
COLORS = {"budget": "#d99a3d", "family": "#4c9f70", "premium": "#2f6fb0"}
NEW = {"Ada": (25, 11), "Ben": (70, 24), "Cem": (103, 16)}


def make_customers(path: Path, customers: int = 10_000, months: int = 3) -> None:
    """Return the private table: a row for each customer and month."""
    generator = np.random.default_rng(7)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["spend", "visits", "segment", "customer_id"])
        for customer, segment in enumerate(generator.choice(list(TYPICAL), customers, p=SHARES)):
            for spend, visits in generator.normal(TYPICAL[segment], (15, 4), (months, 2)):
                table.writerow([f"{max(spend, 0):.2f}", max(round(visits), 0), segment, customer])


def recommend(compared: mp.Comparison, doubt: float = 0.05) -> str:
    """Return one sentence: a segment for each new customer whose nearest segment is certain."""
    words = []
    for name, segment, margin, flip in zip(
        NEW, compared.nearest, compared.margin, compared.flip_probability, strict=True
    ):
        if flip < doubt:
            words.append(f"treat {name} as {segment} (by {margin:.1f} EUR)")
        else:
            words.append(f"ask {name} first (noise alone could change {segment} in {flip:.0%} of cases)")
    return f"Recommendation: {', '.join(words)}."


def read_customers(path: Path) -> tuple[Any, Any]:
    """Return the private rows, spend and visits, and their segments."""
    table = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    return np.column_stack([table["spend"], table["visits"]]), table["segment"]


def fit_classifier(path: Path, space: mp.L1, months: int = 3) -> NearestGroup:
    """Return a private classifier of customers, who have one row each: the mean of all their months."""
    rows, segments = read_customers(path)
    model = NearestGroup(space, epsilon=1, delta=1e-6, classes=list(TYPICAL))
    customers = rows.reshape(-1, months, 2).mean(axis=1)
    return model.fit(pd.DataFrame(customers, columns=["spend", "visits"]), segments[::months])


def exact_distances(path: Path, space: mp.L1) -> dict[str, list[float]]:
    """Return the exact mean distances of the new customers to every segment. NOT PRIVATE."""
    rows, segments = read_customers(path)
    places = list(NEW.values())
    return {label: mp.exact_mean_distance(rows[segments == label], space, places).tolist() for label in TYPICAL}


def draw(synopsis: mp.Synopsis, output: Path, doubt: float = 0.05) -> None:
    """Draw the nearest segment of every possible customer, hatched where noise alone may have decided."""
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    spend, visits = np.meshgrid(np.linspace(0, 200, 161), np.linspace(0, 40, 121))
    compared = synopsis.compare(np.column_stack([spend.ravel(), visits.ravel()]))
    place, flip = compared.nearest_index.reshape(spend.shape), compared.flip_probability.reshape(spend.shape)
    axes.pcolormesh(spend, visits, place, cmap=ListedColormap(list(COLORS.values())), alpha=0.35, rasterized=True)
    axes.contourf(spend, visits, flip, levels=[doubt, 1], colors="none", hatches=["xxxx"])
    for label, color in COLORS.items():
        x, y = synopsis.group(label).center()
        axes.plot(x, y, "*", ms=15, color=color, mec="white")
        away = (0, 9 if y > 20 else -17)
        axes.annotate(f"centre of {label}", (x, y), away, textcoords="offset points", ha="center", color="#333333")
    for name, (x, y) in NEW.items():
        axes.plot(x, y, "o", ms=7, color="#333333", mec="white")
        axes.annotate(name, (x, y), (8, -9), textcoords="offset points", weight="bold", color="#333333")
    axes.set_xlabel("spend, EUR a month")
    axes.set_ylabel("visits a month")
    words = f"Nearest segment, {synopsis.guarantee}; hatched: noise could change it in over {doubt:.0%} of cases"
    axes.set_title(words, loc="left", fontsize=11)
    figure.savefig(output, dpi=110)


def main(output: Path | None = None) -> None:
    """Lead from a CSV file to a recommendation."""
    space = mp.L1(
        {"spend": (0, 300), "visits": (0, 60)}, weights={"visits": 3}, distance_unit="EUR"
    )  # a visit counts as 3 EUR
    print(mp.plan(space, n=30_000, epsilon=1, delta=1e-6, groups=len(TYPICAL), contributions=3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "customers.csv"
        make_customers(path)
        synopsis = mp.release(
            path,
            space,
            epsilon=1,
            delta=1e-6,
            groups="segment",
            labels=list(TYPICAL),
            privacy_unit="customer_id",
            contributions=3,
        )
        truth = exact_distances(path, space)
        model = fit_classifier(path, space)
    print(synopsis.statement())
    compared = synopsis.compare(list(NEW.values()))
    print(compared)
    for row, name in enumerate(NEW):
        print(f"{name}, exactly: " + ", ".join(f"{values[row]:.1f} EUR to {label}" for label, values in truth.items()))
    if output:
        draw(synopsis, output)
        print(f"The picture is at {output}")
    new = pd.DataFrame(NEW.values(), columns=["spend", "visits"])
    for name, segment, chances in zip(NEW, model.predict(new), model.predict_proba(new), strict=True):
        print(f"{name}, by class means: {segment}, and noise could change it in {1 - chances.max():.0%} of cases")
    print(f"Both releases together have ε = {synopsis.guarantee.epsilon + model.epsilon:g} for a customer.")
    print(recommend(compared))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], allow_abbrev=False)
    parser.add_argument("--output", type=Path, help="where the picture goes, such as retailer.png")
    main(parser.parse_known_args()[0].output)
