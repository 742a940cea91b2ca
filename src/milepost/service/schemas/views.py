"""Views: spaces, releases and sessions as HTTP shows them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.comparison import compare_groups
from milepost.answers.grid import make_grid
from milepost.errors import MilepostError
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.description import amount_text, error_range, facts
from milepost.reporting.statement import lines
from milepost.service.database import ReleaseRecord
from milepost.service.errors import RefusedError
from milepost.spaces.base import Space
from milepost.spaces.columns import Category, Number
from milepost.spaces.mixed import MixedTable
from milepost.synopsis.synopsis import Synopsis


def summary(release: ReleaseRecord, synopsis: Synopsis) -> dict[str, Any]:
    """A release in a list."""
    change = synopsis.change
    count = amount_text(synopsis.n, change)
    return {
        "id": release.id,
        "title": release.title,
        "dataset": release.dataset or None,
        "created": release.created,
        **of_space(synopsis.space, synopsis.known is not None),
        "mechanism": synopsis.mechanism,
        **guaranteed(synopsis.guarantee, change),
        "rows": count if change.public_total else f"about {count}",
        "error": error_range(synopsis)[1],  # of groups, the largest of those that are not too small to say anything
        "confidence": synopsis.confidence,
        "labels": list(synopsis.labels),
    }


def description(release: ReleaseRecord, synopsis: Synopsis) -> dict[str, Any]:
    """A release by itself."""
    known = synopsis.known
    return summary(release, synopsis) | {
        "card": synopsis.card,
        "facts": facts(synopsis),
        "fields": entries(synopsis.space),
        "known": None if known is None else [plain(synopsis.space.user_point(point)) for point in known],
    }


def statement(synopsis: Synopsis) -> dict[str, Any]:
    """The statement in lines, and as one text."""
    found = [{"word": word, "text": text} for word, text in lines(synopsis).items() if text]
    return {"lines": found, "text": synopsis.statement()}


def guaranteed(guarantee: Guarantee, change: ProtectedChange) -> dict[str, Any]:
    """How much is spent, and whom that protects."""
    spent = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "text": str(guarantee)}
    return {"guarantee": spent, "protects": str(change)}


def of_space(space: Space, given: bool = False) -> dict[str, Any]:
    """What points are, and how they can be shown. given: whether only known points are answered."""
    extent = space.extent
    drawn = {1: "curve", 2: "map"}.get(len(extent or ()), "form")
    return {
        "kind": space.kind,
        "columns": list(space.names),
        "unit": space.unit,
        "diameter": space.diameter,
        "view": "list" if given else drawn,
        "extent": None if extent is None else [list(ends) for ends in extent],
        "geographic": space.geographic,
    }


def entries(space: Space) -> list[dict[str, Any]]:
    """The columns of a form."""
    if isinstance(space, MixedTable):
        return [{"name": name} | _entry(part) for name, part in zip(space.names, space.parts, strict=True)]
    if space.objects:
        return [{"name": name, "type": "text"} for name in space.names]
    ends = [(None, None)] * space.width if space.extent is None else space.extent
    return [
        {"name": name, "type": "number", "low": low, "high": high}
        for name, (low, high) in zip(space.names, ends, strict=True)
    ]


def _entry(part: Any) -> dict[str, Any]:
    if isinstance(part, Number):
        low, high = part.ends
        return {"type": "number", "low": low, "high": high, "step": part.step}
    if isinstance(part, Category):
        return {"type": "category", "labels": list(part.labels)}
    return {"type": "flag"}


def plain(point: Any) -> Any:
    """A point that a space has written, as JSON has it: a list in the order of the columns, or a text."""
    if isinstance(point, str):
        return point
    cells = point.values() if isinstance(point, dict) else point
    return [cell.item() if hasattr(cell, "item") else cell for cell in cells]


def finite(value: float) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if math.isfinite(value) else None


def part_of(synopsis: Synopsis, group: Any) -> Synopsis:
    """The group that is asked about, which must be said where there are some, and only there."""
    if group is None and not synopsis.labels:
        return synopsis
    for label in synopsis.labels:
        if group is not None and (type(label), label) == (type(group), group):
            return synopsis.group(label)
    raise RefusedError("bad_group", ["body", "group"])


def distances(synopsis: Synopsis, points: Any, confidence: float | None) -> dict[str, Any]:
    """Mean distances and their half-widths."""
    level = _level(synopsis, confidence)
    try:
        places, _, _ = synopsis.read_points(points)
        values = synopsis.statistic.values(places)
        errors = np.minimum(synopsis.statistic.half_widths(places, level), synopsis.statistic.max_error)
    except MilepostError:
        raise RefusedError("bad_point", ["body", "points"]) from None
    return {
        "distances": values.tolist(),
        "errors": errors.tolist(),
        "confidence": level,
        "unit": synopsis.space.unit,
    }


def nearest(synopsis: Synopsis, points: Sequence[Any]) -> dict[str, Any]:
    """Every point against every group."""
    if not synopsis.labels:
        raise RefusedError("not_supported")
    try:
        found = compare_groups(synopsis, points)
    except MilepostError:
        raise RefusedError("bad_point", ["body", "points"]) from None
    return {
        "labels": list(found.labels),
        "seen": found.seen.tolist(),
        "distances": found.distance.tolist(),
        "errors": found.error.tolist(),
        "nearest": [found.labels[place] for place in found.nearest_index.tolist()],
        "margins": [finite(margin) for margin in found.margin.tolist()],
        "flips": found.flip.tolist(),
        "confidence": found.confidence,
        "unit": found.unit,
    }


def center(synopsis: Synopsis) -> dict[str, Any]:
    """The point with the least mean distance."""
    space = synopsis.space
    point = synopsis.center()
    found = distances(synopsis, [point] if space.objects else np.asarray(point)[None], None)
    return {
        "point": plain(point),
        "distance": found["distances"][0],
        "error": found["errors"][0],
        "confidence": found["confidence"],
        "unit": space.unit,
    }


def field_of(synopsis: Synopsis, steps: int) -> dict[str, Any]:
    """Mean distances on a grid of so many steps along each side; of a curve, also their half-widths."""
    extent = synopsis.space.extent
    if synopsis.known is not None or extent is None or len(extent) > 2:
        raise RefusedError("not_supported")
    grid = make_grid(synopsis, [(high - low) / steps for low, high in extent])
    curve = grid.y is None
    return {
        "names": list(grid.names),
        "x": grid.x.tolist(),
        "y": None if grid.y is None else grid.y.tolist(),
        "values": _nested(grid.values),
        "errors": distances(synopsis, grid.points, None)["errors"] if curve else None,
        "error": synopsis.error(synopsis.confidence),
        "confidence": synopsis.confidence,
        "geographic": grid.geographic,
        "unit": grid.unit,
    }


def _nested(values: FloatArray) -> list[Any]:
    """Lists with null for NaN."""
    return [_nested(row) for row in values] if values.ndim == 2 else [finite(value) for value in values.tolist()]


def _level(synopsis: Synopsis, confidence: float | None) -> float:
    if confidence is None:
        return synopsis.confidence
    if confidence > synopsis.statistic.confidence:
        raise RefusedError("not_supported", ["body", "confidence"])
    return confidence
