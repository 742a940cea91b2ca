"""Progress of passes over tables, for listeners and as a display on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.spinner import Spinner

BAR = 40  # columns at most


@dataclass(eq=False)
class ReadingProgress:
    """Progress of one pass over a table."""

    what: str
    start_time: float
    total: int | None = None  # rows, where they are known beforehand
    rows: int = 0
    completed_share: float | None = None  # the completed share of the pass, where it is known

    def advance(self, rows: int) -> None:
        """Add rows that were read."""
        self.rows += rows
        if self.total:
            self.completed_share = min(self.rows / self.total, 1.0)


@dataclass(eq=False)
class Display:
    """Content of a terminal's display: a line with the current activity, and a line for each running pass."""

    what: str = ""
    passes: list[ReadingProgress] = field(default_factory=list)

    def update(self, what: str) -> None:
        """Set the current activity."""
        self.what = what

    def lines(self) -> "RenderableType":
        """Return the lines as they are now."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(max_width=BAR)
        for _ in ("rows", "rows a second", "time left"):
            table.add_column(justify="right", no_wrap=True)
        for running in list(self.passes):  # another thread may end a pass meanwhile
            table.add_row(*_cells(running))
        self._spinner.update(text=Text(self.what))
        return Group(self._spinner, table) if self.what else table

    @cached_property
    def _spinner(self) -> "Spinner":
        from rich.spinner import Spinner

        return Spinner("dots")  # turns from when it is drawn first


_LISTENER: ContextVar[Display | None] = ContextVar("listener", default=None)
_TERMINAL = Lock()  # has room for one display


@contextmanager
def progress(what: str = "") -> Iterator[Display]:
    """Show on stderr how far tables are read while it lasts; silent where stderr is no terminal, as in logs.

    what: is being done, in words. Only what the same thread reads is shown, and nothing of it is kept.

    >>> import milepost as mp
    >>> with mp.progress():
    ...     synopsis = mp.release([[1.0], [2.0]] * 50_000, mp.L1([(0, 4)]), epsilon=1)
    """
    display = Display(what)
    # rich would also believe FORCE_COLOR, which build servers set for their logs
    if _LISTENER.get() is not None or not sys.stderr.isatty() or not _TERMINAL.acquire(blocking=False):
        yield display
        return
    try:
        from rich.console import Console

        with showing(display, Console(stderr=True)):
            yield display
    finally:
        _TERMINAL.release()


@contextmanager
def showing(display: Display, console: "Console") -> Iterator["Live"]:
    """Show a display on a console, and remove it at the end."""
    from rich.live import Live

    # what is printed meanwhile goes above it, unless it goes elsewhere
    live = Live(console=console, transient=True, get_renderable=display.lines, redirect_stdout=sys.stdout.isatty())
    with listening(display), live:
        yield live


@contextmanager
def listening(display: Display) -> Iterator[None]:
    """Report the passes of this thread to a display."""
    token = _LISTENER.set(display)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def reading(what: str, count: Callable[[], int | None] = lambda: None) -> Iterator[ReadingProgress]:
    """Yield the progress of a new pass over a table, which the reader advances.

    count: returns the number of rows if it is known without reading them; called only if there is a listener.
    """
    display = _LISTENER.get()
    if display is None:
        yield ReadingProgress(what, monotonic())
        return
    current = ReadingProgress(what, monotonic(), count())
    display.passes.append(current)
    try:
        yield current
    finally:
        display.passes.remove(current)


def advance_share(share: float) -> None:
    """Set the completed share of the innermost pass, whose number of rows is not known beforehand."""
    display = _LISTENER.get()
    if display is not None and display.passes:
        display.passes[-1].completed_share = min(share, 1.0)


def _cells(progress: ReadingProgress) -> "list[RenderableType]":
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    seconds = monotonic() - progress.start_time
    bar = ProgressBar(total=1.0, completed=progress.completed_share or 0.0, pulse=progress.completed_share is None)
    rate = f"{progress.rows / seconds:,.0f} rows/s" if progress.rows and seconds else ""
    left = (
        f"{timedelta(seconds=round(seconds / progress.completed_share - seconds))} left"
        if progress.completed_share
        else ""
    )
    return [Text(progress.what), bar, f"{progress.rows:,} rows", rate, left]
