"""Types and the base class of requests and responses, which are strict and have examples in OpenAPI."""

import math
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypeAliasType

from milepost.spaces.registry import specs_schema

MAX_NUMBER = 1 << 53  # the largest integer of a request; floats represent it exactly
MAX_LENGTH = 10_000  # characters of a text
MAX_DEPTH = 8  # nested lists and objects
MAX_POINTS = 100_000  # points of a request under any setting
MAX_PARAMS = 100  # fields of a request
MAX_COLUMNS = 1_000  # columns, and shares of columns, that a request asks about


def _check_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a space, and refuse numbers too large for a float and texts that cannot be encoded."""
    pending: list[tuple[Any, int]] = [(spec, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, dict | list):
            items = [*value, *value.values()] if isinstance(value, dict) else value
            pending += [(item, depth + 1) for item in items]
            fits = depth < MAX_DEPTH
        elif isinstance(value, str):
            fits = len(value) <= MAX_LENGTH and not any("\ud800" <= letter <= "\udfff" for letter in value)
        else:
            fits = value is None or (math.isfinite(value) if isinstance(value, float) else abs(value) <= MAX_NUMBER)
        if not fits:
            raise ValueError("a number, a text or a depth that no space has")
    return spec


class _SpecSchema:
    """Describes a space in OpenAPI by the fields of all registered spaces."""

    def __get_pydantic_json_schema__(self, _: Any, __: Any) -> dict[str, Any]:
        return specs_schema()


Item = TypeVar("Item")
# stop at the first error: a list of all errors can be larger than the request
Several = Annotated[list[Item], Field(fail_fast=True)]
Whole = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Count = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
Cell = float | Whole | bool | Annotated[str, Field(max_length=MAX_LENGTH)]
Point = Several[Cell] | Annotated[str, Field(max_length=MAX_LENGTH)]
Label = Annotated[str, Field(max_length=1_000)] | Whole | bool
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", examples=["homes"])]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Interval = tuple[float, float]
SpaceSpec = TypeAliasType("SpaceSpec", Annotated[dict[str, Any], AfterValidator(_check_spec), _SpecSchema()])


class ApiModel(BaseModel):
    """Nothing is converted, nothing unknown is passed over, and numbers are finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def check_size(cls, data: Any) -> Any:
        """Refuse many unknown fields with one error, not with one for each."""
        if isinstance(data, dict) and len(data) > MAX_PARAMS:
            raise ValueError("too many fields")
        return data


def example(**fields: Any) -> ConfigDict:
    """Return the configuration of a model, with an example of it."""
    return ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [fields]})
