"""The fields of spaces: one list for cards, TOML, the command line, HTTP and forms."""

import inspect
from typing import Any

import pytest

import milepost as mp
from milepost.pipeline.space_spec import space_from_options, space_from_spec
from milepost.service.schemas.requests import PlanRequest
from milepost.spaces.fields import SpaceField, spec_schema
from milepost.spaces.registry import KINDS, named_spaces

SPACES = named_spaces()
every_space = pytest.mark.parametrize("name", SPACES)


def fields_of(name: str) -> tuple[SpaceField, ...]:
    return SPACES[name].fields or ()


@every_space
def test_fields_are_arguments_of_the_constructor(name: str) -> None:
    """All that are in files; those of the command line alone become others."""
    arguments = inspect.signature(SPACES[name]).parameters
    assert {field.name for field in fields_of(name) if field.in_files} <= set(arguments)
    for field in fields_of(name):
        assert field.help.endswith(".")
        assert field.in_files or field.on_command_line
        assert set(field.or_else) <= {other.name for other in fields_of(name)}


@every_space
def test_the_examples_make_a_space(name: str) -> None:
    """From the required fields, in TOML and as options: the same space."""
    required = [field for field in fields_of(name) if field.required]
    spec = {field.name: field.example for field in required if field.in_files}
    options = {
        field.name: [*field.value_type.texts(field.example)]
        if field.value_type.option_type == list[str]
        else field.example
        for field in required
        if field.on_command_line and not field.shared_option
    }
    space = space_from_spec({"space": name, **spec})
    assert isinstance(space, SPACES[name])
    if not any(field.shared_option for field in required) and name not in ("gower", "hamming"):
        assert space_from_options(name, options) == space
    assert KINDS[space.kind].from_json(space.to_json(), space.tensors()).to_json() == space.to_json()


@every_space
def test_a_card_has_the_names_of_the_fields(name: str) -> None:
    """So that a card can be read with the list of fields at hand."""
    spec = {field.name: field.example for field in fields_of(name) if field.required and field.in_files}
    card = space_from_spec({"space": name, **spec}).to_json()
    own = {"kind", "random_state", "metric", "weights", "columns"}  # besides the fields
    assert set(card) <= own | {field.name for field in fields_of(name)}


@every_space
def test_missing_and_unknown_fields_are_named_as_users_write_them(name: str) -> None:
    first = next(field for field in fields_of(name) if field.required and field.in_files)
    with pytest.raises(mp.MilepostError, match=f"space {name} needs {first.name}.*, such as {first.toml_example[:5]}"):
        space_from_spec({"space": name})
    with pytest.raises(mp.MilepostError, match=f"space {name} has no colour_of; it has .*{first.name}"):
        space_from_spec({"space": name, "colour_of": 1})
    with pytest.raises(mp.MilepostError, match=f"space {name} has no --colour-of; it has --") as refusal:
        space_from_options(name, {"colour_of": 1})
    listed = str(refusal.value).partition("; it has ")[2].split(", ")
    assert listed == [field.option for field in fields_of(name) if field.on_command_line]


def test_requests_list_every_space_and_its_fields() -> None:
    schemas = PlanRequest.model_json_schema()["$defs"]["SpaceSpec"]["oneOf"]
    assert [schema["title"] for schema in schemas] == list(SPACES)
    for schema in schemas:
        fields = {field.name: field for field in fields_of(schema["title"]) if field.in_files}
        assert set(schema["properties"]) == {"space", *fields}
        assert schema["properties"]["space"] == {"const": schema["title"]}
        assert schema["additionalProperties"] is False
        assert all(schema["properties"][name]["description"] == field.help for name, field in fields.items())
    assert spec_schema("l2", "", mp.L2.fields)["anyOf"] == [{"required": ["bounds"]}, {"required": ["center"]}]


def test_a_misspelt_space_is_guessed() -> None:
    with pytest.raises(mp.MilepostError, match=r"unknown space 'hamings'; choose from l1.*; did you mean 'hamming'"):
        space_from_spec({"space": "hamings"})


def test_an_example_of_every_way_to_write_a_value() -> None:
    written: dict[tuple[str, str], Any] = {
        ("l1", "bounds"): ("--bounds age=18:90", "age = [18, 90] under [bounds]"),
        ("great-circle", "center"): ("--center 52.5,13.4", "center = [52.5, 13.4]"),
        ("gower", "category"): ("--category plan=a,b", 'plan = ["a", "b"] under [category]'),
        ("gower", "flag"): ("--flag member", 'flag = "member"'),
        ("edit", "queries"): ("--queries colour,centre", 'queries = ["colour", "centre"]'),
        ("edit", "calibrate"): ("--calibrate True", "calibrate = true"),
    }
    for (name, key), (option, toml) in written.items():
        (field,) = [field for field in fields_of(name) if field.name == key]
        assert (field.option_example, field.toml_example) == (option, toml)
