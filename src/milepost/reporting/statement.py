"""The privacy statement: a page for the people in a table about who is protected, how much, and what is public."""

from milepost.answers.released_data import ReleasedData
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.description import amount_text, error_range, group_sizes, unit_suffix
from milepost.spaces.columns import OTHER

MAX_GROUPS = 12  # on one page


def statement(synopsis: ReleasedData) -> str:
    """Return a page for the people in the table; see `Synopsis.statement`."""
    rows = (f"  {name:<13}  {line}" for name, line in lines(synopsis).items() if line)
    return "\n".join(["Privacy statement", *rows])


def lines(synopsis: ReleasedData) -> dict[str, str]:
    """Return the lines of the statement by heading; a line that does not apply is empty."""
    return {
        "Protected": _protected(synopsis.change),
        "Guarantee": f"{synopsis.guarantee}, for everything this file can ever answer.",
        "Bounds": _bounds_line(synopsis),
        "Mechanism": f"{synopsis.mechanism}; noise from OpenDP's exact discrete samplers.",
        "Public": f"{_public_items(synopsis)}.",
        "Private": _private(synopsis),
        "Groups": _group_line(synopsis),
        "Weights": _weight_line(synopsis.change),
        "Outliers": f"{synopsis.space.clipping_rule}; how many is not recorded.",
        "Accuracy": _accuracy(synopsis),
    }


def _protected(change: ProtectedChange) -> str:
    """Return who is protected, and against which change of the table."""
    whose = "each single row" if change.privacy_unit is None else f"all rows of each single {change.privacy_unit}"
    attributes = [
        name for name, value in (("group", change.groups), ("weight", change.max_row_weight)) if value is not None
    ]
    included = (
        f", with {'its' if change.privacy_unit is None else 'their'} {' and '.join(attributes)}" if attributes else ""
    )
    presence = (
        ""
        if change.replaces
        else f", and whether {'it is' if change.privacy_unit is None else 'they are'} there at all"
    )
    return f"{whose} of the table{included}{presence}: neighbors are tables with {change}."


def _bounds_line(synopsis: ReleasedData) -> str:
    cost = synopsis.space.bounds_provenance
    return "" if cost is None else f"found in the table itself: {cost}, which adds to the guarantee of this file."


def _public_items(synopsis: ReleasedData) -> str:
    change = synopsis.change
    items = [f"the space ({synopsis.space.kind}: {', '.join(synopsis.space.names)})"]
    if synopsis.queries is not None:
        items.append(f"the {synopsis.queries.count:,} queries")
    if change.groups:
        items.append("the labels of the groups")
    if change.privacy_unit is not None:
        rows = "1 row" if change.contributions == 1 else f"{change.contributions:,} rows"
        items.append(f"the limit of {rows} of one {change.privacy_unit}")
    if change.max_row_weight is not None:
        items.append(f"the largest weight, {change.max_row_weight:g}")
    if change.public_total:
        items.append(f"the number of rows{' used' if change.privacy_unit else ''}, {synopsis.n:,}")
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])}, and {items[-1]}"


def _private(synopsis: ReleasedData) -> str:
    if synopsis.change.public_total:
        return ""
    what = "the number of rows; a noisy one is"
    if synopsis.change.max_row_weight is not None:
        what = "the number of rows and their total weight; the latter with noise is"
    return f"{what} {amount_text(synopsis.n, synopsis.change)}."


def _group_line(synopsis: ReleasedData) -> str:
    if not synopsis.labels:
        return f"one of {synopsis.change.groups:,} of one release." if synopsis.change.groups else ""
    sizes = group_sizes(synopsis)
    text = ", ".join(sizes[:MAX_GROUPS]) + f", … ({len(sizes):,} in all)" * (len(sizes) > MAX_GROUPS)
    others = "were added to other" if OTHER in map(str, synopsis.labels) else "were left out"
    return f"{text}; rows with labels that are not listed {others}."


def _weight_line(change: ProtectedChange) -> str:
    if change.max_row_weight is None:
        return ""
    maximum = f"{change.max_row_weight:g}"
    return f"0 to {maximum}, rounded to {change.steps:,} steps; others were moved to the nearest of these."


def _accuracy(synopsis: ReleasedData) -> str:
    unit, (low, high, small) = unit_suffix(synopsis), error_range(synopsis)
    error = f"{low:.4g}{unit}" if low == high else f"{low:.4g} to {high:.4g}{unit}"
    groups = ", by group" * (len(synopsis.labels) > 1)
    rest = f"; {small} too small to say anything" * bool(small)
    return (
        f"answers are within {error} of the truth{groups}, with {100 * synopsis.confidence:g} % confidence "
        f"(distances go up to {synopsis.space.diameter:.4g}{unit}){rest}."
    )
