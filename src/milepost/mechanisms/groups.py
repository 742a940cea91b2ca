"""Groups: an statistic for each label of a grouped release, which one guarantee covers together."""

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.totals import Total

Label: TypeAlias = str | int | bool


class Groups:
    """Answers of several groups; each question has to name one."""

    def __init__(self, labels: Sequence[Label], statistics: Sequence[NoisyStatistic]) -> None:
        self.labels, self.statistics = tuple(labels), tuple(statistics)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that made all of them."""
        return self.statistics[0].mechanism

    @property
    def total(self) -> Total:
        """Of all groups: a number to look at, whose law is not that of one draw."""
        return Total(sum(statistic.total.size for statistic in self.statistics))

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` can be asked for."""
        return min(statistic.confidence for statistic in self.statistics)

    @property
    def max_error(self) -> float:
        """No answer is off by more, unless raw."""
        return max(statistic.max_error for statistic in self.statistics)

    def of(self, label: Any) -> NoisyStatistic:
        """The answers of one group."""
        label = label.item() if isinstance(label, np.generic) else label
        for known, statistic in zip(self.labels, self.statistics, strict=True):
            if isinstance(label, str | float | int) and (known, isinstance(known, bool)) == (
                label,
                isinstance(label, bool),
            ):
                return statistic
        raise MilepostError(f"there is no group {label!r}; there are {self.listed}")

    @property
    def listed(self) -> str:
        """All labels, for messages."""
        return ", ".join(map(repr, self.labels))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """That of the group whose answers may be off by the most."""
        return max(statistic.half_width(confidence, uniform) for statistic in self.statistics)

    def values(self, places: AnyArray, raw: bool = False) -> FloatArray:  # noqa: ARG002
        """Refused: a group is needed."""
        self.refuse()

    def half_widths(self, places: AnyArray, confidence: float) -> FloatArray:  # noqa: ARG002
        """Refused: a group is needed."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """That a question has to name a group."""
        raise MilepostError(
            f"this release has the groups {self.listed}: name one with group=…, or take one, as in "
            f"synopsis.group({self.labels[0]!r}); nearest and compare ask about all of them"
        )

    def tensors(self) -> dict[str, AnyArray]:
        """Those of every group, numbered."""
        return {
            f"{place}.{name}": tensor
            for place, statistic in enumerate(self.statistics)
            for name, tensor in statistic.tensors().items()
        }

    def parameters(self) -> dict[str, Any]:
        """All groups have the same."""
        return self.statistics[0].parameters()


def group_tensors(tensors: dict[str, AnyArray], place: int) -> dict[str, AnyArray]:
    """The tensors of one group, by their own names."""
    start = f"{place}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
