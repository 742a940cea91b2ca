"""HTML for notebooks: facts as a table, and a figure as an image."""

import base64
from collections.abc import Mapping
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = "text-align: left; padding: 0 1em 0 0; vertical-align: top"


def html_table(entries: Mapping[str, str]) -> str:
    """Return a table with a row per entry."""
    rows = "".join(
        f'<tr><th style="{STYLE}">{escape(name)}</th><td style="{STYLE}">{escape(_shorten(text))}</td></tr>'
        for name, text in entries.items()
    )
    return f"<table>{rows}</table>"


def html_image(figure: "Figure", alternative: str) -> str:
    """Return a figure as an image, with a text for readers who do not see it."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=80, facecolor="white")
    source = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(alternative)}" src="data:image/png;base64,{source}">'


def _shorten(text: str, max_length: int = 300) -> str:
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
