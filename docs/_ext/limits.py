"""Write the settings of a service and its refusals as Markdown tables."""

from dataclasses import fields

from milepost.service.errors import CODES
from milepost.service.settings import Settings


def settings() -> str:
    """Return a table of settings: default, range and meaning."""
    rows = [
        f"| `{one.name}` | {one.default:,} | {one.metadata['min']:,} to {one.metadata['max']:,} "
        f"| {one.metadata['description']} |"
        for one in fields(Settings)
    ]
    return "\n".join(["| setting | default | range | what it limits |", "|---|---|---|---|", *rows])


def refusals() -> str:
    """Return a table of codes with their status and message."""
    rows = [f"| `{code}` | {of.status} | {of.message} |" for code, of in CODES.items()]
    return "\n".join(["| code | status | message |", "|---|---|---|", *rows])
