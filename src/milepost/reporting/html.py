"""A release as HTML, for notebooks."""

import base64
from html import escape
from io import BytesIO

from milepost.answers.released_data import ReleasedData
from milepost.errors import MilepostError
from milepost.reporting.description import facts
from milepost.reporting.plotting.synopsis_plot import draw

STYLE = "text-align: left; padding: 0 1em 0 0; vertical-align: top"


def html(synopsis: ReleasedData) -> str:
    """The facts as a table and, where matplotlib is there and something can be drawn, the picture."""
    rows = "".join(
        f'<tr><th style="{STYLE}">{escape(word)}</th><td style="{STYLE}">{escape(_short(fact))}</td></tr>'
        for word, fact in facts(synopsis).items()
    )
    return f"<div><table>{rows}</table>{_picture(synopsis)}</div>"


def _picture(synopsis: ReleasedData) -> str:
    buffer = BytesIO()
    try:
        draw(synopsis).savefig(buffer, format="png", dpi=80, facecolor="white")
    except MilepostError:  # no matplotlib, or a space that has no picture: the table says enough
        return ""
    return f'<img alt="mean distance" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _short(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
