"""Answers: what a release says, as HTTP shows it; all of it is free."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.comparison import compare_groups
from milepost.answers.grid import make_grid
from milepost.errors import MilepostError
from milepost.service.problems import RefusedError
from milepost.service.views import finite, plain
from milepost.synopsis.synopsis import Synopsis


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
        places, _, _ = synopsis.read(points)
        values = synopsis.answerer.values(places)
        errors = np.minimum(synopsis.answerer.half_widths(places, level), synopsis.answerer.most)
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
        "nearest": [found.labels[place] for place in found.place.tolist()],
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
    if confidence > synopsis.answerer.confidence:
        raise RefusedError("not_supported", ["body", "confidence"])
    return confidence
