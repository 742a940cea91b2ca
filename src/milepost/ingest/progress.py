"""Progress of passes over tables, for listeners and as bars on a terminal or in a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, Task, TaskID

BAR = 40  # columns of a terminal at most
ESTIMATE_SECONDS = 600.0  # how far back the time left is estimated from

_LISTENER: ContextVar["Progress | None"] = ContextVar("listener", default=None)
_TERMINAL = Lock()  # has room for one display


@dataclass(eq=False)
class ReadingProgress:
    """A line of a display: an activity, or a pass over a table. Without a display it counts the rows only.

    total: rows of the table, where they are known before it is read.
    """

    display: "Progress | None" = None
    total: int | None = None
    rows: int = field(default=0, init=False)
    _task: "TaskID | None" = field(default=None, init=False)
    _start_time: float = field(default=0.0, init=False)

    def start(self, what: str, rows: int | None = None) -> None:
        """Add the line to the display. rows: None for an activity, 0 for a pass."""
        if self.display is not None:
            self._start_time = self.display.get_time()
            total = 1.0 if self.total else None
            self._task = self.display.add_task(what, total=total, rows=rows, row_text="", rate="")

    def update(self, what: str) -> None:
        """Set the text of the line."""
        if self.display is not None and self._task is not None:
            self.display.update(self._task, description=what)

    def advance(self, rows: int) -> None:
        """Add rows that were read."""
        self.rows += rows
        if self.display is None or self._task is None:
            return
        seconds = self.display.get_time() - self._start_time
        rate = f"{self.rows / seconds:,.0f} rows/s" if seconds > 0 else ""
        share = min(self.rows / self.total, 1.0) if self.total else None
        self.display.update(self._task, completed=share, rows=self.rows, row_text=f"{self.rows:,} rows", rate=rate)

    def end(self) -> None:
        """Remove the line from the display."""
        if self.display is not None and self._task is not None:
            self.display.remove_task(self._task)


@contextmanager
def progress(what: str = "") -> Iterator[ReadingProgress]:
    """Show how far tables are read, on a terminal or in a notebook; write nothing elsewhere, as in logs.

    The display is on stderr, and is removed at the end. It shows what the same thread reads.

    Parameters
    ----------
    what : str
        What is being done, in words. The method `update` of the object that the `with` statement gives replaces it.

    Examples
    --------
    >>> import milepost as mp
    >>> with mp.progress():
    ...     synopsis = mp.release([[1.0], [2.0]] * 50_000, mp.L1([(0, 4)]), epsilon=1)
    """
    if _LISTENER.get() is not None or not _has_display() or not _TERMINAL.acquire(blocking=False):
        yield ReadingProgress()
        return
    try:
        from rich.console import Console

        with showing(what, Console(stderr=True)) as line:
            yield line
    finally:
        _TERMINAL.release()


@contextmanager
def showing(what: str, console: "Console") -> Iterator[ReadingProgress]:
    """Show an activity and its passes on a console, and remove them at the end."""
    display = bars(console)
    line = ReadingProgress(display)
    with listening(display), display:
        if what:
            line.start(what)
        yield line


def bars(console: "Console | None" = None) -> "Progress":
    """Return a display with a line for each activity and pass; None: a display that nobody sees."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(None, table_column=Column(max_width=BAR)),
        TextColumn("{task.fields[row_text]}", justify="right"),
        TextColumn("{task.fields[rate]}", justify="right"),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # what is printed goes above the bars, unless it goes elsewhere
        speed_estimate_period=ESTIMATE_SECONDS,
        disable=console is None,
    )


@contextmanager
def listening(display: "Progress | None") -> Iterator[None]:
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
    line = ReadingProgress(display, None if display is None else count())
    line.start(what, rows=0)
    try:
        yield line
    finally:
        line.end()


def advance_share(share: float) -> None:
    """Set the completed share of the innermost pass, whose number of rows is not known before it ends."""
    display = _LISTENER.get()
    passes = _passes(display)
    if display is not None and passes:
        display.update(passes[-1].id, total=1.0, completed=min(share, 1.0))


def current_pass(display: "Progress | None") -> tuple[str, int, float | None]:
    """Return what the innermost pass of a display does, its rows, and its completed share where that is known."""
    passes = _passes(display)
    if not passes:
        return "", 0, None
    return passes[-1].description, passes[-1].fields["rows"], None if passes[-1].total is None else passes[-1].completed


def _passes(display: "Progress | None") -> "list[Task]":
    return [] if display is None else [task for task in display.tasks if task.fields["rows"] is not None]


def _has_display() -> bool:
    """Return whether stderr is a terminal, or this is a notebook that can show bars.

    FORCE_COLOR, which build servers set for their logs, does not make a terminal.
    """
    if sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules or find_spec("ipywidgets") is None:
        return False
    from rich.console import Console

    return Console(stderr=True).is_jupyter
