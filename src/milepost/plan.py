"""Plan: the error to expect before any data is touched."""

from dataclasses import dataclass
from io import StringIO

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from milepost.errors import MilepostError
from milepost.mechanisms import MECHANISMS, lemma3
from milepost.mechanisms.base import Prediction
from milepost.mechanisms.margins import Margins
from milepost.mechanisms.tangents import interactive_error, interactive_margins
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTA, Space
from milepost.statistics.sketch import LARGEST_TOTAL


@dataclass(frozen=True)
class Plan:
    """Predictions for one space, n and guarantee; print it for a table."""

    space: Space
    n: int
    guarantee: Guarantee
    predictions: tuple[Prediction, ...]

    def table(self) -> Table:
        """The plan as a rich table."""
        title = f"{self.space.kind}, diameter {self.space.diameter:g}, n = {self.n:,}, {self.guarantee}"
        table = Table(title=title, box=SIMPLE, title_justify="left")
        names = list(dict.fromkeys(name for prediction in self.predictions for name in prediction.details))
        table.add_column("mechanism")
        for name in ["error ±", *names]:
            table.add_column(name, justify="right")
        for prediction in self.predictions:
            values = [prediction.error, *(prediction.details.get(name, "") for name in names)]
            table.add_row(prediction.mechanism, *(_number(value) for value in values))
        return table

    def __str__(self) -> str:
        buffer = StringIO()
        Console(file=buffer, width=150).print(self.table())
        return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())


def plan(
    space: Space,
    *,
    n: int,
    epsilon: float,
    delta: float = 0.0,
    max_queries: int | None = None,
    beta: float = 0.05,
    neighbors: str = "replace",
) -> Plan:
    """What each mechanism would promise, with no data; give `max_queries` to see the interactive setting too.

    >>> import milepost as mp
    >>> len(mp.plan(mp.L1([(0, 1)]), n=100_000, epsilon=1, delta=1e-6).predictions)
    1
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= LARGEST_TOTAL:
        raise MilepostError(f"n must be a whole number of rows between 1 and 2^37, got {n!r}")
    guarantee, change = Guarantee(epsilon, delta), Change(neighbors)
    predictions = [kind(beta=beta).predict(space.hosts, int(n), change, guarantee) for kind in MECHANISMS.values()]
    if max_queries is not None:
        margins = interactive_margins(space.hosts, int(n), guarantee, max_queries, beta)
        predictions.append(_interactive(space, margins, guarantee))
    return Plan(space, int(n), guarantee, tuple(predictions))


def _interactive(space: Space, margins: Margins, guarantee: Guarantee) -> Prediction:
    hosts, n = space.hosts, margins.n
    paper = lemma3.interactive_alpha(hosts.dimension, n, guarantee, margins.queries, margins.beta)
    return Prediction(
        f"tangents, {margins.queries:,} queries",
        interactive_error(hosts, margins),
        {
            "alpha": margins.alpha,
            "updates": margins.updates,
            "test noise": margins.sensitivity * margins.lattice / margins.epsilon_test,
            "value noise": float(np.max(margins.value_scale * hosts.spread)) / QUANTA / n,
            "slope noise": float(np.max(margins.slope_scale)) * 2 / n,
            "paper's alpha": hosts.reach * paper,
        },
    )


def _number(value: float | int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
