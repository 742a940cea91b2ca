"""The bodies of requests."""

from typing import Annotated, Any, Literal

from pydantic import Field

from milepost.service.schemas.base import (
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
