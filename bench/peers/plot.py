"""Plot: docs/images/comparison.png, typical errors by the number of places and by the number of people."""

from typing import Any

from bench.accuracy import DELTA
from bench.peers import environment
from bench.peers.comparison import MIDDLE, SIZES
from bench.peers.registry import KS
from bench.peers.results import Results

PATH = environment.ROOT / "docs" / "images" / "comparison.png"
STYLES = {  # color and marker; the colors of Okabe and Ito are distinguishable for everybody
    "Milepost": ("#0072B2", "o"),
    "Milepost, places given": ("#56B4E9", "D"),
    "mbi, synthetic rows": ("#009E73", "s"),
    "OpenDP, tree": ("#E69F00", "^"),
    "OpenDP, per query": ("#D55E00", "v"),
    "diffprivlib, per query": ("#CC79A7", "x"),
    "the paper's mechanism": ("#666666", "P"),
}


def draw(results: Results) -> None:
    """Draw three panels, with logarithmic axes and standard errors."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 4.4), layout="constrained")
        by_k, pure, by_n = figure.subplots(1, 3, sharey=True)
        for axes, delta in ((by_k, DELTA), (pure, 0.0)):
            _lines(axes, results, {"delta": delta, "n": MIDDLE}, "k", KS)
            _scale(axes, results, [MIDDLE, MIDDLE], [KS[0], KS[-1]])
            axes.set_xlabel("places asked about, k")
        _lines(by_n, results, {"delta": DELTA, "k": KS[-1]}, "n", SIZES)
        _scale(by_n, results, list(SIZES), list(SIZES))
        by_n.set_xlabel("people, n")
        by_k.set_title(f"ε = 1, δ = 10⁻⁶, {MIDDLE:,} people", fontsize=9)
        pure.set_title(f"pure ε = 1, {MIDDLE:,} people", fontsize=9)
        by_n.set_title(f"ε = 1, δ = 10⁻⁶, {KS[-1]:,} places", fontsize=9)
        by_k.set_ylabel("typical error of an answer, metres")
        handles, labels = by_k.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(PATH, dpi=130, metadata={"Software": None})


def _lines(axes: Any, results: Results, about: dict[str, float], along: str, values: tuple[int, ...]) -> None:
    for peer, (colour, marker) in STYLES.items():
        wanted = {**about, "metric": "l1", "width": 2, "neighbors": "replace", "peer": peer}
        found = [record for value in values for record in results.find("errors", **wanted, **{along: value})]
        if found:
            axes.errorbar(
                [record[along] for record in found],
                [1000 * record["typical"] for record in found],
                yerr=[1000 * record["typical_deviation"] for record in found],
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=1.4,
                capsize=2,
                label=peer,
            )
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.25)


def _scale(axes: Any, results: Results, sizes: list[int], at: list[int]) -> None:
    found = [results.one("sampling", metric="l1", width=2, n=n) for n in sizes]
    heights = [1000 * record["typical"] for record in found if record]
    if len(heights) == len(at):
        axes.plot(at, heights, color="black", linestyle=":", linewidth=1.2, label="sampling error, no privacy")
