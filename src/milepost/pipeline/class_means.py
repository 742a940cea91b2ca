"""The release of private class means, for `NearestGroup`. docs/proofs/class-means.md."""

import math
from collections.abc import Sequence
from typing import Any

from milepost.errors import warn
from milepost.ingest.row_attributes import RowColumns
from milepost.mechanisms.base import Label
from milepost.mechanisms.class_means import ClassMeansDesign
from milepost.pipeline.open_table import open_table
from milepost.pipeline.private_ball import as_given
from milepost.pipeline.release import size_release
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import Space, require_space
from milepost.statistics.ball_points import BallGrid
from milepost.synopsis.class_means import ClassMeansRelease, vector_ball


def release_class_means(
    data: Any,
    space: Space,
    guarantee: Guarantee,
    neighbors: str,
    classes: Any,
    labels: Sequence[Label],
    n: int | None = None,
) -> ClassMeansRelease:
    """Release noisy class means of a private table; spend the guarantee.

    classes: the class of each row, or its column. labels: the public list of classes. n: about how many rows there are;
    by default 2 % of ε pays for it.
    """
    require_space(space)
    space = as_given(space)
    grid = BallGrid(*vector_ball(space))
    row_columns = RowColumns(groups=classes, labels=labels)
    change = row_columns.change(neighbors)
    table = open_table(data, space, change, None, row_columns)

    def design(total: int, left: Guarantee) -> ClassMeansDesign:
        result = ClassMeansDesign.of(left, change, grid, total)
        result.check()
        return result

    size = size_release(table, design, guarantee, n, lambda: None)
    chosen = design(size.total, size.left)
    warn_large_noise(chosen, size.total, len(row_columns.labels))
    means = chosen.run(table)
    return ClassMeansRelease(space, means, tuple(row_columns.labels), guarantee, change)


def warn_large_noise(design: ClassMeansDesign, total: int, classes: int) -> None:
    """Warn if the noise on a class mean is larger than any distance of rows from their centre."""
    off = math.sqrt(design.grid.width) * design.noise.deviation * classes / total
    longest = design.reach / (math.sqrt(design.grid.width) if design.noise.pure else 1.0)
    if off > longest:
        warn(
            f"the noise on the mean of a class of average size is {off / longest:.2g} times the distance that rows may "
            f"have from their centre, so that predictions are little better than guesses. {off / longest:.2g} times as "
            "many rows, or a larger epsilon, would help"
        )
