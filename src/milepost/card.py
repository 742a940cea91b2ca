"""Card: what is public about a release, in words, as text or HTML."""

import base64
from html import escape
from io import BytesIO
from typing import Any

from milepost.errors import MilepostError
from milepost.synopsis import Synopsis

STYLE = "text-align: left; padding: 0 1em 0 0; vertical-align: top"


def facts(synopsis: Synopsis) -> dict[str, str]:
    """Space, rows, guarantee, mechanism, error and versions, by name."""
    card, tensors = synopsis.card, synopsis.answerer.tensors()
    space, unit = card["space"], _unit(synopsis)
    return {
        "space": f"{space.pop('kind')}, distances up to {synopsis.space.diameter:g}{unit}",
        **{word: spell(value) for word, value in space.items()},
        "rows": f"{'' if synopsis.change.public_total else 'about '}{_rows(synopsis)}",
        "neighbors": f"{synopsis.change.neighbors}: {synopsis.change}",
        "guarantee": str(synopsis.guarantee),
        "mechanism": synopsis.mechanism,
        "error": promise(synopsis),
        "released": f"{sum(t.size for t in tensors.values()):,} integers ({', '.join(tensors)})",
        "made with": ", ".join(f"{name} {version}" for name, version in card["versions"].items()),
    }


def statement(synopsis: Synopsis) -> str:
    """One page for the people in the table; see `Synopsis.statement`."""
    unit, error = _unit(synopsis), synopsis.error(synopsis.confidence)
    whom = "row of" if synopsis.change.unit is None else f"{synopsis.change.unit} in"
    public = [f"the space ({synopsis.space.kind}: {', '.join(synopsis.space.names)})"]
    public += [] if synopsis.queries is None else [f"the {synopsis.queries.count:,} queries"]
    public += [f"the labels of {len(synopsis.labels):,} groups"] if synopsis.labels else []
    public += [f"and the number of rows, {_rows(synopsis)}"] if synopsis.change.public_total else []
    noisy = "" if synopsis.change.public_total else f" Not the number of rows: {_rows(synopsis)} is a noisy one."
    return "\n".join(
        [
            "Privacy statement",
            f"  Protected      each single {whom} the table: neighbors are tables with {synopsis.change}.",
            f"  Guarantee      {synopsis.guarantee}, for everything this file can ever answer.",
            f"  Mechanism      {synopsis.mechanism}; noise from OpenDP's exact discrete samplers.",
            f"  Public         {', '.join(public)}.{noisy}",
            f"  Outliers       {synopsis.space.outside}; how many is not recorded.",
            (
                f"  Accuracy       answers are within {error:.4g}{unit} of the truth, with "
                f"{100 * synopsis.confidence:g} % confidence"
                f" (distances go up to {synopsis.space.diameter:.4g}{unit})."
            ),
        ]
    )


def promise(synopsis: Synopsis) -> str:
    """The error of one answer and its confidence."""
    error = synopsis.error(synopsis.confidence)
    return f"± {error:.3g}{_unit(synopsis)} with {100 * synopsis.confidence:g} % confidence"


def labelled(words: str, unit: str) -> str:
    """Words for a number, with its unit where that is known."""
    return f"{words} ({unit})" if unit else words


def html(synopsis: Synopsis) -> str:
    """The facts as a table and, where matplotlib is there and something can be drawn, the picture."""
    rows = "".join(
        f'<tr><th style="{STYLE}">{escape(word)}</th><td style="{STYLE}">{escape(_short(fact))}</td></tr>'
        for word, fact in facts(synopsis).items()
    )
    return f"<div><table>{rows}</table>{_picture(synopsis)}</div>"


def spell(value: Any) -> str:
    """A part of the card as a person writes it: {"age": [18, 90], "visits": [0, 40]} as age 18:90, visits 0:40."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {spell([part])}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(":".join(map(spell, part)) if isinstance(part, list) else spell(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _picture(synopsis: Synopsis) -> str:
    buffer = BytesIO()
    try:
        synopsis.plot().savefig(buffer, format="png", dpi=80, facecolor="white")
    except MilepostError:  # no matplotlib, or a space that has no picture: the table says enough
        return ""
    return f'<img alt="mean distance" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _rows(synopsis: Synopsis) -> str:
    """The number of rows, or their weight in rows of the largest."""
    if synopsis.change.max_weight is None:
        return f"{synopsis.n:,}"
    return f"{synopsis.n / synopsis.change.steps:,.0f} (of weight {synopsis.change.max_weight:g} each)"


def _unit(synopsis: Synopsis) -> str:
    return f" {synopsis.space.unit}" if synopsis.space.unit else ""


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
