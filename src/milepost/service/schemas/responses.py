"""Replies: what comes back."""

from typing import Any, Literal

from milepost.service.schemas.base import Label, Place, Point, Shape, example


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

    model_config = example(distances=[10.6766, 11.1841], errors=[0.0313, 0.0313], confidence=0.95, unit="km")
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

    model_config = example(
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

    model_config = example(value=4.9, error=0.002, remaining=199, unit="km")
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
