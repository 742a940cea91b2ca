"""The privacy statement: a page for the people in a table about who is protected, how much, and what is public."""

from milepost.privacy.guarantee import UNITS
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.description import (
    Description,
    accounting_text,
    bounds_text,
    group_sizes,
    small_groups_text,
    total_text,
    unit_suffix,
)
from milepost.spaces.columns import OTHER

MAX_GROUPS = 12  # on one page


def statement(description: Description) -> str:
    """Return the statement as text; see `Synopsis.statement`."""
    rows = (f"  {heading:<13}  {text}" for heading, text in lines(description).items())
    return "\n".join(["Privacy statement", *rows])


def lines(description: Description) -> dict[str, str]:
    """Return the lines of the statement that apply to a release, by heading."""
    change = description.change
    entries = {
        "Protected": f"{protected_rows(change)}. A table with {change} would give almost the same answers.",
        "Guarantee": f"{description.guarantee}, for all answers of this file together. {_accounting(description)}",
        "Bounds": _bounds(description),
        "Mechanism": f"{description.mechanism}. OpenDP's exact discrete samplers draw the noise.",
        "Public": f"The guarantee does not hide: {_join(_public_items(description))}.",
        "Private": _private(description),
        "Groups": _groups(description),
        "Weights": _weights(change),
        "Outliers": f"{_capitalize(description.clipping_rule)}. The file does not record how many.",
        "Accuracy": _accuracy(description),
    }
    return {heading: text for heading, text in entries.items() if text}


def protected_rows(change: ProtectedChange) -> str:
    """Return what the guarantee hides about one person: Each single row of the table, with its group."""
    alone = change.privacy_unit is None
    text = "Each single row of the table" if alone else f"All rows of each single {change.privacy_unit} of the table"
    attributes = [name for name, value in (("group", change.groups), ("weight", change.max_row_weight)) if value]
    if attributes:
        text += f", with {'its' if alone else 'their'} {' and '.join(attributes)}"
    return text if change.replaces else f"{text}, and whether {'it is' if alone else 'they are'} there at all"


def _accounting(description: Description) -> str:
    adds_up = f"releases about the same people add up their {UNITS[description.accounting]}"
    return f"Accounting: {accounting_text(description)}; {adds_up}."


def _bounds(description: Description) -> str:
    provenance = description.bounds_provenance
    if provenance is None:
        return ""
    if provenance.adds_up:
        return f"Found in the table itself: {bounds_text(description)}. This adds to the guarantee of this file."
    text = f"{_capitalize(bounds_text(description))}. The guarantee includes this."
    return f"{text} Answers and their accuracy are about the rows as they were moved."


def _public_items(description: Description) -> list[str]:
    change = description.change
    items = [f"the space ({description.kind}: {', '.join(description.columns)})"]
    if description.queries is not None:
        items.append(f"the {description.queries:,} queries")
    if change.groups:
        items.append("the labels of the groups")
    if change.privacy_unit is not None:
        rows = "1 row" if change.contributions == 1 else f"{change.contributions:,} rows"
        items.append(f"the limit of {rows} of one {change.privacy_unit}")
    if change.max_row_weight is not None:
        items.append(f"the largest weight, {change.max_row_weight:g}")
    if change.public_total:
        items.append(f"the number of rows{' used' * bool(change.privacy_unit)}, {total_text(description)}")
    return items


def _private(description: Description) -> str:
    if description.change.public_total:
        return ""
    if description.change.max_row_weight is None:
        return f"The number of rows. The file shows it with noise: {total_text(description)}."
    weight = total_text(description)
    return f"The number of rows, and their total weight. The file shows the weight with noise: {weight}."


def _groups(description: Description) -> str:
    sizes, count = group_sizes(description), description.change.groups
    if not sizes:
        return f"This is one of {count:,} groups of a release." if count else ""
    text = ", ".join(sizes[:MAX_GROUPS]) + f", … ({len(sizes):,} in all)" * (len(sizes) > MAX_GROUPS)
    has_other = OTHER in [str(group.label) for group in description.groups]
    return f"{text}. Rows with labels that are not listed {'count as other' if has_other else 'were left out'}."


def _weights(change: ProtectedChange) -> str:
    if change.max_row_weight is None:
        return ""
    span = f"0 to {change.max_row_weight:g}"
    return f"{span}, rounded to {change.steps:,} steps. A weight outside this range counts as the nearest in it."


def _accuracy(description: Description) -> str:
    unit, low, high = unit_suffix(description), description.min_error, description.error
    error = f"{low:.4g}{unit}" if low == high else f"{low:.4g} to {high:.4g}{unit}"
    groups, small = ", by group" * (len(description.groups) > 1), small_groups_text(description)
    return (
        f"Answers are within {error} of the truth{groups}, with {100 * description.confidence:g} % confidence. "
        f"Distances go up to {description.diameter:.4g}{unit}." + f" Too small to answer about: {small}." * bool(small)
    )


def _join(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])}, and {items[-1]}"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
