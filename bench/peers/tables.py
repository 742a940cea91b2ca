"""Tables: Markdown from results."""

from collections.abc import Iterable, Sequence

from bench.accuracy import DELTA
from bench.peers.comparison import MIDDLE, NAMES, SIZES, SPACES
from bench.peers.registry import KS
from bench.peers.results import Record, Results

POWERS = {1: "1", 100: "100", 1_000: "10³", 10_000: "10⁴", 100_000: "10⁵"}
TITLES = {
    ("l1", 2): "`L1` in the plane",
    ("l1", 8): "`L1` with 8 columns",
    ("l2", 2): "`L2` in the plane",
    ("great-circle", 2): "`GreatCircle`",
}
GUARANTEES = {DELTA: "ε = 1, δ = 10⁻⁶", 0.0: "pure ε = 1"}
PURE_WORDS = {DELTA: "", 0.0: ", pure ε"}
OURS = "Milepost"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float) -> str:
    """Format with three digits; large numbers without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def one_digit(value: float) -> str:
    """Format with one digit, without an exponent."""
    return f"{float(f'{value:.1g}'):g}" if value > 1e-9 else "0"


def two_digits(value: float) -> str:
    """Format with two digits, without an exponent."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def ratio(record: Record | None) -> str:
    """Format a typical error ÷ single, with its standard error."""
    if record is None:
        return "–"
    return (
        f"{number(record['typical'] / record['single'])} ± {one_digit(record['typical_deviation'] / record['single'])}"
    )


def meters(kilometers: float | None) -> str:
    """Format a distance in meters."""
    return "–" if kilometers is None else number(1000 * kilometers)


def typical(results: Results, metric: str, width: int, delta: float) -> str:
    """Return the table of typical errors ÷ single for every peer, k and n."""
    about = {"metric": metric, "width": width, "delta": delta, "neighbors": "replace"}
    columns = [(k, n) for k in KS for n in SIZES]
    rows = []
    for peer in results.peers("errors", **about):
        found = [results.one("errors", **about, peer=peer, k=k, n=n) for k, n in columns]
        rows.append([peer, *map(ratio, found)])
    scales = []
    for k, n in columns:
        sampling = results.one("sampling", metric=metric, width=width, n=n)
        known = results.one("errors", **about, peer=OURS, k=k, n=n)
        scales.append(number(sampling["typical"] / known["single"]) if sampling and known else "–")
    header = [f"{TITLES[metric, width]}, {GUARANTEES[delta]}", *(f"k {POWERS[k]}, n {POWERS[n]}" for k, n in columns)]
    return markdown(header, [*rows, ["*sampling error*", *scales]])


def detailed(results: Results, delta: float, neighbors: str) -> str:
    """Return the table for 10,000 people in the plane: typical and largest errors in meters, and releases."""
    about = {"metric": "l1", "width": 2, "n": MIDDLE, "delta": delta, "neighbors": neighbors}
    rows = []
    for peer in results.peers("errors", **about):
        cells = []
        for k in KS:
            record = results.one("errors", **about, peer=peer, k=k)
            if record is None:
                cells += ["–"] * (2 if k == 1 else 3)
                continue
            cells.append(f"{meters(record['typical'])} ± {one_digit(1000 * record['typical_deviation'])}")
            if k > 1:
                cells.append(f"{meters(record['largest'])} ± {one_digit(1000 * record['largest_deviation'])}")
            cells.append(meters(record["largest_95"]))
        found = (results.one("errors", **about, peer=peer, k=k) for k in KS)
        cells.append(", ".join(dict.fromkeys(str(record["releases"]) for record in found if record)))
        rows.append([peer, *cells])
    header = [f"metres, {GUARANTEES[delta]}", "k 1: typical", "95 %"]
    for k in KS[1:]:
        header += [f"k {POWERS[k]}: typical", "largest", "95 %"]
    return markdown([*header, "releases"], rows)


def times(results: Results) -> str:
    """Return the table for 100,000 people and 10,000 answers: seconds, and ÷ NumPy."""
    header = ["seconds"]
    for space in SPACES:
        header += [f"{TITLES[space]}: release", "10⁴ answers", "÷ NumPy"]
    rows: dict[str, dict[tuple[str, int], list[str]]] = {
        name + words: {}
        for name in results.peers("time")
        for delta, words in PURE_WORDS.items()
        if results.find("time", peer=name, delta=delta)
    }
    for metric, width in SPACES:
        known = results.one("exact", metric=metric, width=width, peer=NAMES[0])
        base = known["seconds"] if known else float("nan")
        for record in results.find("time", metric=metric, width=width):
            answering = two_digits(record["answering"]) if record["answering"] else "with it"
            together = two_digits((record["again"] + record["answering"]) / base)
            rows[record["peer"] + PURE_WORDS[record["delta"]]][metric, width] = [
                two_digits(record["again"]),
                answering,
                together,
            ]
        for record in results.find("exact", metric=metric, width=width):
            cells = ["–", two_digits(record["seconds"]), two_digits(record["seconds"] / base)]
            rows.setdefault(f"no privacy: {record['peer']}", {})[metric, width] = cells
    empty = ["–"] * 3
    return markdown(
        header, [[name, *(cell for space in SPACES for cell in row.get(space, empty))] for name, row in rows.items()]
    )


def headline(results: Results) -> str:
    """Return the README's table: typical errors in meters among 10,000 people in a city of 10 km, and times."""
    about = {"metric": "l1", "width": 2, "n": MIDDLE, "neighbors": "replace"}
    rows = []
    for peer in results.peers("errors", **about, delta=DELTA):
        found = [results.one("errors", **about, peer=peer, delta=DELTA, k=k) for k in KS]
        pure = results.one("errors", **about, peer=peer, delta=0.0, k=KS[-1])
        time = results.one("time", peer=peer, metric="l1", width=2, delta=DELTA)
        seconds = f"{two_digits(time['again'] + time['answering'])} s" if time else "–"
        rows.append([peer, *(meters(r["typical"] if r else None) for r in [*found, pure]), seconds])
    sampling = results.one("sampling", metric="l1", width=2, n=MIDDLE)
    scale = meters(sampling["typical"] if sampling else None)
    exact = results.one("exact", peer=NAMES[0], metric="l1", width=2)
    rows.append(
        ["*no privacy: sampling error, NumPy*", *[scale] * 4, f"{two_digits(exact['seconds'])} s" if exact else "–"]
    )
    return markdown(
        ["typical error in metres", "1 place", "100 places", "10,000 places", "10,000, pure ε", "time, 100,000 people"],
        rows,
    )


def missing(results: Results) -> str:
    """Return who is not in the tables, and why."""
    return "\n".join(f"- {name}: {why}." for name, why in results.content["missing"].items())


def versions(results: Results) -> str:
    """Return the versions of the compared packages."""
    found = ", ".join(f"{name} {version}" for name, version in results.content["versions"].items())
    return f"Measured in {results.content['runs']}, with {found} ({results.content['machine']})."
