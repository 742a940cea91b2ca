"""A retailer's question: which segment is a new customer closest to, without telling anything about the old ones?

Makes up 30,000 rows of 10,000 customers, plans and makes one release with a group for each segment, compares three new
customers with all of them, and recommends. Run it with `python examples/retailer.py`; docs/groups.md explains it.
"""

import csv
import tempfile
from pathlib import Path

import numpy as np

import milepost as mp

TYPICAL = {"budget": (20, 10), "family": (60, 25), "premium": (150, 8)}  # spend and visits a month
SHARES = (0.5, 0.35, 0.15)
NEW = {"Ada": (25, 11), "Ben": (70, 24), "Cem": (103, 16)}


def make_customers(path: Path, customers: int = 10_000, months: int = 3) -> None:
    """The private table: a row for each customer and month."""
    generator = np.random.default_rng(7)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["spend", "visits", "segment", "customer_id"])
        for customer, segment in enumerate(generator.choice(list(TYPICAL), customers, p=SHARES)):
            for spend, visits in generator.normal(TYPICAL[segment], (15, 4), (months, 2)):
                table.writerow([f"{max(spend, 0):.2f}", max(round(visits), 0), segment, customer])


def recommend(compared: mp.Comparison, doubt: float = 0.05) -> str:
    """One sentence: a segment for each new customer whose nearest one is beyond doubt."""
    words = []
    for name, segment, margin, flip in zip(NEW, compared.nearest, compared.margin, compared.flip, strict=True):
        if flip < doubt:
            words.append(f"treat {name} as {segment} (by {margin:.1f} EUR)")
        else:
            words.append(f"ask {name} first (noise alone could change {segment} in {flip:.0%} of cases)")
    return f"Recommendation: {', '.join(words)}."


def main() -> None:
    """From a CSV file to a recommendation."""
    space = mp.L1({"spend": (0, 300), "visits": (0, 60)}, weights={"visits": 3}, unit="EUR")  # a visit counts as 3 EUR
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
            unit="customer_id",
            contributions=3,
        )
    print(synopsis.statement())
    compared = synopsis.compare(list(NEW.values()))
    print(compared)
    print(recommend(compared))


if __name__ == "__main__":
    main()
