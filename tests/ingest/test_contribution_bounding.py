"""Contributions: people are told apart, and which of one's rows are used is theirs alone."""

import string
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray
from milepost.ingest import contribution_bounding
from milepost.ingest.contribution_bounding import NAME_BYTES, person_names, row_keys, select_rows

ids = st.one_of(st.text(min_size=1, max_size=40), st.sampled_from(["a", "a\0", "a\0\0", "b" * 15, "b" * 16, "\0"]))


def names(cells: Any) -> list[bytes]:
    return [name.tobytes() for name in person_names(cells, "id", 0)]


@settings(max_examples=40)
@given(st.lists(ids, max_size=12))
def test_people_are_told_apart(cells: list[str]) -> None:
    """Two ids have the same name if they are the same, whatever stands beside them."""
    result = names(cells)
    assert all(len(name) == NAME_BYTES for name in result)
    assert len(set(result)) == len(set(cells))
    assert [names([cell])[0] for cell in cells] == result


def test_ids_are_the_same_however_they_are_stored() -> None:
    """Numbers, text, columns of all kinds of Arrow, slices of them."""
    cells = [7, 12, -3, 2**63 - 1, 7]
    texts = [str(cell) for cell in cells]
    expected = names(texts)
    kinds: list[Any] = [cells, np.array(cells), pa.array(cells), pa.array([Decimal(cell) for cell in cells])]
    kinds += [pa.array(texts, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    kinds += [pa.array(texts).dictionary_encode(), pa.array([0, *cells, 0])[1:-1], pa.array(["x" * 50, *texts])[1:]]
    for kind in kinds:
        assert names(kind) == expected, kind
    assert names([7.0, UUID(int=1), "7"])[::2] == expected[:1] * 2


@pytest.mark.parametrize(
    "cells", [["a", ""], pa.array(["a", ""]), pa.array(["a", None]), pa.array([1, None]), ["a", None]]
)
def test_a_missing_id_is_refused(cells: Any) -> None:
    """By its row."""
    with pytest.raises(mp.MilepostError, match="id of row 12 in column 'id' is missing"):
        person_names(cells, "id", 10)


def keys(rng: np.random.Generator, rows: int, people: int, grid_size: int) -> AnyArray:
    ids = [string.ascii_letters[k % 52] * (k % 20 + 1) + str(k) for k in rng.integers(0, people, rows).tolist()]
    points = rng.integers(0, grid_size, (rows, 2)).astype(float)
    return row_keys(person_names(ids, "id", 0), points, np.zeros(rows, np.int64), rng.integers(0, 2, rows))


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("max_rows", [1, 2, 5])
def test_the_first_rows_of_each_person_are_used(max_rows: int, alike: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As sorting each person's alone says, also where the order cannot tell people apart at once."""
    table = keys(np.random.default_rng(max_rows), 1000, 230, 3)
    if alike:
        monkeypatch.setattr(contribution_bounding, "_mix_bits", lambda numbers: numbers % np.uint64(7))
    mask = select_rows(table, max_rows)
    rows = [row.tobytes() for row in table]
    for person in {row[:NAME_BYTES] for row in rows}:
        positions = [position for position, row in enumerate(rows) if row.startswith(person)]
        first = sorted(positions, key=lambda position: (rows[position], position))[:max_rows]
        assert [position for position in positions if mask[position]] == sorted(first)


def test_nobody_elses_rows_matter() -> None:
    """Which of a person's rows are used is the same without the others, and in another order of all."""
    rng = np.random.default_rng(0)
    table = keys(rng, 2000, 300, 50)
    mask = select_rows(table, 3)
    person_rows = (table[:, :NAME_BYTES] == table[0, :NAME_BYTES]).all(axis=1)
    assert np.array_equal(select_rows(table[person_rows], 3), mask[person_rows])
    order = rng.permutation(len(table))
    reordered_mask = select_rows(table[order], 3)
    assert sorted(map(bytes, table[order][reordered_mask])) == sorted(map(bytes, table[mask]))


def test_which_rows_are_used_does_not_lean_to_one_side() -> None:
    """Of a person with many rows, small and large values are used alike: 4000 people, 8 standard errors."""
    rng = np.random.default_rng(1)
    people, rows = 4000, 20
    points = rng.random((people * rows, 1))
    owner = person_names(np.repeat(np.arange(people), rows).tolist(), "id", 0)
    table = row_keys(owner, points, np.zeros(len(points), np.int64), np.ones(len(points), np.int64))
    assert abs(points[select_rows(table, 1)].mean() - points.mean()) < 8 * np.sqrt(1 / 12 / people)
