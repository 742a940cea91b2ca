"""The bodies of responses."""

from typing import Any, Literal

from milepost.service.schemas.base import ApiModel, Interval, Label, Point, example


class ErrorDetail(ApiModel):
    """A code of the table in docs/service.md, and its message."""

    code: str
    status: int
    message: str
    path: list[str | int] | None = None
    detail: str | None = None


class ErrorResponse(ApiModel):
    """What every refusal looks like."""

    error: ErrorDetail


class Health(ApiModel):
    """That the service runs."""

    status: Literal["ok"]


class Me(ApiModel):
    """Whose key it is, and what the service allows."""

    name: str
    role: Literal["curator", "analyst"]
    version: str
    limits: dict[str, float]


class GuaranteeSummary(ApiModel):
    """A guarantee, and in words."""

    epsilon: float
    delta: float
    text: str


class FormField(ApiModel):
    """One column of a form."""

    name: str
    type: Literal["number", "category", "flag", "text"]
    low: float | None = None
    high: float | None = None
    step: float | None = None
    labels: list[str] | None = None


class SpaceView(ApiModel):
    """What points are, and how they can be shown. extent: of each column. view: map, curve, list or form."""

    kind: str
    columns: list[str]
    distance_unit: str
    diameter: float
    view: Literal["map", "curve", "list", "form"]
    extent: list[Interval] | None
    geographic: bool


class ReleaseSummary(SpaceView):
    """A release in a list."""

    id: str
    title: str
    dataset: str | None
    created: str
    mechanism: str
    guarantee: GuaranteeSummary
    protects: str
    rows: str
    error: float
    confidence: float
    labels: list[Label]


class ReleaseList(ApiModel):
    """All releases."""

    releases: list[ReleaseSummary]


class ReleaseDescription(ReleaseSummary):
    """A release with its card, as the file holds it; facts: the same in words.

    given_queries: the only points it answers.
    """

    card: dict[str, Any]
    facts: dict[str, str]
    fields: list[FormField]
    given_queries: list[Point] | None


class StatementLine(ApiModel):
    """A line of a statement."""

    heading: str
    text: str


class Statement(ApiModel):
    """Who is protected, how much, and what was treated as public."""

    lines: list[StatementLine]
    text: str


class Distances(ApiModel):
    """Answers in the order of the points, each with the half-width of its interval."""

    model_config = example(distances=[10.6766, 11.1841], errors=[0.0313, 0.0313], confidence=0.95, distance_unit="km")
    distances: list[float]
    errors: list[float]
    confidence: float
    distance_unit: str


class GroupDistances(ApiModel):
    """Every point against every group. detectable: whether a group is large enough to say anything.

    margins: by how much the nearest is nearer; null where there is only one. flip_probabilities: how
    likely noise alone would make another one nearest.
    """

    labels: list[Label]
    detectable: list[bool]
    distances: list[list[float]]
    errors: list[list[float]]
    nearest: list[Label]
    margins: list[float | None]
    flip_probabilities: list[float]
    confidence: float
    distance_unit: str


class CenterPoint(ApiModel):
    """The point with the least mean distance."""

    point: Point
    distance: float
    error: float
    confidence: float
    distance_unit: str


class DistanceGrid(ApiModel):
    """Mean distances on a grid; null outside the space. errors: along a curve, error: of one answer anywhere."""

    names: list[str]
    x: list[float]
    y: list[float] | None
    values: list[list[float | None]] | list[float | None]
    errors: list[float] | None
    error: float
    confidence: float
    geographic: bool
    distance_unit: str


class Dataset(ApiModel):
    """A budget. share: how much of the cap is spent."""

    model_config = example(
        name="homes",
        cap="ε = 3, δ = 1e-06",
        spent="ρ = 0.03 (ε = 1)",
        remaining="ρ = 0.2 (ε = 2.6)",
        share=0.13,
        charges=1,
    )
    name: str
    cap: str
    spent: str
    remaining: str
    share: float
    charges: int


class DatasetList(ApiModel):
    """All budgets."""

    datasets: list[Dataset]


class Charge(ApiModel):
    """One entry of the ledger."""

    id: int
    charged: str
    state: str
    guarantee: str
    cost: str
    what: str
    label: str
    protects: str


class ChargeList(ApiModel):
    """Of one dataset, the oldest first."""

    charges: list[Charge]


class Prediction(ApiModel):
    """What one mechanism would promise."""

    mechanism: str
    error: float
    rms: float | None
    uniform: float | None
    coordinates: int | None
    cells: int | None
    bytes: int | None


class Plan(ApiModel):
    """Predictions, the best first, and why other mechanisms are refused."""

    epsilon: float
    delta: float
    predictions: list[Prediction]
    refused: dict[str, str]


class JobStatus(ApiModel):
    """A job. rows, share: how far its pass over the table is. detail: why it failed, or what else there is to say."""

    id: str
    kind: Literal["release", "session"]
    subject: str
    state: Literal["queued", "running", "done", "failed", "interrupted"]
    activity: str
    rows: int
    share: float | None
    detail: str | None
    created: str


class JobList(ApiModel):
    """All jobs, the newest first."""

    jobs: list[JobStatus]


class TableList(ApiModel):
    """Private tables of the data directory, by name."""

    tables: list[str]


class SessionSummary(SpaceView):
    """A session in a list."""

    id: str
    title: str
    analyst: str
    dataset: str
    created: str
    state: Literal["opening", "open", "closed", "failed"]
    guarantee: GuaranteeSummary
    protects: str
    mechanism: str | None
    error: float | None
    limit: int | None
    remaining: int | None


class SessionList(ApiModel):
    """Those of the key's owner; all for a curator."""

    sessions: list[SessionSummary]


class SessionDescription(SessionSummary):
    """A session with the columns of its points."""

    fields: list[FormField]


class Answer(ApiModel):
    """The mean distance of one point. remaining: questions that are left; null without limit."""

    model_config = example(value=4.9, error=0.002, remaining=199, distance_unit="km")
    value: float
    error: float
    remaining: int | None
    distance_unit: str


class TranscriptEntry(ApiModel):
    """A question by its Idempotency-Key, and its answer."""

    name: str
    point: Point
    value: float
    error: float


class Transcript(ApiModel):
    """All that was asked, in order."""

    questions: list[TranscriptEntry]
    remaining: int | None
    distance_unit: str
