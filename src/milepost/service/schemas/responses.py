"""The bodies of responses."""

from typing import Any, Literal

from milepost.service.schemas.base import ApiModel, Interval, Label, Point, example


class ErrorDetail(ApiModel):
    """A code of the table in docs/service.md, and its message. path: where in the request the error is."""

    code: str
    status: int
    message: str
    path: list[str | int] | None = None
    detail: str | None = None


class ErrorResponse(ApiModel):
    """The body of every refused request."""

    error: ErrorDetail


class Health(ApiModel):
    """The state of the service."""

    status: Literal["ok"]


class Me(ApiModel):
    """The owner of the key, and the limits of the service."""

    name: str
    role: Literal["curator", "analyst"]
    version: str
    limits: dict[str, float]


class GuaranteeView(ApiModel):
    """A guarantee, as numbers and as text. accounting: how it is spent, "pure", "gaussian" or "zcdp"."""

    epsilon: float
    delta: float
    accounting: str
    text: str


class ChangeView(ApiModel):
    """The change of the table that a guarantee protects. protected: what it hides about one person, as text."""

    neighbors: str
    contributions: int
    privacy_unit: str | None
    protected: str
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
    """A space and the view that fits it. extent: the interval of each column. view: map, curve, list or form."""

    kind: str
    columns: list[str]
    distance_unit: str
    diameter: float
    view: Literal["map", "curve", "list", "form"]
    extent: list[Interval] | None
    geographic: bool


class ReleaseSummary(SpaceView):
    """A release in a list. size: the number of rows or their weight, and of groups, as text.

    error, min_error: the largest and the smallest error of one answer, over the groups that are large enough.
    supports: which addresses the release answers that not all releases do.
    """

    id: str
    title: str
    dataset: str | None
    created: str
    mechanism: str
    guarantee: GuaranteeView
    change: ChangeView
    size: str
    error: float
    min_error: float
    confidence: float
    labels: list[Label]
    supports: list[Literal["columns", "difference"]]


class ReleaseList(ApiModel):
    """All releases."""

    releases: list[ReleaseSummary]


class ReleaseDescription(ReleaseSummary):
    """A release with its card, as the file stores it, and its description. facts: the description as texts.

    given_queries: the only points that the release answers.
    """

    card: dict[str, Any]
    description: dict[str, Any]
    facts: dict[str, str]
    fields: list[FormField]
    given_queries: list[Point] | None


class StatementLine(ApiModel):
    """A line of a statement."""

    heading: str
    text: str


class Statement(ApiModel):
    """The privacy statement: who is protected, how strongly, what is public, and how accurate answers are."""

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
    """Distances of every point from every group. detectable: whether a group is large enough for answers.

    margins: by how much the nearest group is nearer than the next; null if there is only one. flip_probabilities: the
    probability that noise alone makes another group nearest.
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
    """The point with the smallest mean distance."""

    point: Point
    distance: float
    error: float
    confidence: float
    distance_unit: str


class DistanceGrid(ApiModel):
    """Mean distances on a grid; null outside the space. errors: those along a curve. error: that of any answer."""

    names: list[str]
    x: list[float]
    y: list[float] | None
    values: list[list[float | None]] | list[float | None]
    errors: list[float] | None
    error: float
    confidence: float
    geographic: bool
    distance_unit: str


class EstimateView(ApiModel):
    """A number of a table with its interval. confidence: the probability that the interval holds it."""

    value: float
    low: float
    high: float
    confidence: float


class ColumnEstimateView(EstimateView):
    """A mean, a variance or a share of a column. between, label: the people whose share it is; null for no limit."""

    column: str
    statistic: Literal["mean", "variance", "share"]
    between: tuple[float | None, float | None] | None
    label: str | None


class ColumnEstimates(ApiModel):
    """Estimates of columns in the order of the request; the shares that were asked for are the last."""

    model_config = example(
        estimates=[
            {
                "column": "age",
                "statistic": "mean",
                "between": None,
                "label": None,
                "value": 40.04,
                "low": 39.99,
                "high": 40.09,
                "confidence": 0.95,
            }
        ]
    )
    estimates: list[ColumnEstimateView]


class DifferenceView(EstimateView):
    """The energy distance between two tables.

    p_tables: the probability that the noise of privacy alone makes two equal tables look so different. p_population:
    the same for two samples of one population, at most.
    """

    p_tables: float
    p_population: float


class DifferencePart(ApiModel):
    """What a column or a direction adds to the energy distance, and its share; parts below zero have no share."""

    name: str
    part: float
    share: float


class CumulativeCurve(ApiModel):
    """The share of people at or below each position of a column or a direction, in both tables."""

    name: str
    positions: list[float]
    first: list[float]
    second: list[float]


class Difference(DifferenceView):
    """The energy distance between two tables, and where they differ.

    sizes: the number of rows, noisy where it is private. parts_of: what the parts are. parts: the 1,000 largest.
    curves: of the columns or directions that differ most; none where labels differ most.
    """

    names: tuple[str, str]
    sizes: tuple[int, int]
    distance_unit: str
    parts_of: Literal["columns", "directions"]
    parts: list[DifferencePart]
    curves: list[CumulativeCurve]


class Drift(ApiModel):
    """The differences of the second and every later release to the first one and to the one before."""

    labels: list[str]
    to_first: list[DifferenceView]
    to_previous: list[DifferenceView]
    distance_unit: str


class Dataset(ApiModel):
    """A dataset with its budget. accounting: what adds up. share: the part of the cap that is spent."""

    model_config = example(
        name="homes",
        cap="ε = 3, δ = 1e-06",
        accounting="gaussian",
        spent="μ² = 0.056028964 (ε = 1 at δ = 1e-06)",
        remaining="μ² = 0.363520694 (ε = 2.771 at δ = 1e-06)",
        share=0.13,
        charges=1,
    )
    name: str
    cap: str
    accounting: Literal["pure", "gaussian", "zcdp"]
    spent: str
    remaining: str
    share: float
    charges: int


class DatasetList(ApiModel):
    """All datasets."""

    datasets: list[Dataset]


class Charge(ApiModel):
    """One entry of the ledger. accounting: how the guarantee is spent."""

    id: int
    charged: str
    state: str
    guarantee: str
    accounting: str
    cost: str
    what: str
    label: str
    protects: str


class ChargeList(ApiModel):
    """The charges of one dataset, the oldest first."""

    charges: list[Charge]


class Prediction(ApiModel):
    """The predicted errors and sizes of one mechanism, and how it spends the guarantee.

    draws: of noise, at most; each takes about 10 µs. accounting: "pure", "gaussian" or "zcdp".
    """

    mechanism: str
    error: float
    rms: float | None
    uniform: float | None
    coordinates: int | None
    cells: int | None
    draws: int | None
    bytes: int | None
    accounting: str


class Plan(ApiModel):
    """Predictions, the best first, and why other mechanisms are refused. ball: what a `ball_share` would find."""

    epsilon: float
    delta: float
    predictions: list[Prediction]
    refused: dict[str, str]
    ball: str | None


class JobStatus(ApiModel):
    """A job. rows, share: the progress of its pass over the table. detail: why it failed, or a note."""

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
    guarantee: GuaranteeView
    change: ChangeView
    mechanism: str | None
    error: float | None
    limit: int | None
    remaining: int | None


class SessionList(ApiModel):
    """The sessions of the key's owner; all sessions for a curator."""

    sessions: list[SessionSummary]


class SessionDescription(SessionSummary):
    """A session with the columns of its points."""

    fields: list[FormField]


class Answer(ApiModel):
    """The mean distance of one point. remaining: the number of questions left; null without limit."""

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
    """All questions of a session, in order."""

    questions: list[TranscriptEntry]
    remaining: int | None
    distance_unit: str
