"""Groups: an answerer for each label of a grouped release, which one guarantee covers together."""

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Answerer
from milepost.mechanisms.totals import Total

Label: TypeAlias = str | int | bool


class Groups:
    """Answers of several groups; each question has to name one."""

    def __init__(self, labels: Sequence[Label], answerers: Sequence[Answerer]) -> None:
        self.labels, self.answerers = tuple(labels), tuple(answerers)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that made all of them."""
        return self.answerers[0].mechanism

    @property
    def total(self) -> Total:
        """Of all groups: a number to look at, whose law is not that of one draw."""
        return Total(sum(answerer.total.size for answerer in self.answerers))

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` can be asked for."""
        return min(answerer.confidence for answerer in self.answerers)

    @property
    def most(self) -> float:
        """No answer is off by more, unless raw."""
        return max(answerer.most for answerer in self.answerers)

    def of(self, label: Any) -> Answerer:
        """The answers of one group."""
        label = label.item() if isinstance(label, np.generic) else label
        for known, answerer in zip(self.labels, self.answerers, strict=True):
            if isinstance(label, str | float | int) and (known, isinstance(known, bool)) == (
                label,
                isinstance(label, bool),
            ):
                return answerer
        raise MilepostError(f"there is no group {label!r}; there are {self.listed}")

    @property
    def listed(self) -> str:
        """All labels, for messages."""
        return ", ".join(map(repr, self.labels))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """That of the group whose answers may be off by the most."""
        return max(answerer.half_width(confidence, uniform) for answerer in self.answerers)

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
            for place, answerer in enumerate(self.answerers)
            for name, tensor in answerer.tensors().items()
        }

    def parameters(self) -> dict[str, Any]:
        """All groups have the same."""
        return self.answerers[0].parameters()


def of_group(tensors: dict[str, AnyArray], place: int) -> dict[str, AnyArray]:
    """The tensors of one group, by their own names."""
    start = f"{place}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
