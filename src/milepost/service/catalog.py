"""Catalog: the releases of a service, and what they answer."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from milepost.errors import MilepostError
from milepost.mechanisms import DIRECT, mechanisms
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.ledger import Ledger
from milepost.release import SIZE_SHARE, release
from milepost.service.answers import field_of, part_of
from milepost.service.home import Home
from milepost.service.problems import RefusedError
from milepost.service.register import Register, Release, now
from milepost.service.settings import Settings
from milepost.service.shapes import Building
from milepost.spaces.base import Space
from milepost.storage import load
from milepost.synopsis import Synopsis

FIELDS = 64  # maps that are kept
Made = TypeVar("Made")


class Catalog:
    """Released files by name. Whatever they answer is free: it was paid for when they were made."""

    def __init__(self, home: Home, register: Register, settings: Settings) -> None:
        self._home, self._register, self._settings = home, register, settings
        self._releases = {release.id: release for release in register.all(Release)}
        self._loaded: Kept[Synopsis] = Kept(settings.max_loaded)
        self._fields: Kept[dict[str, Any]] = Kept(FIELDS)

    def all(self) -> list[Release]:
        """In the order in which they came."""
        return list(self._releases.values())

    def taken(self, name: str) -> bool:
        """Whether there is a release of this name."""
        return name in self._releases

    def find(self, name: str) -> tuple[Release, Synopsis]:
        """A release and its synopsis."""
        found = self._releases.get(name)
        if found is None:
            raise RefusedError("not_found")
        return found, self._loaded.get((name, found.created), lambda: load(self._home.release(name)))

    def loaded(self, name: str) -> Synopsis | None:
        """The synopsis, if it need not be read first."""
        found = self._releases.get(name)
        return None if found is None else self._loaded.peek((name, found.created))

    def build(self, words: Building, space: Space, ledger: Ledger) -> None:
        """A new release from a table, which spends its guarantee; on the disk before it is listed."""
        self._home.release(words.id).unlink(missing_ok=True)  # of one that is no longer listed
        synopsis = release(
            self._home.table(words.table),
            space,
            epsilon=words.epsilon,
            delta=words.delta,
            mechanism=words.mechanism,
            neighbors=words.neighbors,
            columns=words.columns,
            queries=words.queries,
            groups=words.groups,
            labels=words.labels,
            unit=words.unit,
            contributions=words.contributions,
            weights=words.weights,
            max_weight=words.max_weight,
            n=words.n,
            beta=words.beta,
            ledger=ledger,
            dataset=words.dataset,
        )
        synopsis.save(self._home.release(words.id))
        self.adopt(words.id, words.title or words.id, words.dataset)

    def recover(self, words: Building) -> None:
        """List a release that the service was making when it ended, if it is on the disk: it was paid for."""
        if not self.taken(words.id) and self._home.release(words.id).exists():
            self.adopt(words.id, words.title or words.id, words.dataset)

    def store(self, path: Path, name: str, title: str, dataset: str) -> Release:
        """A release that was made elsewhere, from a file that takes its place here."""
        if self.taken(name):
            raise RefusedError("exists")
        path.replace(self._home.release(name))
        return self.adopt(name, title, dataset)

    def adopt(self, name: str, title: str, dataset: str) -> Release:
        """List a release whose file is there."""
        added = Release(name, title, dataset, now())
        if not self._register.add(added):
            raise RefusedError("exists")
        self._releases[name] = added
        return added

    def remove(self, name: str) -> None:
        """No longer listed, and then no longer there."""
        if self._releases.pop(name, None) is None:
            raise RefusedError("not_found")
        self._register.remove(Release, name)
        self._home.release(name).unlink(missing_ok=True)

    def field(self, name: str, steps: int, group: Any) -> dict[str, Any]:
        """Mean distances on a grid."""
        if steps > self._settings.max_steps:
            raise RefusedError("too_large", ["body", "steps"])
        found, whole = self.find(name)
        synopsis = part_of(whole, group)

        def make() -> dict[str, Any]:
            return field_of(synopsis, steps)

        return self._fields.get((name, found.created, steps, type(group), group), make)


class Kept(Generic[Made]):
    """The values that were used last, by key."""

    def __init__(self, most: int) -> None:
        self._most, self._values, self._lock = most, OrderedDict[Any, Made](), Lock()

    def peek(self, key: Any) -> Made | None:
        """If it is there."""
        return self._values.get(key)

    def get(self, key: Any, make: Callable[[], Made]) -> Made:
        """Made where it is not there; perhaps twice, if two ask at once."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value


def cost_of(synopsis: Synopsis) -> list[Guarantee]:
    """What a release that was made elsewhere cost, or a little more where its number of rows is private."""
    guarantee = synopsis.guarantee
    pure = (mechanisms(beta=0.05) | DIRECT)[synopsis.mechanism].pure  # spends ε whatever δ is
    whole = Guarantee(guarantee.epsilon) if pure else guarantee
    if synopsis.change.public_total or whole.pure:
        return [whole]
    return [Guarantee(SIZE_SHARE * guarantee.epsilon), whole]


def loadable(path: Path) -> Synopsis:
    """The synopsis of a file that was uploaded; what is none is refused."""
    try:
        synopsis = load(path)
        synopsis.error()
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error).replace(str(path), "the file")) from None
    return synopsis
