"""The bodies of requests."""

from typing import Annotated, Any, Literal

from pydantic import Field

from milepost.service.schemas.base import (
    MAX_COLUMNS,
    MAX_LENGTH,
    MAX_NUMBER,
    MAX_POINTS,
    ApiModel,
    Count,
    Label,
    Line,
    Name,
    Point,
    Several,
    SpaceSpec,
    example,
)


class DistanceRequest(ApiModel):
    """Points to ask a release about. group: of a release that has some. confidence: of the errors."""

    model_config = example(points=[[52.5219, 13.4132], [52.4736, 13.4017]])
    points: Several[Point] = Field(min_length=1, max_length=MAX_POINTS)
    group: Label | None = None
    confidence: float | None = Field(None, ge=0.5, lt=1)


class CompareRequest(ApiModel):
    """Points to compare the groups of a release at."""

    model_config = example(points=[[3, 4], [9, 6]])
    points: Several[Point] = Field(min_length=1, max_length=MAX_POINTS)


class CenterRequest(ApiModel):
    """group: of a release that has some."""

    model_config = example()
    group: Label | None = None


class GridRequest(ApiModel):
    """steps: along each side of the grid."""

    model_config = example(steps=100)
    steps: int = Field(100, ge=2, le=MAX_NUMBER)
    group: Label | None = None


ColumnName = Annotated[str, Field(max_length=MAX_LENGTH)]
Confidence = Annotated[float, Field(ge=0.5, lt=1)]


class ShareRequest(ApiModel):
    """A share of people: between two values of a column, both included and null for no limit, or with one label."""

    model_config = example(column="age", low=18, high=65)
    column: ColumnName
    low: float | None = None
    high: float | None = None
    label: Annotated[str, Field(max_length=MAX_LENGTH)] | None = None


class ColumnsRequest(ApiModel):
    """Columns whose means and variances, or shares of labels, are asked for, and shares of columns.

    columns: all by default, and none if there are shares. confidence: of the intervals.
    """

    model_config = example(columns=["age"], shares=[{"column": "age", "low": 18, "high": 65}])
    columns: Annotated[list[ColumnName], Field(fail_fast=True, min_length=1, max_length=MAX_COLUMNS)] | None = None
    shares: Annotated[list[ShareRequest], Field(fail_fast=True, max_length=MAX_COLUMNS, default_factory=list)]
    group: Label | None = None
    confidence: Confidence = 0.95


class DifferenceRequest(ApiModel):
    """Another release to compare with, or the same one. group, other_group: of releases that have some."""

    model_config = example(other="homes-2025")
    other: Name
    group: Label | None = None
    other_group: Label | None = None
    confidence: Confidence = 0.95


class DriftRequest(ApiModel):
    """Releases in order. labels: their names in the answer, ids by default. group: that all of them have."""

    model_config = example(releases=["homes-2024", "homes-2025", "homes-2026"], labels=["2024", "2025", "2026"])
    releases: Several[Name] = Field(min_length=2, max_length=MAX_COLUMNS)
    labels: Annotated[list[Line], Field(fail_fast=True, max_length=MAX_COLUMNS)] | None = None
    group: Label | None = None
    confidence: Confidence = 0.95


class QuestionRequest(ApiModel):
    """One point to ask a session about."""

    model_config = example(point=[52.5219, 13.4132])
    point: Point


class PlanRequest(ApiModel):
    """What would be released of n rows: give epsilon to see the error, or error to see the smallest epsilon."""

    model_config = example(
        space={"space": "great-circle", "center": [52.52, 13.405], "radius_km": 30}, n=100_000, epsilon=1, delta=1e-6
    )
    space: SpaceSpec
    n: Count
    epsilon: float | None = Field(None, gt=0)
    error: float | None = Field(None, gt=0)
    delta: float = Field(0, ge=0, lt=1)
    max_queries: Count | None = None
    neighbors: Literal["replace", "add-remove"] = "replace"
    groups: Count | None = None
    contributions: Count = 1
    accounting: Literal["gaussian", "zcdp"] | None = None
    ball_share: float | None = Field(None, gt=0, lt=0.5)
    effort: Literal["faster", "balanced", "closer"] = "balanced"
    model: bool | None = None


class BudgetRequest(ApiModel):
    """A dataset and the cap on what may ever be spent on it: (epsilon, delta), pure epsilon, or rho.

    accounting: what a cap with delta adds up, mu squared of Gaussian noise (the default) or rho of zCDP.
    """

    model_config = example(name="homes", epsilon=3, delta=1e-6)
    name: Annotated[str, Field(min_length=1, max_length=64)]
    epsilon: float | None = Field(None, gt=0)
    delta: float = Field(0, ge=0, lt=1)
    rho: float | None = Field(None, gt=0)
    accounting: Literal["gaussian", "zcdp"] | None = None


SHARED_OPTIONS = (
    "epsilon",
    "delta",
    "failure_probability",
    "mechanism",
    "neighbors",
    "columns",
    "privacy_unit",
    "contributions",
    "row_weights",
    "max_row_weight",
    "n",
)


class CreateRequest(ApiModel):
    """What a release and a session have in common; the fields are the arguments of `mp.release`."""

    id: Name
    title: Line | None = None
    table: Line
    space: SpaceSpec
    dataset: Annotated[str, Field(min_length=1, max_length=64)]
    epsilon: float = Field(gt=0)
    delta: float = Field(0, ge=0, lt=1)
    failure_probability: float = Field(0.05, gt=0, lt=1)
    mechanism: Line = "auto"
    neighbors: Literal["replace", "add-remove"] = "replace"
    columns: Several[Line] | None = None
    privacy_unit: Line | None = None
    contributions: Count = 1
    row_weights: Line | None = None
    max_row_weight: float | None = Field(None, gt=0)
    n: Count | None = None

    def shared_options(self) -> dict[str, Any]:
        """Return the arguments that `mp.release` and `mp.interactive` have in common."""
        return self.model_dump(include=set(SHARED_OPTIONS))


CITY = {"space": "great-circle", "center": [52.52, 13.405], "radius_km": 30}


class ReleaseRequest(CreateRequest):
    """A release to be made from a table of the data directory."""

    model_config = example(id="homes", table="homes.csv", space=CITY, dataset="homes", epsilon=1, delta=1e-6)
    queries: Several[Point] | None = None
    groups: Line | None = None
    labels: Several[Label] = Field(default_factory=list)
    ball_share: float | None = Field(None, gt=0, lt=0.5)
    effort: Literal["faster", "balanced", "closer"] = "balanced"
    model: bool | None = None


class SessionRequest(CreateRequest):
    """A session to be opened for the keys of an analyst."""

    model_config = example(
        id="spring",
        analyst="anna",
        table="homes.csv",
        space=CITY,
        dataset="homes",
        epsilon=1,
        delta=1e-6,
        max_queries=200,
    )
    analyst: Annotated[str, Field(min_length=1, max_length=64)]
    max_queries: Count
