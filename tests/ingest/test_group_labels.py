"""Labels of groups: text, whole numbers, True and False, also side by side, wherever they are named or given back."""

from typing import Any

import numpy as np
import pytest

import milepost as mp

LABELS: list[str | int | bool] = ["a", 1, True]
QUERIES = [[0.0], [0.5], [1.0]]


@pytest.fixture(scope="module")
def mixed() -> mp.Synopsis:
    """Group k is at k/2."""
    table = np.repeat([0.0, 0.5, 1.0], 500)[:, None]
    groups = [label for label in LABELS for _ in range(500)]
    return mp.release(table, mp.L1([(0, 1)]), epsilon=20, groups=groups, labels=LABELS)


def test_one_point_gets_the_label_as_it_is(mixed: mp.Synopsis) -> None:
    answers = [mixed.nearest(point) for point in QUERIES]
    assert [(type(label), label) for label in answers] == [(type(label), label) for label in LABELS]


def test_a_comparison_of_mixed_labels_has_a_column_of_text(mixed: mp.Synopsis) -> None:
    assert mixed.compare(QUERIES).to_arrow()["nearest"].to_pylist() == ["a", "1", "True"]
    assert mixed.compare(QUERIES).nearest.tolist() == LABELS


@pytest.mark.parametrize("label", [np.str_("a"), np.int64(1), np.float64(1), np.True_])
def test_a_label_of_numpy_is_the_same_label(label: Any, mixed: mp.Synopsis) -> None:
    index = LABELS.index("a") if isinstance(label, str) else 2 if label.dtype == bool else 1
    assert mixed.mean_distance([index / 2], group=label) < 0.1


@pytest.mark.parametrize("label", ["b", 0, False, 1.5, ["a"], np.array(["a", "b"]), {}])
def test_another_label_is_refused(label: Any, mixed: mp.Synopsis) -> None:
    with pytest.raises(mp.MilepostError, match=r"there is no group .*; there are 'a', 1, True"):
        mixed.group(label)
