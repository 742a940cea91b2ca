"""The limits of a service, each with a default; docs/service.md has the same table."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from milepost.errors import MilepostError


def _limit(default: float, minimum: float, maximum: float, description: str) -> Any:
    return field(default=default, metadata={"min": minimum, "max": maximum, "description": description})


@dataclass(frozen=True)
class Settings:
    """Limits of one request, of one key, and of the whole service.

    >>> Settings.of(["clock=1", "max_points=500"]).max_points
    500
    """

    max_body: int = _limit(4 << 20, 1 << 10, 1 << 30, "bytes of a request")
    max_upload: int = _limit(256 << 20, 1 << 10, 1 << 36, "bytes of an uploaded release")
    max_points: int = _limit(10_000, 1, 100_000, "points of a request")
    max_dimension: int = _limit(4_096, 1, 1 << 20, "columns of a point or a space")
    max_steps: int = _limit(256, 2, 1_024, "steps along each side of a grid")
    max_compared: int = _limit(32, 2, 1_000, "releases that a request compares")
    max_sessions: int = _limit(16, 0, 10_000, "open sessions")
    max_questions: int = _limit(
        10_000, 1, 10_000_000, "questions of a session; a repeated one with a new Idempotency-Key counts again"
    )
    max_jobs: int = _limit(16, 1, 10_000, "jobs that wait or run")
    max_loaded: int = _limit(32, 1, 10_000, "releases in memory")
    max_connections: int = _limit(256, 1, 100_000, "open connections")
    max_waiting: int = _limit(256, 1, 100_000, "requests that wait for a thread")
    rate: float = _limit(50.0, 0.01, 1e9, "requests per second of one key")
    burst: int = _limit(200, 1, 1_000_000_000, "requests of one key in a burst")
    timeout: float = _limit(30.0, 0.1, 86_400, "seconds that a request may take")
    clock: float = _limit(0.5, 0.001, 60, "seconds between the moments at which sessions send answers")

    def __post_init__(self) -> None:
        for setting in fields(self):
            value, minimum, maximum = getattr(self, setting.name), setting.metadata["min"], setting.metadata["max"]
            if type(value) not in (int, setting.type) or not minimum <= value <= maximum:
                raise MilepostError(
                    f"the setting {setting.name} ({setting.metadata['description']}) must be a number from "
                    f"{minimum:g} to {maximum:g}, got {value!r}"
                )
        if self.periods < 3:
            raise MilepostError(
                f"the setting timeout must be at least three times clock, got timeout={self.timeout:g} and "
                f"clock={self.clock:g}. A session sends an answer up to two periods of the clock after the question. "
                "Set a longer timeout, or a shorter clock."
            )

    @property
    def periods(self) -> int:
        """The number of whole periods of the clock that a request may take."""
        return math.floor(self.timeout / self.clock * (1 + 1e-9))  # 0.3 s are three periods of 0.1 s

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return the settings of texts such as `clock=1`."""
        settings = {setting.name: setting for setting in fields(cls)}
        values: dict[str, Any] = {}
        for text in texts:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not equals or name not in settings:
                raise MilepostError(f"a setting must be NAME=VALUE, got {text!r}. The names are {', '.join(settings)}.")
            try:
                values[name] = int(value) if settings[name].type is int else float(value)
            except ValueError:
                raise MilepostError(f"the setting {name} must be a number, got {value!r}") from None
        return cls(**values)

    @classmethod
    def table(cls) -> list[tuple[str, str, str]]:
        """Return the name, the default and the meaning of each setting."""
        return [(setting.name, f"{setting.default:,}", setting.metadata["description"]) for setting in fields(cls)]
