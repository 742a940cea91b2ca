"""Progress is shown on a terminal, to nobody else, and leaves it as it was."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress, TaskID

import milepost as mp
from milepost.ingest.aggregation import records
from milepost.ingest.batches import known_count, open_stream
from milepost.ingest.progress import (
    ReadingProgress,
    advance_share,
    bars,
    current_pass,
    listening,
    reading,
    showing,
)

LINE = mp.L1({"x": (0, 1)})
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"  # the cursor


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """What stderr may be redirected to."""
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def render(display: Progress, width: int = 120) -> str:
    """The lines of a display at this moment."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    with console.capture() as capture:
        console.print(display.get_renderable())
    return capture.get()


@pytest.fixture
def clock() -> list[float]:
    """The time of displays, which tests set."""
    return [0.0]


@pytest.fixture
def display(clock: list[float]) -> Iterator[Progress]:
    """A display that no terminal draws, with an activity, to which this thread reports."""
    result = bars()
    result.get_time = lambda: clock[0]
    ReadingProgress(result).start("Looking")
    with listening(result):
        yield result


def test_rows_rate_and_time_left_are_shown(display: Progress, clock: list[float]) -> None:
    with reading("reading", lambda: 4000) as pass_:
        pass_.advance(600)
        clock[0] = 2
        pass_.advance(400)
        line = render(display)
        for expected in ("Looking", "reading", "1,000 rows", "500 rows/s", "0:00:15"):  # 0.1 of it in two seconds
            assert expected in line
        assert all(len(text) <= 80 for text in render(display, 80).splitlines())
        assert "0:00:15" in render(display, 80)
        assert "1,000 rows" in render(display, 80)


def test_the_spinner_turns(display: Progress, clock: list[float]) -> None:
    """From one drawing to the next, while its words stay."""
    first = render(display)
    clock[0] = 0.1
    later = render(display)
    assert first[0] != later[0]
    assert "Looking" in first
    assert "Looking" in later


def test_a_share_tells_the_time_left_where_rows_are_unknown(display: Progress, clock: list[float]) -> None:
    advance_share(0.5)  # outside of a pass: not the activity's
    assert display.tasks[0].total is None
    with reading("counting") as pass_:
        assert "0:" not in render(display)
        pass_.advance(10)
        clock[0] = 30
        assert "0:" not in render(display)
        advance_share(0.25)
        pass_.advance(10)
        clock[0] = 60
        advance_share(0.5)
        assert "0:01:00" in render(display)
        assert current_pass(display) == ("counting", 20, 0.5)
        clock[0] = 70
        advance_share(1.5)  # a file that grew
        assert "0:00:00" in render(display)
        assert current_pass(display) == ("counting", 20, 1.0)
    assert current_pass(display) == current_pass(None) == ("", 0, None)


def test_the_terminal_gets_what_the_display_says() -> None:
    """The lines as drawn, wiped off in the end, with the cursor as it was."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120)
    with showing("Releasing [b]", console) as line, reading("reading") as pass_:
        pass_.advance(1234)
        line.update("Releasing [c]")
        assert line.display is not None
        line.display.refresh()
    output = stream.getvalue()
    for expected in ("Releasing [b]", "Releasing [c]", "reading", "1,234 rows", "rows/s"):
        assert expected in output
    assert output.index(HIDE_CURSOR) < output.index("1,234") < output.rindex(SHOW_CURSOR)
    assert output.endswith("\x1b[2K")  # the last line is erased


@pytest.mark.parametrize("with_widgets", [False, True])
def test_a_notebook_that_can_show_bars_does(monkeypatch: pytest.MonkeyPatch, with_widgets: bool) -> None:
    """Its stderr is no terminal; without ipywidgets rich would warn instead."""
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    module = sys.modules["milepost.ingest.progress"]
    monkeypatch.setattr(module, "find_spec", lambda _: object() if with_widgets else None)
    shown: list[str] = []

    @contextmanager
    def record(what: str, console: Console) -> Iterator[ReadingProgress]:
        assert console.is_jupyter
        shown.append(what)
        yield ReadingProgress()

    monkeypatch.setattr(module, "showing", record)
    with mp.progress("Reading"):
        pass
    assert shown == ["Reading"] * with_widgets


@pytest.mark.parametrize("forced", [False, True])
def test_nothing_at_all_is_written_where_stderr_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, forced: bool
) -> None:
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with mp.progress("Reading") as line:
        line.update("Releasing")
        mp.release(np.random.default_rng(0).random((3000, 1)), LINE, epsilon=1)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_is_left_as_it_was(terminal: Terminal) -> None:
    with redirect_stderr(terminal), mp.progress("Reading homes"):
        mp.release(np.random.default_rng(0).random((3000, 1)), LINE, epsilon=1)
    output = terminal.getvalue()
    assert "Reading homes" in output
    assert (output.count(HIDE_CURSOR), output.count(SHOW_CURSOR)) == (1, 1)
    assert output.index(HIDE_CURSOR) < output.index(SHOW_CURSOR)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, mp.MilepostError])
def test_what_is_raised_passes_and_the_terminal_stays_sane(terminal: Terminal, failure: type[BaseException]) -> None:
    for _ in range(2):  # the second one finds everything free
        terminal.seek(0)
        terminal.truncate()
        with redirect_stderr(terminal), pytest.raises(failure), mp.progress("Reading"), reading("reading"):
            raise failure
        output = terminal.getvalue()
        assert "Reading" in output
        assert (output.count(HIDE_CURSOR), output.count(SHOW_CURSOR)) == (1, 1)
    with reading("reading") as pass_:
        pass_.advance(1)
    assert terminal.getvalue() == output


def test_stdout_that_goes_to_a_file_still_does(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    with redirect_stderr(terminal), mp.progress("Reading"):
        print("an answer")
    assert capsys.readouterr().out == "an answer\n"
    assert "an answer" not in terminal.getvalue()


def test_one_within_another_uses_its_display(terminal: Terminal) -> None:
    with redirect_stderr(terminal), mp.progress("Outer"):
        with mp.progress("Inner"):
            pass
        with reading("reading"):
            pass
    assert "Inner" not in terminal.getvalue()
    assert terminal.getvalue().count(SHOW_CURSOR) == 1


def test_other_threads_read_in_silence(terminal: Terminal) -> None:
    """Their rows are not shown, and a display of their own waits for no terminal that is taken."""
    others: list[ReadingProgress] = []

    def work() -> None:
        with reading("elsewhere") as pass_:
            pass_.advance(7)
        with mp.progress("Another") as other, reading("elsewhere") as pass_:
            pass_.advance(7)
            others.extend([other, pass_])

    with redirect_stderr(terminal), mp.progress("Reading") as line, reading("reading"):
        thread = Thread(target=work)
        thread.start()
        thread.join()
        assert line.display is not None
        assert [task.description for task in line.display.tasks] == ["Reading", "reading"]
    assert [other.display for other in others] == [None, None]
    assert "Another" not in terminal.getvalue()


def test_every_pass_has_a_line_while_it_lasts(display: Progress, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((300_000, 1))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": rows[:, 0]}), path)
    batches = records(path, LINE, None, 1)
    first = len(next(batches))
    assert current_pass(display) == ("reading", 0, 0.0)
    second = len(next(batches))
    assert current_pass(display) == ("reading", first, first / 300_000)
    assert first + second + sum(map(len, batches)) == 300_000
    assert current_pass(display) == ("", 0, None)
    abandoned_batches = records(path, LINE, None, 1)
    next(abandoned_batches)
    del abandoned_batches
    assert [task.description for task in display.tasks] == ["Looking"]


def test_a_release_counts_chooses_and_reads(display: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as a pass of its own."""
    rows, pass_names, add_task = np.random.default_rng(0).random((3000, 1)), list[str](), display.add_task

    def record_task(what: str, **options: Any) -> TaskID:
        pass_names.append(what)
        return add_task(what, **options)

    monkeypatch.setattr(display, "add_task", record_task)
    mp.release(rows, LINE, epsilon=1)
    assert pass_names == ["counting", "reading"]
    pass_names.clear()
    mp.release(rows, LINE, epsilon=1, privacy_unit=list(range(1500)) * 2)
    assert pass_names == ["choosing rows", "reading"]


def test_rows_are_known_where_that_takes_no_pass(tmp_path: Path) -> None:
    table = pa.table({"x": [0.1, 0.2, 0.3]})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("x\n1\n")
    for data in (table, table.to_pandas(), np.zeros((3, 1)), tmp_path / "a.parquet", str(tmp_path / "a.parquet")):
        assert known_count(data) == 3
    assert known_count(tmp_path / "a.csv") is None
    assert known_count(open_stream(iter([table, table]))) is None
