"""BoundsProvenance: the record that the bounds of a space were found in the private table, and at which cost."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from milepost._validation import check_whole
from milepost.errors import MilepostError

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
        fields = set(cls.__dataclass_fields__)
        if not isinstance(params, Mapping) or not fields - {"privacy_unit", "contributions"} <= set(params) <= fields:
            raise MilepostError(f"bounds_provenance must have {', '.join(cls.__dataclass_fields__)}, got {params!r}")
        return cls(**params)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {name: value for name, value in asdict(self).items() if value != getattr(BoundsProvenance, name, None)}

    def __str__(self) -> str:
        bounds = "the bounds of 1 column" if self.columns == 1 else f"the bounds of {self.columns} columns"
        whose = f" ({self.contributions} of one {self.privacy_unit} at most)" if self.privacy_unit is not None else ""
        return f"{bounds} by a release of ε = {self.epsilon:g} for {NEIGHBOR_TEXTS[self.neighbors]}{whose}"
