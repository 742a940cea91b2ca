"""Groups: one statistic for each label of a grouped release; one guarantee covers all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Label, NoisyStatistic
from milepost.mechanisms.totals import Total
from milepost.spaces.base import Space


class Groups(NoisyStatistic):
    """The statistics of several groups; each query has to name a group. A file has one part for each of them."""

    def __init__(self, labels: Sequence[Label], statistics: Sequence[NoisyStatistic]) -> None:
        self.labels, self._statistics = tuple(labels), tuple(statistics)
        self.mechanism = self._statistics[0].mechanism
        # the sum of all totals, for display: its noise does not follow the law of one draw
        sizes = [statistic.total.size for statistic in self._statistics]
        self.total = Total(sum(sizes))
        shared = self._statistics[0].model
        self.model = None if shared is None else shared.of_all(sizes)

    @property
    def statistics(self) -> tuple[NoisyStatistic, ...]:
        """The statistic of each group, in the order of `labels`."""
        return self._statistics

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` accepts."""
        return min(statistic.confidence for statistic in self.statistics)

    @property
    def max_error(self) -> float:
        """The largest error that any answer can have, unless raw."""
        return max(statistic.max_error for statistic in self.statistics)

    def group(self, label: Any) -> NoisyStatistic:
        """Return the statistic of one group; refuse if there is none of this label."""
        label = label.item() if isinstance(label, np.generic) else label
        for candidate, statistic in zip(self.labels, self.statistics, strict=True):
            if isinstance(label, str | float | int) and (candidate, isinstance(candidate, bool)) == (
                label,
                isinstance(label, bool),
            ):
                return statistic
        raise MilepostError(f"there is no group {label!r}; there are {', '.join(map(repr, self.labels))}")

    def positions(self, space: Space, points: AnyArray) -> AnyArray:
        """Return positions as all groups take them."""
        return self.statistics[0].positions(space, points)

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return the largest half-width of all groups."""
        return max(statistic.half_width(confidence, uniform) for statistic in self.statistics)

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:  # noqa: ARG002
        """Refuse to answer without a group."""
        raise self.grouped_error()

    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:  # noqa: ARG002
        """Refuse to answer without a group."""
        raise self.grouped_error()

    def tensors(self) -> dict[str, AnyArray]:
        """Return the tensors of all groups; a name begins with the group's index."""
        return {
            f"{index}.{name}": tensor
            for index, statistic in enumerate(self.statistics)
            for name, tensor in statistic.tensors().items()
        }

    def parameters(self) -> dict[str, Any]:
        """Return the parameters, which all groups share."""
        return self.statistics[0].parameters()


def group_tensors(tensors: dict[str, AnyArray], index: int) -> dict[str, AnyArray]:
    """Return the tensors of one group, without the group's index in their names."""
    prefix = f"{index}."
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
