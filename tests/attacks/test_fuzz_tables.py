"""CSV and Parquet files of any content: a MilepostError that quotes no cell, or a release, in time and memory."""

import datetime
import io
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import milepost as mp
from milepost.spaces.base import Space
from tests.attacks.cases import finite
from tests.attacks.resource_limits import BOUNDED, MEMORY, memory_limit, time_limit

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

MAX_ROUNDS = 40  # of examples; one or two nearly always suffice
PRIVATE = "Zwickmühle"  # a cell that no refusal may quote
SPACES: dict[str, tuple[Space, Any]] = {
    "numbers": (mp.L1({"x": (0, 10), "y": (-1, 1)}), [[1, 0], [2, 0.5]]),
    "positions": (mp.L2([(0, 10), (0, 5)], directions=4), [[1, 0], [2, 0.5]]),
    "mixed": (mp.Gower({"x": mp.number(0, 9), "y": mp.category(["a", "b"])}), [[1.5, "a"], [3, "other"]]),
    "letters": (mp.Hamming({"x": "ACGT", "y": "AB"}), [["A", "B"]]),
    "words": (mp.AnyMetric(mp.edit_distance, 12, ["a", "1", "house"], repetitions=2), None),
    "place": (mp.GreatCircle((5, 5), 500, directions=4), [[5, 5]]),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"groups": "g", "labels": ["a", "b"]},
    {"row_weights": "w", "max_row_weight": 2.0},
    {"privacy_unit": "g", "contributions": 2},
    {"columns": ["x", "y"]},
    {"columns": [0, 1]},
    {"columns": ["x"]},
]


def release_file(path: Path, name: str, options: dict[str, Any]) -> str:
    """Release a table, and return "refused" or "released"."""
    space, queries = SPACES[name]
    try:
        with time_limit():
            synopsis = mp.release(path, space, epsilon=1, mechanism="laplace", queries=queries, **options)
            label = synopsis.labels[0] if synopsis.labels else None
            points = list(space.queries) if isinstance(space, mp.AnyMetric) else queries
            values = synopsis.mean_distance(points, group=label)
    except mp.MilepostError as refusal:
        error = refusal
    else:
        assert finite(values)
        return "released"
    assert PRIVATE not in str(error)
    assert error.__cause__ is None
    assert len(str(error)) < 3000
    return "refused"


# CSV: text that is almost a table, and bytes that are none.

CELLS = [
    "",
    "1",
    "2.5",
    "-0.0",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "1e999",
    "5e-324",
    "9" * 400,
    "0x10",
    "1_0",
    "1,5",
]
CELLS += [
    "a",
    "b",
    "A",
    "B",
    "null",
    "NULL",
    "None",
    "true",
    PRIVATE,
    '"quoted"',
    '"',
    '""',
    '"a\nb"',
    '"a,b"',
    "'",
    " 1 ",
]
CELLS += ["\t", "\x00", "é", "😀", "\ufeff", "x" * 5000, "a\rb", "=1+1", "2020-01-01", "１", "∞"]
HEADERS = [
    "x,y",
    "x,y,g,w",
    "y,x",
    "x",
    "",
    "x,x",
    "x,y,x",
    '"x","y"',
    ",",
    "lat,lon",
    "X,Y",
    "\ufeffx,y",
    "x;y",
    "a,b,c",
    "'x',y",
]
lines = st.lists(st.lists(st.sampled_from(CELLS), min_size=0, max_size=5).map(",".join), max_size=8)
rows = st.lists(st.tuples(*[st.sampled_from(CELLS)] * 2).map(",".join), min_size=1, max_size=6)
numeric = st.lists(st.tuples(*[st.sampled_from(CELLS[1:3] + CELLS[6:11])] * 2).map(",".join), min_size=1, max_size=6)
four = st.lists(st.tuples(*[st.sampled_from(["1", "2.5", "a", "b", "", "inf", "7"])] * 4).map(",".join), min_size=1)
texts = st.one_of(
    st.tuples(st.sampled_from(HEADERS), st.one_of(lines, rows)),
    st.tuples(st.just("x,y"), st.one_of(rows, numeric)),
    st.tuples(st.just("x,y,g,w"), four),
)
encodings = st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32-le"])
ends = st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"])
contents = st.one_of(
    st.builds(
        lambda text, encoding, end: end.join([text[0], *text[1]]).encode(encoding, "surrogatepass"),
        texts,
        encodings,
        ends,
    ),
    st.binary(max_size=200),
    st.builds(
        lambda head, rest: b"x,y\n" + head + rest, st.sampled_from([b"", b"1,0\n", b"\xff\xfe", b'"']), st.binary()
    ),
)


def check_many(
    folder: Path, examples: int, contents: Any, write: Callable[[Path, Any], Path], at_least: int = 0
) -> None:
    """Release many tables, each in one of the spaces.

    at_least: how often both outcomes must occur, else the search would say little. One table in about 11 can be
    released: rounds of other examples follow until there are enough, so that no version of Hypothesis is unlucky.
    """
    outcomes: Counter[str] = Counter()
    for number in range(MAX_ROUNDS):
        check_round(number, folder, examples, contents, write, outcomes)
        if min(outcomes["released"], outcomes["refused"]) >= at_least:
            return
    pytest.fail(f"{outcomes} after {MAX_ROUNDS} rounds of {examples} tables")


def check_round(
    number: int,
    folder: Path,
    examples: int,
    contents: Any,
    write: Callable[[Path, Any], Path],
    outcomes: Counter[str],
) -> None:
    @seed(number)
    @settings(BOUNDED, max_examples=examples)
    @given(content=contents, name=st.sampled_from(sorted(SPACES)), options=st.sampled_from(OPTIONS))
    def check(content: Any, name: str, options: dict[str, Any]) -> None:
        path = write(folder, content)
        with memory_limit(MEMORY):
            outcomes[release_file(path, name, options)] += 1

    check()


def write_csv(folder: Path, content: bytes) -> Path:
    (folder / "table.csv").write_bytes(content)
    return folder / "table.csv"


def test_csv_files_are_read_or_refused(tmp_path: Path) -> None:
    check_many(tmp_path, 60, contents, write_csv, at_least=6)


@pytest.mark.slow
def test_many_csv_files_are_read_or_refused(tmp_path: Path) -> None:
    check_many(tmp_path, 500, contents, write_csv, at_least=21)


@pytest.mark.parametrize(
    "content",
    [
        b"x,y\n" + b"1," + b"9" * (3 << 20) + b"\n",  # a cell that is longer than a block
        b'x,y\n1,"' + b"a" * (3 << 20) + b'"\n',
        b"x,y\n" + b"1,0\n" * 5 + b'"' + b"\n1,0" * 300_000,  # a quote that never ends
        b",".join(b"c%d" % k for k in range(5_000)) + b"\n" + b",".join([b"1"] * 5_000) + b"\n",
        b"x,y\n" + b"," * 1_000_000,
        b"\n" * 1_000_000,
        b"x" * (3 << 20),
    ],
    ids=["long number", "long text", "open quote", "many columns", "many commas", "empty lines", "long name"],
)
def test_large_csv_files_are_read_or_refused(content: bytes, tmp_path: Path) -> None:
    """Of 3 MB and less; whatever is refused is so in a few words."""
    path = write_csv(tmp_path, content)
    with memory_limit(MEMORY):
        for name in ("numbers", "words"):
            release_file(path, name, {})


# Parquet: columns of every type, nulls, names that are twice there, and damaged bytes.

DAY = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
COLUMNS: list[pa.Array] = [
    pa.array([1.0, 2.5, -0.0]),
    pa.array([1.0, None, 2.0]),
    pa.array([1e308, float("inf"), 5e-324]),
    pa.array([float("nan"), 1.0, 2.0]),
    pa.array([1, 2, 3], pa.int8()),
    pa.array([2**64 - 1, 0, 1], pa.uint64()),
    pa.array([True, False, None]),
    pa.array(["a", "b", PRIVATE]),
    pa.array(["a", None, ""], pa.large_string()),
    pa.array(["a", "b", "a"]).dictionary_encode(),
    pa.array([1.5, 2.5, 1.5]).dictionary_encode(),
    pa.array([b"a", b"\xff", b""], pa.binary()),
    pa.array([Decimal("1.5"), Decimal("0.001"), None]),
    pa.array([Decimal(10) ** 60, Decimal(1), Decimal(2)], pa.decimal256(70, 2)),
    pa.array([DAY, DAY, None]),
    pa.array([DAY.date()] * 3),
    pa.array([datetime.timedelta(seconds=1)] * 3),
    pa.array([[1.0], [], None]),
    pa.array([{"a": 1}, {"a": None}, None]),
    pa.array([None, None, None]),
    pa.array([1.0, 2.0, 3.0], pa.float32()),
    pa.array([1.0, 2.0, 3.0]).cast(pa.float16()),
    pa.array([b"abc", b"def", b"ghi"], pa.binary(3)),
]
NAMES = ["x", "y", "g", "w", "x", "", "c", "lat", "lon", PRIVATE[:4]]
tables = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, len(COLUMNS) - 1)), max_size=5)
right = st.lists(st.integers(0, len(COLUMNS) - 1), min_size=4, max_size=4).map(
    lambda indices: [*zip("xygw", indices, strict=True)]
)
lengths = st.sampled_from([3, 3, 3, 1, 0])
damages = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), max_size=3)
cuts = st.one_of(st.just(1.0), st.just(1.0), st.floats(0, 1))

undamaged_tables: Any = st.tuples(st.one_of(tables, right, right), lengths, st.just([]), st.just(1.0))


def write_parquet(folder: Path, content: tuple[Any, int, Any, float]) -> Path:
    columns, length, damage, cut = content
    table = pa.table([COLUMNS[index][:length] for _, index in columns], names=[name for name, _ in columns])
    stream = io.BytesIO()
    pq.write_table(table, stream)
    file_bytes = bytearray(stream.getvalue())
    for where, what in damage:
        file_bytes[min(int(where * len(file_bytes)), len(file_bytes) - 1)] ^= what
    (folder / "table.parquet").write_bytes(file_bytes[: int(cut * len(file_bytes))])
    return folder / "table.parquet"


@pytest.mark.slow
def test_parquet_files_are_read_or_refused(tmp_path: Path) -> None:
    check_many(tmp_path, 120, undamaged_tables, write_parquet, at_least=6)


@pytest.mark.slow
def test_many_parquet_files_are_read_or_refused(tmp_path: Path) -> None:
    check_many(tmp_path, 400, undamaged_tables, write_parquet, at_least=21)


def test_damaged_parquet_files_are_read_or_refused(tmp_path: Path) -> None:
    """A changed byte may be one that nobody looks at."""
    check_many(tmp_path, 60, st.tuples(right, st.just(3), damages, cuts), write_parquet)


@pytest.mark.slow
def test_many_damaged_parquet_files_are_read_or_refused(tmp_path: Path) -> None:
    check_many(tmp_path, 200, st.tuples(right, st.just(3), damages, cuts), write_parquet)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"PAR1" + b"\xff" * 8 + b"PAR1", b"\x00" * 100])
def test_what_only_looks_like_parquet_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "table.parquet").write_bytes(content)
    assert release_file(tmp_path / "table.parquet", "numbers", {}) == "refused"
