"""Shapes: what requests and answers look like; they are strict, and OpenAPI shows them with examples."""

import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

LARGEST = 1 << 53  # of whole numbers, which floats hold exactly
LONGEST = 10_000  # letters of a text
DEEPEST = 8  # lists and objects within each other
MOST_POINTS = 100_000  # that a request may have by any setting
MOST_WORDS = 100  # of a request


def _plain(words: dict[str, Any]) -> dict[str, Any]:
    """Words of a space, of which no number is too large for a float, and no text one that cannot be written."""
    left: list[tuple[Any, int]] = [(words, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, dict | list):
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            left += [(one, depth + 1) for one in inside]
            fits = depth < DEEPEST
        elif isinstance(value, str):
            fits = len(value) <= LONGEST and not any("\ud800" <= one <= "\udfff" for one in value)
        else:
            fits = value is None or (math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST)
        if not fits:
            raise ValueError("a number, a text or a depth that no space has")
    return words


Each = TypeVar("Each")
# one thing that is wrong is enough: errors take more room than what is sent
Several = Annotated[list[Each], Field(fail_fast=True)]
Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Cell = float | Whole | bool | Annotated[str, Field(max_length=LONGEST)]
Point = Several[Cell] | Annotated[str, Field(max_length=LONGEST)]
Label = Annotated[str, Field(max_length=1_000)] | Whole | bool
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", examples=["homes"])]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Place = tuple[float, float]
Words = Annotated[dict[str, Any], AfterValidator(_plain)]


class Shape(BaseModel):
    """Nothing is converted, nothing unknown is passed over, and numbers are finite."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def few(cls, given: Any) -> Any:
        """One refusal of many unknown words, rather than one for each."""
        if isinstance(given, dict) and len(given) > MOST_WORDS:
            raise ValueError("too many words")
        return given


class Fault(Shape):
    """A code of the table in docs/service.md, and its message."""

    code: str
    status: int
    message: str
    path: list[str | int] | None = None
    detail: str | None = None


class Refusal(Shape):
    """What every refusal looks like."""

    error: Fault


def _example(**words: Any) -> ConfigDict:
    return ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [words]})


# requests


class Asking(Shape):
    """Points to ask a release about. group: of a release that has some. confidence: of the errors."""

    model_config = _example(points=[[52.5219, 13.4132], [52.4736, 13.4017]])
    points: Several[Point] = Field(min_length=1, max_length=MOST_POINTS)
    group: Label | None = None
    confidence: float | None = Field(None, ge=0.5, lt=1)


class Comparing(Shape):
    """Points to compare the groups of a release at."""

    model_config = _example(points=[[3, 4], [9, 6]])
    points: Several[Point] = Field(min_length=1, max_length=MOST_POINTS)


class Centering(Shape):
    """group: of a release that has some."""

    model_config = _example()
    group: Label | None = None


class Mapping(Shape):
    """steps: along each side of the grid."""

    model_config = _example(steps=100)
    steps: int = Field(100, ge=2, le=LARGEST)
    group: Label | None = None


class Question(Shape):
    """One point to ask a session about."""

    model_config = _example(point=[52.5219, 13.4132])
    point: Point


class Planning(Shape):
    """What would be released of how many rows: epsilon, to see the error, or error, to see the least epsilon."""

    model_config = _example(
        space={"space": "great-circle", "center": [52.52, 13.405], "radius_km": 30}, n=100_000, epsilon=1, delta=1e-6
    )
    space: Words
    n: Count
    epsilon: float | None = Field(None, gt=0)
    error: float | None = Field(None, gt=0)
    delta: float = Field(0, ge=0, lt=1)
    max_queries: Count | None = None
    neighbors: Literal["replace", "add-remove"] = "replace"
    groups: Count | None = None
    contributions: Count = 1


class Budget(Shape):
    """A dataset and the cap on what may ever be spent on it: (epsilon, delta), pure epsilon, or rho."""

    model_config = _example(name="homes", epsilon=3, delta=1e-6)
    name: Annotated[str, Field(min_length=1, max_length=64)]
    epsilon: float | None = Field(None, gt=0)
    delta: float = Field(0, ge=0, lt=1)
    rho: float | None = Field(None, gt=0)


class Making(Shape):
    """What a release and a session have in common; the words are those of `mp.release`."""

    id: Name
    title: Line | None = None
    table: Line
    space: Words
    dataset: Annotated[str, Field(min_length=1, max_length=64)]
    epsilon: float = Field(gt=0)
    delta: float = Field(0, ge=0, lt=1)
    beta: float = Field(0.05, gt=0, lt=1)
    mechanism: Line = "auto"
    neighbors: Literal["replace", "add-remove"] = "replace"
    columns: Several[Line] | None = None
    unit: Line | None = None
    contributions: Count = 1
    weights: Line | None = None
    max_weight: float | None = Field(None, gt=0)
    n: Count | None = None


CITY = {"space": "great-circle", "center": [52.52, 13.405], "radius_km": 30}


class Building(Making):
    """A release to be made from a table of the data directory."""

    model_config = _example(id="homes", table="homes.csv", space=CITY, dataset="homes", epsilon=1, delta=1e-6)
    queries: Several[Point] | None = None
    groups: Line | None = None
    labels: Several[Label] = []


class Opening(Making):
    """A session to be opened for the keys of an analyst."""

    model_config = _example(
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


# answers


class Health(Shape):
    """That the service runs."""

    status: Literal["ok"]


class Me(Shape):
    """Whose key it is, and what the service allows."""

    name: str
    role: Literal["curator", "analyst"]
    version: str
    limits: dict[str, float]


class Spent(Shape):
    """A guarantee, and in words."""

    epsilon: float
    delta: float
    text: str


class Entry(Shape):
    """One column of a form."""

    name: str
    type: Literal["number", "category", "flag", "text"]
    low: float | None = None
    high: float | None = None
    step: float | None = None
    labels: list[str] | None = None


class Spacious(Shape):
    """What points are, and how they can be shown. extent: of each column. view: map, curve, list or form."""

    kind: str
    columns: list[str]
    unit: str
    diameter: float
    view: Literal["map", "curve", "list", "form"]
    extent: list[Place] | None
    geographic: bool


class Summary(Spacious):
    """A release in a list."""

    id: str
    title: str
    dataset: str | None
    created: str
    mechanism: str
    guarantee: Spent
    protects: str
    rows: str
    error: float
    confidence: float
    labels: list[Label]


class Summaries(Shape):
    """All releases."""

    releases: list[Summary]


class Description(Summary):
    """A release with its card, as the file holds it; facts: the same in words. known: the only points it answers."""

    card: dict[str, Any]
    facts: dict[str, str]
    fields: list[Entry]
    known: list[Point] | None


class StatementLine(Shape):
    """A line of a statement."""

    word: str
    text: str


class Statement(Shape):
    """Who is protected, how much, and what was treated as public."""

    lines: list[StatementLine]
    text: str


class Distances(Shape):
    """Answers in the order of the points, each with the half-width of its interval."""

    model_config = _example(distances=[10.6766, 11.1841], errors=[0.0313, 0.0313], confidence=0.95, unit="km")
    distances: list[float]
    errors: list[float]
    confidence: float
    unit: str


class Groups(Shape):
    """Every point against every group. seen: whether a group is large enough to say anything.

    margins: by how much the nearest is nearer; null where there is only one. flips: how likely noise alone would
    make another one nearest.
    """

    labels: list[Label]
    seen: list[bool]
    distances: list[list[float]]
    errors: list[list[float]]
    nearest: list[Label]
    margins: list[float | None]
    flips: list[float]
    confidence: float
    unit: str


class Center(Shape):
    """The point with the least mean distance."""

    point: Point
    distance: float
    error: float
    confidence: float
    unit: str


class FieldGrid(Shape):
    """Mean distances on a grid; null outside the space. errors: along a curve, error: of one answer anywhere."""

    names: list[str]
    x: list[float]
    y: list[float] | None
    values: list[list[float | None]] | list[float | None]
    errors: list[float] | None
    error: float
    confidence: float
    geographic: bool
    unit: str


class Dataset(Shape):
    """A budget. share: how much of the cap is spent."""

    model_config = _example(
        name="homes", cap="ε = 3, δ = 1e-06", spent="ρ = 0.03 (ε = 1)", left="ρ = 0.2 (ε = 2.6)", share=0.13, charges=1
    )
    name: str
    cap: str
    spent: str
    left: str
    share: float
    charges: int


class Datasets(Shape):
    """All budgets."""

    datasets: list[Dataset]


class Charge(Shape):
    """One entry of the ledger."""

    id: int
    charged: str
    state: str
    guarantee: str
    cost: str
    what: str
    label: str
    protects: str


class Charges(Shape):
    """Of one dataset, the oldest first."""

    charges: list[Charge]


class Prediction(Shape):
    """What one mechanism would promise."""

    mechanism: str
    error: float
    rms: float | None
    uniform: float | None
    coordinates: int | None
    cells: int | None
    bytes: int | None


class Plan(Shape):
    """Predictions, the best first, and why other mechanisms are refused."""

    epsilon: float
    delta: float
    predictions: list[Prediction]
    refused: dict[str, str]


class Task(Shape):
    """A job. rows, share: how far its pass over the table is. detail: why it failed, or what else there is to say."""

    id: str
    kind: Literal["release", "session"]
    of: str
    state: Literal["queued", "running", "done", "failed", "interrupted"]
    doing: str
    rows: int
    share: float | None
    detail: str | None
    created: str


class Tasks(Shape):
    """All jobs, the newest first."""

    jobs: list[Task]


class Tables(Shape):
    """Private tables of the data directory, by name."""

    tables: list[str]


class Session(Spacious):
    """A session in a list."""

    id: str
    title: str
    analyst: str
    dataset: str
    created: str
    state: Literal["opening", "open", "closed", "failed"]
    guarantee: Spent
    protects: str
    mechanism: str | None
    error: float | None
    limit: int | None
    remaining: int | None


class Sessions(Shape):
    """Those of the key's owner; all for a curator."""

    sessions: list[Session]


class SessionDescription(Session):
    """A session with the columns of its points."""

    fields: list[Entry]


class Answer(Shape):
    """The mean distance of one point. remaining: questions that are left; null without limit."""

    model_config = _example(value=4.9, error=0.002, remaining=199, unit="km")
    value: float
    error: float
    remaining: int | None
    unit: str


class Asked(Shape):
    """A question by its Idempotency-Key, and its answer."""

    name: str
    point: Point
    value: float
    error: float


class Transcript(Shape):
    """All that was asked, in order."""

    questions: list[Asked]
    remaining: int | None
    unit: str
