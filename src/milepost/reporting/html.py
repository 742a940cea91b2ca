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
    """Return the facts as a table and, if matplotlib is installed and the space has a picture, the picture."""
    rows = "".join(
        f'<tr><th style="{STYLE}">{escape(name)}</th><td style="{STYLE}">{escape(_short(fact))}</td></tr>'
        for name, fact in facts(synopsis).items()
    )
    return f"<div><table>{rows}</table>{_picture(synopsis)}</div>"


def _picture(synopsis: ReleasedData) -> str:
    buffer = BytesIO()
    try:
        draw(synopsis).savefig(buffer, format="png", dpi=80, facecolor="white")
    except MilepostError:  # no matplotlib, or a space that has no picture: the table says enough
        return ""
    return f'<img alt="mean distance" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'


def _short(text: str, max_length: int = 300) -> str:
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
