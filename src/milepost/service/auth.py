"""Keys: who may ask. A key is `mp_ID_SECRET`; the register has its id and a digest of its secret."""

import hashlib
import hmac
import math
import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

from milepost.errors import ConflictError, ExhaustedError, MilepostError
from milepost.privacy.accounting.ledger import Charge, Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.database import ApiKey, DatabaseWatch, ServiceDatabase, now

ROLES = CURATOR, ANALYST = ("curator", "analyst")
PREFIX = "mp"
ID = re.compile(r"[0-9a-f]{12}")
NOBODY = bytes(32)  # what a secret is compared with where there is no such key


def create_key(register: ServiceDatabase, name: str, role: str, share: float = 1.0) -> tuple[ApiKey, str]:
    """A new key and its text, which is told once and kept nowhere.

    A secret of 256 random bits cannot be guessed from its digest, so the digest needs no salt and no slow function.
    """
    if not (1 <= len(name) <= 64 and name.isprintable() and name == unicodedata.normalize("NFC", name.strip())):
        raise MilepostError(f"a name has 1 to 64 printable characters, composed ones as one (NFC), got {name!r}")
    if ID.fullmatch(name):
        raise MilepostError(f"{name!r} could be the id of a key; choose a name that could not")
    if role not in ROLES:
        raise MilepostError(f"a role is one of {', '.join(ROLES)}, got {role!r}")
    if not (isinstance(share, int | float) and math.isfinite(share) and 0 < share <= 1):
        raise MilepostError(f"share is a part of every dataset's cap, more than 0 and at most 1, got {share!r}")
    secret = secrets.token_hex(32)
    key = ApiKey(secrets.token_hex(6), name, role, float(share), _digest(secret), now(), "")
    if not register.add(key):
        raise ConflictError("there is a key of this id already; try again")
    return key, f"{PREFIX}_{key.id}_{secret}"


def revoke_key(register: ServiceDatabase, name: str) -> list[ApiKey]:
    """Take a key back by its id, or all keys of a person by name; those that were not taken back before."""
    found = [key for key in register.all(ApiKey) if name in (key.id, key.name)]
    if not found:
        raise MilepostError(f"there is no key with the id or name {name!r}; `milepost keys list` shows all")
    fresh = [replace(key, revoked=now()) for key in found if not key.revoked]
    for key in fresh:
        register.change(key)
    return fresh


class Keys:
    """The keys that are valid at this moment, also where another process has just made or revoked one."""

    def __init__(self, watch: DatabaseWatch) -> None:
        self._watch, self._known, self._lock = watch, dict[str, ApiKey](), Lock()

    def find(self, text: str) -> ApiKey | None:
        """The key of a text, if it is one; in the same time whether there is none or its secret is another."""
        known = self.known()
        prefix, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        key = known.get(name)
        right = hmac.compare_digest(_digest(secret), NOBODY if key is None else key.digest)
        return key if right and key is not None and prefix == PREFIX else None

    def share(self, name: str) -> float | None:
        """The least share of a person's keys, so that another one lifts no quota; None for nobody."""
        return min((key.share for key in self.known().values() if key.name == name), default=None)

    def known(self) -> dict[str, ApiKey]:
        """By id, those that are not revoked."""
        with self._lock:
            found = self._watch.news()
            if found is not None:
                self._known = {key.id: key for key in found if not key.revoked}
            return self._known


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class QuotaError(ExhaustedError):
    """A person's share of a budget that does not allow what was asked, though the budget would."""


class Quota(Ledger):
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
