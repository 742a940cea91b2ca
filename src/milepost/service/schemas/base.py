"""Shape: what requests and replies have in common; they are strict, and OpenAPI shows them with examples."""

import math
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MAX_NUMBER = 1 << 53  # of whole numbers, which floats hold exactly
MAX_LENGTH = 10_000  # letters of a text
MAX_DEPTH = 8  # lists and objects within each other
MAX_POINTS = 100_000  # that a request may have by any setting
MAX_PARAMS = 100  # of a request


def _plain(words: dict[str, Any]) -> dict[str, Any]:
    """Words of a space, of which no number is too large for a float, and no text one that cannot be written."""
    left: list[tuple[Any, int]] = [(words, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, dict | list):
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            left += [(one, depth + 1) for one in inside]
            fits = depth < MAX_DEPTH
        elif isinstance(value, str):
            fits = len(value) <= MAX_LENGTH and not any("\ud800" <= one <= "\udfff" for one in value)
        else:
            fits = value is None or (math.isfinite(value) if isinstance(value, float) else abs(value) <= MAX_NUMBER)
        if not fits:
            raise ValueError("a number, a text or a depth that no space has")
    return words


Each = TypeVar("Each")
# one thing that is wrong is enough: errors take more room than what is sent
Several = Annotated[list[Each], Field(fail_fast=True)]
Whole = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Count = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
Cell = float | Whole | bool | Annotated[str, Field(max_length=MAX_LENGTH)]
Point = Several[Cell] | Annotated[str, Field(max_length=MAX_LENGTH)]
Label = Annotated[str, Field(max_length=1_000)] | Whole | bool
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", examples=["homes"])]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Place = tuple[float, float]
Words = Annotated[dict[str, Any], AfterValidator(_plain)]


class ApiModel(BaseModel):
    """Nothing is converted, nothing unknown is passed over, and numbers are finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def few(cls, given: Any) -> Any:
        """One refusal of many unknown words, rather than one for each."""
        if isinstance(given, dict) and len(given) > MAX_PARAMS:
            raise ValueError("too many words")
        return given


def example(**words: Any) -> ConfigDict:
    """The settings of a shape, with an example of it."""
    return ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [words]})
