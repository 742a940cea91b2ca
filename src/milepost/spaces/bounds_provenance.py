"""BoundsProvenance: the record that a space's bounds were found in the private table, and at what price."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from milepost._validation import check_whole
from milepost.errors import MilepostError

WORDS = {"replace": "one row replaced by another", "add-remove": "one row added or removed"}


@dataclass(frozen=True)
class BoundsProvenance:
    """A release of its own that chose the bounds: ε-differentially private, δ = 0, for neighbors of this relation.

    It adds to the guarantee of whatever is released from the same table in this space.
    """

    epsilon: float
    neighbors: str
    columns: int  # how many bounds it found
    unit: str | None = None  # whose rows are protected together; None where a row is a person
    contributions: int = 1  # and how many of them are used at most

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float) or not self.epsilon > 0:
            raise MilepostError(f"found: epsilon must be a positive number, got {self.epsilon!r}")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if self.neighbors not in WORDS:
            raise MilepostError(f"found: neighbors must be one of {', '.join(WORDS)}, got {self.neighbors!r}")
        check_whole("found: columns", self.columns, 1)
        check_whole("found: contributions", self.contributions, 1)
        if self.unit is not None and not isinstance(self.unit, str):
            raise MilepostError(f"found: unit must be a column's name, got {self.unit!r}")

    @classmethod
    def of(cls, words: Any) -> "BoundsProvenance | None":
        """As a card or a file spells it; None where bounds are public knowledge."""
        if words is None or isinstance(words, BoundsProvenance):
            return words
        known = set(cls.__dataclass_fields__)
        if not isinstance(words, Mapping) or not known - {"unit", "contributions"} <= set(words) <= known:
            raise MilepostError(f"found must have {', '.join(cls.__dataclass_fields__)}, got {words!r}")
        return cls(**words)

    def to_json(self) -> dict[str, Any]:
        """As the card stores it."""
        return {word: value for word, value in asdict(self).items() if value != getattr(BoundsProvenance, word, None)}

    def __str__(self) -> str:
        bounds = "the bounds of 1 column" if self.columns == 1 else f"the bounds of {self.columns} columns"
        whose = f" ({self.contributions} of one {self.unit} at most)" if self.unit is not None else ""
        return f"{bounds} by a release of ε = {self.epsilon:g} for {WORDS[self.neighbors]}{whose}"
