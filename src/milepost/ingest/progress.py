"""Progress: how far tables are read, told to whoever listens; on a terminal, rows, rows a second and time left."""

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
    """One pass over a table."""

    what: str
    begun: float
    total: int | None = None  # rows, where they are known beforehand
    rows: int = 0
    done: float | None = None  # the share of the pass that is over, where it is known

    def advance(self, rows: int) -> None:
        """So many more rows are through."""
        self.rows += rows
        if self.total:
            self.done = min(self.rows / self.total, 1.0)


@dataclass(eq=False)
class Display:
    """What a terminal shows: a line that says what is being done, and one for each pass under way."""

    what: str = ""
    passes: list[ReadingProgress] = field(default_factory=list)

    def update(self, what: str) -> None:
        """Something else is being done."""
        self.what = what

    def lines(self) -> "RenderableType":
        """As they are at this moment."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(max_width=BAR)
        for _ in ("rows", "rows a second", "time left"):
            table.add_column(justify="right", no_wrap=True)
        for one in list(self.passes):  # another thread may end one meanwhile
            table.add_row(*_cells(one))
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
    """Show a display there, and wipe it off in the end."""
    from rich.live import Live

    # what is printed meanwhile goes above it, unless it goes elsewhere
    live = Live(console=console, transient=True, get_renderable=display.lines, redirect_stdout=sys.stdout.isatty())
    with listening(display), live:
        yield live


@contextmanager
def listening(display: Display) -> Iterator[None]:
    """Tell a display how far the same thread reads tables, whoever looks at it."""
    token = _LISTENER.set(display)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def reading(what: str, count: Callable[[], int | None] = lambda: None) -> Iterator[ReadingProgress]:
    """One pass over a table, which its reader advances.

    count: how many rows it has, where that is known without reading them; called where somebody listens.
    """
    display = _LISTENER.get()
    if display is None:
        yield ReadingProgress(what, monotonic())
        return
    one = ReadingProgress(what, monotonic(), count())
    display.passes.append(one)
    try:
        yield one
    finally:
        display.passes.remove(one)


def advance_share(share: float) -> None:
    """So much of the innermost pass is over, where its rows are not known beforehand."""
    display = _LISTENER.get()
    if display is not None and display.passes:
        display.passes[-1].done = min(share, 1.0)


def _cells(one: ReadingProgress) -> "list[RenderableType]":
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    seconds = monotonic() - one.begun
    bar = ProgressBar(total=1.0, completed=one.done or 0.0, pulse=one.done is None)
    rate = f"{one.rows / seconds:,.0f} rows/s" if one.rows and seconds else ""
    left = f"{timedelta(seconds=round(seconds / one.done - seconds))} left" if one.done else ""
    return [Text(one.what), bar, f"{one.rows:,} rows", rate, left]
