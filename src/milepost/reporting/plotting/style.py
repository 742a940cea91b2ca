"""Colors, axes, labels and files that all pictures share. Needs the `plots` extra (matplotlib)."""

from pathlib import Path
from typing import TYPE_CHECKING

from milepost.errors import MilepostError
from milepost.storage.atomic_file import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, LINES, ANSWER, OTHER = "#333333", "#d99a3d", "#2f6fb0", "#c0392b"
SUFFIXES = (".png", ".svg", ".pdf")


def check_plot_path(path: Path) -> None:
    """Make the folder of a picture, and refuse one that cannot be drawn or saved, before the work begins."""
    if path.suffix.lower() not in SUFFIXES:
        raise MilepostError(f"{path}: a picture's name must end in {', '.join(SUFFIXES)}")
    figure_class()
    path.parent.mkdir(parents=True, exist_ok=True)


def save(figure: "Figure", path: Path) -> None:
    """Write the picture at README width; the file appears complete or not at all."""
    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:].lower(), dpi=160, facecolor="white")


def clean_axes(axes: "Axes") -> None:
    """Make axes light, so that the data stand out."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#999999")
    axes.tick_params(colors=INK, labelsize=10)
    axes.grid(color="#eeeeee", lw=0.8)
    axes.set_axisbelow(True)


def plain_label(text: str, max_length: int = 28) -> str:
    """Return untrusted text as a short label on one line, with dollar signs escaped so that none starts a formula."""
    line = " ".join(text.split())
    return (line if len(line) <= max_length else line[: max_length - 1] + "…").replace("$", r"\$")


def figure_class() -> type["Figure"]:
    """Return matplotlib's Figure, which opens no window; refuse if the extra is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MilepostError("pictures need matplotlib: pip install 'milepost[plots]'") from None
    return Figure
