"""Blocks of a page: what is in its fences, run from top to bottom, and what is printed compared with what is shown.

`python tests/blocks.py docs/tutorial.md README.md` does it in the environment that it is started in, with nothing but
milepost, NumPy and the standard library, each page in a temporary folder; it exits with 1 where a page is wrong. With
`--write` it puts what was printed into `text` and `console` blocks instead.

- `python`: run; what it prints is compared with the `text` block that follows, if one does.
- `pycon`: as doctest has it.
- `console`: lines that begin with `$ ` are run; what is shown below them is compared, and where nothing is shown,
  nothing is.
- Words must be equal, and so must numbers, unless a comment `<!-- noise: 0.4, 25 % -->` goes before: numbers of which
  one has a decimal point, in that page until the next such comment, may then differ by 0.4, and by 25 % of the larger
  one. `<!-- noise: 0.4, 25 %, whole 300 -->` lets whole ones differ by 300. `<!-- noise: none -->` ends it. Versions
  and times are not compared, nor how wide a column is.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import milepost as mp

PART = r"^```(?P<language>\w+)\n(?P<text>.*?)^```$|^<!-- noise: (?P<noise>.*?) -->$"
NUMBER = r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\d.]*\w)"
VARIES = r"\d+\.\d+\.\d+\w*|\d{4}-\d\d-\d\dT[\d:.]+Z"  # versions and times
COMMAND = r"^\$ (?P<line>(?:.*\\\n)*.*)\n(?P<shown>(?:(?!\$ ).*\n)*)"  # a backslash goes on in the next line
Command = Callable[[str], str]


@dataclass(frozen=True)
class Noise:
    """By how much numbers may differ: those with a decimal point, absolutely and as a share; and whole ones."""

    bound: float = 0.0
    share: float = 1.0
    integer_bound: float = 0.0

    @classmethod
    def of(cls, text: str) -> "Noise":
        """As a page says it."""
        if text == "none":
            return cls()
        bound, share, *integer_bounds = text.split(",")
        return cls(float(bound), float(share.strip(" %")) / 100, *(float(more.split()[1]) for more in integer_bounds))

    def allows(self, expected: str, printed: str) -> bool:
        """Whether two numbers, as they are written, are the same but for noise."""
        left, right = (float(number.replace(",", "").replace("−", "-")) for number in (expected, printed))
        rounded = any("." in number or "e" in number for number in (expected, printed))
        bound = min(self.bound, self.share * max(abs(left), abs(right))) if rounded else self.integer_bound
        return expected == printed or abs(left - right) <= bound

    def difference(self, expected: str, printed: str) -> str:
        """What differs, in words; empty where nothing does."""
        expected, printed = (re.sub(VARIES, "…", text) for text in (expected, printed))
        expected_numbers, printed_numbers = re.findall(NUMBER, expected), re.findall(NUMBER, printed)
        if tokens(expected) != tokens(printed):
            return f"shown:\n{expected}\nprinted:\n{printed}"
        pairs = [
            f"{a} is shown, {b} is printed"
            for a, b in zip(expected_numbers, printed_numbers, strict=True)
            if not self.allows(a, b)
        ]
        return "; ".join(pairs)


LENIENT = Noise(0.1, 0.3)  # for pages that say nothing about noise


def tokens(text: str) -> list[str]:
    """A text without the lines of its tables, with # for every number."""
    return re.sub(NUMBER, " # ", text.replace("─", " ")).split()


class Checker(doctest.OutputChecker):
    """doctest's comparison, but for noise."""

    def __init__(self, noise: Noise) -> None:
        self.noise = noise

    def check_output(self, want: str, got: str, _: int) -> bool:
        """Whether an example gave what is shown."""
        return not self.noise.difference(want, got)


@dataclass(frozen=True)
class Result:
    """What a block, or one command of it, shows and printed. start, end: of what is shown, within the page."""

    start: int
    end: int
    expected: str
    printed: str
    noise: Noise

    @property
    def difference(self) -> str:
        """What differs, in words; empty where nothing does."""
        return self.noise.difference(self.expected, self.printed)


def here(line: str) -> str:
    """Runs a command of milepost within this process, any other one outside."""
    from milepost import cli

    name, *arguments = shlex.split(line)
    if name != "milepost":
        return outside(line)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            cli.main(arguments)
    except SystemExit as stop:
        if stop.code:
            raise RuntimeError(f"exit code {stop.code}: {line}") from None
    return printed.getvalue()


def outside(line: str) -> str:
    """Runs a command in a process of its own, milepost's as this Python has it installed."""
    name, *arguments = shlex.split(line)
    beside = Path(sys.executable).with_name(name)
    command = [str(beside) if beside.exists() else name, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout  # noqa: S603


def run(page: str, command: Command, noise: Noise, names: dict[str, Any]) -> Iterator[Result]:
    """Run a page's blocks in the current folder, and tell what they showed and printed."""
    printed = ""
    for part in re.finditer(PART, page, flags=re.MULTILINE | re.DOTALL):
        language, text, start = part["language"], part["text"], part.start("text")
        where = f"line {page.count(chr(10), 0, part.start()) + 1}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mp.AccuracyWarning)
            if part["noise"]:
                noise = Noise.of(part["noise"])
            elif language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as stream:
                    exec(compile(text, where, "exec"), names)  # noqa: S102
                printed = stream.getvalue()
            elif language == "text":
                yield Result(start, part.end("text"), text, printed, noise)
            elif language == "pycon":
                yield Result(start, start, "", _failures(text, names, where, noise), noise)
            elif language == "console":
                printed = ""
                for match in re.finditer(COMMAND, text, flags=re.MULTILINE):
                    printed += (result := command(match["line"].replace("\\\n", " ")))
                    if match["shown"].strip():
                        span = start + match.start("shown"), start + match.end("shown")
                        yield Result(*span, match["shown"], result, noise)


def check(page: str, command: Command = here, noise: Noise | None = None) -> dict[str, Any]:
    """Run a page's blocks in the current folder; the names that they made. AssertionError where one shows otherwise.

    noise: until the page says something about it; where that is not given, none.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for result in run(page, command, noise or Noise(), names):
        if difference := result.difference:
            raise AssertionError(f"line {page.count(chr(10), 0, result.start) + 1}: {difference}")
    return names


def written(page: str, command: Command) -> str:
    """The page with what its blocks printed."""
    end, parts = 0, list[str]()
    for result in run(page, command, Noise(), {"__name__": "__main__"}):
        if result.expected:
            lines = [line.rstrip() for line in result.printed.splitlines()]
            blank = result.expected.startswith("\n")  # a table has a blank line before it where commands are shown
            text = "\n".join(lines).strip("\n")
            parts += [
                page[end : result.start],
                "\n" * blank,
                text,
                "\n" * (len(result.expected) - len(result.expected.rstrip("\n"))),
            ]
            end = result.end
    return "".join([*parts, page[end:]])


def _failures(text: str, names: dict[str, Any], where: str, noise: Noise) -> str:
    """Runs examples of a Python prompt; what failed."""
    test = doctest.DocTestParser().get_doctest(text, {}, where, where, 0)
    test.globs = names
    report = io.StringIO()
    doctest.DocTestRunner(Checker(noise), verbose=False).run(test, out=report.write, clear_globs=False)
    return report.getvalue()


def main(arguments: list[str]) -> int:
    """Check pages, or write them anew, each in a temporary folder; 1 if one is wrong, else 0."""
    failed, before = 0, Path.cwd()
    for path in [Path(argument).resolve() for argument in arguments if argument != "--write"]:
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                if "--write" in arguments:
                    path.write_text(written(page, here), encoding="utf-8")
                elif path.name == "README.md":
                    check(page, outside, LENIENT)
                else:
                    check(page, outside)
                print(f"{path.name}: {'written' if '--write' in arguments else 'as shown'}")
            except (AssertionError, RuntimeError, subprocess.CalledProcessError, mp.MilepostError) as error:
                failed = 1
                print(f"{path.name}, {error}")
            finally:
                os.chdir(before)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
