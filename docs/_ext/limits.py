"""Limits: the settings of a service and its refusals, as Markdown tables."""

from dataclasses import fields

from milepost.service.errors import CODES
from milepost.service.settings import Settings


def settings() -> str:
    """Every setting: its default, what may be given, what it limits."""
    rows = [
        f"| `{one.name}` | {one.default:,} | {one.metadata['min']:,} to {one.metadata['max']:,} "
        f"| {one.metadata['description']} |"
        for one in fields(Settings)
    ]
    return "\n".join(["| setting | default | may be | what it limits |", "|---|---|---|---|", *rows])


def refusals() -> str:
    """Every code with its status and its message, as they are sent."""
    rows = [f"| `{code}` | {of.status} | {of.message} |" for code, of in CODES.items()]
    return "\n".join(["| code | status | message |", "|---|---|---|", *rows])
