"""Files that somebody has made up: damaged, absurd, or with a right digest over wrong content.

To load one, and to ask what was loaded, gives a MilepostError or a number, in bounded time and memory.
"""

import copy
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.synopsis import file_format
from tests.attacks.cases import CASES, NEED_QUERIES, finite
from tests.attacks.resource_limits import BOUNDED, MEMORY, memory_limit, time_limit

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

COMBINATIONS = [("l1", "slopes"), ("l2", "hats"), ("gower", "tangents"), ("great-circle", "slopes"), ("any", "hats")]
COMBINATIONS += [("angular", "slopes"), ("hamming", "slopes"), ("lp", "net"), ("l1", "field"), ("any", "laplace")]
COMBINATIONS += [("great-circle", "basis"), ("great-circle", "quadtree")]
CardPath = tuple[str | int, ...]
Content = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


@pytest.fixture(scope="module")
def release_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write files of every space and mechanism, with groups, weights and private totals among them."""
    folder, result = tmp_path_factory.mktemp("releases"), dict[str, Path]()
    for index, (kind, mechanism) in enumerate(COMBINATIONS):
        case, params = CASES[kind], dict[str, Any]()
        if mechanism in NEED_QUERIES and case.space.given_queries is None:
            params["queries"] = case.user_queries
        if mechanism == "field":
            params["queries"] = [*case.user_queries, mp.WeightedDistances(case.user_queries[:2], [2, -1])]
        if index % 2:
            params |= {"neighbors": "add-remove", "n": 20}
        if kind == "l2":
            params |= {
                "groups": ["x", "y"] * 12,
                "labels": ["x", "y"],
                "row_weights": [1.0] * 24,
                "max_row_weight": 2.0,
            }
        params |= {"mechanism": mechanism, "epsilon": 1, "delta": 0 if mechanism == "basis" else 1e-6}
        synopsis = mp.release(case.table(case.rows), case.space, **params)
        result[f"{kind} {mechanism}"] = folder / f"{index}.milepost"
        synopsis.save(result[f"{kind} {mechanism}"])
    return result


def load_and_query(path: Path, case: str) -> str:
    """Load a file and query all of it; return "refused" or "answered"."""
    points = CASES[case.split()[0]].user_queries
    try:
        with time_limit(), np.errstate(all="ignore"):
            synopsis = mp.load(path)
            if synopsis.labels:
                synopsis = synopsis.group(synopsis.labels[0])
            synopsis.statement(), repr(synopsis), str(synopsis.describe()), json.dumps(synopsis.card)
            values = [synopsis.mean_distance(points), synopsis.interval(points), synopsis.error()]
            if synopsis.queries is not None and synopsis.queries.functions is not None:
                estimate = synopsis.estimate(mp.WeightedDistances(points[:2], [2, -1]))
                values.append(list(estimate.to_json().values()))
    except mp.MilepostError:
        return "refused"
    assert all(map(finite, values))
    return "answered"


def test_files_as_they_are_made_answer(release_files: dict[str, Path]) -> None:
    assert {mechanism for _, mechanism in COMBINATIONS} >= {*MECHANISM_NAMES} - {"gaussian"}
    assert {kind for kind, _ in COMBINATIONS} == {*CASES}
    assert {name: load_and_query(path, name) for name, path in release_files.items()} == dict.fromkeys(
        release_files, "answered"
    )


# Damage: the digest tells.

damages = st.lists(
    st.tuples(st.sampled_from(["flip", "cut", "insert", "remove", "zero"]), st.floats(0, 1), st.integers(1, 255)),
    min_size=1,
    max_size=4,
)


def apply_damage(content: bytes, damage: list[tuple[str, float, int]]) -> bytes:
    """Change, cut off, insert, remove or zero bytes."""
    for how, where, what in damage:
        at = min(int(where * len(content)), max(len(content) - 1, 0))
        before, after = content[:at], content[at:]
        content = {
            "flip": before + bytes(byte ^ what for byte in after[:1]) + after[1:],
            "cut": before,
            "insert": before + bytes([what]) * what + after,
            "remove": before + after[what:],
            "zero": before + bytes(what) + after[what:],
        }[how]
    return content


def check_damage(release_files: dict[str, Path], folder: Path, examples: int) -> None:
    @settings(BOUNDED, max_examples=examples)
    @given(name=st.sampled_from(sorted(release_files)), damage=damages)
    def check(name: str, damage: list[tuple[str, float, int]]) -> None:
        content = release_files[name].read_bytes()
        path = folder / "damaged.milepost"
        path.write_bytes(apply_damage(content, damage))
        with memory_limit(MEMORY):
            result = load_and_query(path, name)
        assert result == "refused" or path.read_bytes() == content

    check()


def test_damaged_files_are_refused(release_files: dict[str, Path], tmp_path: Path) -> None:
    check_damage(release_files, tmp_path, 60)


@pytest.mark.slow
def test_many_damaged_files_are_refused(release_files: dict[str, Path], tmp_path: Path) -> None:
    check_damage(release_files, tmp_path, 300)


# Headers: a length, JSON and bytes, none of which need to fit.

huge = st.sampled_from([0, 1, 8, 100, 2**31, 2**32, 2**48, 2**63 - 1, 2**63, 2**64 - 1])
shapes = st.lists(st.one_of(huge, st.integers(-1, 9), st.sampled_from([1.5, "2", None, True, 10**30])), max_size=4)
tensors = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F64", "I64", "F16", "BF16", "BOOL", "U8", "F8_E4M3", "X", 7, None]),
        "shape": st.one_of(shapes, st.just("x")),
        "data_offsets": st.lists(st.one_of(huge, st.integers(0, 64)), max_size=3),
    }
)
metadata = st.one_of(
    st.just({"milepost": '{"card": "{}", "sha256": ""}'}),
    st.dictionaries(st.sampled_from(["milepost", "x"]), st.one_of(st.text(max_size=9), st.integers(), st.none())),
)
headers = st.dictionaries(
    st.sampled_from(["counts", "__metadata__", "a", ""]), st.one_of(tensors, metadata), max_size=3
)
bodies = st.one_of(headers.map(lambda header: json.dumps(header).encode()), st.binary(max_size=60))


def check_headers(folder: Path, examples: int) -> None:
    @settings(BOUNDED, max_examples=examples)
    @given(length=st.one_of(st.none(), huge), body=bodies, rest=st.binary(max_size=64))
    def check(length: int | None, body: bytes, rest: bytes) -> None:
        path = folder / "absurd.milepost"
        path.write_bytes(struct.pack("<Q", len(body) if length is None else length) + body + rest)
        with memory_limit(MEMORY):
            assert load_and_query(path, "l1 slopes") == "refused"

    check()


def test_absurd_headers_are_refused(tmp_path: Path) -> None:
    check_headers(tmp_path, 80)


@pytest.mark.slow
def test_many_absurd_headers_are_refused(tmp_path: Path) -> None:
    check_headers(tmp_path, 600)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"card": ' + "[" * 100_000, "1" * 100_000, '"\\ud800"', "null", "NaN"]
)
def test_cards_that_are_no_json_are_refused(text: str, tmp_path: Path) -> None:
    """Inside and outside of the entry that has the digest."""
    for entry in (text, json.dumps({"card": text, "sha256": "0" * 64}), json.dumps({"card": 5, "sha256": text})):
        header = json.dumps({"__metadata__": {"milepost": entry}}).encode()
        (tmp_path / "card.milepost").write_bytes(struct.pack("<Q", len(header)) + header)
        with memory_limit(MEMORY):
            assert load_and_query(tmp_path / "card.milepost", "l1 slopes") == "refused"


# Forgery: the digest is right, and one value of the card, or a tensor, is not.


def deep(levels: int) -> Any:
    """Return nested lists."""
    result: Any = []
    for _ in range(levels):
        result = [result]
    return result


WRONG: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    1.5,
    -0.0,
    5e-324,
    1e-300,
    1e308,
    2**31,
    2**53,
    2**63,
    -(2**63),
    10**30,
]
WRONG += [10**400, "", "x", "l2", "slopes", "replace", "1", [], {}, [[]], [1, 2], [1e308, -1e308], [None], ["x", "x"]]
WRONG += [{"kind": "l1"}, {"epsilon": 1}, {"x": [0, 1]}, list(range(5000)), deep(200)]


def card_paths(content: Any, path: CardPath = ()) -> Iterator[CardPath]:
    """Yield the paths of all values, lists and objects included; of long lists, some."""
    yield path
    if isinstance(content, dict):
        for key, value in content.items():
            yield from card_paths(value, (*path, key))
    elif isinstance(content, list):
        for index in sorted({0, 1, len(content) - 1} & set(range(len(content)))):
            yield from card_paths(content[index], (*path, index))


def with_value(content: Any, path: CardPath, value: Any) -> Any:
    """Return a copy with another value at a path, or without it where the value is MISSING."""
    if not path:
        return value
    result = copy.copy(content)
    if value is MISSING and len(path) == 1:
        del result[path[0]]
    else:
        result[path[0]] = with_value(content[path[0]], path[1:], value)
    return result


MISSING = object()


def forged_cards(path: Path) -> list[tuple[CardPath, int]]:
    """Return every path of a card with every index of a wrong value."""
    card, _ = file_format.read(path)
    return [(card_path, wrong) for card_path in card_paths(card) if card_path for wrong in range(len(WRONG) + 1)]


def check_forged(name: str, path: Path, folder: Path, card_path: CardPath, wrong: int) -> None:
    card, tensors = file_format.read(path)
    value = WRONG[wrong] if wrong < len(WRONG) else MISSING
    forged = folder / "forged.milepost"
    file_format.write(forged, with_value(card, card_path, value), tensors)
    with memory_limit(MEMORY):
        load_and_query(forged, name)


@pytest.mark.parametrize("name", [f"{kind} {mechanism}" for kind, mechanism in COMBINATIONS])
def test_forged_cards_are_refused_or_answer(name: str, release_files: dict[str, Path], tmp_path: Path) -> None:
    """A forger can say anything that a release may say; nothing else than a refusal comes of the rest."""
    forgeries = forged_cards(release_files[name])
    for index in np.random.default_rng(0).choice(len(forgeries), 25, replace=False).tolist():
        check_forged(name, release_files[name], tmp_path, *forgeries[index])


@pytest.mark.slow
@pytest.mark.parametrize("name", [f"{kind} {mechanism}" for kind, mechanism in COMBINATIONS])
def test_many_forged_cards_are_refused_or_answer(name: str, release_files: dict[str, Path], tmp_path: Path) -> None:
    forgeries = forged_cards(release_files[name])
    for index in np.random.default_rng(1).choice(len(forgeries), min(150, len(forgeries)), replace=False).tolist():
        check_forged(name, release_files[name], tmp_path, *forgeries[index])


@pytest.mark.parametrize("name", [f"{kind} {mechanism}" for kind, mechanism in COMBINATIONS])
def test_forged_tensors_are_refused_or_answer(name: str, release_files: dict[str, Path], tmp_path: Path) -> None:
    """Of another type or shape, with NaN, infinities and the largest numbers, or left out."""
    card, tensors = file_format.read(release_files[name])
    forged = tmp_path / "forged.milepost"
    for key, tensor in tensors.items():
        maximum = np.iinfo(tensor.dtype).max if tensor.dtype.kind == "i" else np.inf
        for wrong in (
            tensor[:-1],
            tensor[None],
            np.zeros(0, dtype=tensor.dtype),
            np.full_like(tensor, maximum),
            -np.full_like(tensor, maximum),
            tensor.astype(np.int8),
            np.full(tensor.shape, np.nan),
            np.zeros_like(tensor),
        ):
            file_format.write(forged, card, tensors | {key: wrong})
            with memory_limit(MEMORY):
                load_and_query(forged, name)
        file_format.write(forged, card, {other: tensors[other] for other in tensors if other != key})
        assert load_and_query(forged, name) == "refused"
