"""The releases of a service, and their cached answers."""

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
from milepost.service.schemas.requests import DifferenceRequest, DriftRequest, ReleaseRequest
from milepost.service.schemas.responses import DifferenceView
from milepost.service.schemas.views import (
    center,
    description,
    difference,
    distance_grid,
    select_group,
    statement,
    summary,
)
from milepost.service.settings import Settings
from milepost.spaces.base import Space
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

MAX_GRIDS = 64  # grids in the cache
MAX_DIFFERENCES = 256  # differences in the cache
MAX_SMALL_ANSWERS = 4096  # other answers in the cache
DRIFT_FIELDS = tuple(DifferenceView.model_fields)


class ReleaseCatalog:
    """Released files by name. Their answers cost no budget: it was spent when they were created."""

    def __init__(self, directory: DataDirectory, database: ServiceDatabase, settings: Settings) -> None:
        self._directory, self._database, self._settings = directory, database, settings
        self._releases = {release.id: release for release in database.all(ReleaseRecord)}
        self._version_counter = count()
        self._versions = dict[str, int]()  # unique for each release that was ever listed
        for name in self._releases:
            self._versions[name] = next(self._version_counter)
        self._claimed_names, self._lock = set[str](), Lock()
        self._synopses: LRUCache[Synopsis] = LRUCache(settings.max_loaded)
        self._grids: LRUCache[bytes] = LRUCache(MAX_GRIDS)
        self._differences: LRUCache[bytes] = LRUCache(MAX_DIFFERENCES)
        self._small_answers: LRUCache[bytes] = LRUCache(MAX_SMALL_ANSWERS)
        self._reported_keys: set[Any] = set()  # of releases that cannot be read

    def all(self) -> list[ReleaseRecord]:
        """Return all releases, in the order in which they were added."""
        return list(self._releases.values())

    def exists(self, name: str) -> bool:
        """Return whether there is a release of this name."""
        return name in self._releases

    def find(self, name: str) -> tuple[ReleaseRecord, Synopsis]:
        """Return a release and its synopsis."""
        record = self._releases.get(name)
        if record is None:
            raise RefusedError("not_found")
        return record, self._synopses.get(self._key(name), lambda: load(self._directory.release(name)))

    def cached_synopsis(self, name: str) -> Synopsis | None:
        """Return the synopsis if it is in memory, else None."""
        return self._synopses.peek(self._key(name))

    @contextmanager
    def claiming(self, name: str) -> Iterator[None]:
        """Reserve a name while a release is stored; refuse one that exists or is reserved."""
        with self._lock:
            if self.exists(name) or name in self._claimed_names:
                raise RefusedError("exists")
            self._claimed_names.add(name)
        try:
            self._directory.clear_release(name)  # a file without a record, which could not be removed earlier
            yield
        finally:
            self._claimed_names.discard(name)

    def summaries(self) -> list[dict[str, Any]]:
        """Return a summary of every release; skip those whose file is damaged or missing, which curators can remove."""
        summaries = []
        for record in self.all():
            key = *self._key(record.id), "summary"
            try:
                summaries.append(self._small_answers.get(key, partial(self._summary, record.id)))
            except RefusedError:  # another request removed it
                continue
            except MilepostError as error:
                self._report(key, record.id, error)
        return [json.loads(text) for text in summaries]

    def _report(self, key: Any, name: str, error: MilepostError) -> None:
        """Log once that a release cannot be read."""
        if key not in self._reported_keys:
            self._reported_keys.add(key)
            print(f"cannot list the release {name}: {error}", file=sys.stderr, flush=True)

    def _summary(self, name: str) -> bytes:
        return to_json_bytes(summary(*self.find(name)))

    def build(self, request: ReleaseRequest, space: Space, ledger: Ledger) -> None:
        """Release a table, which spends the guarantee, and write the file before the release is listed."""
        with self.claiming(request.id):
            self._build(request, space, ledger)

    def _build(self, request: ReleaseRequest, space: Space, ledger: Ledger) -> None:
        synopsis = release(
            self._directory.table(request.table),
            space,
            **request.shared_options(),
            queries=request.queries,
            groups=request.groups,
            labels=request.labels,
            ball_share=request.ball_share,
            effort=request.effort,
            model=request.model,
            ledger=ledger,
            dataset=request.dataset,
        )
        synopsis.save(self._directory.release(request.id))
        self.add_record(request.id, request.title or request.id, request.dataset)

    def recover(self, request: ReleaseRequest) -> None:
        """List a release that an interrupted job has written: its budget is spent."""
        if not self.exists(request.id) and self._directory.release(request.id).is_file():
            self.add_record(request.id, request.title or request.id, request.dataset)

    def store(self, path: Path, name: str, title: str, dataset: str) -> ReleaseRecord:
        """Move an uploaded file to its place, and list it as a release; its name must be claimed."""
        path.replace(self._directory.release(name))
        return self.add_record(name, title, dataset)

    def add_record(self, name: str, title: str, dataset: str) -> ReleaseRecord:
        """List a release whose file exists."""
        record = ReleaseRecord(name, title, dataset, now())
        if not self._database.add(record):
            raise RefusedError("exists")
        self._versions[name] = next(self._version_counter)
        self._releases[name] = record
        return record

    def remove(self, name: str) -> None:
        """Remove a release from the list, and then its file."""
        if self._releases.pop(name, None) is None:
            raise RefusedError("not_found")
        self._database.remove(ReleaseRecord, name)
        self._directory.clear_release(name)

    def grid(self, name: str, steps: int, group: Any) -> bytes:
        """Return mean distances on a grid, as JSON."""
        if steps > self._settings.max_steps:
            raise RefusedError("too_large", ["body", "steps"])
        synopsis = select_group(self.find(name)[1], group)
        key = *self._key(name), "grid", steps, type(group), group
        return self._grids.get(key, lambda: to_json_bytes(distance_grid(synopsis, steps)))

    def center(self, name: str, group: Any) -> bytes:
        """Return the point with the smallest mean distance, as JSON."""
        synopsis = select_group(self.find(name)[1], group)
        return self._small_answers.get(
            (*self._key(name), "center", type(group), group), lambda: to_json_bytes(center(synopsis))
        )

    def difference(self, name: str, request: DifferenceRequest) -> bytes:
        """Return how different the tables of two releases are, as JSON."""
        other = request.other
        if not self.exists(other):
            raise RefusedError("not_found", ["body", "other"])
        left = select_group(self.find(name)[1], request.group)
        right = select_group(self.find(other)[1], request.other_group, "other_group")
        sides = ((name, request.group), (other, request.other_group))
        names = [side if group is None else f"{side}: {group}" for side, group in sides]
        key = *((self._key(side), type(group), group) for side, group in sides), request.confidence
        return self._differences.get(
            key, lambda: to_json_bytes(difference(left, right, (names[0], names[1]), request.confidence))
        )

    def drift(self, request: DriftRequest) -> bytes:
        """Return the differences of releases to the first one and to the one before, as JSON."""
        names = request.releases
        if len(names) > self._settings.max_compared:
            raise RefusedError("too_large", ["body", "releases"])
        labels = names if request.labels is None else request.labels
        if len(labels) != len(names):
            raise RefusedError("invalid", ["body", "labels"])
        for index, name in enumerate(names):
            if not self.exists(name):
                raise RefusedError("not_found", ["body", "releases", index])

        def compare(base: int, index: int) -> dict[str, Any]:
            pair = DifferenceRequest(
                other=names[index], group=request.group, other_group=request.group, confidence=request.confidence
            )
            try:
                return dict(json.loads(self.difference(names[base], pair)))
            except RefusedError as error:
                where: list[str | int] = ["group"] if error.code == "bad_group" else ["releases", index]
                raise RefusedError(error.code, ["body", *where], error.detail) from None

        indices = range(1, len(names))
        answers = {"to_first": [compare(0, k) for k in indices], "to_previous": [compare(k - 1, k) for k in indices]}
        return to_json_bytes(
            {"labels": labels, "distance_unit": answers["to_first"][0]["distance_unit"]}
            | {name: [{field: one[field] for field in DRIFT_FIELDS} for one in many] for name, many in answers.items()}
        )

    def _key(self, name: str) -> tuple[str, int | None]:
        """Return the cache key of a release; a later release of the same name has another one."""
        return name, self._versions.get(name)


def to_json_bytes(answer: dict[str, Any]) -> bytes:
    """Encode an answer as JSON."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


Value = TypeVar("Value")


class LRUCache(Generic[Value]):
    """A cache of the most recently used values, by key."""

    def __init__(self, max_size: int) -> None:
        self._max_size, self._values, self._lock = max_size, OrderedDict[Any, Value](), Lock()

    def peek(self, key: Any) -> Value | None:
        """Return the value of a key if it is in the cache, else None."""
        return self._values.get(key)

    def get(self, key: Any, make: Callable[[], Value]) -> Value:
        """Return the value of a key, and compute it if needed; two callers at once may both compute it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._max_size:
                self._values.popitem(last=False)
        return value


def cost_of(synopsis: Synopsis) -> list[Guarantee]:
    """Return the cost of an uploaded release, or slightly more if its number of rows is private."""
    guarantee = synopsis.guarantee
    total = Guarantee(guarantee.epsilon) if spends_epsilon(synopsis.mechanism) else guarantee
    if synopsis.change.public_total or total.pure:
        return [total]
    return [Guarantee(SIZE_SHARE * guarantee.epsilon), total]


def load_uploaded(path: Path) -> Synopsis:
    """Return the synopsis of an uploaded file, and refuse a file that is no synopsis or cannot be shown."""
    try:
        synopsis = load(path)
        to_json_bytes(description(ReleaseRecord("", "", "", ""), synopsis))
        to_json_bytes(statement(synopsis))
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error).replace(str(path), "the file")) from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):  # the card was edited
        raise RefusedError(
            "refused",
            detail="the file is not a synopsis that milepost has written. Upload a file that `milepost release` made.",
        ) from None
    return synopsis


async def receive_upload(request: Request, folder: Path, max_bytes: int) -> Path:
    """Write the body to a temporary file, which the caller removes."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".upload-")
    try:
        with os.fdopen(handle, "wb") as stream:
            async for part in request.stream():
                if stream.tell() + len(part) > max_bytes:
                    raise RefusedError("too_large")
                stream.write(part)
    except BaseException:
        Path(name).unlink()
        raise
    return Path(name)
