"""Spaces from outside the package: registered, loaded, and described on the command line, in TOML and over HTTP."""

from pathlib import Path
from typing import Any

import pytest
import typer

import milepost as mp
from milepost import cli
from milepost.pipeline.space_spec import read_space, space_from_spec
from milepost.service.schemas.requests import PlanRequest
from milepost.spaces.fields import INTEGER, NUMBER, NUMBERS
from milepost.spaces.registry import named_spaces
from tests.commands import Run, runner
from tests.spaces.hour_of_day import HourOfDay


class CityGrid(mp.L1):
    """A city of straight streets, in which one way across costs more."""

    kind = "city-grid"
    fields = (
        mp.SpaceField("blocks", INTEGER, "How many blocks the city is wide.", 10, required=True),
        mp.SpaceField("hill", NUMBER, "What a block uphill costs.", 2),
    )

    def __init__(self, blocks: int, hill: float = 1.0) -> None:
        super().__init__({"east": (0, blocks), "north": (0, blocks)}, weights={"north": hill})


@pytest.mark.usefixtures("kinds")
def test_a_registered_space_is_known_everywhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """By its kind: on the command line with its own options, in TOML and in requests."""
    mp.register_space(CityGrid)
    run: Run = runner(capsys)
    (tmp_path / "city.toml").write_text('space = "city-grid"\nblocks = 20\nhill = 3\n')
    expected = CityGrid(20, 3)
    assert read_space(tmp_path / "city.toml") == expected
    assert space_from_spec({"space": "city-grid", "blocks": 20, "hill": 3}) == expected
    assert run("plan --space city-grid --blocks 20 --hill 3 --n 1000 --epsilon 1").code == 0
    options = {name for param in _params("plan") for name in param.opts}
    assert {"--blocks", "--hill"} <= options
    refusal = run("plan --space city-grid --n 1000 --epsilon 1")
    assert "space city-grid needs --blocks, such as --blocks 10" in refusal.err
    schemas = PlanRequest.model_json_schema()["$defs"]["SpaceSpec"]["oneOf"]
    (schema,) = [schema for schema in schemas if schema["title"] == "city-grid"]
    assert schema["required"] == ["space", "blocks"]
    assert schema["properties"]["hill"] == {
        "type": "number",
        "description": "What a block uphill costs.",
        "examples": [2],
    }


def _params(name: str) -> list[Any]:
    group: Any = typer.main.get_command(cli.app)
    params: list[Any] = group.commands[name].params
    return params


def test_its_options_go_with_it() -> None:
    """A command has the options of the spaces that are registered when it is called."""
    assert "--blocks" not in {name for param in _params("plan") for name in param.opts}


def test_a_space_without_fields_is_for_python_only(kinds: dict[str, type[mp.Space]]) -> None:
    mp.register_space(HourOfDay)
    assert "HourOfDay" in kinds
    assert "HourOfDay" not in named_spaces()
    with pytest.raises(mp.MilepostError, match="unknown space 'HourOfDay'; choose from l1"):
        space_from_spec({"space": "HourOfDay"})


@pytest.mark.usefixtures("kinds")
def test_what_cannot_be_registered() -> None:
    class Unfinished(mp.Space):
        diameter = 1.0

    class Taken(HourOfDay):
        kind = "l2"

    class Named(HourOfDay):
        kind = "edit"
        fields = ()

    class Otherwise(HourOfDay):
        fields = (mp.SpaceField("bounds", NUMBERS, "Another form.", [1]),)

    class Nameless(HourOfDay):
        kind = ""

    wrong: list[tuple[Any, str]] = [
        (Unfinished, "Unfinished is not a complete space: define distance, embedding, from_json, position, quantize"),
        (Taken, "the kind 'l2' belongs to L2; give Taken another one, such as kind = 'Taken'"),
        (Named, "the kind 'edit' belongs to AnyMetric"),
        (Otherwise, "the field 'bounds' of Otherwise must be written as that of l1"),
        (Nameless, "Nameless.kind must be a text"),
        (HourOfDay(), "takes a subclass of mp.Space"),
        (dict, "takes a subclass of mp.Space"),
    ]
    for space, message in wrong:
        with pytest.raises(mp.MilepostError, match=message):
            mp.register_space(space)


def test_a_class_may_be_registered_again(kinds: dict[str, type[mp.Space]]) -> None:
    """As when the cell of a notebook is run twice."""
    first, second = (type("Again", (HourOfDay,), {"__module__": "notebook"}) for _ in range(2))
    for space in (first, first, second):
        assert mp.register_space(space) is kinds["Again"] is space
