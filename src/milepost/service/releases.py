"""Catalog: the releases of a service, and what they answer."""

import json
import os
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from fastapi import Request

from milepost.errors import MilepostError
from milepost.mechanisms.registry import spends_epsilon
from milepost.pipeline.release import SIZE_SHARE, release
from milepost.privacy.accounting.ledger import Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ReleaseRecord, ServiceDatabase, now
from milepost.service.errors import RefusedError
from milepost.service.schemas.requests import ReleaseRequest
from milepost.service.schemas.views import center, description, field_of, part_of, statement, summary
from milepost.service.settings import Settings
from milepost.spaces.base import Space
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

FIELDS = 64  # maps that are kept
SMALL = 4096  # other answers that are


class ReleaseCatalog:
    """Released files by name. Whatever they answer is free: it was paid for when they were made."""

    def __init__(self, home: DataDirectory, register: ServiceDatabase, settings: Settings) -> None:
        self._home, self._register, self._settings = home, register, settings
        self._releases = {release.id: release for release in register.all(ReleaseRecord)}
        self._numbers, self._number = count(), dict[str, int]()  # of each, another one than any before it had
        for name in self._releases:
            self._number[name] = next(self._numbers)
        self._claimed, self._lock = set[str](), Lock()
        self._loaded: LRUCache[Synopsis] = LRUCache(settings.max_loaded)
        self._fields: LRUCache[bytes] = LRUCache(FIELDS)
        self._small: LRUCache[bytes] = LRUCache(SMALL)
        self._reported: set[Any] = set()  # those that cannot be read

    def all(self) -> list[ReleaseRecord]:
        """In the order in which they came."""
        return list(self._releases.values())

    def taken(self, name: str) -> bool:
        """Whether there is a release of this name."""
        return name in self._releases

    def find(self, name: str) -> tuple[ReleaseRecord, Synopsis]:
        """A release and its synopsis."""
        found = self._releases.get(name)
        if found is None:
            raise RefusedError("not_found")
        return found, self._loaded.get(self._key(name), lambda: load(self._home.release(name)))

    def loaded(self, name: str) -> Synopsis | None:
        """The synopsis, if it need not be read first."""
        return self._loaded.peek(self._key(name))

    @contextmanager
    def claiming(self, name: str) -> Iterator[None]:
        """Nobody else stores a release of this name meanwhile; refused where there is one, or will be."""
        with self._lock:
            if self.taken(name) or name in self._claimed:
                raise RefusedError("exists")
            self._claimed.add(name)
        try:
            self._home.clear_release(name)  # of one that is not listed, such as a removed one
            yield
        finally:
            self._claimed.discard(name)

    def summaries(self) -> list[dict[str, Any]]:
        """All that can be read; one whose file is damaged or gone is left out, and can still be removed."""
        found = []
        for one in self.all():
            key = *self._key(one.id), "summary"
            try:
                found.append(self._small.get(key, partial(self._summary, one.id)))
            except RefusedError:  # it was removed meanwhile
                continue
            except MilepostError as error:
                self._report(key, one.id, error)
        return [json.loads(text) for text in found]

    def _report(self, key: Any, name: str, error: MilepostError) -> None:
        """To the log, once."""
        if key not in self._reported:
            self._reported.add(key)
            print(f"the release {name} is not listed: {error}", file=sys.stderr, flush=True)

    def _summary(self, name: str) -> bytes:
        return to_json_bytes(summary(*self.find(name)))

    def build(self, words: ReleaseRequest, space: Space, ledger: Ledger) -> None:
        """A new release from a table, which spends its guarantee; on the disk before it is listed."""
        with self.claiming(words.id):
            self._build(words, space, ledger)

    def _build(self, words: ReleaseRequest, space: Space, ledger: Ledger) -> None:
        synopsis = release(
            self._home.table(words.table),
            space,
            **words.said(),
            queries=words.queries,
            groups=words.groups,
            labels=words.labels,
            ledger=ledger,
            dataset=words.dataset,
        )
        synopsis.save(self._home.release(words.id))
        self.adopt(words.id, words.title or words.id, words.dataset)

    def recover(self, words: ReleaseRequest) -> None:
        """List a release that the service was making when it ended, if it is on the disk: it was paid for."""
        if not self.taken(words.id) and self._home.release(words.id).is_file():
            self.adopt(words.id, words.title or words.id, words.dataset)

    def store(self, path: Path, name: str, title: str, dataset: str) -> ReleaseRecord:
        """A release that was made elsewhere, from a file that takes its place here; its name is claimed."""
        path.replace(self._home.release(name))
        return self.adopt(name, title, dataset)

    def adopt(self, name: str, title: str, dataset: str) -> ReleaseRecord:
        """List a release whose file is there."""
        added = ReleaseRecord(name, title, dataset, now())
        if not self._register.add(added):
            raise RefusedError("exists")
        self._number[name] = next(self._numbers)
        self._releases[name] = added
        return added

    def remove(self, name: str) -> None:
        """No longer listed, and then no longer there."""
        if self._releases.pop(name, None) is None:
            raise RefusedError("not_found")
        self._register.remove(ReleaseRecord, name)
        self._home.clear_release(name)

    def field(self, name: str, steps: int, group: Any) -> bytes:
        """Mean distances on a grid, as JSON."""
        if steps > self._settings.max_steps:
            raise RefusedError("too_large", ["body", "steps"])
        synopsis = part_of(self.find(name)[1], group)
        key = *self._key(name), "field", steps, type(group), group
        return self._fields.get(key, lambda: to_json_bytes(field_of(synopsis, steps)))

    def center(self, name: str, group: Any) -> bytes:
        """The point with the least mean distance, as JSON."""
        synopsis = part_of(self.find(name)[1], group)
        return self._small.get(
            (*self._key(name), "center", type(group), group), lambda: to_json_bytes(center(synopsis))
        )

    def _key(self, name: str) -> tuple[str, int | None]:
        """Of what is kept of a release: another one of the same name has another key."""
        return name, self._number.get(name)


def to_json_bytes(answer: dict[str, Any]) -> bytes:
    """As JSON, once for all who ask."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


Made = TypeVar("Made")


class LRUCache(Generic[Made]):
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
    whole = Guarantee(guarantee.epsilon) if spends_epsilon(synopsis.mechanism) else guarantee
    if synopsis.change.public_total or whole.pure:
        return [whole]
    return [Guarantee(SIZE_SHARE * guarantee.epsilon), whole]


def load_uploaded(path: Path) -> Synopsis:
    """The synopsis of a file that was uploaded; what is none, or cannot be shown, is refused."""
    try:
        synopsis = load(path)
        to_json_bytes(description(ReleaseRecord("", "", "", ""), synopsis))
        to_json_bytes(statement(synopsis))
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error).replace(str(path), "the file")) from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):  # of a card that somebody has edited
        raise RefusedError("refused", detail="the file is not a synopsis that milepost has written") from None
    return synopsis


async def receive_upload(request: Request, folder: Path, most: int) -> Path:
    """The body in a temporary file, which the caller takes away."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".upload-")
    try:
        with os.fdopen(handle, "wb") as stream:
            async for part in request.stream():
                if stream.tell() + len(part) > most:
                    raise RefusedError("too_large")
                stream.write(part)
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)
