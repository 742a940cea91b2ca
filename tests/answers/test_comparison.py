"""Groups: one release answers for every group, and says which is nearest, by how much, and how surely."""

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost.answers.comparison import _nearest_probability, labels_at
from milepost.answers.text import point_text
from milepost.mechanisms.groups import Groups
from tests.chance import assert_close, sure, tries

LABELS = ["low", "middle", "high"]
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})
OPTIONS: dict[str, dict[str, Any]] = {
    "slopes": {"delta": 1e-6},
    "hats": {},
    "gaussian": {"delta": 1e-6, "queries": [[1, 1], [5, 5], [9, 9]]},
    "laplace": {"queries": [[1, 1], [5, 5], [9, 9]]},
}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 3, 6000)
    points = np.clip(np.array([[1, 1], [5, 5], [9, 9]])[cluster] + rng.normal(0, 0.5, (6000, 2)), 0, 10)
    return pd.DataFrame(points, columns=["x", "y"]).assign(part=np.array(LABELS)[cluster])


@pytest.fixture(scope="module", params=OPTIONS)
def released(people: pd.DataFrame, request: pytest.FixtureRequest) -> mp.Synopsis:
    options = {"groups": "part", "labels": LABELS, "epsilon": 5, "mechanism": request.param} | OPTIONS[request.param]
    return mp.release(people, SPACE, **options)


def assert_total(group: mp.Synopsis, exact: int) -> None:
    """The noisy number of rows of a group is near the exact one."""
    total = group.statistic.total
    assert_close(total.value, exact, total.scale, law="laplace" if total.pure else "gaussian", comparisons=3, slack=1)
    assert group.n == pytest.approx(total.value, abs=1)
    assert total.scale < 20


def test_every_group_is_answered_within_its_error(released: mp.Synopsis, people: pd.DataFrame) -> None:
    """Nine answers of a release are all within what noise passes once in 10⁹ times; that of 95 % is a third of it."""
    queries = [[1, 1], [5, 5], [9, 9]]
    for label in LABELS:
        exact = mp.exact_mean_distance(people[people.part == label], SPACE, queries)
        answers = released.mean_distance(queries, group=label)
        low, high = released.interval(queries, group=label)
        assert np.abs(answers - exact).max() < released.error(sure(9), group=label) < 9 * released.error(group=label)
        assert ((low <= answers) & (answers <= high)).all()
        assert_total(released.group(label), (people.part == label).sum())
    assert released.error() == max(released.error(group=label) for label in LABELS)


def test_the_nearest_group_of_points_frames_and_one_point(released: mp.Synopsis) -> None:
    assert released.nearest([1, 1]) == "low"
    assert released.nearest([[9, 9], [5, 5]]).tolist() == ["high", "middle"]
    frame = pd.DataFrame({"x": [9, 1], "y": [9, 1]}, index=["p", "q"])
    assert released.nearest(frame).to_dict() == {"p": "high", "q": "low"}


def test_a_comparison_has_all_groups(released: mp.Synopsis) -> None:
    comparison = released.compare([[1, 1], [5, 5]])
    assert comparison.mean_distance.shape == comparison.error.shape == (2, 3)
    assert comparison.nearest.tolist() == ["low", "middle"]
    assert comparison.mean_distance[0, 0] == released.mean_distance([1, 1], group="low")
    assert (comparison.margin > 3).all()
    assert (comparison.flip_probability < 0.01).all()
    assert comparison.to_arrow().column_names[:3] == ["nearest", "margin", "flip_probability"]
    assert "noise could change it" in str(comparison)


def test_a_file_keeps_its_groups(released: mp.Synopsis, tmp_path: Path) -> None:
    released.save(tmp_path / "x.milepost")
    loaded_synopsis = mp.load(tmp_path / "x.milepost")
    assert (loaded_synopsis.labels, loaded_synopsis.card, loaded_synopsis.n) == (
        released.labels,
        released.card,
        released.n,
    )
    queries = [[1, 1], [5, 5]]
    assert np.array_equal(loaded_synopsis.compare(queries).mean_distance, released.compare(queries).mean_distance)
    assert np.array_equal(loaded_synopsis.compare(queries).error, released.compare(queries).error)


def test_a_question_has_to_name_its_group(released: mp.Synopsis) -> None:
    for call in (
        lambda: released.mean_distance([1, 1]),
        lambda: released.interval([1, 1]),
        released.center,
        lambda: released.sites([[1, 1]]),
    ):
        with pytest.raises(mp.MilepostError, match="'low', 'middle', 'high'"):
            call()
    with pytest.raises(mp.MilepostError, match="no group 'lower'"):
        released.mean_distance([1, 1], group="lower")


def test_a_release_without_groups_has_none(people: pd.DataFrame) -> None:
    plain = mp.release(people, SPACE, epsilon=1)
    assert plain.labels == ()
    for call in (lambda: plain.group("low"), lambda: plain.nearest([1, 1]), lambda: plain.compare([[1, 1]])):
        with pytest.raises(mp.MilepostError, match="no groups"):
            call()


def test_small_groups_say_so_and_are_passed_over(people: pd.DataFrame) -> None:
    """An empty group and one of two people, at ε = 0.5: each looks empty but for one time in 100 or two.

    Where noise shows nobody at all, which it does every other time, nothing is promised: so a few tries do.
    """
    table = people.assign(part=np.where(people.index < 2, "few", people.part))
    releases = (
        mp.release(table, SPACE, epsilon=0.5, groups="part", labels=["high", "few", "nobody"])
        for _ in range(tries(0.6))
    )
    synopsis = next(
        synopsis
        for synopsis in releases
        if not synopsis.group("few").statistic.total.detectable and synopsis.group("nobody").statistic.total.value < 1
    )
    with pytest.warns(mp.AccuracyWarning, match="too small .*'few', 'nobody'; they are left out"):
        assert synopsis.nearest([1, 1]) == "high"
    with pytest.warns(mp.AccuracyWarning, match="too small"):
        comparison = synopsis.compare([[1, 1]])
    assert comparison.detectable.tolist() == [True, False, False]
    assert comparison.error[0, 2] == pytest.approx(SPACE.diameter)


def test_rows_with_other_labels_are_left_out_or_others(people: pd.DataFrame) -> None:
    alone = mp.release(people, SPACE, epsilon=5, groups="part", labels=["low"])
    assert_total(alone.group("low"), (people.part == "low").sum())
    rest = mp.release(people, SPACE, epsilon=5, groups="part", labels=["low", "other"])
    assert_total(rest.group("other"), (people.part != "low").sum())


def test_labels_keep_their_types() -> None:
    rows = np.repeat([[0.1], [0.9]], 400, axis=0)
    cases: list[list[Any]] = [[0, 1], [False, True], ["0", "1"], [0, "one"]]
    for labels in cases:
        column = np.repeat(np.array(labels, dtype=object), 400)
        synopsis = mp.release(rows, mp.L1([(0, 1)]), epsilon=20, groups=column, labels=labels)
        assert [type(synopsis.nearest([coordinate])) for coordinate in (0.1, 0.9)] == [type(label) for label in labels]
        assert synopsis.nearest([[0.1], [0.9]]).tolist() == labels
    assert labels_at((1, 2), np.array([1, 0])).dtype == np.int64


def test_a_flip_is_the_chance_of_another_winner() -> None:
    """Two groups: Φ(margin/√(σ₁² + σ₂²)); groups that are too small do not count."""
    distance, deviation = np.array([[1.0, 1.5, 0.2]]), np.array([[0.3, 0.4, 9.0]])
    stays = _nearest_probability(distance, deviation, np.array([0]), np.array([True, True, False]))
    assert stays[0] == pytest.approx(NormalDist().cdf(0.5 / 0.5), abs=1e-3)
    certain = _nearest_probability(np.array([[1.0, 2.0]]), np.zeros((1, 2)), np.array([0]), np.array([True, True]))
    assert certain[0] == 1


def test_groups_are_a_list_beside_an_array(people: pd.DataFrame) -> None:
    synopsis = mp.release(people[["x", "y"]].to_numpy(), SPACE, epsilon=5, groups=people.part.tolist(), labels=LABELS)
    assert isinstance(synopsis.statistic, Groups)
    assert synopsis.nearest([9, 9]) == "high"


def test_points_may_have_names(released: mp.Synopsis) -> None:
    """From a dict or beside the points, as sites have them; long points without one are cut short."""
    for comparison in (
        released.compare({"mill": (1, 1), "quay": (9, 9)}),
        released.compare([(1, 1), (9, 9)], names=["mill", "quay"]),
    ):
        assert [line.split()[0] for line in str(comparison).splitlines()[3:5]] == ["mill", "quay"]
        assert comparison.points[0].tolist() == [1, 1]
    with pytest.raises(mp.MilepostError, match="a name for each of the 2 points"):
        released.compare([(1, 1), (9, 9)], names=["mill"])
    assert point_text(np.arange(40.0)) == "0, 1, 2, 3, 4, 5, 6, 7, … (40 in all)"
