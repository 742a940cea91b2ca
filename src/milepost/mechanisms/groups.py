"""Groups: one statistic for each label of a grouped release; one guarantee covers all of them."""

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.totals import Total

Label: TypeAlias = str | int | bool


class Groups:
    """The statistics of several groups; each query has to name a group."""

    def __init__(self, labels: Sequence[Label], statistics: Sequence[NoisyStatistic]) -> None:
        self.labels, self.statistics = tuple(labels), tuple(statistics)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that released all groups."""
        return self.statistics[0].mechanism

    @property
    def total(self) -> Total:
        """The sum of all groups' totals, for display: its noise does not follow the law of one draw."""
        return Total(sum(statistic.total.size for statistic in self.statistics))

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` accepts."""
        return min(statistic.confidence for statistic in self.statistics)

    @property
    def max_error(self) -> float:
        """The largest error that any answer can have, unless raw."""
        return max(statistic.max_error for statistic in self.statistics)

    def of(self, label: Any) -> NoisyStatistic:
        """Return the statistic of one group."""
        label = label.item() if isinstance(label, np.generic) else label
        for candidate, statistic in zip(self.labels, self.statistics, strict=True):
            if isinstance(label, str | float | int) and (candidate, isinstance(candidate, bool)) == (
                label,
                isinstance(label, bool),
            ):
                return statistic
        raise MilepostError(f"there is no group {label!r}; there are {self.label_list}")

    @property
    def label_list(self) -> str:
        """All labels, as text for messages."""
        return ", ".join(map(repr, self.labels))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return the largest half-width of all groups."""
        return max(statistic.half_width(confidence, uniform) for statistic in self.statistics)

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:  # noqa: ARG002
        """Refuse to answer without a group."""
        self.refuse()

    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:  # noqa: ARG002
        """Refuse to answer without a group."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise the error that a query has to name a group."""
        raise MilepostError(
            f"this release has the groups {self.label_list}: name one with group=…, or take one, as in "
            f"synopsis.group({self.labels[0]!r}); nearest and compare ask about all of them"
        )

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
