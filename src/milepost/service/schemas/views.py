"""Spaces, releases and sessions as JSON responses."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.column_estimates import (
    ColumnEstimate,
    column_estimates,
    has_columns,
    has_curves,
    share_estimate,
)
from milepost.answers.comparison import compare_groups
from milepost.answers.cumulative_shares import cumulative_shares
from milepost.answers.evaluation import evaluate, values_and_widths
from milepost.answers.grid import make_grid
from milepost.errors import MilepostError
from milepost.ingest.query_points import query_points
from milepost.pipeline.difference import difference as compute_difference
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.reporting.description import Description, facts, size_text
from milepost.reporting.statement import lines, protected_rows
from milepost.service.database import ReleaseRecord
from milepost.service.errors import RefusedError
from milepost.service.schemas.base import MAX_COLUMNS
from milepost.service.schemas.requests import ColumnsRequest
from milepost.spaces.base import Space
from milepost.spaces.columns import Category, Number
from milepost.spaces.mixed import MixedTable
from milepost.synopsis.synopsis import Synopsis

MAX_PARTS = 1_000  # columns or directions of a difference
MAX_CURVES = 4  # of a difference


def summary(release: ReleaseRecord, synopsis: Synopsis) -> dict[str, Any]:
    """Return a release as an item of a list."""
    return _summary(release, synopsis, synopsis.describe())


def _summary(release: ReleaseRecord, synopsis: Synopsis, about: Description) -> dict[str, Any]:
    return {
        "id": release.id,
        "title": release.title,
        "dataset": release.dataset or None,
        "created": release.created,
        **space_view(synopsis.space, synopsis.given_queries is not None),
        "mechanism": about.mechanism,
        **guarantee_view(about.guarantee, about.change),
        "size": size_text(about),
        "error": about.error,
        "min_error": about.min_error,
        "confidence": about.confidence,
        "labels": list(synopsis.labels),
        "supports": ["columns"] * has_columns(synopsis) + ["difference"] * has_curves(synopsis),
    }


def description(release: ReleaseRecord, synopsis: Synopsis) -> dict[str, Any]:
    """Return a release with its description, its card and the fields of its form."""
    queries, about = synopsis.given_queries, synopsis.describe()
    return _summary(release, synopsis, about) | {
        "card": synopsis.card,
        "description": about.to_json(),
        "facts": facts(about),
        "fields": form_fields(synopsis.space),
        "given_queries": None
        if queries is None
        else [json_point(synopsis.space.user_point(point)) for point in queries],
    }


def statement(synopsis: Synopsis) -> dict[str, Any]:
    """Return the statement, in lines and as one text."""
    entries = lines(synopsis.describe())
    return {
        "lines": [{"heading": heading, "text": text} for heading, text in entries.items()],
        "text": synopsis.statement(),
    }


def guarantee_view(guarantee: Guarantee, change: ProtectedChange) -> dict[str, Any]:
    """Return a guarantee, and the change of the table that it protects."""
    change_view = {
        "neighbors": change.neighbors,
        "contributions": change.contributions,
        "privacy_unit": change.privacy_unit,
        "protected": protected_rows(change),
        "text": str(change),
    }
    guarantee_fields = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "accounting": guarantee.accounting}
    return {"guarantee": guarantee_fields | {"text": str(guarantee)}, "change": change_view}


def space_view(space: Space, fixed_points: bool = False) -> dict[str, Any]:
    """Return what the points of a space are, and how to show them. fixed_points: whether only these are answered."""
    extent = space.extent
    view = {1: "curve", 2: "map"}.get(len(extent or ()), "form")
    return {
        "kind": space.kind,
        "columns": list(space.names),
        "distance_unit": space.distance_unit,
        "diameter": space.diameter,
        "view": "list" if fixed_points else view,
        "extent": None if extent is None else [list(ends) for ends in extent],
        "geographic": space.geographic,
    }


def form_fields(space: Space) -> list[dict[str, Any]]:
    """Return the fields of a form for a point."""
    if isinstance(space, MixedTable):
        return [{"name": name} | _form_field(part) for name, part in zip(space.names, space.parts, strict=True)]
    if space.objects:
        return [{"name": name, "type": "text"} for name in space.names]
    ends = [(None, None)] * space.width if space.extent is None else space.extent
    return [
        {"name": name, "type": "number", "low": low, "high": high}
        for name, (low, high) in zip(space.names, ends, strict=True)
    ]


def _form_field(part: Any) -> dict[str, Any]:
    if isinstance(part, Number):
        low, high = part.ends
        return {"type": "number", "low": low, "high": high, "step": part.step}
    if isinstance(part, Category):
        return {"type": "category", "labels": list(part.labels)}
    return {"type": "flag"}


def json_point(point: Any) -> Any:
    """Return a point of a space as JSON: a list in the order of the columns, or a text."""
    if isinstance(point, str):
        return point
    cells = point.values() if isinstance(point, dict) else point
    return [cell.item() if hasattr(cell, "item") else cell for cell in cells]


def finite_or_none(value: float) -> float | None:
    """Return None for infinity and NaN, which JSON lacks."""
    return value if math.isfinite(value) else None


def select_group(synopsis: Synopsis, group: Any, field: str = "group") -> Synopsis:
    """Return the synopsis of a group; refuse a missing label if there are groups, and a label if there are none."""
    if group is None and not synopsis.labels:
        return synopsis
    for label in synopsis.labels:
        if group is not None and (type(label), label) == (type(group), group):
            return synopsis.group(label)
    raise RefusedError("bad_group", ["body", field])


def distances(synopsis: Synopsis, points: Any, confidence: float | None) -> dict[str, Any]:
    """Return mean distances and their half-widths."""
    level = _level(synopsis, confidence)
    try:
        batch, _, _ = query_points(points, synopsis.space)
        values, errors = evaluate(
            synopsis, batch, lambda positions: values_and_widths(synopsis.statistic, positions, level)
        )
    except MilepostError:
        raise RefusedError("bad_point", ["body", "points"]) from None
    return {
        "distances": values.tolist(),
        "errors": errors.tolist(),
        "confidence": level,
        "distance_unit": synopsis.space.distance_unit,
    }


def nearest(synopsis: Synopsis, points: Sequence[Any]) -> dict[str, Any]:
    """Compare every point with every group."""
    if not synopsis.labels:
        raise RefusedError("not_supported")
    try:
        comparison = compare_groups(synopsis, points)
    except MilepostError:
        raise RefusedError("bad_point", ["body", "points"]) from None
    return {
        "labels": list(comparison.labels),
        "detectable": comparison.detectable.tolist(),
        "distances": comparison.mean_distance.tolist(),
        "errors": comparison.error.tolist(),
        "nearest": [comparison.labels[index] for index in comparison.nearest_index.tolist()],
        "margins": [finite_or_none(margin) for margin in comparison.margin.tolist()],
        "flip_probabilities": comparison.flip_probability.tolist(),
        "confidence": comparison.confidence,
        "distance_unit": comparison.distance_unit,
    }


def center(synopsis: Synopsis) -> dict[str, Any]:
    """Return the point with the smallest mean distance."""
    space = synopsis.space
    point = synopsis.center()
    answer = distances(synopsis, [point] if space.objects else np.asarray(point)[None], None)
    return {
        "point": json_point(point),
        "distance": answer["distances"][0],
        "error": answer["errors"][0],
        "confidence": answer["confidence"],
        "distance_unit": space.distance_unit,
    }


def distance_grid(synopsis: Synopsis, steps: int) -> dict[str, Any]:
    """Return mean distances on a grid of `steps` steps along each side; for a curve, also their half-widths."""
    extent = synopsis.space.extent
    if synopsis.given_queries is not None or extent is None or len(extent) > 2:
        raise RefusedError("not_supported")
    grid = make_grid(synopsis, [(high - low) / steps for low, high in extent])
    curve = grid.y is None
    return {
        "names": list(grid.axis_names),
        "x": grid.x.tolist(),
        "y": None if grid.y is None else grid.y.tolist(),
        "values": _nested(grid.values),
        "errors": distances(synopsis, grid.points, None)["errors"] if curve else None,
        "error": synopsis.error(synopsis.confidence),
        "confidence": synopsis.confidence,
        "geographic": grid.geographic,
        "distance_unit": grid.distance_unit,
    }


def columns(synopsis: Synopsis, request: ColumnsRequest) -> dict[str, Any]:
    """Return means and variances of columns, and shares."""
    if not has_columns(synopsis):
        raise RefusedError("not_supported")
    estimates: list[ColumnEstimate] = []
    if request.columns or not request.shares:
        if len(request.columns or synopsis.space.names) > MAX_COLUMNS:
            raise RefusedError("too_large", ["body", "columns"])
        with _refused_columns(["body", "columns"]):
            estimates += column_estimates(synopsis, request.columns, request.confidence)
    for index, share in enumerate(request.shares):
        with _refused_columns(["body", "shares", index]):
            estimates.append(share_estimate(synopsis, **share.model_dump(), confidence=request.confidence))
    return {"estimates": [estimate.to_json() for estimate in estimates]}


@contextmanager
def _refused_columns(path: list[str | int]) -> Iterator[None]:
    try:
        yield
    except MilepostError as error:
        raise RefusedError("bad_column", path, str(error)) from None


def difference(left: Synopsis, right: Synopsis, names: tuple[str, str], confidence: float) -> dict[str, Any]:
    """Return the energy distance between two tables, and where they differ."""
    try:
        result = compute_difference(left, right, names=names, confidence=confidence)
    except MilepostError as error:
        raise RefusedError("not_supported", ["body", "other"], str(error)) from None
    parts, shares = result.parts, result.shares
    named = isinstance(parts, dict)
    labels = list(parts) if isinstance(parts, dict) else [f"direction {index}" for index in range(len(parts))]
    numbers, share_numbers = (list(x.values()) if isinstance(x, dict) else x.tolist() for x in (parts, shares))
    largest = sorted(zip(labels, numbers, share_numbers, strict=True), key=lambda part: -part[1])[:MAX_PARTS]
    return result.to_json() | {
        "parts_of": "columns" if named else "directions",
        "parts": [{"name": name, "part": part, "share": share} for name, part, share in largest],
        "curves": [
            {
                "name": curve.name,
                "positions": curve.positions.tolist(),
                "first": curve.left.tolist(),
                "second": curve.right.tolist(),
            }
            for curve in cumulative_shares(result.tables, MAX_CURVES)
        ],
    }


def _nested(values: FloatArray) -> list[Any]:
    """Return an array as lists, with None for NaN."""
    return (
        [_nested(row) for row in values] if values.ndim == 2 else [finite_or_none(value) for value in values.tolist()]
    )


def _level(synopsis: Synopsis, confidence: float | None) -> float:
    if confidence is None:
        return synopsis.confidence
    if confidence > synopsis.statistic.confidence:
        raise RefusedError("not_supported", ["body", "confidence"])
    return confidence
