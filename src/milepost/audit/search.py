"""Cases of find_bounds: one row moves, comes or goes, and the outcome is every noisy number of the search."""

from collections.abc import Iterator

import numpy as np

from milepost.audit.case import SLOW, Case, Draw, Outcomes, laplace_ratio
from milepost.audit.claims import Claim, Pure
from milepost.pipeline.find_bounds import Grid, Scales, Search
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import Change
from milepost.statistics.magnitudes import LARGEST, Magnitudes

# a coarser public grid than the default, for speed: the code is the same
GRID = Grid(np.array([-(2.0**LARGEST), 0.0, 1.0, 2.0, 2.0**LARGEST]), cells=4)
OTHERS = 30  # rows beside the one that moves, so that something is found


def bounds_cases() -> Iterator[Case]:
    """A row from 1 to −∞, which changes two counts of both histograms; a row at 1 that is there or not, which is
    one count of both and the number of rows.

    The search looks at finer cells where its rough histogram shows something, so an outcome's likelihood is that of
    the rough counts times that of the cells that were then looked at.
    """
    guarantee = Guarantee(4.0)
    for neighbors, rows in (("replace", ([1.0], [-np.inf])), ("add-remove", ([1.0], []))):
        pair = [table(mover) for mover in rows]
        scales = Scales.of(guarantee, Change(neighbors), 1)
        claim: Claim = Pure(guarantee.epsilon)
        draws = [draw(magnitudes, pair, scales) for magnitudes in pair]
        words = {"replace": "one of 31 rows from 1 to −∞", "add-remove": "one of 31 rows, or 30"}
        yield Case("bounds", words[neighbors], claim, *draws, every=SLOW)


def table(mover: list[float]) -> Magnitudes:
    """Rows at 1.5, and one or none elsewhere."""
    result = Magnitudes(1)
    result.add(np.array([1.5] * OTHERS + mover)[:, None])
    return result


def draw(magnitudes: Magnitudes, pair: list[Magnitudes], scales: Scales) -> Draw:
    """Runs of the search on one of two tables, each reduced to ln of its likelihood ratio."""

    def score() -> float:
        search = Search.run(magnitudes, scales, 0.9, GRID)
        reading = search.columns[0]
        left, right = (np.array([side.total]) for side in pair)
        result = laplace_ratio(np.array([search.total]), left, right, scales.total)
        for noisy, borders in ((reading.rough, GRID.rough), (reading.fine, reading.borders)):
            if len(borders):
                left, right = (side.between(0, borders) for side in pair)
                result += laplace_ratio(noisy, left, right, scales.counts)
        return result

    return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))
