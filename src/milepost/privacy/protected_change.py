"""The change that a guarantee protects. Only this module scales sensitivity by it. See docs/proofs/change.md."""

import math
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

from milepost._validation import check_whole, did_you_mean
from milepost.errors import MilepostError

RELATIONS = ("replace", "add-remove")
WEIGHT_STEPS = 1 << 10  # a weight is a whole number of steps; the public maximum has this many
SLACK = 1 + 1e-12  # covers the rounding of a few float operations, always towards more noise


@dataclass(frozen=True)
class BudgetSplit:
    """The split of a budget between the sums and the total number of rows.

    power: a change of 1 in the sums costs 1/power. total: the scale of the total's noise; 0 if the total is public.
    """

    power: float
    total: float


@dataclass(frozen=True)
class ProtectedChange:
    """The change of a table that one person may cause, and that a guarantee hides.

    The number of rows is public under `replace` with one row a person and neither weights nor groups; else private.

    Parameters
    ----------
    neighbors : {"replace", "add-remove"}
        Two tables are neighbors if one person's rows are replaced by another's ("replace"), or if one person's rows are
        added or removed ("add-remove").
    contributions : int
        The maximum number of rows of a person.
    privacy_unit : str or None
        The column that identifies a person; None if every row is a person.
    max_row_weight : float or None
        The maximum weight of a row; None if all rows count the same.
    groups : int or None
        The number of groups; None without groups.
    """

    neighbors: str = "replace"
    contributions: int = 1
    privacy_unit: str | None = None
    max_row_weight: float | None = None
    groups: int | None = None

    def __post_init__(self) -> None:
        if self.neighbors not in RELATIONS:
            hint = did_you_mean(self.neighbors, RELATIONS)
            raise MilepostError(f"neighbors= must be one of {', '.join(RELATIONS)}, got {self.neighbors!r}{hint}")
        check_whole("contributions", self.contributions, 1)
        if self.groups is not None:
            check_whole("groups", self.groups, 1)
        if not isinstance(self.privacy_unit, str | None):
            raise MilepostError(f"privacy_unit= must be the name of a column, got {self.privacy_unit!r}")
        weight = self.max_row_weight
        if weight is not None and not (isinstance(weight, int | float) and 0 < weight <= sys.float_info.max):
            raise MilepostError(f"max_row_weight= must be a number above 0, got {weight!r}")

    @property
    def public_total(self) -> bool:
        """Return whether the number of rows is the same in neighboring tables and may be published."""
        return self.replaces and self.contributions == 1 and self.max_row_weight is None and self.groups is None

    @property
    def replaces(self) -> bool:
        """Return whether a person's rows are replaced by another person's, rather than only added or removed."""
        return self.neighbors == "replace"

    @property
    def protects(self) -> str:
        """Return what is protected, as a ledger stores it: guarantees that protect different units do not add up."""
        return f"{self.neighbors}, {self.privacy_unit or 'row'}"

    @property
    def multiple(self) -> int:
        """Return the maximum weight of a person's rows together, in whole steps."""
        return self.contributions * self.steps

    @property
    def steps(self) -> int:
        """Return the maximum weight of a row, in whole steps."""
        return 1 if self.max_row_weight is None else WEIGHT_STEPS

    def weight(self, rows: int) -> int:
        """Return the total weight, in steps, of rows that have half of the maximum weight on average."""
        return rows * -(-self.steps // 2)

    def rows(self, weight: int) -> int:
        """Return the number of rows of a total weight, at least 1; the inverse of `weight`."""
        return max(1, weight // -(-self.steps // 2))

    @property
    def all_groups(self) -> "ProtectedChange":
        """Return this change as statistics of all groups together see it.

        Who moves between groups changes nothing there; who moves into a group or out of all, one row. So the total
        remains private.
        """
        return self if self.groups is None else replace(self, groups=1)

    def count_scale(self, budget: float) -> float:
        """Return the σ of Gaussian noise on one count of rows, of all groups together, that spends ρ, or μ²/2.

        A person's rows together change the count by `multiple` at most, under either relation (docs/proofs/ball.md).
        """
        return self.multiple * math.sqrt(1 / (2 * budget)) * SLACK

    def sums_power(self, pair: float, single: float, budget: float) -> float:
        """Return the power of Gaussian noise on sums alone, of all groups together, that spends ρ, or μ²/2.

        pair, single: squared changes of the sums by one row replaced, and by one added. A person's rows are replaced
        one by one, and those that remain are added or removed (docs/proofs/model.md, Lemma 1).
        """
        change = self.all_groups
        largest = single if not change.replaces else pair if change.public_total else max(pair, single)
        return largest * change.multiple**2 / budget * SLACK

    def gaussian(self, pair: float, single: float, budget: float, off: float) -> BudgetSplit:
        """Split ρ, or μ²/2, between Gaussian noise on sums and on the total (Theorem 1 of the proof page).

        pair, single: squared changes of the sums, in the unit of `power`, by one row replaced, and by one added.
        off: the effect of the total's noise on an answer, relative to that of the sums' noise, at equal shares.
        """
        power, left = self._split(pair, single, budget / self.multiple**2, 1 / (1 + off))
        return BudgetSplit(power, math.sqrt(1 / (2 * left)) * SLACK if left else 0.0)

    def laplace(self, pair: float, single: float, epsilon: float, off: float) -> BudgetSplit:
        """Split ε between Laplace noise on sums and on the total (Theorem 2).

        The parameters are those of `gaussian`, except that pair and single are changes in ℓ₁.
        """
        power, left = self._split(pair, single, epsilon / self.multiple, 1 / (1 + off ** (2 / 3)))
        return BudgetSplit(power, 1 / left * SLACK if left else 0.0)

    def _split(self, pair: float, single: float, budget: float, share: float) -> tuple[float, float]:
        """Return the power, and the budget left for a change of the total by 1: 0 if the total is public."""
        replaced = pair / budget * SLACK
        if self.public_total:
            return replaced, 0.0
        ends = 2 if self.replaces and (self.groups or 1) > 1 else 1  # groups that a person leaves or enters
        power = ends * single / (share * budget) * SLACK
        if self.replaces:
            power = max(power, replaced)
        return power, budget / ends - single / power

    def to_json(self) -> dict[str, Any]:
        """Return the change as a card stores it."""
        fields = {name: value for name, value in asdict(self).items() if value != getattr(ProtectedChange, name)}
        return {"neighbors": self.neighbors} | fields

    def __str__(self) -> str:
        what = "replaced by another" if self.replaces else "added or removed"
        if self.privacy_unit is None:
            return f"one row {what}"
        rows = "the row" if self.contributions == 1 else f"the rows, {self.contributions} at most,"
        return f"{rows} of one {self.privacy_unit} {what}{'’s' * self.replaces}"
