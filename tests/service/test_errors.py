"""Messages of the library, in the words of HTTP."""

import pytest

from milepost.service.errors import http_text
from tests.service.conftest import BUILD_PARAMS, PLANE, ServiceFixture


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("name the ones to use with columns=[…]", "name the ones to use with columns"),
        ("give row_weights=…, or leave max_row_weight= out", "give row_weights, or leave max_row_weight out"),
        ("leave out columns=.", "leave out columns."),
        ("a larger epsilon helps: mp.plan shows how much", "a larger epsilon helps: POST /v1/plan shows how much"),
        ("such as mp.L1([(0, 10)])", "such as mp.L1([(0, 10)])"),
    ],
)
def test_arguments_and_functions_become_fields_and_addresses(message: str, expected: str) -> None:
    assert http_text(message) == expected


@pytest.mark.parametrize(
    "message", ["neighbors='replace'", "contributions=3", "weights=[1, 2]", "low=-0.5", "step=.5", "n == 3", "ε = 1"]
)
def test_values_stay(message: str) -> None:
    assert http_text(message) == message


def test_curators_read_names_of_fields(service: ServiceFixture) -> None:
    params = {"id": "new", "space": PLANE, **BUILD_PARAMS, "analyst": "anna", "max_queries": 5, "contributions": 3}
    error = service.client("carla").post("/v1/sessions", params).json()["error"]
    assert error["code"] == "refused"
    assert "privacy_unit" in error["detail"]
    assert "privacy_unit=" not in error["detail"]
