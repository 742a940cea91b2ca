"""MeanDistance: mean distances to groups as features, which spend once and cost nothing afterwards."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import milepost as mp
from milepost.sklearn import MeanDistance
from tests.pipeline.test_nearest_group import SPACE, town


def features(**options: Any) -> MeanDistance:
    defaults: dict[str, Any] = {"epsilon": 1.0, "groups": [2, 0, 1]}
    return MeanDistance(SPACE, **defaults | options)


def test_features_are_the_distances_of_the_synopsis(tmp_path: Path) -> None:
    x, y = town()
    fitted = features().fit(x, y)
    assert fitted.groups_.tolist() == [0, 1, 2]
    assert fitted.get_feature_names_out().tolist() == ["mean_distance_0", "mean_distance_1", "mean_distance_2"]
    distances = fitted.transform(x)
    for column, label in zip(distances.T, fitted.groups_, strict=True):
        assert_array_equal(column, fitted.synopsis_.group(label).mean_distance(x))
    assert fitted.spent_ == [mp.Guarantee(1.0)]
    fitted.save(tmp_path / "features")
    loaded = MeanDistance.load(tmp_path / "features")
    assert_array_equal(loaded.transform(x), distances)
    assert loaded.n_features_in_ == 2


def test_without_groups_there_is_one_feature(tmp_path: Path) -> None:
    x, _ = town()
    fitted = features(groups=None).fit(x)
    assert fitted.transform(x[:1]).shape == (1, 1)
    assert_array_equal(fitted.transform(x)[:, 0], fitted.synopsis_.mean_distance(x))
    assert fitted.get_feature_names_out().tolist() == ["mean_distance"]
    fitted.save(tmp_path / "features")
    assert_array_equal(MeanDistance.load(tmp_path / "features").transform(x), fitted.transform(x))


def test_it_works_in_a_pipeline_with_frames() -> None:
    x, y = town()
    frame = pd.DataFrame(x, columns=["east", "north"])
    space = mp.L1({"east": (0, 10), "north": (0, 10)})
    transformer = MeanDistance(space, epsilon=1, groups=[0, 1, 2])
    pipe = make_pipeline(transformer, LogisticRegression()).fit(frame, y)
    assert pipe.score(frame, y) > 0.95
    assert pipe[:-1].get_feature_names_out().tolist() == [f"mean_distance_{label}" for label in range(3)]
    named = clone(transformer).set_output(transform="pandas").fit(frame, y).transform(frame.iloc[:5])
    assert named.columns.tolist() == [f"mean_distance_{label}" for label in range(3)]


@pytest.mark.parametrize(
    ("options", "fits", "message"),
    [
        ({"groups": None}, True, r"needs groups=\[…\].*would reveal rows"),
        ({}, False, "Give y"),
        ({"space": None}, True, "needs space="),
        ({"mechanism": "magic"}, True, "unknown mechanism"),
    ],
)
def test_bad_settings_are_refused_by_fit(options: dict[str, Any], fits: bool, message: str) -> None:
    x, y = town(100)
    estimator = features().set_params(**options)
    with pytest.raises(mp.MilepostError, match=message):
        estimator.fit(x, y if fits else None)
    assert not hasattr(estimator, "spent_")
    for ask in (lambda: estimator.transform(x), estimator.get_feature_names_out):
        with pytest.raises(NotFittedError):
            ask()
