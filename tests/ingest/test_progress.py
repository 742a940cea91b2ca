"""Progress is shown on a terminal, to nobody else, and leaves it as it was."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import milepost as mp
from milepost.ingest.aggregation import records
from milepost.ingest.batches import known_count, open_stream
from milepost.ingest.progress import Display, advance_share, reading, showing

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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the time, from 0."""
    now = [0.0]
    monkeypatch.setattr(sys.modules["milepost.ingest.progress"], "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


def render(display: Display, width: int = 120, at: float = 0.0) -> str:
    """The lines of a display at this moment, and at this one by rich's own clock."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width, get_time=lambda: at)
    with console.capture() as capture:
        console.print(display.lines())
    return capture.get()


@contextmanager
def listening() -> Iterator[Display]:
    """A display that no terminal draws."""
    display = Display("Looking")
    with showing(display, Console(file=io.StringIO(), force_terminal=True, width=120)):
        yield display


def test_rows_rate_and_time_left_are_shown(clock: Callable[[float], None]) -> None:
    with listening() as display, reading("reading", lambda: 4000) as pass_:
        pass_.advance(600)
        pass_.advance(400)
        clock(2)
        line = render(display)
        for expected in ("Looking", "reading", "1,000 rows", "500 rows/s", "0:00:06 left"):
            assert expected in line
        assert all(len(text) <= 80 for text in render(display, 80).splitlines())
        assert "0:00:06 left" in render(display, 80)


def test_the_spinner_turns() -> None:
    """From one drawing to the next, while its words stay."""
    display = Display("Choosing")
    first, later = render(display), render(display, at=0.1)
    assert first[0] != later[0]
    assert first[1:] == later[1:]


def test_a_share_tells_the_time_left_where_rows_are_unknown(clock: Callable[[float], None]) -> None:
    with listening() as display, reading("counting") as pass_:
        assert "left" not in render(display)
        pass_.advance(10)
        clock(30)
        assert "left" not in render(display)
        advance_share(0.25)
        pass_.advance(10)
        assert "0:01:30 left" in render(display)
        advance_share(1.5)  # a file that grew
        assert "0:00:00 left" in render(display)


def test_the_terminal_gets_what_the_display_says() -> None:
    """The lines as drawn, wiped off in the end, with the cursor as it was."""
    stream, display = io.StringIO(), Display("Releasing [b]")
    with showing(display, Console(file=stream, force_terminal=True, width=120)) as live, reading("reading") as pass_:
        pass_.advance(1234)
        live.refresh()
    output = stream.getvalue()
    for expected in ("Releasing [b]", "reading", "1,234 rows", "rows/s"):
        assert expected in output
    assert output.index(HIDE_CURSOR) < output.index("1,234") < output.rindex(SHOW_CURSOR)
    assert output.endswith("\x1b[2K")  # the last line is erased


@pytest.mark.parametrize("forced", [False, True])
def test_nothing_at_all_is_written_where_stderr_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, forced: bool
) -> None:
    if forced:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with mp.progress("Reading") as display:
        display.update("Releasing")
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
    displays: list[Display] = []

    def work() -> None:
        with reading("elsewhere") as pass_:
            pass_.advance(7)
        with mp.progress("Another") as other, reading("elsewhere") as pass_:
            pass_.advance(7)
            displays.append(other)

    with redirect_stderr(terminal), mp.progress("Reading") as display, reading("reading") as pass_:
        thread = Thread(target=work)
        thread.start()
        thread.join()
        assert display.passes == [pass_]
    assert [other.passes for other in displays] == [[]]
    assert "Another" not in terminal.getvalue()


def test_every_pass_has_a_line_while_it_lasts(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).random((300_000, 1))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": rows[:, 0]}), path)
    with listening() as display:
        batches = records(path, LINE, None, 1)
        first = len(next(batches))
        (pass_,) = display.passes
        assert (pass_.what, pass_.total, pass_.rows) == ("reading", 300_000, 0)
        second = len(next(batches))
        assert (pass_.rows, pass_.completed_share) == (first, first / 300_000)
        assert first + second + sum(map(len, batches)) == pass_.rows == 300_000
        assert display.passes == []
        abandoned_batches = records(path, LINE, None, 1)
        next(abandoned_batches)
        del abandoned_batches
        assert display.passes == []


def test_a_release_counts_chooses_and_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as a pass of its own."""
    rows, pass_names = np.random.default_rng(0).random((3000, 1)), list[str]()

    class RecordingList(list[object]):
        def append(self, pass_: object) -> None:
            pass_names.append(getattr(pass_, "what", ""))
            super().append(pass_)

    with listening() as display:
        monkeypatch.setattr(display, "passes", RecordingList())
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
