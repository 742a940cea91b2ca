"""Choice: a mechanism, what it would work on, and the error it predicts there. Nothing here sees data."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.ingest.aggregation import check_count
from milepost.ingest.query_points import query_points
from milepost.ingest.record_source import moved_most, source_of
from milepost.ingest.table import Summed, Table
from milepost.mechanisms.base import Answerer, DirectMechanism, HostAnswerer, HostMechanism, Prediction
from milepost.mechanisms.paper.margins import Margins, check_game
from milepost.mechanisms.paper.tangents import Tangents, interactive_error, interactive_margins, interactive_prediction
from milepost.mechanisms.query.field import Field, Noise, session_prediction
from milepost.mechanisms.registry import DIRECT, mechanisms
from milepost.mechanisms.totals import Total, check_total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import Change
from milepost.sessions.engine import Engine
from milepost.sessions.engines.field import FieldEngine
from milepost.sessions.engines.game import GameEngine
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import Hosts
from milepost.spaces.queries import Queries, moved_inside

Promised = TypeVar("Promised")
MOST_NUMBERS = 1 << 26  # of a sketch, two of them for each cell, coordinate and group: 1 GB
WORTH = 0.99  # more host coordinates are taken only for an error of at most this much of that with fewer

ANY_POINT = 0.95  # what an error counts if any point can be asked, any number of them


@dataclass(frozen=True)
class HostChoice:
    """A mechanism on host coordinates, as many as suit it (Remark 7.1)."""

    mechanism: HostMechanism
    space: Space
    prediction: Prediction
    queries: ClassVar[None] = None

    @property
    def bias(self) -> float:
        """The part of the error that no number of rows would lessen."""
        return self.space.hosts.bias

    def only(self, others: "Candidates") -> "Candidates":
        """Those of the others that need the same statistic."""
        return replace(others, space=self.space, direct={})

    def prepare(self, table: Table, n: int, guarantee: Guarantee) -> Callable[[], list[HostAnswerer]]:
        """Read the table, sized for n records a group; what is returned spends the guarantee, group after group."""
        hosts = self.space.hosts
        sketch, change = table.sketch(self.space), table.change
        return lambda: [
            self.mechanism.run(sketch, hosts, change, guarantee, n=n, group=group) for group in range(sketch.groups)
        ]


@dataclass(frozen=True)
class DirectChoice:
    """A mechanism on exact distances to given queries."""

    mechanism: DirectMechanism
    space: Space
    queries: Queries
    prediction: Prediction

    @property
    def bias(self) -> float:
        """The part of the error that no number of rows would lessen."""
        return self.queries.bias

    def only(self, others: "Candidates") -> "Candidates":
        """Itself: others count other things of the same distances."""
        return others.only({self.mechanism.name})

    def prepare(self, table: Table, n: int, guarantee: Guarantee) -> Callable[[], list[Answerer]]:
        """Read the table, sized for n records a group; what is returned spends the guarantee, group after group."""
        sums, change = table.sums(self.queries, self.mechanism.counted), table.change
        return lambda: [
            self.mechanism.run(sums, self.queries, change, guarantee, n=n, group=group) for group in range(sums.groups)
        ]


Choice: TypeAlias = HostChoice | DirectChoice


@dataclass(frozen=True)
class Candidates:
    """The mechanisms that may be used, by name, and the queries of those that need them."""

    space: Space
    hosts: dict[str, HostMechanism]
    direct: dict[str, DirectMechanism]
    queries: Queries | None

    def only(self, names: Collection[str] | None) -> "Candidates":
        """Those of these names; all of them for None."""
        if names is None:
            return self
        hosts = {name: mechanism for name, mechanism in self.hosts.items() if name in names}
        direct = {name: mechanism for name, mechanism in self.direct.items() if name in names}
        return replace(self, hosts=hosts, direct=direct)

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        return not self.hosts and not self.direct

    @property
    def pure(self) -> bool:
        """Whether all of them spend ε whatever δ is."""
        return all(mechanism.pure for mechanism in (self.hosts | self.direct).values())

    @property
    def spending_rho(self) -> "Candidates":
        """Those that spend ρ where δ > 0."""
        return self.only({name for name, mechanism in (self.hosts | self.direct).items() if not mechanism.pure})

    @property
    def settled(self) -> bool:
        """Whether they need one and the same statistic, however many rows there are."""
        variants = self.space.sized(1)
        one = len(variants) == 1 and variants[0] is self.space
        return len(self.direct) == 1 and not self.hosts if self.direct else one

    def read(self, table: Table) -> Table:
        """The table after its one statistic was read."""
        if self.queries is not None:
            for mechanism in self.direct.values():
                return Summed.of(table, table.sums(self.queries, mechanism.counted))
        return Summed.of(table, table.sketch(self.space))

    def fitting(self, change: Change, guarantee: Guarantee) -> tuple["Candidates", dict[str, str]]:
        """Those that can give this guarantee, and why the others cannot."""
        refused: dict[str, str] = {}
        for name, mechanism in (self.hosts | self.direct).items():
            try:
                mechanism.check(change, guarantee)
            except MilepostError as reason:
                refused[name] = str(reason)
        return self.only({*self.hosts, *self.direct} - set(refused)), refused

    def choices(self, n: int, change: Change, guarantee: Guarantee) -> tuple[list[Choice], dict[str, str]]:
        """What each would do with n rows, the smallest error first, and why some cannot."""
        found: list[Choice] = []
        refused: dict[str, str] = {}
        for name, mechanism in self.hosts.items():
            try:
                found.append(on_hosts(mechanism, self.space, n, change, guarantee))
            except MilepostError as reason:  # its noise would not fit
                refused[name] = str(reason)
        queries = self.queries
        for name, direct in self.direct.items():
            if queries is None:  # there are no direct ones then
                break
            try:
                prediction = direct.predict(queries, n, change, guarantee)
                found.append(DirectChoice(direct, self.space, queries, prediction))
            except MilepostError as reason:
                refused[name] = str(reason)
        found.sort(key=self._rank)
        return found, refused

    def _rank(self, choice: Choice) -> tuple[float, float]:
        """The promised error; among promises that are no better than the diameter, the noise.

        An answer to every point is worth a little error.
        """
        prediction, most = choice.prediction, self.space.diameter * (1 - 1e-6)
        noise = math.inf if prediction.rms is None else prediction.rms
        worth = ANY_POINT if choice.queries is None and self.space.known is None else 1.0
        return worth * min(prediction.error, most), noise if prediction.error >= most else 0.0


def candidates(space: Space, queries: Any = None, mechanism: str = "auto", beta: float = 0.05) -> Candidates:
    """The mechanism of this name, or all for "auto"."""
    check_game(1, beta)
    given = given_queries(space, queries)
    hosts, direct = mechanisms(beta), dict(DIRECT)
    if mechanism == "auto":
        return Candidates(space, hosts, direct if given is not None else {}, given)
    if mechanism in hosts:
        return Candidates(space, {mechanism: hosts[mechanism]}, {}, given)
    if mechanism in direct:
        if given is None:
            session = ", or ask one by one in mp.interactive" if mechanism == Field.name else ""
            raise MilepostError(f"{mechanism} answers given points only: name them with queries=[…]{session}")
        return Candidates(space, {}, {mechanism: direct[mechanism]}, given)
    known = ", ".join([*hosts, *direct])
    meant = did_you_mean(mechanism, ["auto", *hosts, *direct])
    raise MilepostError(f"unknown mechanism {mechanism!r}; choose from auto, {known}{meant}")


def given_queries(space: Space, queries: Any) -> Queries | None:
    """The points that were given to be asked about, or those that the space itself has."""
    if queries is None:
        return None if space.known is None else Queries(space.known, space)
    if isinstance(queries, int | float | str):
        raise MilepostError(
            f"queries must be a list of points, got {queries!r}; how many may come is said by max_queries, of a session"
        )
    if hasattr(queries, "__len__") and not len(queries):
        raise MilepostError("queries must be a list of points, got none")
    batch, single, _ = query_points(queries, space)
    if single:
        raise MilepostError("queries must be a list of points; put a single one in a list")
    return Queries(moved_inside(space, space.read_queries(batch)), space)


def best_size(
    space: Space, n: int, promise: Callable[[Hosts], tuple[float, Promised]], worth: float = 1.0
) -> tuple[Space, Promised]:
    """The space with as many host coordinates as give the smallest error (Remark 7.1), and what is promised there.

    promise: the error on some hosts, and what comes with it. worth: more coordinates are taken only for an error below
    this share of that with fewer.
    """
    best: tuple[float, Space, Promised] | None = None
    for variant in space.sized(n):
        error, promised = promise(variant.hosts)
        if best is None or error < worth * best[0]:
            best = error, variant, promised
        elif error - variant.hosts.bias > best[0]:  # more coordinates are closer to the metric, and have no less noise
            break
    if best is None:
        raise MilepostError(f"the space offers no host coordinates for {n} rows")
    return best[1:]


def on_hosts(mechanism: HostMechanism, space: Space, n: int, change: Change, guarantee: Guarantee) -> HostChoice:
    """The mechanism on as many host coordinates as suit it."""

    def promise(hosts: Hosts) -> tuple[float, Prediction]:
        groups = change.groups or 1
        if hosts.cells(groups) * hosts.dimension * groups > MOST_NUMBERS:
            raise MilepostError(
                f"{groups:,} groups and {hosts.dimension:,} coordinates of up to {hosts.cells(groups):,} steps do not "
                "fit memory; use fewer labels, or a larger step"
            )
        prediction = mechanism.predict(hosts, n, change, guarantee)
        return prediction.error, replace(prediction, coordinates=hosts.dimension)

    return HostChoice(mechanism, *best_size(space, n, promise, WORTH))


def check_oblivious(space: Space) -> None:
    """Refuse a session where the embedding depends on the queries."""
    if not space.oblivious:
        raise MilepostError(
            f"space {space.kind!r} has no sessions: its embedding is made for queries that are known beforehand "
            "(Remark 8.2 of the paper); name them in the space and use mp.release"
        )


def no_choice(refused: dict[str, str]) -> MilepostError:
    """That no mechanism is left, and why."""
    if len(refused) == 1:
        return MilepostError(*refused.values())
    return MilepostError(f"no mechanism fits: {'; '.join(refused.values())}")


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
