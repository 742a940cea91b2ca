"""NearestGroup: a scikit-learn classifier that spends once, says so, and answers from what it released."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import milepost as mp
from milepost.answers.comparison import _match_nearest, _nearest_probability
from milepost.auditing.noise_trace import replaced_noise
from milepost.sklearn import MeanDistance, NearestGroup
from milepost.synopsis import file_format

SPACE = mp.L1([(0, 10), (0, 10)])
CENTERS = np.array([[2, 2], [8, 3], [5, 8]])


def town(n: int = 3000) -> tuple[Any, Any]:
    """Three classes, 0 to 2, far apart: noise at ε = 1 moves a mean distance by 0.02, and never a prediction."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, n)
    return rng.normal(CENTERS[y], 0.7), y


def model(space: Any = SPACE, **options: Any) -> NearestGroup:
    defaults: dict[str, Any] = {"classes": [0, 1, 2], "epsilon": 1.0}
    return NearestGroup(space, **defaults | options)


RULES = ("means", "distance")


@pytest.fixture(scope="module", params=RULES)
def fitted(request: pytest.FixtureRequest) -> NearestGroup:
    return model(rule=request.param).fit(*town())


@pytest.fixture(scope="module")
def by_distance() -> NearestGroup:
    return model(rule="distance").fit(*town())


def test_the_nearest_class_is_predicted(fitted: NearestGroup) -> None:
    x, y = town()
    assert fitted.score(x, y) > 0.98
    assert fitted.spent_ == [mp.Guarantee(1.0)]
    assert fitted.n_features_in_ == 2
    assert not hasattr(fitted, "feature_names_in_")


def test_by_distance_it_answers_as_its_synopsis(by_distance: NearestGroup) -> None:
    x, _ = town()
    assert_array_equal(by_distance.predict(x), by_distance.synopsis_.nearest(x))
    assert by_distance.synopsis_.guarantee == mp.Guarantee(1.0)
    scores = by_distance.decision_function(x)
    assert_allclose(-scores[:, 1], by_distance.synopsis_.group(1).mean_distance(x))
    assert_array_equal(by_distance.classes_[scores.argmax(axis=1)], by_distance.predict(x))


def test_only_the_last_fit_is_there() -> None:
    """A fit by means after one by distance leaves no synopsis of the earlier one."""
    estimator = model(rule="distance").fit(*town())
    assert hasattr(estimator, "synopsis_")
    with pytest.warns(mp.AccuracyWarning, match="spends again"):
        estimator.set_params(rule="means").fit(*town())
    assert not hasattr(estimator, "synopsis_")


def test_scores_of_two_classes_are_one_number(fitted: NearestGroup) -> None:
    """Above 0 for the second class, as scikit-learn has it; of three classes a column each."""
    x, y = town()
    two = model(rule=fitted.rule, classes=[0, 1]).fit(x[y < 2], y[y < 2])
    assert two.decision_function(x).shape == (len(x),)
    assert_array_equal(two.classes_[(two.decision_function(x) > 0).astype(int)], two.predict(x))
    scores = fitted.decision_function(x)
    assert scores.shape == (len(x), 3)
    assert_array_equal(fitted.classes_[scores.argmax(axis=1)], fitted.predict(x))


@pytest.mark.parametrize(
    ("classes", "sorted_"),
    [
        ([2, 0, 1], [0, 1, 2]),
        (["b", "c", "a"], ["a", "b", "c"]),
        (np.array([1, 2, 0]), [0, 1, 2]),
        ([True, False], [False, True]),
        (["other", 1, 0], ["other", 1, 0]),
    ],
)
def test_classes_are_sorted_and_keep_their_type(classes: Any, sorted_: list[Any]) -> None:
    """Of mixed types, they stay as given; columns of probabilities follow `classes_`."""
    x, y = town()
    labels = np.array(sorted_, dtype=object)[np.minimum(y, len(sorted_) - 1)]
    estimator = model(classes=classes).fit(x, labels.tolist())
    assert estimator.classes_.tolist() == sorted_
    predictions, shares = estimator.predict(x), estimator.predict_proba(x)
    assert predictions.dtype == estimator.classes_.dtype
    assert (predictions == labels).mean() > 0.9
    assert_array_equal(estimator.classes_[shares.argmax(axis=1)], predictions)


def test_other_classes_are_left_out_or_other() -> None:
    """As a release has it; and classes that nobody is in are passed over, with a warning and without probability."""
    x, y = town()
    assert set(model(classes=[0, 1]).fit(x, y).predict(x).tolist()) == {0, 1}
    assert set(model(classes=[0, "other"]).fit(x, y).predict(x).tolist()) == {0, "other"}
    empty = model(classes=[0, 1, 2, 3], rule="distance").fit(x, y)
    if not empty.synopsis_.group(3).statistic.total.detectable:  # 99 times of 100
        with pytest.warns(mp.AccuracyWarning, match="too small"):
            assert not empty.predict_proba(x)[:, 3].any()


def test_probabilities_are_those_of_the_noise(fitted: NearestGroup) -> None:
    """They sum to 1, agree with predictions and, of two groups, are a normal probability."""
    x, _ = town()
    shares = fitted.predict_proba(x)
    assert shares.shape == (len(x), 3)
    assert (shares >= 0).all()
    assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    assert_array_equal(fitted.classes_[shares.argmax(axis=1)], fitted.predict(x))


def test_by_distance_probabilities_are_those_of_a_comparison(by_distance: NearestGroup) -> None:
    x, _ = town()
    flips = by_distance.synopsis_.compare(x).flip_probability
    assert_allclose(1 - by_distance.predict_proba(x).max(axis=1), flips, atol=1e-3)

    distance, deviation = np.array([[1.0, 1.3], [2.0, 2.0]]), np.array([[0.3, 0.4], [0.1, 0.1]])
    first = _nearest_probability(distance, deviation, np.array([0, 0]), np.array([True, True]))
    assert_allclose(first, [NormalDist().cdf(0.3 / 0.5), 0.5], atol=1e-9)


def test_the_largest_probability_is_that_of_the_nearest_class() -> None:
    """A class of uncertain distance shares with the nearest one where it would be likelier; ties are broken."""
    shares = np.array([[0.2, 0.5, 0.3], [0.25, 0.3, 0.45], [0.5, 0.5, 0.0], [0.7, 0.2, 0.1]])
    result = _match_nearest(shares, np.array([0, 1, 1, 0]))
    assert result.argmax(axis=1).tolist() == [0, 1, 1, 0]
    assert_allclose(result, [[0.35, 0.35, 0.3], [0.25, 0.375, 0.375], [0.5, 0.5, 0], [0.7, 0.2, 0.1]], atol=1e-9)
    assert_allclose(result.sum(axis=1), 1, atol=1e-12)


def test_frames_keep_their_names() -> None:
    x, y = town()
    frame = pd.DataFrame(x, columns=["east", "north"])
    estimator = model(mp.L1({"east": (0, 10), "north": (0, 10)})).fit(frame, pd.Series(y))
    assert estimator.feature_names_in_.tolist() == ["east", "north"]
    predictions = estimator.predict(frame.iloc[::-1])
    assert isinstance(predictions, np.ndarray)
    assert (predictions == y[::-1]).mean() > 0.98
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(frame.rename(columns={"east": "west"}))


def test_tables_of_labels_and_numbers_work() -> None:
    """Any space does."""
    x, y = town()
    frame = pd.DataFrame({"east": x[:, 0], "kind": np.array(["home", "work", "shop"])[y]})
    space = mp.Gower({"east": mp.number(0, 10), "kind": mp.category(["home", "work", "shop"])})
    assert model(space).fit(frame, y).score(frame, y) > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": None}, "Do not derive it from y, which would reveal rows"),
        ({"space": None}, r"public bounds and a distance, such as mp\.L1"),
        ({"classes": []}, "public list"),
        ({"classes": [0, 0]}, "each label once"),
        ({"epsilon": 0}, "epsilon"),
        ({"mechanism": "magic", "rule": "distance"}, "unknown mechanism"),
        ({"mechanism": "slopes"}, 'is for rule="distance"'),
        ({"rule": "mean"}, "rule= must be one of means, distance, got 'mean'; did you mean"),
        ({"n": 0}, "n="),
        ({"space": mp.AnyMetric(mp.precomputed([[0, 1], [1, 0]]), 1, [0, 1])}, 'Use rule="distance"'),
        ({"epsilon": 1e-9, "n": 100, "space": mp.L1([(0, 1)] * 4000)}, "does not fit 64-bit"),
        ({"neighbors": "friends"}, "neighbors"),
    ],
)
def test_bad_settings_are_refused_by_fit(options: dict[str, Any], message: str) -> None:
    estimator = model(**{"space": SPACE} | options)
    with pytest.raises(mp.MilepostError, match=message):
        estimator.fit(*town(100))
    assert not hasattr(estimator, "spent_")


def bad_tables(x: Any, y: Any) -> list[tuple[Any, Any]]:
    missing = x.copy()
    missing[3, 1] = np.nan
    return [(missing, y), (x[:, :1], y), (x, y[:-1]), (x, None), (x, "city"), (x[:, 0], y), (x, np.c_[y, y])]


@pytest.mark.parametrize("case", range(7))
def test_bad_tables_are_refused_and_nothing_is_spent(case: int) -> None:
    estimator = model()
    with pytest.raises(ValueError, match=r"."):
        estimator.fit(*bad_tables(*town(100))[case])
    assert not hasattr(estimator, "spent_")


def test_bad_points_are_refused(fitted: NearestGroup) -> None:
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.predict([[1, 2, 3]])
    with pytest.raises(mp.MilepostError, match="missing"):
        fitted.predict_proba([[1, np.nan]])
    with pytest.raises(ValueError, match="does not contain any features"):
        fitted.predict([1, 2])
    for ask in (model().predict, model().predict_proba):
        with pytest.raises(NotFittedError):
            ask([[1, 2]])


def test_another_fit_warns_before_it_spends() -> None:
    """The sum is said, and an error made of the warning keeps it from being spent."""
    x, y = town()
    estimator = model(epsilon=0.5, delta=1e-6).fit(x, y)
    first = estimator.predict_proba(x)
    with pytest.raises(mp.AccuracyWarning, match="spends again"):  # warnings are errors in this suite
        estimator.fit(x, y)
    assert_array_equal(estimator.predict_proba(x), first)
    estimator.set_params(epsilon=1)
    with pytest.warns(mp.AccuracyWarning, match="ε = 1.5, δ = 2e-06 in total for a row that is in all fits"):
        estimator.fit(x, y)
    assert estimator.spent_ == [mp.Guarantee(0.5, 1e-6), mp.Guarantee(1, 1e-6)]
    assert not hasattr(clone(estimator), "spent_")


def test_what_was_fitted_is_saved_and_not_pickled(fitted: NearestGroup, tmp_path: Path) -> None:
    """An unfitted one holds nothing but settings, and goes to the workers of a search."""
    for keep in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(mp.MilepostError, match=r"save\(path\).*NearestGroup\.load"):
            keep(fitted)
    again = pickle.loads(pickle.dumps(model(epsilon=2)))  # noqa: S301
    assert again.get_params() == model(epsilon=2).get_params()

    x, _ = town()
    fitted.save(tmp_path / "town.milepost")
    estimator = NearestGroup.load(tmp_path / "town.milepost")
    assert_array_equal(estimator.predict(x), fitted.predict(x))
    assert_array_equal(estimator.predict_proba(x), fitted.predict_proba(x))
    assert_array_equal(estimator.decision_function(x), fitted.decision_function(x))
    assert estimator.classes_.dtype == fitted.classes_.dtype
    assert (estimator.spent_, estimator.n_features_in_) == (fitted.spent_, 2)
    mechanism = fitted.synopsis_.mechanism if fitted.rule == "distance" else "auto"
    assert estimator.get_params() == fitted.get_params() | {"mechanism": mechanism}
    with pytest.warns(mp.AccuracyWarning, match="ε = 2 in total for a row that is in all fits"):
        estimator.fit(*town())
    with pytest.raises(NotFittedError):
        model().save(tmp_path / "nothing")


def test_the_file_of_class_means_is_not_a_synopsis(tmp_path: Path) -> None:
    model().fit(*town()).save(tmp_path / "town.milepost")
    with pytest.raises(mp.MilepostError, match=r"NearestGroup\.load"):
        mp.load(tmp_path / "town.milepost")


def damaged(card: dict[str, Any], tensors: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Cards and tensors that no fit has written."""
    for name in card:
        yield {key: value for key, value in card.items() if key != name}, tensors
    for name in tensors:
        yield card, {key: value for key, value in tensors.items() if key != name}
        yield card, tensors | {name: tensors[name][:-1]}
        yield card, tensors | {name: tensors[name].astype(np.float32)}
    yield card, tensors | {"center": np.array([np.nan, 0.0])}
    yield card, tensors | {"more": np.zeros(1)}
    yield card | {"labels": [0, 1]}, tensors
    yield card | {"labels": [0, 1, 1]}, tensors
    yield card | {"format": 99}, tensors
    yield card | {"space": mp.AnyMetric(mp.precomputed([[0, 1], [1, 0]]), 1, [0, 1]).to_json()}, tensors
    yield card | {"change": {"neighbors": "replace", "groups": 2}}, tensors
    for wrong in (0, -1.0, "1", None, 1e99, [1.0]):
        yield card | {"parameters": card["parameters"] | {"scale": wrong}}, tensors


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "town.milepost"
    model().fit(*town()).save(path)
    card, tensors = file_format.read(path)
    for wrong_card, wrong_tensors in damaged(card, tensors):
        if set(card) - set(wrong_card) == {"outside"}:
            continue  # a text for people
        file_format.write(path, wrong_card, wrong_tensors)
        with pytest.raises(mp.MilepostError):
            NearestGroup.load(path)


def test_a_release_with_named_columns_is_loaded_and_one_without_groups_is_not(tmp_path: Path) -> None:
    x, y = town()
    frame, space = pd.DataFrame(x, columns=["east", "north"]), mp.L1({"east": (0, 10), "north": (0, 10)})
    mp.release(frame, space, epsilon=1, groups=y, labels=["2", "1", "0"]).save(tmp_path / "groups")
    estimator = NearestGroup.load(tmp_path / "groups")
    assert estimator.classes_.tolist() == ["0", "1", "2"]
    assert estimator.predict(frame)[:50].tolist() == [str(label) for label in y[:50]]
    assert estimator.feature_names_in_.tolist() == ["east", "north"]
    mp.release(frame, space, epsilon=1).save(tmp_path / "plain")
    with pytest.raises(mp.MilepostError, match="no groups"):
        NearestGroup.load(tmp_path / "plain")


@pytest.mark.slow
def test_it_works_in_pipelines_and_cross_validation() -> None:
    x, y = town(3000)
    pipe = make_pipeline(FunctionTransformer(lambda points: points / 10), model(mp.L1([(0, 1), (0, 1)])))
    assert pipe.fit(x, y).score(x, y) > 0.95
    assert cross_val_score(pipe, x, y, cv=3).min() > 0.95
    shares = cross_val_predict(model(), x, y, cv=3, method="predict_proba")
    assert (shares.argmax(axis=1) == y).mean() > 0.95
    assert cross_val_score(model(), x, y, cv=3, scoring="neg_log_loss").shape == (3,)


class FromData(NearestGroup):
    """Takes bounds and classes from the rows, as no private estimator may: scikit-learn's checks give none."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        self._seen = X, y
        return super().fit(X, y)

    def _required_space(self) -> mp.L1:
        return bounds_of(self._seen[0])

    def _required_labels(self, labels: Any, name: str) -> Any:  # noqa: ARG002
        values = [] if self._seen[1] is None else np.unique(np.asarray(self._seen[1])).tolist()
        whole = (int(value) if isinstance(value, float) and value.is_integer() else value for value in values)
        return [*whole] or ["none"]


class FeaturesFromData(MeanDistance):
    """The same of `MeanDistance`, with one group."""

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: N803, ARG002
        self._seen = (X,)
        return super().fit(X)

    def _required_space(self) -> mp.L1:
        return bounds_of(self._seen[0])


def bounds_of(rows: Any) -> mp.L1:
    """A box around rows; around 0..1 where they are no table of finite numbers."""
    array = np.zeros((1, 1)) if scipy.sparse.issparse(rows) else np.asarray(rows)
    if array.ndim != 2 or not array.size or np.iscomplexobj(array):
        return mp.L1([(0, 1)])
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        return mp.L1([(0, 1)] * array.shape[1])
    return mp.L1([(low - 1e-3, high + 1e-3) for low, high in zip(numbers.min(0), numbers.max(0), strict=True)])


EXPECTED_FAILURES = {
    "check_estimators_nan_inf": "NaN is refused, but infinite values are moved to the bounds",
    "check_estimators_empty_data_messages": "the number of rows is private, so that no rows are answered as others are",
    "check_estimators_pickle": "a fitted estimator is saved with save(path)",
    "check_classifiers_regression_target": "rows of classes that are not listed are left out, whatever they are",
}


@pytest.mark.parametrize(
    "estimator", [FromData(epsilon=9.0), FromData(epsilon=9.0, delta=1e-6), FeaturesFromData(epsilon=9.0)]
)
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_checks_of_scikit_learn_pass_but_for_these(estimator: Any) -> None:
    """Without noise, which makes two fits differ."""
    with replaced_noise(lambda law, values, scale: np.array(values, dtype=np.int64)):  # noqa: ARG005
        estimator_checks.check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES, on_skip=None)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_the_core_does_without_scikit_learn() -> None:
    assert run("import sys, milepost; print('sklearn' in sys.modules)").strip() == "False"
    lines = "import sys; sys.modules['sklearn'] = None\ntry: import milepost.sklearn\nexcept ImportError as e: print(e)"
    assert "pip install 'milepost[sklearn]'" in run(lines)
