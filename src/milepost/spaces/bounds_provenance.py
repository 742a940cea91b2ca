"""BoundsProvenance: the record that the bounds of a space were found in the private table, and at which cost.

BallProvenance: the same record for the centre and radius that a release finds with a share of its own budget.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from milepost._validation import check_whole
from milepost.errors import MilepostError

MAX_SEARCHES = 16  # of balls within balls, each found by a release in the one before
NEIGHBOR_TEXTS = {"replace": "one row replaced by another", "add-remove": "one row added or removed"}


@dataclass(frozen=True)
class BoundsProvenance:
    """A separate release that chose the bounds: ε-differentially private, δ = 0, for neighbors of this relation.

    It adds to the guarantee of everything that is released from the same table in this space.
    """

    epsilon: float
    neighbors: str
    columns: int  # the number of columns whose bounds it found
    privacy_unit: str | None = None  # whose rows are protected together; None where a row is a person
    contributions: int = 1  # the number of these rows that are used, at most

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float) or not self.epsilon > 0:
            raise MilepostError(f"bounds_provenance: epsilon must be a positive number, got {self.epsilon!r}")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if self.neighbors not in NEIGHBOR_TEXTS:
            raise MilepostError(
                f"bounds_provenance: neighbors must be one of {', '.join(NEIGHBOR_TEXTS)}, got {self.neighbors!r}"
            )
        check_whole("bounds_provenance: columns", self.columns, 1)
        check_whole("bounds_provenance: contributions", self.contributions, 1)
        if self.privacy_unit is not None and not isinstance(self.privacy_unit, str):
            raise MilepostError(f"bounds_provenance: privacy_unit must be a column's name, got {self.privacy_unit!r}")

    @classmethod
    def of(cls, params: Any) -> "BoundsProvenance | None":
        """Return the provenance that a card or a file describes; None where bounds are public knowledge."""
        if params is None or isinstance(params, BoundsProvenance):
            return params
        kind = BallProvenance if isinstance(params, Mapping) and "share" in params else BoundsProvenance
        given, searches = params, 0
        while isinstance(given, Mapping) and searches <= MAX_SEARCHES:  # before any is read, one in the other
            given, searches = given.get("given"), searches + 1
        _check_searches(searches)
        names = list(kind.__dataclass_fields__)
        optional = {name for name in names if hasattr(kind, name)}
        if not isinstance(params, Mapping) or not set(names) - optional <= set(params) <= set(names):
            raise MilepostError(f"bounds_provenance must have {', '.join(names)}, got {params!r}")
        return kind(**params)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {name: value for name, value in asdict(self).items() if value != getattr(type(self), name, None)}

    @property
    def adds_up(self) -> bool:
        """Whether its cost adds to the guarantee of a release in this space."""
        return True

    def __str__(self) -> str:
        bounds = "the bounds of 1 column" if self.columns == 1 else f"the bounds of {self.columns} columns"
        whose = f" ({self.contributions} of one {self.privacy_unit} at most)" if self.privacy_unit is not None else ""
        return f"{bounds} by a release of ε = {self.epsilon:g} for {NEIGHBOR_TEXTS[self.neighbors]}{whose}"


@dataclass(frozen=True)
class BallProvenance(BoundsProvenance):
    """A release that found the centre and the radius of its ball with a share of its own budget.

    The release has the guarantee (ε, δ), the ball included. In the file of that release nothing is to be added up.
    Where the ball is used once more, for another release, `earlier` is true: then the guarantees of both add up.
    """

    delta: float = field(kw_only=True)
    share: float = field(kw_only=True)  # of the budget
    given_radius: float = field(kw_only=True)  # of the public ball in which it was found
    earlier: bool = field(default=False, kw_only=True)
    given: BoundsProvenance | None = field(default=None, kw_only=True)  # of that public ball; None if it was public

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, maximum in (("delta", 1.0), ("share", 1.0), ("given_radius", math.inf)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < maximum:
                raise MilepostError(f"bounds_provenance: {name} must be a number above 0, got {value!r}")
            object.__setattr__(self, name, float(value))
        if not isinstance(self.earlier, bool):
            raise MilepostError(f"bounds_provenance: earlier must be true or false, got {self.earlier!r}")
        object.__setattr__(self, "given", BoundsProvenance.of(self.given))
        _check_searches(self.searches)

    @property
    def searches(self) -> int:
        """Return the number of balls that were found, each within the one before."""
        return 1 + (self.given.searches if isinstance(self.given, BallProvenance) else 0)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return super().to_json() | ({} if self.given is None else {"given": self.given.to_json()})

    @property
    def adds_up(self) -> bool:
        """Whether its cost, or that of the given ball, adds to the guarantee of a release in this space."""
        return self.earlier or self.given is not None

    def __str__(self) -> str:
        share = f"{100 * self.share:g} % of the budget"
        within = f"within a given ball of radius {self.given_radius:g}"
        if self.given is not None:
            within += f" (itself {self.given})"
        if not self.earlier:
            return f"centre and radius found privately with {share}, {within}"
        whose = f" ({self.contributions} of one {self.privacy_unit} at most)" if self.privacy_unit is not None else ""
        release = f"an earlier release of ε = {self.epsilon:g}, δ = {self.delta:g} for {NEIGHBOR_TEXTS[self.neighbors]}"
        return f"centre and radius with {share} of {release}{whose}, {within}"


def _check_searches(searches: int) -> None:
    if searches > MAX_SEARCHES:
        raise MilepostError(f"bounds_provenance: at most {MAX_SEARCHES} balls may be found, each within the one before")
