"""Find the department that should answer a letter, without revealing what earlier letters contained.

The texts are real: docstrings of installed packages. Some packages act as published help pages, others as private
letters to six departments. As all texts are in fact public, the exact answers can be shown. Run it with
`python -m examples.texts --output texts.png`; docs/examples.md explains it.
"""

import argparse
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

import milepost as mp

FloatArray = NDArray[np.float64]

PUBLIC = {  # help pages: parts of packages
    "geopandas": [""],
    "numpy": ["fft", "linalg", "random"],
    "pandas": ["core/frame.py", "core/reshape", "core/series.py", "plotting"],
    "scipy": ["cluster", "fft", "ndimage", "sparse", "spatial"],
    "sklearn": ["cluster", "inspection", "metrics", "neighbors"],
}
PRIVATE = {  # letters to each department
    "statistics": {"scipy": ["stats"]},
    "networks": {"networkx": [""]},
    "sound": {"scipy": ["signal"]},
    "charts": {"matplotlib": [""]},
    "tables": {"polars": [""]},
    "maps": {"pyproj": [""], "shapely": [""]},
}
NEW = [  # this morning's letters
    "Is the difference between the means of these two samples of patients significant, or chance?",
    "Which people are connected to each other by the shortest path of acquaintances in the network?",
    "I recorded a noisy sound and want to filter out the low frequency below 50 hertz.",
    "The tick labels of my figure overlap, and the legend hides a line of the plot.",
    "How do I join two data frames by a column of dates and fill the missing values?",
    "I have the polygons of two parcels of land and want the area of their intersection.",
]
EPSILON, DELTA = 1.0, 1e-6
COLORS = ["#2f6fb0", "#d99a3d", "#4c9f70", "#c0392b", "#8e6bb0", "#555555"]


def texts(packages: dict[str, list[str]]) -> list[str]:
    """Return the docstrings of parts of packages, without their examples, that have a sentence or more."""
    found: dict[str, None] = {}
    for package, parts in packages.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{package} is not installed: pip install -e '.[dev]'")
        for part in parts:
            place = Path(spec.origin).parent / part
            files = [place] if place.is_file() else sorted(place.rglob("*.py"))
            sources = [file.read_text("utf-8") for file in files if "tests" not in file.parts]
            for text in re.findall(r'"""(.*?)"""', "\n".join(sources), re.DOTALL):
                paragraphs = [lines for lines in re.split(r"\n\s*\n", text) if ">>>" not in lines]
                found[" ".join(" ".join(paragraphs).split())] = None
    return [text for text in found if len(text) > 200]


def make_embedding(pages: list[str], dim: int = 40) -> Pipeline:
    """Fit TF-IDF and SVD on PUBLIC text alone.

    Word weights and directions that depend on private letters would reveal them, and no noise would hide that.
    """
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=4, max_df=0.2)
    return make_pipeline(words, TruncatedSVD(dim, n_iter=3, random_state=0)).fit(pages)


def table(compared: mp.Comparison, truth: FloatArray) -> str:
    """Return the two nearest departments of each letter in degrees, private and exact, and how certain they are."""
    first, then = (f"{name:<11} {'private':>10} exact" for name in ("department", "then"))
    lines = [f"{'letter':<36} {first}   {then}   noise could change it"]
    for row, letter in enumerate(NEW):
        cells = []
        for k in np.argsort(compared.mean_distance[row])[:2].tolist():
            private = f"{np.degrees(compared.mean_distance[row, k]):.1f} ± {np.degrees(compared.error[row, k]):.1f}"
            cells.append(f"{compared.labels[k]:<11} {private:>10}  {np.degrees(truth[row, k]):.1f}")
        flip = compared.flip_probability[row]
        lines.append(f"{letter[:35]}… {cells[0]}   {cells[1]}   {'< 0.1 %' if flip < 0.001 else f'{100 * flip:.1f} %'}")
    return "\n".join(lines)


def draw(compared: mp.Comparison, truth: FloatArray, output: Path) -> None:
    """Draw every letter against every department, with errors, in front of the exact answers."""
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(NEW))
    for k, (label, color) in enumerate(zip(compared.labels, COLORS, strict=True)):
        at, error = np.degrees(compared.mean_distance[:, k]), np.degrees(compared.error[:, k])
        axes.errorbar(at, rows + 0.09 * k, xerr=error, fmt="o", ms=5, color=color, capsize=2, label=label)
        axes.plot(np.degrees(truth[:, k]), rows + 0.09 * k, "|", ms=9, color="black")
    for row, letter in enumerate(NEW):
        axes.annotate(f"“{letter}”", (0.01, row - 0.2), xycoords=("axes fraction", "data"), fontsize=9, style="italic")
    axes.set_yticks([])
    axes.set_ylim(len(NEW) - 0.3, -0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#eeeeee")
    axes.set_xlabel("mean angle to the letters of each department, in degrees (| exact)")
    axes.set_title(f"Who should answer? Private, ε = {EPSILON:g}, δ = {DELTA:g}, 95 % errors", loc="left", fontsize=11)
    figure.legend(loc="outside lower center", ncols=len(COLORS), frameon=False)
    figure.savefig(output, dpi=110)


def main(output: Path | None = None) -> None:
    """Find the department for each of this morning's letters."""
    embedding = make_embedding(texts(PUBLIC))
    letters = {department: embedding.transform(texts(places)) for department, places in PRIVATE.items()}
    departments = [department for department, own in letters.items() for _ in own]
    new = embedding.transform(NEW)
    space = mp.Angular(new.shape[1])
    synopsis = mp.release(
        np.vstack(list(letters.values())),
        space,
        epsilon=EPSILON,
        delta=DELTA,
        queries=new,  # no other queries will be asked, so the only error is the noise
        groups=departments,
        labels=list(PRIVATE),
    )
    print(f"{synopsis}, protects {synopsis.change}\n")
    compared = synopsis.compare(new)
    truth = np.column_stack(
        [mp.exact_mean_distance(own, space, new) for own in letters.values()]
    )  # possible because these letters are public
    print(table(compared, truth))
    if output:
        draw(compared, truth, output)
        print(f"\nThe picture is at {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the picture goes, such as texts.png")
    main(parser.parse_args().output)
