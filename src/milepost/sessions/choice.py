"""SessionChoice: a way to answer queries that arrive one by one, and the error it predicts. Nothing here sees data."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

from milepost.choice import best_size
from milepost.errors import MilepostError
from milepost.ingest.aggregation import check_count
from milepost.ingest.record_source import moved_most, source_of
from milepost.ingest.table import Table
from milepost.mechanisms.base import Prediction
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import Tangents, interactive_error, interactive_margins, interactive_prediction
from milepost.mechanisms.query.field import Field, Noise, session_prediction
from milepost.mechanisms.totals import Total, check_total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import Change
from milepost.sessions.field_engine import FieldEngine
from milepost.sessions.game_engine import GameEngine
from milepost.sessions.step import Engine
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import Hosts

SESSIONS = (Tangents.name, Field.name)


@dataclass(frozen=True)
class Begun:
    """A session that has read its table. engine: makes what answers. n: how many records to say there are.

    total: what is public about that number, from which another process goes on.
    """

    engine: Callable[[], Engine]
    n: int
    total: int


@dataclass(frozen=True)
class GameChoice:
    """The interactive game of Theorem 1, on as many host coordinates as suit it."""

    space: Space
    margins: Margins
    prediction: Prediction

    @property
    def bias(self) -> float:
        """The part of the error that no number of rows would lessen."""
        return self.space.hosts.bias

    @property
    def numbers(self) -> list[Any]:
        """All that its noise depends on: a session goes on only with the same."""
        game = self.margins
        tests = game.alpha, game.threshold, game.sensitivity, game.epsilon_test, game.lattice
        return [*tests, game.updates, game.cost(self.space.hosts)]

    def begin(self, table: Table, n: int, drawing: Callable[[], None], total: int | None = None) -> Begun:  # noqa: ARG002
        """Read the table."""
        sketch = table.sketch(self.space)
        check_count(int(sketch.totals[0]), n)
        drawing()
        return Begun(lambda: GameEngine(sketch, self.space, self.margins), n, n)


@dataclass(frozen=True)
class FieldChoice:
    """Correlated noise on exact distances."""

    space: Space
    noise: Noise
    prediction: Prediction

    @property
    def bias(self) -> float:
        """Next to nothing."""
        return self.noise.quantum

    @property
    def numbers(self) -> list[Any]:
        """All that its noise depends on: a session goes on only with the same."""
        noise = self.noise
        return [noise.most, noise.quantum, noise.step, noise.scale, noise.kernel.highest, noise.split.total]

    def begin(self, table: Table, n: int, drawing: Callable[[], None], total: int | None = None) -> Begun:
        """Read the table, and draw the total where it is private. total: the one that was drawn before."""
        source = source_of(table, n)
        check_total(source.total, n, table.change)
        if total is None:
            drawing()
            found = Total.draw(source.total, self.noise.split.total, pure=False)
        else:
            found = Total(total, self.noise.split.total)
        return Begun(lambda: FieldEngine(source, self.space, self.noise, found), found.size, found.value)


SessionChoice: TypeAlias = GameChoice | FieldChoice


def session_choices(
    space: Space,
    n: int,
    change: Change,
    guarantee: Guarantee,
    max_queries: int,
    beta: float,
    names: Collection[str] = SESSIONS,
) -> tuple[list[SessionChoice], dict[str, str]]:
    """What each of these mechanisms would promise for n rows, the smallest error first, and why some cannot."""
    found: list[SessionChoice] = []
    refused: dict[str, str] = {}
    for name in names:
        try:
            if name == Field.name:
                found.append(_field(space, n, change, guarantee, max_queries))
            else:
                Tangents(beta).check(change, guarantee)
                found.append(_game(space, n, guarantee, max_queries, beta))
        except MilepostError as reason:
            refused[name] = str(reason)
    found.sort(key=lambda choice: choice.prediction.error)
    return found, refused


def _game(space: Space, n: int, guarantee: Guarantee, max_queries: int, beta: float) -> GameChoice:
    def promise(hosts: Hosts) -> tuple[float, Margins]:
        margins = interactive_margins(hosts, n, guarantee, max_queries, beta)
        return interactive_error(hosts, margins), margins

    variant, margins = best_size(space, n, promise)
    return GameChoice(variant, margins, interactive_prediction(variant.hosts, margins, guarantee))


def _field(space: Space, n: int, change: Change, guarantee: Guarantee, max_queries: int) -> FieldChoice:
    noise = Field().noise(space, max_queries, change, guarantee)
    return FieldChoice(space, noise, session_prediction(noise, n, space.diameter, moved_most(space)))
