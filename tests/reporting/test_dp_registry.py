"""The entry for the deployments registry says what the card says, in its words."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.reporting.dp_registry import registry_entry
from tests.commands import runner

ROWS = np.random.default_rng(0).uniform(0, 10, (20_000, 2))
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})


@pytest.mark.parametrize(
    ("options", "variant", "parameters", "unit"),
    [
        ({"delta": 1e-6}, "Gaussian DP", {"epsilon", "delta", "mu"}, "Row-level"),
        (
            {"delta": 1e-6, "mechanism": "tangents"},
            "Zero-concentrated DP",
            {"epsilon", "delta", "rho"},
            "Row-level",
        ),
        ({}, "Pure DP", {"epsilon"}, "Row-level"),
        ({"delta": 1e-6, "mechanism": "hats"}, "Pure DP", {"epsilon"}, "Row-level"),
        ({"delta": 1e-6, "neighbors": "add-remove"}, "Approximate DP", {"epsilon", "delta"}, "Row-level"),
        (
            {"delta": 1e-6, "privacy_unit": list(range(10_000)) * 2},
            "Gaussian DP",
            {"epsilon", "delta", "mu"},
            "Person-level",
        ),
    ],
)
def test_what_is_filled_in(options: dict[str, Any], variant: str, parameters: set[str], unit: str) -> None:
    synopsis = mp.release(ROWS, SPACE, epsilon=1, **options)
    deployment = registry_entry(synopsis.describe())["deployment"]
    assert deployment["dp_variant"]["name"] == variant
    assert set(deployment["privacy_loss"]["privacy_parameters"]) == parameters
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == 1
    assert deployment["privacy_loss"]["privacy_unit"] == unit
    assert deployment["model"]["release_type"] == "Single release"
    assert deployment["model"]["access_type"] == "Non-interactive"
    assert deployment["privacy_loss"]["privacy_unit_description"] in synopsis.statement()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    synopsis = mp.release(ROWS, SPACE, epsilon=1)
    synopsis.save(tmp_path / "a.milepost")
    output = runner(capsys)(f"show {tmp_path / 'a.milepost'} --registry")
    assert json.loads(output.out) == registry_entry(synopsis.describe())
