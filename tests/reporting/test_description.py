"""A description has the facts of a release, and every report takes them from it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.reporting.description import error_text, facts, size_text
from milepost.reporting.statement import lines, statement
from tests.commands import runner

ROWS = np.random.default_rng(0).uniform(0, 10, (4_000, 2))
SIDES = np.where(ROWS[:, 0] < 5, "west", "east")
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)}, distance_unit="km")
PLANE = mp.L1({"x": (0, 10), "y": (0, 10)})
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "added": {"neighbors": "add-remove"},
    "people": {"privacy_unit": list(range(2_000)) * 2, "contributions": 2},
    "weighted": {"row_weights": np.full(4_000, 1.5), "max_row_weight": 2},
    "grouped": {"groups": SIDES, "labels": ["west", "east", "nowhere"]},
    "queries": {"queries": [[1, 2], [3, 4]]},
}


@pytest.fixture(scope="module")
def releases() -> dict[str, mp.Synopsis]:
    return {name: mp.release(ROWS, SPACE, epsilon=2, delta=1e-6, **options) for name, options in OPTIONS.items()}


def test_a_description_has_the_facts_of_the_release(releases: dict[str, mp.Synopsis]) -> None:
    synopsis = releases["plain"]
    description = synopsis.describe()
    assert (description.kind, description.columns, description.distance_unit) == ("l1", ("x", "y"), "km")
    assert (description.diameter, description.total) == (20, 4_000)
    assert description.space["bounds"] == {"x": [0, 10], "y": [0, 10]}
    assert (description.guarantee, description.change) == (synopsis.guarantee, synopsis.change)
    assert description.error == description.min_error == synopsis.error(description.confidence)
    assert sum(description.tensors.values()) == sum(tensor.size for tensor in synopsis.statistic.tensors().values())
    assert (description.groups, description.queries, description.bounds_provenance) == ((), None, None)
    assert description == synopsis.describe()


def test_groups_have_sizes_and_errors_of_their_own(releases: dict[str, mp.Synopsis]) -> None:
    synopsis = releases["grouped"]
    description = synopsis.describe()
    assert [group.label for group in description.groups] == list(synopsis.labels)
    for group in description.groups:
        part = synopsis.group(group.label)
        assert group.error == part.error(description.confidence)
        assert group.size == max(part.statistic.total.value, 0)
        assert part.describe().groups == ()
        assert facts(part.describe())["groups"] == "one of 3"
    large = [group.error for group in description.groups if group.detectable]
    assert (description.min_error, description.error) == (min(large), max(large))
    assert sum(description.tensors.values()) == sum(tensor.size for tensor in synopsis.statistic.tensors().values())


def test_the_weight_is_in_the_unit_of_the_user(releases: dict[str, mp.Synopsis]) -> None:
    synopsis = releases["weighted"]
    assert synopsis.describe().total == synopsis.n / synopsis.change.steps * 2
    assert size_text(synopsis.describe()).startswith("about weight ")


@pytest.mark.parametrize("name", OPTIONS)
def test_the_json_has_every_attribute(name: str, releases: dict[str, mp.Synopsis]) -> None:
    description = releases[name].describe()
    content = json.loads(json.dumps(description.to_json(), allow_nan=False))
    assert set(content) == set(vars(description))
    assert (content["columns"], content["total"], content["error"]) == (
        ["x", "y"],
        description.total,
        description.error,
    )
    assert content["guarantee"] == releases[name].card["guarantee"]
    assert content["change"] == releases[name].card["change"]
    assert [group["label"] for group in content["groups"]] == list(releases[name].labels)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_report_has_the_same_facts(name: str, releases: dict[str, mp.Synopsis]) -> None:
    synopsis = releases[name]
    description = synopsis.describe()
    texts = facts(description)
    assert all(texts.values())
    assert str(description).splitlines() == [f"{key:<{max(map(len, texts))}}  {text}" for key, text in texts.items()]
    assert all(text.replace("'", "&#x27;") in description._repr_html_() for text in texts.values())
    assert description._repr_html_() in synopsis._repr_html_()
    assert synopsis.statement() == statement(description)
    assert all(text in synopsis.statement() for text in lines(description).values())
    assert f"±{description.error:.4g} km)" in repr(synopsis)
    assert error_text(description) == texts["error"]


def test_a_space_without_a_unit_has_no_empty_fact() -> None:
    synopsis = mp.release(ROWS, PLANE, epsilon=1)
    assert "distance unit" not in facts(synopsis.describe())
    assert all(len(line.split(maxsplit=1)) == 2 for line in str(synopsis.describe()).splitlines())


def test_found_bounds_are_a_fact_and_a_line() -> None:
    space = mp.find_bounds(ROWS, epsilon=100)
    description = mp.release(ROWS, space, epsilon=1).describe()
    assert description.bounds_provenance == space.bounds_provenance
    assert str(space.bounds_provenance) in facts(description)["bounds found"]
    assert str(space.bounds_provenance) in lines(description)["Bounds"]
    assert description.to_json()["bounds_provenance"]["epsilon"] == 100


def test_the_command_line_prints_it_as_text_and_as_json(
    releases: dict[str, mp.Synopsis], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(capsys)
    for name, synopsis in releases.items():
        path = tmp_path / f"{name}.milepost"
        synopsis.save(path)
        assert run(f"show {path}").out.startswith(str(synopsis.describe()))
        assert json.loads(run(f"show {path} --json").out) == synopsis.describe().to_json()
    west = json.loads(run(f"show {tmp_path / 'grouped.milepost'} --group west --json").out)
    assert west == releases["grouped"].group("west").describe().to_json()
