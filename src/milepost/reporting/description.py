"""Card: what is public about a release, in words, as text or HTML."""

from typing import Any

from milepost.answers.released_data import ReleasedData
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.groups import Groups
from milepost.privacy.protected_change import ProtectedChange


def facts(synopsis: ReleasedData) -> dict[str, str]:
    """Space, rows, groups, guarantee, mechanism, error and versions, by name."""
    card, space = synopsis.card, synopsis.card["space"]
    return {
        "space": f"{space.pop('kind')}, distances up to {synopsis.space.diameter:g}{unit_suffix(synopsis)}",
        **{word: value_text(value) for word, value in space.items()},
        **_counts(synopsis),
        "neighbors": f"{synopsis.change.neighbors}: {synopsis.change}",
        "guarantee": str(synopsis.guarantee),
        "mechanism": synopsis.mechanism,
        "error": error_text(synopsis),
        "released": _released(synopsis.statistic),
        "made with": ", ".join(f"{name} {version}" for name, version in card["versions"].items()),
    }


def error_text(synopsis: ReleasedData) -> str:
    """The error of one answer and its confidence."""
    low, high, small = error_range(synopsis)
    span = f"± {low:.3g}" if low == high else f"± {low:.3g} to {high:.3g}"
    groups = ", by group" * (len(synopsis.labels) > 1) + f", {small} too small" * bool(small)
    return f"{span}{unit_suffix(synopsis)} with {100 * synopsis.confidence:g} % confidence{groups}"


def size_formula(synopsis: ReleasedData, equals: str, about: str) -> str:
    """The number of rows, or their weight, as a formula: n = 5,000 where it is public, n ≈ 5,012 where it is noisy."""
    letter = "n" if synopsis.change.max_weight is None else "weight"
    return f"{letter}{equals if synopsis.change.public_total else about}{amount_text(synopsis.n, synopsis.change)}"


def size_text(synopsis: ReleasedData) -> str:
    """The same in words, and how many groups there are."""
    change, found = synopsis.change, amount_text(synopsis.n, synopsis.change)
    rows = f"{found} rows" if change.max_weight is None else f"weight {found}"
    rows = rows if change.public_total else f"about {rows} (noisy)"
    return rows + (f" in {_groups(len(synopsis.labels))}" if synopsis.labels else "")


def value_text(value: Any) -> str:
    """A part of the card as a person writes it: {"age": [18, 90], "visits": [0, 40]} as age 18:90, visits 0:40."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {value_text([part])}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(
            ":".join(map(value_text, part)) if isinstance(part, list) else value_text(part) for part in value
        )
    return f"{value:g}" if isinstance(value, float) else str(value)


def _counts(synopsis: ReleasedData) -> dict[str, str]:
    """How many rows there are, or how much they weigh, alone and by group."""
    change, found = synopsis.change, amount_text(synopsis.n, synopsis.change)
    used = f", at most {change.contributions} of each {change.unit}" if change.unit else ""
    result = {"rows": f"{found if change.public_total else f'about {found} (noisy)'}{used}"}
    if change.max_weight is not None:
        result = {"weight of rows": f"about {found} in all (noisy), at most {change.max_weight:g} a row{used}"}
    if synopsis.labels:
        result["groups"] = ", ".join(group_sizes(synopsis))
    elif change.groups:
        result["groups"] = f"one of {change.groups:,}"
    return result


def group_sizes(synopsis: ReleasedData) -> list[str]:
    """Every group and its noisy size."""
    if not isinstance(synopsis.statistic, Groups):
        return []
    totals = zip(synopsis.labels, [one.total for one in synopsis.statistic.statistics], strict=True)
    return [
        f"{label} about {amount_text(max(total.value, 0), synopsis.change)}"
        + ("" if total.seen else " (too small to tell from empty)")
        for label, total in totals
    ]


def amount_text(n: int, change: ProtectedChange) -> str:
    """Rows as a whole number; weight, which is counted in steps, in the user's unit."""
    if change.max_weight is None:
        return f"{n:,}"
    weight = n / change.steps * change.max_weight
    return f"{weight:,.0f}" if 100 <= weight < 1e15 else f"{weight:.3g}"


def _released(statistic: NoisyStatistic) -> str:
    grouped = isinstance(statistic, Groups)
    names = ", ".join((statistic.statistics[0] if isinstance(statistic, Groups) else statistic).tensors())
    count = sum(tensor.size for tensor in statistic.tensors().values())
    return f"{count:,} integers ({names}{' of each group' * grouped})"


def error_range(synopsis: ReleasedData) -> tuple[float, float, str]:
    """The least and the largest error of groups, and how many groups are not counted in, as they are too small."""
    if not isinstance(synopsis.statistic, Groups):
        error = synopsis.error(synopsis.confidence)
        return error, error, ""
    statistics = synopsis.statistic.statistics
    seen = [one for one in statistics if one.total.seen] or statistics
    found = [min(one.half_width(synopsis.confidence), one.max_error) for one in seen]
    small = len(statistics) - len(seen)
    return min(found), max(found), _groups(small) if small else ""


def _groups(count: int) -> str:
    return f"{count:,} group{'s' * (count > 1)}"


def unit_suffix(synopsis: ReleasedData) -> str:
    """The unit of distances after a number."""
    return f" {synopsis.space.unit}" if synopsis.space.unit else ""
