"""Description: the public facts about a release, computed once. Every report is made from it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from milepost.answers.released_data import ReleasedData
from milepost.mechanisms.base import Label, NoisyStatistic
from milepost.mechanisms.registry import spends_epsilon
from milepost.privacy.guarantee import ACCOUNTING_NAMES, GAUSSIAN, PURE, Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.html import html_table
from milepost.spaces.bounds_provenance import BallProvenance, BoundsProvenance


@dataclass(frozen=True)
class GroupDescription:
    """The facts about one group of a release.

    Attributes
    ----------
    label : str, int or bool
        The label of the group.
    size : float
        The noisy number of rows, or the noisy weight, of the group; at least 0.
    detectable : bool
        Whether the group is larger than the noise of an empty group explains.
    error : float
        The half-width of one answer about the group.
    """

    label: Label
    size: float
    detectable: bool
    error: float


@dataclass(frozen=True)
class ModelDescription:
    """The facts about the private model of a release; `Synopsis.model` has all of it.

    Attributes
    ----------
    components : int
        The number of components, each a normal law.
    axes : int
        The number of directions in which components differ.
    mean : tuple of float
        The mean of all people, a number for each column.
    mean_error : float
        The standard deviation of the noise of each of these numbers.
    """

    components: int
    axes: int
    mean: tuple[float, ...]
    mean_error: float


@dataclass(frozen=True)
class Description:
    """The public facts about a release, as numbers and texts; print it for a table.

    Attributes
    ----------
    kind : str
        The kind of the space, such as ``"l1"``.
    columns : tuple of str
        The names of the columns of a point.
    distance_unit : str
        The unit of distances; empty if the space has none.
    diameter : float
        The largest distance in the space.
    space : dict
        The other parameters of the space, such as its bounds.
    clipping_rule : str
        What happened to private values outside the space.
    bounds_provenance : BoundsProvenance or None
        The private release that found the bounds of the space, or its centre and radius; None if they are public
        knowledge.
    queries : int or None
        The number of given queries; None if the release answers any point.
    model : ModelDescription or None
        The private model of the table that answers use; None without one.
    guarantee : Guarantee
        ε and δ of everything that the release can answer.
    change : ProtectedChange
        The change of the table that the guarantee protects.
    mechanism : str
        The name of the mechanism.
    total : float
        The number of rows, or their weight; noisy unless ``change.public_total``.
    groups : tuple of GroupDescription
        The facts about each group; empty for a release without groups, or for one group of a release.
    error, min_error : float
        The largest and the smallest half-width of one answer, over the groups that are detectable.
    confidence : float
        The confidence of these half-widths.
    tensors : dict of str to int
        The released integers: the number of them in each tensor, all groups together.
    versions : dict of str to str
        The versions of the software that made the release.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> space = mp.L1({"east": (0, 10), "north": (0, 10)}, distance_unit="km")
    >>> description = mp.release(people, space, epsilon=1).describe()
    >>> description.kind, description.total, description.diameter, description.distance_unit
    ('l1', 10000, 20.0, 'km')
    >>> print(description)  # doctest: +ELLIPSIS
    space       l1, distances up to 20 km
    bounds      east 0:10, north 0:10
    ...
    """

    kind: str
    columns: tuple[str, ...]
    distance_unit: str
    diameter: float
    space: dict[str, Any]
    clipping_rule: str
    bounds_provenance: BoundsProvenance | None
    queries: int | None
    model: ModelDescription | None
    guarantee: Guarantee
    change: ProtectedChange
    mechanism: str
    total: float
    groups: tuple[GroupDescription, ...]
    error: float
    min_error: float
    confidence: float
    tensors: dict[str, int]
    versions: dict[str, str]

    @property
    def accounting(self) -> str:
        """Return how the guarantee is spent: "pure", "gaussian" or "zcdp"."""
        return PURE if spends_epsilon(self.mechanism) else self.guarantee.accounting

    def to_json(self) -> dict[str, Any]:
        """Return the facts as a dict that `json` can write.

        Returns
        -------
        dict
            One entry per attribute.

        Examples
        --------
        >>> import json
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 5000, mp.L1({"age": (0, 10)}), epsilon=1)
        >>> facts = synopsis.describe().to_json()
        >>> json.dumps(facts["guarantee"])
        '{"epsilon": 1.0, "delta": 0.0}'
        """
        provenance = self.bounds_provenance
        return asdict(self) | {
            "columns": list(self.columns),
            "bounds_provenance": None if provenance is None else provenance.to_json(),
            "guarantee": self.guarantee.to_json(),
            "change": self.change.to_json(),
            "groups": [asdict(group) for group in self.groups],
            "model": None if self.model is None else asdict(self.model) | {"mean": list(self.model.mean)},
        }

    def __str__(self) -> str:
        return text_table(facts(self))

    def _repr_html_(self) -> str:
        return html_table(facts(self))


def describe(released: ReleasedData) -> Description:
    """Return the public facts about a release; see `Synopsis.describe`."""
    card, change, statistics = released.card, released.change, released.statistic.statistics
    space = card["space"]
    errors = [min(statistic.half_width(released.confidence), statistic.max_error) for statistic in statistics]
    detectable = [statistic.total.detectable for statistic in statistics]
    shown_errors = [error for error, shown in zip(errors, detectable, strict=True) if shown] or errors
    return Description(
        kind=space.pop("kind"),
        columns=tuple(released.space.names),
        distance_unit=released.space.distance_unit,
        diameter=released.space.diameter,
        space={name: value for name, value in space.items() if name not in ("distance_unit", "bounds_provenance")},
        clipping_rule=released.space.clipping_rule,
        bounds_provenance=released.space.bounds_provenance,
        queries=None if released.queries is None else released.queries.count,
        model=_model(released),
        guarantee=released.guarantee,
        change=change,
        mechanism=released.mechanism,
        total=_amount(released.n, change),
        groups=tuple(
            GroupDescription(label, _amount(max(statistics[i].total.value, 0), change), detectable[i], errors[i])
            for i, label in enumerate(released.labels)
        ),
        error=max(shown_errors),
        min_error=min(shown_errors),
        confidence=released.confidence,
        tensors=_tensor_sizes(statistics),
        versions=card["versions"],
    )


def _model(released: ReleasedData) -> ModelDescription | None:
    model = released.model
    if model is None:
        return None
    return ModelDescription(model.components, len(model.axes), tuple(model.mean.tolist()), model.mean_error)


def model_text(description: Description) -> str:
    """Return the private model in a few words; empty without one."""
    model = description.model
    if model is None:
        return ""
    return f"{count_of(model.components, 'component')} along {count_of(model.axes, 'axis', 'axes')}, private"


def count_of(count: int, singular: str, plural: str = "") -> str:
    """Return a number of things: 1 component, 3 components."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def facts(description: Description) -> dict[str, str]:
    """Return the facts as short texts by name, in the order of a printed description."""
    entries = {
        "space": f"{description.kind}, distances up to {description.diameter:g}{unit_suffix(description)}",
        **{name.replace("_", " "): _value_text(value) for name, value in description.space.items()},
        **_found(description),
        **_size_facts(description),
        "neighbors": f"{description.change.neighbors}: {description.change}",
        "guarantee": str(description.guarantee),
        "accounting": accounting_text(description),
        "mechanism": description.mechanism,
        "model": model_text(description),
        "error": error_text(description),
        "released": _tensors_text(description),
        "made with": versions_text(description),
    }
    return {name: text for name, text in entries.items() if text}


def bounds_text(description: Description) -> str:
    """Return how the bounds, or the centre and radius, were found in the table; empty if they are public knowledge."""
    provenance = description.bounds_provenance
    if not isinstance(provenance, BallProvenance):
        return "" if provenance is None else str(provenance)
    radius = float(description.space["radius"])
    if radius == provenance.given_radius:
        return f"{provenance}, which stays: no smaller one holds enough rows"
    unit = unit_suffix(description)
    return f"{provenance}; rows farther than {radius:.4g}{unit} from the centre were moved to its border"


def _found(description: Description) -> dict[str, str]:
    name = "ball found" if isinstance(description.bounds_provenance, BallProvenance) else "bounds found"
    return {name: bounds_text(description)}


def accounting_text(description: Description) -> str:
    """Return how the guarantee is spent, in a few words."""
    name, guarantee = ACCOUNTING_NAMES[description.accounting], description.guarantee
    if description.accounting == PURE:
        return name
    if not description.change.public_total:
        return f"{name}, and pure ε for a number of rows that was not given"
    return f"{name}, " + (
        f"μ = {guarantee.mu:.4g}" if description.accounting == GAUSSIAN else f"ρ = {guarantee.rho:.4g}"
    )


def text_table(entries: Mapping[str, str]) -> str:
    """Return a line per entry, with the texts below each other."""
    width = max(map(len, entries))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in entries.items())


def error_text(description: Description) -> str:
    """Return the error of one answer and its confidence: ± 0.03 km with 95 % confidence."""
    low, high, small = description.min_error, description.error, small_groups_text(description)
    span = f"± {low:.3g}" if low == high else f"± {low:.3g} to {high:.3g}"
    groups = ", by group" * (len(description.groups) > 1) + f", {small} too small" * bool(small)
    return f"{span}{unit_suffix(description)} with {100 * description.confidence:g} % confidence{groups}"


def small_groups_text(description: Description) -> str:
    """Return the number of groups that `error` leaves out as too small: 2 groups; empty if there are none."""
    small = sum(not group.detectable for group in description.groups)
    return count_groups(small) if 0 < small < len(description.groups) else ""


def size_formula(description: Description, equals: str, about: str) -> str:
    """Return the number of rows, or their weight, as a formula: n = 5,000 if it is public, n ≈ 5,012 if it is noisy."""
    letter = "n" if description.change.max_row_weight is None else "weight"
    return f"{letter}{equals if description.change.public_total else about}{total_text(description)}"


def size_text(description: Description) -> str:
    """Return the number of rows, or their weight, and the number of groups: about 5,012 rows (noisy) in 3 groups."""
    amount = total_text(description)
    text = f"{amount} rows" if description.change.max_row_weight is None else f"weight {amount}"
    text = text if description.change.public_total else f"about {text} (noisy)"
    return text + (f" in {count_groups(len(description.groups))}" if description.groups else "")


def total_text(description: Description) -> str:
    """Return the number of rows, or their weight, as text."""
    return _amount_text(description.total)


def group_sizes(description: Description) -> list[str]:
    """Return every group with its noisy size."""
    return [
        f"{group.label} about {_amount_text(group.size)}"
        + ("" if group.detectable else " (too small to tell from empty)")
        for group in description.groups
    ]


def count_groups(count: int) -> str:
    """Return a number of groups as text: 1 group, 3 groups."""
    return count_of(count, "group")


def unit_suffix(description: Description) -> str:
    """Return the unit of distances with a space before it, for use after a number; empty if there is none."""
    return f" {description.distance_unit}" if description.distance_unit else ""


def versions_text(description: Description) -> str:
    """Return the versions of the software that made the release."""
    return ", ".join(f"{name} {version}" for name, version in description.versions.items())


def _size_facts(description: Description) -> dict[str, str]:
    """Return the number of rows, or their weight, in total and by group."""
    change, amount = description.change, total_text(description)
    limit = f", at most {change.contributions} of each {change.privacy_unit}" if change.privacy_unit else ""
    result = {"rows": f"{amount if change.public_total else f'about {amount} (noisy)'}{limit}"}
    if change.max_row_weight is not None:
        result = {"weight of rows": f"about {amount} in all (noisy), at most {change.max_row_weight:g} a row{limit}"}
    if description.groups:
        result["groups"] = ", ".join(group_sizes(description))
    elif change.groups:
        result["groups"] = f"one of {change.groups:,}"
    return result


def _tensors_text(description: Description) -> str:
    count, names = sum(description.tensors.values()), ", ".join(description.tensors)
    return f"{count:,} integers ({names}{' of each group' * bool(description.groups)})"


def _tensor_sizes(statistics: tuple[NoisyStatistic, ...]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for statistic in statistics:
        for name, tensor in statistic.tensors().items():
            sizes[name] = sizes.get(name, 0) + tensor.size
    return sizes


def _amount(n: int, change: ProtectedChange) -> float:
    """Return a number of rows as it is, and a weight, which n counts in steps, in the user's unit."""
    return n if change.max_row_weight is None else n / change.steps * change.max_row_weight


def _amount_text(amount: float) -> str:
    if isinstance(amount, int):
        return f"{amount:,}"
    return f"{amount:,.0f}" if 100 <= amount < 1e15 else f"{amount:.3g}"


def _value_text(value: Any) -> str:
    """Return a parameter of the space as text: {"age": [18, 90], "visits": [0, 40]} becomes age 18:90, visits 0:40."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value_text([part])}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(
            ":".join(map(_value_text, part)) if isinstance(part, list) else _value_text(part) for part in value
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
