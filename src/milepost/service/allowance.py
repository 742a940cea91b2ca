"""Allowance: a person's share of the budgets of a ledger."""

from collections.abc import Sequence
from pathlib import Path

from milepost.errors import ExhaustedError
from milepost.privacy.accounting.ledger import Charge, Ledger
from milepost.privacy.guarantee import Guarantee


class QuotaError(ExhaustedError):
    """A person's share of a budget that does not allow what was asked, though the budget would."""


class Allowance(Ledger):
    """A ledger whose charges are written under a person's name, and stay within their share of each cap.

    Charges that were given back do not count. A charge that passes the share is given back before anything is read.
    """

    def __init__(self, path: Path, name: str, share: float) -> None:
        super().__init__(path)
        self._name, self._share = name, share

    def charge(
        self,
        dataset: str,
        guarantee: Guarantee | Sequence[Guarantee],
        what: str = "release",
        *,
        label: str = "",
        protects: str = "",
    ) -> Charge:
        """As a ledger's own, and refused where the share would be passed."""
        charge = super().charge(dataset, guarantee, what, label=label or self._name, protects=protects)
        used = sum(entry.cost.nano for entry in self.history(dataset) if entry.counts and entry.label == self._name)
        account = self.account(dataset)
        if used > self._share * account.cap.nano:
            charge.refund()
            raise QuotaError(
                f"{self._name} may spend {self._share:.0%} of the cap of {dataset!r}, {account.cap}, and this would be "
                f"{used / account.cap.nano:.1%}; nothing was read or spent"
            )
        return charge
