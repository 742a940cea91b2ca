"""Registry: the peers, their abilities, and how many releases are measured."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.accuracy import DELTA

KS = (1, 100, 10_000)
Releases = Callable[[int, int], int]  # the values of k and n


def _by_places(one: int, hundred: int, all_places: int) -> Releases:
    return lambda k, _n: {1: one, 100: hundred}.get(k, all_places)


def _by_size(thousand: int, ten: int, hundred: int) -> Releases:
    return lambda _k, n: thousand if n <= 1_000 else ten if n <= 10_000 else hundred


@dataclass(frozen=True)
class Peer:
    """A peer. module: its file here. single_pass: one release answers every place. releases: how many are measured."""

    name: str
    module: str
    package: str  # the packages that must be installed
    single_pass: bool
    releases: Releases
    own: bool = False  # runs in Milepost's environment
    metrics: tuple[str, ...] = ("l1", "l2", "great-circle")
    approximate: bool = True  # supports δ > 0
    neighbors: tuple[str, ...] = ("replace", "add-remove")
    ks: tuple[int, ...] = KS
    sizes: tuple[int, ...] = ()  # all
    planar_times: tuple[float, ...] = (DELTA,)  # values of δ at which ℓ₂ and the great circle are timed
    quick: bool = False  # takes part in --check, in the development environment


PEERS = (
    Peer(
        "Milepost",
        "milepost_release",
        "milepost",
        True,
        _by_size(60, 40, 16),
        own=True,
        planar_times=(DELTA, 0.0),  # pure ε takes another mechanism
        quick=True,
    ),
    Peer(
        "Milepost, places given",
        "milepost_given",
        "milepost",
        False,
        _by_places(60, 24, 0),
        own=True,
        metrics=("l1", "l2"),
        ks=(1, 100),
        sizes=(10_000,),
    ),
    Peer("mbi, synthetic rows", "mbi_rows", "mbi", True, _by_size(60, 60, 40), planar_times=(DELTA, 0.0)),
    Peer("OpenDP, tree", "opendp_tree", "opendp", True, _by_size(30, 30, 30), metrics=("l1",), quick=True),
    Peer("OpenDP, per query", "opendp_queries", "opendp", False, _by_places(300, 30, 3), quick=True),
    Peer(
        "diffprivlib, per query",
        "diffprivlib_means",
        "diffprivlib",
        False,
        _by_places(300, 30, 3),
        neighbors=("replace",),
    ),
    Peer(
        "PyDP, per query",
        "pydp_means",
        "python-dp",
        False,
        _by_places(100, 6, 0),
        approximate=False,
        neighbors=("add-remove",),
        ks=(1, 100),
    ),
    Peer("the paper's mechanism", "paper", "milepost", True, _by_size(6, 6, 6), own=True, neighbors=("replace",)),
)
NOT_RUN = {
    "Tumult Analytics": "needs Apache Spark 3 (pyspark below 3.6) with Java, and pandas below 2 on Python 3.11: a "
    "Spark of its own is more than this bench sets up",
    "SmartNoise SQL": "answers SQL over the columns that a table has: each place would need a column of distances "
    "first",
}
