"""API keys and quotas. A key is `mp_ID_SECRET`; the database stores its id and a digest of its secret."""

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

from milepost.errors import ConflictError, LimitExceededError, MilepostError
from milepost.privacy.accounting.ledger import Charge, Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.database import ApiKey, DatabaseWatch, ServiceDatabase, now

ROLES = CURATOR, ANALYST = ("curator", "analyst")
PREFIX = "mp"
ID = re.compile(r"[0-9a-f]{12}")
UNKNOWN_KEY_DIGEST = bytes(32)  # compared with the secret of a key that does not exist


def create_key(database: ServiceDatabase, name: str, role: str, share: float = 1.0) -> tuple[ApiKey, str]:
    """Create a key, and return it with its text, which is stored nowhere.

    A secret of 256 random bits cannot be guessed from its digest, so the digest needs no salt and no slow function.
    """
    if not (1 <= len(name) <= 64 and name.isprintable() and name == unicodedata.normalize("NFC", name.strip())):
        raise MilepostError(
            f"NAME must have 1 to 64 printable characters, in Unicode's composed form (NFC), got {name!r}. "
            "Choose another name."
        )
    if ID.fullmatch(name):
        raise MilepostError(
            f"NAME {name!r} looks like the id of a key. Choose a name that is not 12 hexadecimal digits."
        )
    if role not in ROLES:
        raise MilepostError(f"the role must be one of {', '.join(ROLES)}, got {role!r}")
    if not (isinstance(share, int | float) and math.isfinite(share) and 0 < share <= 1):
        raise MilepostError(f"the share of every dataset's cap must be above 0 and at most 1, got {share!r}")
    secret = secrets.token_hex(32)
    key = ApiKey(secrets.token_hex(6), name, role, float(share), _digest(secret), now(), "")
    if not database.add(key):
        raise ConflictError("a key with this random id exists already. Try again.")
    return key, f"{PREFIX}_{key.id}_{secret}"


def revoke_key(database: ServiceDatabase, name: str) -> list[ApiKey]:
    """Revoke a key by its id, or all keys of a person by name, and return those that were valid until now."""
    matches = [key for key in database.all(ApiKey) if name in (key.id, key.name)]
    if not matches:
        raise MilepostError(f"no key has the id or name {name!r}. `milepost keys list` shows all keys.")
    revoked_keys = [replace(key, revoked=now()) for key in matches if not key.revoked]
    for key in revoked_keys:
        database.change(key)
    return revoked_keys


class Keys:
    """The valid keys, including the latest changes of other processes."""

    def __init__(self, watch: DatabaseWatch) -> None:
        self._watch, self._valid_keys, self._lock = watch, dict[str, ApiKey](), Lock()

    def find(self, text: str) -> ApiKey | None:
        """Return the key of a text, or None; an unknown id takes as long as a wrong secret."""
        valid_keys = self.valid_keys()
        prefix, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        key = valid_keys.get(name)
        secret_matches = hmac.compare_digest(_digest(secret), UNKNOWN_KEY_DIGEST if key is None else key.digest)
        return key if secret_matches and key is not None and prefix == PREFIX else None

    def share(self, name: str) -> float | None:
        """Return the smallest share of a person's keys, or None without a key: a further key never raises a quota."""
        return min((key.share for key in self.valid_keys().values() if key.name == name), default=None)

    def valid_keys(self) -> dict[str, ApiKey]:
        """Return the keys that are not revoked, by id."""
        with self._lock:
            keys = self._watch.changed_keys()
            if keys is not None:
                self._valid_keys = {key.id: key for key in keys if not key.revoked}
            return self._valid_keys


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class QuotaError(LimitExceededError):
    """A charge that the budget would allow, but a person's share of it does not."""


class Quota(Ledger):
    """A ledger that records charges under a person's name, and keeps them within that person's share of each cap.

    Refunded charges do not count. A charge that exceeds the share is refunded before any data is read.
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
        """Charge a dataset as `Ledger.charge` does, and refuse what would exceed the share."""
        charge = super().charge(dataset, guarantee, what, label=label or self._name, protects=protects)
        used = sum(entry.cost.nano for entry in self.history(dataset) if entry.counts and entry.label == self._name)
        account = self.account(dataset)
        if used > self._share * account.cap.nano:
            charge.refund()
            raise QuotaError(
                f"{self._name} may spend {self._share:.0%} of the cap of {dataset!r} ({account.cap}). This charge "
                f"would raise it to {used / account.cap.nano:.1%}. Nothing was read or spent."
            )
        return charge
