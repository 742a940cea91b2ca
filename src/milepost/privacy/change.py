"""Change: what one protected unit can alter. The only place that says who is protected."""

from dataclasses import dataclass

from milepost.errors import MilepostError

RELATIONS = ("replace", "add-remove")


@dataclass(frozen=True)
class Change:
    """One person's possible effect on the table.

    `replace`: two tables are neighbors when one row is replaced by another, so the number of rows is public.
    `add-remove`: when one row is added or taken away, so the number of rows is private.
    """

    neighbors: str = "replace"

    def __post_init__(self) -> None:
        if self.neighbors not in RELATIONS:
            raise MilepostError(f"neighbors must be one of {', '.join(RELATIONS)}, got {self.neighbors!r}")

    @property
    def public_total(self) -> bool:
        """Whether the number of rows is the same in both neighbors and may be published."""
        return self.neighbors == "replace"

    def to_json(self) -> dict[str, str]:
        """As the card stores it."""
        return {"neighbors": self.neighbors}

    def __str__(self) -> str:
        return "one row replaced by another" if self.public_total else "one row added or removed"
