"""Difference and Drift: how far apart private tables are, with intervals, tests and pictures."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost._typing import FloatArray
from milepost.answers.energy_distance import ComparedTables
from milepost.answers.estimate import Estimate
from milepost.answers.text import table_text, with_unit
from milepost.reporting.html import html_table
from milepost.reporting.plotting.difference_plot import draw_difference, draw_drift

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROWS = 8  # columns that the printed table names
WIDTH = 120  # of a printed table


@dataclass(frozen=True)
class Difference(Estimate):
    """The energy distance between two tables, from their releases; made by `milepost.difference`.

    It is 2·E d(X, Y) − E d(X, X′) − E d(Y, Y′) for people X, X′ of one table and Y, Y′ of the other, in the unit of
    distances: 0 if both tables are the same, twice the distance if one table is the other, moved far away. The
    interval counts the noise of privacy. It takes for granted that finer and finer cells show less and less: tables
    that differ only inside the cells of a release look the same.

    Attributes
    ----------
    value, low, high, confidence : float
        The estimate and its interval, as of every `milepost.Estimate`.
    p_tables : float
        The probability that the noise of privacy alone makes two equal tables look so different, or more.
    p_population : float
        The same for two samples of one population, sampling included. It is an upper bound where the space has several
        columns or directions: the releases hold each of them alone, and not how they go together. Rows count as
        independent.
    parts : dict of str to float, or numpy.ndarray
        What each column adds to the energy distance; in a space without columns of its own, what each direction adds.
        Parts are without bias, so that some may be negative.
    names : tuple of str
        The names of both tables.
    sizes : tuple of int
        The number of rows of both tables; noisy where it is private.
    distance_unit : str
        The unit of distances; empty if the space has none.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1({"age": (0, 10)}, step=1)
    >>> old, new = (mp.release([[a], [8.0]] * 5000, space, epsilon=20) for a in (2.0, 4.0))
    >>> difference = mp.difference(old, new)
    >>> difference.low < 1 < difference.high, difference.p_tables < 0.01
    (True, True)
    """

    p_tables: float
    p_population: float
    parts: dict[str, float] | FloatArray = field(repr=False)
    names: tuple[str, str]
    sizes: tuple[int, int]
    distance_unit: str
    tables: ComparedTables = field(repr=False, compare=False)

    @property
    def shares(self) -> dict[str, float] | FloatArray:
        """Return the share of each column or direction in the energy distance; those below zero count as zero."""
        values = list(self.parts.values()) if isinstance(self.parts, dict) else self.parts
        positive = np.maximum(np.asarray(values, dtype=np.float64), 0)
        shares = positive / max(float(positive.sum()), 1e-300)
        return dict(zip(self.parts, shares.tolist(), strict=True)) if isinstance(self.parts, dict) else shares

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name, as JSON has them.

        Returns
        -------
        dict
            The attributes; the parts of directions as a list.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 500, mp.L1({"age": (0, 10)}), epsilon=9)
        >>> mp.difference(synopsis, [[2.0], [8.0]]).to_json()["names"]
        ['first', 'second']
        """
        parts = self.parts if isinstance(self.parts, dict) else self.parts.tolist()
        numbers = {name: getattr(self, name) for name in ("value", "low", "high", "confidence")}
        tests = {"p_tables": self.p_tables, "p_population": self.p_population}
        public = {"names": list(self.names), "sizes": list(self.sizes), "distance_unit": self.distance_unit}
        return numbers | tests | public | {"parts": parts}

    def plot(self) -> "Figure":
        """Draw where the tables differ.

        Returns
        -------
        matplotlib.figure.Figure
            A map of the difference of mean distances in a space of two columns; else the cumulative shares of both
            tables along the columns or directions that differ most.

        Raises
        ------
        MilepostError
            If the `plots` extra is not installed.

        Examples
        --------
        >>> import milepost as mp
        >>> synopsis = mp.release([[2.0], [8.0]] * 500, mp.L1({"age": (0, 10)}), epsilon=9)
        >>> len(mp.difference(synopsis, [[2.0], [8.0]]).plot().axes)
        1
        """
        return draw_difference(self.tables, self.names, str(self._title()), self.distance_unit)

    def _title(self) -> str:
        return f"Energy distance {Estimate.__str__(self)}{' ' * bool(self.distance_unit)}{self.distance_unit}"

    def __rich__(self) -> Table:
        table = Table(box=SIMPLE, show_header=False)
        for name, text in self._facts().items():
            table.add_row(escape(name), escape(text))
        return table

    def _facts(self) -> dict[str, str]:
        unit = f" {self.distance_unit}" if self.distance_unit else ""
        facts = {
            "tables": f"{self.names[0]} ({self.sizes[0]:,} rows), {self.names[1]} ({self.sizes[1]:,} rows)",
            "energy distance": f"{Estimate.__str__(self)}{unit}, {100 * self.confidence:g} % confidence",
            "are the tables the same?": f"p {p_text(self.p_tables)}, by the noise of privacy alone",
            "is the population the same?": f"p {p_text(self.p_population, '≤' if len(self.parts) > 1 else '=')}, "
            "sampling included",
        }
        shares = self.shares
        if isinstance(shares, dict) and len(shares) > 1 and self.value > 0:
            largest = sorted(shares.items(), key=lambda item: -item[1])[:MAX_ROWS]
            number = "" if self.tables.space.columns else "column "
            facts["shares of columns"] = ", ".join(f"{number}{name} {100 * share:.0f} %" for name, share in largest)
        return facts

    def __str__(self) -> str:
        return table_text(self, WIDTH)

    def _repr_html_(self) -> str:
        return html_table(self._facts())


def p_text(p: float, sign: str = "=") -> str:
    """Return a p-value as text, after a sign."""
    return "< 0.001" if p < 0.001 else f"{sign} {p:.2g}".strip()


@dataclass(frozen=True, eq=False)
class Drift:
    """The differences of several releases to the first and to the one before; made by `milepost.drift`.

    Attributes
    ----------
    labels : tuple of str
        The names of the releases, in order.
    to_first, to_previous : tuple of Difference
        The differences of the second and every later release.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1({"age": (0, 10)}, step=1)
    >>> weeks = [mp.release([[age], [8.0]] * 5000, space, epsilon=20) for age in (2.0, 2.0, 4.0)]
    >>> drift = mp.drift(weeks, labels=["Mon", "Tue", "Wed"])
    >>> drift.to_previous[1].value > drift.to_previous[0].value
    True
    """

    labels: tuple[str, ...]
    to_first: tuple[Difference, ...]
    to_previous: tuple[Difference, ...]

    def to_arrow(self) -> pa.Table:
        """Return the differences as an Arrow table.

        Returns
        -------
        pyarrow.Table
            A row for the second and every later release.

        Examples
        --------
        >>> import milepost as mp
        >>> weeks = [mp.release([[2.0], [8.0]] * 500, mp.L1({"age": (0, 10)}), epsilon=9) for _ in range(2)]
        >>> mp.drift(weeks).to_arrow().column_names[:3]
        ['label', 'to_first', 'to_first_low']
        """
        columns: dict[str, Any] = {"label": list(self.labels[1:])}
        for name, differences in (("to_first", self.to_first), ("to_previous", self.to_previous)):
            columns[name] = [difference.value for difference in differences]
            for part in ("low", "high", "p_tables", "p_population"):
                columns[f"{name}_{part}"] = [getattr(difference, part) for difference in differences]
        return pa.table(columns)

    def plot(self) -> "Figure":
        """Draw the differences with their intervals.

        Returns
        -------
        matplotlib.figure.Figure
            The differences to the first release and to the one before.

        Raises
        ------
        MilepostError
            If the `plots` extra is not installed.

        Examples
        --------
        >>> import milepost as mp
        >>> weeks = [mp.release([[2.0], [8.0]] * 500, mp.L1({"age": (0, 10)}), epsilon=9) for _ in range(2)]
        >>> mp.drift(weeks).plot().axes[0].get_ylabel()
        'energy distance'
        """
        series = {"to the first": self.to_first, "to the one before": self.to_previous}
        return draw_drift(self.labels, series, self.to_first[0].distance_unit)

    def __rich__(self) -> Table:
        table = Table(box=SIMPLE)
        table.add_column("release")
        table.add_column("compared to")
        table.add_column(escape(with_unit("energy distance", self.to_first[0].distance_unit)), no_wrap=True)
        for heading in ("p tables", "population"):
            table.add_column(heading, justify="right", no_wrap=True)
        for first, previous in zip(self.to_first, self.to_previous, strict=True):
            for difference in (first,) if first is previous else (first, previous):
                base, label = difference.names
                table.add_row(escape(label), escape(base), *_cells(difference))
        return table

    def __str__(self) -> str:
        return table_text(self, WIDTH)


def _cells(difference: Difference) -> Sequence[str]:
    value = f"{difference.value:.3g} ({difference.low:.3g} to {difference.high:.3g})"
    return value, p_text(difference.p_tables, ""), p_text(difference.p_population, "")
