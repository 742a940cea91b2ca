"""Synopsis: space + answerer + card. A finite file that answers every query (the paper's offline setting)."""

import warnings
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from milepost import data, file
from milepost.arrays import FloatArray
from milepost.errors import MilepostError, PromiseWarning
from milepost.mechanisms import ANSWERERS
from milepost.mechanisms.base import Answerer
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces import space_from_json
from milepost.spaces.base import QUANTA, Space

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Synopsis:
    """A private release: `mean_distance` answers for any points, and asking is free.

    What it reveals about the table is bounded by `guarantee` for one change as in `change`, whoever asks what.
    """

    space: Space
    answerer: Answerer
    guarantee: Guarantee
    change: Change
    n: int

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that made it."""
        return self.answerer.mechanism

    def mean_distance(self, points: Any) -> Any:
        """The average distance from each point to the people in the table.

        points: one point (gives a float), an array of points (an array) or a frame (a Series with its index).
        """
        batch, single, index = data.points(points, self.space.width)
        positions = self.space.place(self.space.read_queries(batch))
        warn_outside(positions)
        values = self.answerer.value(positions)
        if single:
            return float(values[0])
        if index is not None:
            import pandas as pd

            return pd.Series(values, index=index, name="mean_distance")
        return values

    def error(self, confidence: float = 0.95, uniform: bool = False) -> float:
        """The half-width of one answer at this confidence, bias included; of all answers at once with uniform=True."""
        return self.answerer.half_width(confidence, uniform)

    @property
    def confidence(self) -> float:
        """0.95, or less when the release was made with a beta that does not promise as much."""
        return min(0.95, getattr(self.answerer, "confidence", 1.0))

    @property
    def card(self) -> dict[str, Any]:
        """All that is public about the release, as the file stores it."""
        return {
            "format": FORMAT,
            "space": self.space.to_json(),
            "guarantee": self.guarantee.to_json(),
            "change": self.change.to_json(),
            "n": self.n,
            "mechanism": self.mechanism,
            "parameters": self.answerer.parameters(),
            "versions": {name: metadata.version(name) for name in ("milepost", "opendp", "numpy")},
        }

    def statement(self) -> str:
        """One page for the people in the table: who is protected, how much, and what was treated as public."""
        columns = getattr(self.space, "names", ())
        return "\n".join(
            [
                "Privacy statement",
                f"  Protected      each single row of the table: neighbors are tables with {self.change}.",
                f"  Guarantee      {self.guarantee}, for everything this file can ever answer.",
                f"  Mechanism      {self.mechanism}; noise from OpenDP's exact discrete samplers.",
                (
                    f"  Public         the space ({self.space.kind}: {', '.join(columns)}) with its bounds,"
                    f" and the number of rows, {self.n:,}."
                ),
                "  Outliers       values outside the bounds were moved to the nearest bound; how many is not recorded.",
                (
                    f"  Accuracy       answers are within {self.error(self.confidence):.4g} of the truth, with "
                    f"{100 * self.confidence:g} % confidence"
                    f" (distances go up to {self.space.diameter:.4g})."
                ),
            ]
        )

    def save(self, path: str | Path) -> None:
        """Write the synopsis as one safetensors file with its card; the file appears whole or not at all."""
        file.write(Path(path), self.card, self.answerer.tensors())

    def __repr__(self) -> str:
        error = self.error(self.confidence)
        return f"Synopsis({self.space.kind}, n={self.n:,}, {self.guarantee}, {self.mechanism}, ±{error:.4g})"


def load(path: str | Path) -> Synopsis:
    """Read a synopsis that `save` wrote; a damaged, foreign or newer file is refused."""
    card, tensors = file.read(Path(path))
    if card.get("format") != FORMAT:
        raise MilepostError(
            f"{path} has format {card.get('format')!r}, this version reads {FORMAT}; a newer milepost may read it"
        )
    try:
        space = space_from_json(card["space"])
        answerer = ANSWERERS[card["mechanism"]].load(space.hosts, card["n"], card["parameters"], tensors)
        return Synopsis(space, answerer, Guarantee(**card["guarantee"]), Change(**card["change"]), card["n"])
    except (KeyError, TypeError, IndexError) as error:
        raise MilepostError(f"{path} is not a complete synopsis: {error} is missing or wrong") from None


def warn_outside(positions: FloatArray, stacklevel: int = 3) -> None:
    """Say that queries outside the space are answered at its border."""
    outside = np.any((positions < 0) | (positions > QUANTA), axis=1)
    if outside.any():
        warnings.warn(
            f"{int(outside.sum())} of {len(positions)} query points lie outside the space; "
            "they are answered at its border",
            PromiseWarning,
            stacklevel=stacklevel,
        )
