"""The public facts about a release as text: size, guarantee, mechanism and error."""

from typing import Any

from milepost.answers.released_data import ReleasedData
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.groups import Groups
from milepost.privacy.protected_change import ProtectedChange


def facts(synopsis: ReleasedData) -> dict[str, str]:
    """Return space, rows, groups, guarantee, mechanism, error and versions, by name."""
    card, space = synopsis.card, synopsis.card["space"]
    return {
        "space": f"{space.pop('kind')}, distances up to {synopsis.space.diameter:g}{unit_suffix(synopsis)}",
        **{name: value_text(value) for name, value in space.items()},
        **_counts(synopsis),
        "neighbors": f"{synopsis.change.neighbors}: {synopsis.change}",
        "guarantee": str(synopsis.guarantee),
        "mechanism": synopsis.mechanism,
        "error": error_text(synopsis),
        "released": _tensors_text(synopsis.statistic),
        "made with": ", ".join(f"{name} {version}" for name, version in card["versions"].items()),
    }


def error_text(synopsis: ReleasedData) -> str:
    """Return the error of one answer and its confidence."""
    low, high, small = error_range(synopsis)
    span = f"± {low:.3g}" if low == high else f"± {low:.3g} to {high:.3g}"
    groups = ", by group" * (len(synopsis.labels) > 1) + f", {small} too small" * bool(small)
    return f"{span}{unit_suffix(synopsis)} with {100 * synopsis.confidence:g} % confidence{groups}"


def size_formula(synopsis: ReleasedData, equals: str, about: str) -> str:
    """Return the number of rows, or their weight, as a formula: n = 5,000 if it is public, n ≈ 5,012 if it is noisy."""
    letter = "n" if synopsis.change.max_row_weight is None else "weight"
    return f"{letter}{equals if synopsis.change.public_total else about}{amount_text(synopsis.n, synopsis.change)}"


def size_text(synopsis: ReleasedData) -> str:
    """Return the number of rows, or their weight, and the number of groups as text."""
    change, amount = synopsis.change, amount_text(synopsis.n, synopsis.change)
    rows = f"{amount} rows" if change.max_row_weight is None else f"weight {amount}"
    rows = rows if change.public_total else f"about {rows} (noisy)"
    return rows + (f" in {_groups(len(synopsis.labels))}" if synopsis.labels else "")


def value_text(value: Any) -> str:
    """Return a value of the card as text: {"age": [18, 90], "visits": [0, 40]} becomes age 18:90, visits 0:40."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {value_text([part])}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(
            ":".join(map(value_text, part)) if isinstance(part, list) else value_text(part) for part in value
        )
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counts(synopsis: ReleasedData) -> dict[str, str]:
    """Return the number of rows, or their weight, in total and by group."""
    change, amount = synopsis.change, amount_text(synopsis.n, synopsis.change)
    limit = f", at most {change.contributions} of each {change.privacy_unit}" if change.privacy_unit else ""
    result = {"rows": f"{amount if change.public_total else f'about {amount} (noisy)'}{limit}"}
    if change.max_row_weight is not None:
        result = {"weight of rows": f"about {amount} in all (noisy), at most {change.max_row_weight:g} a row{limit}"}
    if synopsis.labels:
        result["groups"] = ", ".join(group_sizes(synopsis))
    elif change.groups:
        result["groups"] = f"one of {change.groups:,}"
    return result


def group_sizes(synopsis: ReleasedData) -> list[str]:
    """Return every group with its noisy size."""
    if not isinstance(synopsis.statistic, Groups):
        return []
    totals = zip(synopsis.labels, [statistic.total for statistic in synopsis.statistic.statistics], strict=True)
    return [
        f"{label} about {amount_text(max(total.value, 0), synopsis.change)}"
        + ("" if total.detectable else " (too small to tell from empty)")
        for label, total in totals
    ]


def amount_text(n: int, change: ProtectedChange) -> str:
    """Return a number of rows as an integer, or a weight, which n counts in steps, in the user's unit."""
    if change.max_row_weight is None:
        return f"{n:,}"
    weight = n / change.steps * change.max_row_weight
    return f"{weight:,.0f}" if 100 <= weight < 1e15 else f"{weight:.3g}"


def _tensors_text(statistic: NoisyStatistic) -> str:
    grouped = isinstance(statistic, Groups)
    names = ", ".join((statistic.statistics[0] if isinstance(statistic, Groups) else statistic).tensors())
    count = sum(tensor.size for tensor in statistic.tensors().values())
    return f"{count:,} integers ({names}{' of each group' * grouped})"


def error_range(synopsis: ReleasedData) -> tuple[float, float, str]:
    """Return the smallest and the largest error of the groups, and the number of groups left out as too small."""
    if not isinstance(synopsis.statistic, Groups):
        error = synopsis.error(synopsis.confidence)
        return error, error, ""
    statistics = synopsis.statistic.statistics
    large = [statistic for statistic in statistics if statistic.total.detectable] or statistics
    errors = [min(statistic.half_width(synopsis.confidence), statistic.max_error) for statistic in large]
    small = len(statistics) - len(large)
    return min(errors), max(errors), _groups(small) if small else ""


def _groups(count: int) -> str:
    return f"{count:,} group{'s' * (count > 1)}"


def unit_suffix(synopsis: ReleasedData) -> str:
    """Return the unit of distances, to be put after a number."""
    return f" {synopsis.space.distance_unit}" if synopsis.space.distance_unit else ""
