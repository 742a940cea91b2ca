"""The examples run from end to end, answer as the exact answers do, draw, and print what their page shows.

Noise is drawn anew, so that all answers are compared within intervals that they leave once in 10⁹ runs.
"""

import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import milepost as mp
from examples.pictures import EXAMPLES
from tests import ROOT
from tests.chance import limit, sure

PAGE = (ROOT / "docs" / "examples.md").read_text()
CONFIDENCE = sure(200)  # there are fewer answers in all
VARYING = {"budget", "family", "premium", "statistics", "networks", "sound", "charts", "tables", "maps", "either"}


def section(name: str) -> str:
    """The part of the page about an example."""
    (result,) = (part for part in PAGE.split("\n## ") if f"python -m examples.{name}" in part)
    return result


def blocks(text: str, language: str) -> list[str]:
    """All blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def stable_words(text: str) -> set[str]:
    """What does not depend on noise: no numbers, nearest groups, verdicts, or where a picture went."""
    text = re.sub(r"(treat|ask) Cem .*|^The (picture|map) is at .*", "", text, flags=re.MULTILINE)
    return set(re.findall(r"[^\W\d_]{2,}", text)) - VARYING


class Run:
    """An example that has been run: what it printed, what it released, and where it drew."""

    def __init__(self, name: str, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.picture, releases = folder / f"{name}.png", []
        make = mp.release

        def keep(*data: Any, **options: Any) -> mp.Synopsis:
            releases.append(make(*data, **options))
            return releases[-1]

        monkeypatch.setattr(mp, "release", keep)
        monkeypatch.setattr("sys.argv", [name, "--output", str(self.picture)])
        self.module: Any = SimpleNamespace(**runpy.run_module(f"examples.{name}", run_name="__main__"))
        (self.synopsis,) = releases
        self.printed: str = capsys.readouterr().out
        self.check(name)

    def check(self, name: str) -> None:
        """A picture with something on it, and the words of the page."""
        assert is_drawn(self.picture)
        (expected,) = blocks(section(name), "text")
        printed = self.printed[self.printed.index(expected.split("\n")[0].strip()[:9]) :]
        assert stable_words(expected) == stable_words(printed)

    def holds(self, points: Any, exact: Any, group: Any = None) -> None:
        """The exact answers are within the intervals."""
        low, high = self.synopsis.interval(points, CONFIDENCE, group=group)
        exact = np.asarray(exact)
        assert ((low <= exact) & (exact <= high)).all()


def is_drawn(picture: Path) -> bool:
    """Whether it is large enough and has many colours, of which none is nearly everywhere."""
    pixels = Image.open(picture).convert("RGB")
    counts = [count for count, _ in pixels.getcolors(1 << 24) or []]
    return min(pixels.size) > 400 and len(counts) > 30 and max(counts) < 0.97 * sum(counts)


@pytest.mark.slow
def test_the_clinic(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases are ranked by their answers, beside the exact ones."""
    run = Run("clinic", tmp_path, capsys, monkeypatch)
    fields = run.module.airfields()
    bases = run.module.candidates(fields)
    assert set(bases.index) == set(run.module.BASES)
    exact = mp.exact_mean_distance(run.module.patients(fields), run.module.REGION, bases)
    run.holds(bases, exact)
    rows = re.findall(r"^(\w+) +([\d.]+) ± ([\d.]+) +([\d.]+) +[-+][\d.]+", run.printed, flags=re.MULTILINE)
    order = np.argsort(np.asarray(run.synopsis.mean_distance(bases)))
    assert [name for name, *_ in rows] == list(bases.index[order])
    assert [float(value) for *_, value in rows] == pytest.approx(np.asarray(exact)[order], abs=0.06)
    assert run.synopsis.change.neighbors == "add-remove"


@pytest.mark.slow
def test_the_retailer(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada and Ben are clear, by over thirty standard deviations; Cem is whoever the noise says."""
    run = Run("retailer", tmp_path, capsys, monkeypatch)
    run.module.make_customers(tmp_path / "customers.csv")
    truth = run.module.exact_distances(tmp_path / "customers.csv", run.synopsis.space)
    for label, exact in truth.items():
        run.holds(list(run.module.NEW.values()), exact, label)
    assert "treat Ada as budget" in run.printed.splitlines()[-1]
    assert "treat Ben as family" in run.printed.splitlines()[-1]


@pytest.mark.slow
def test_the_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a letter's nearest department leads by more than noise, it is the one found."""
    run = Run("texts", tmp_path, capsys, monkeypatch)
    module = run.module
    embedding = module.make_embedding(module.texts(module.PUBLIC))
    new = embedding.transform(module.NEW)
    truth = []
    for department, departments in module.PRIVATE.items():
        truth.append(mp.exact_mean_distance(embedding.transform(module.texts(departments)), run.synopsis.space, new))
        run.holds(new, truth[-1], department)
    exact = np.column_stack(truth)
    comparison = run.synopsis.compare(new)
    lead = np.diff(np.sort(exact, axis=1)[:, :2])[:, 0]
    clear = lead > limit(comparisons=exact.size) * np.hypot(*np.sort(comparison.error, axis=1)[:, -2:].T) / 1.96
    assert (comparison.nearest_index[clear] == exact.argmin(axis=1)[clear]).all()
    printed_names = re.findall(rf"^.{{36}} ({'|'.join(module.PRIVATE)}) ", run.printed, flags=re.MULTILINE)
    assert printed_names == comparison.nearest.tolist()


@pytest.mark.slow
def test_the_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is nearer by 0.9 edits is the one suggested, if any: ten standard deviations, Laplace's tail 1e-7."""
    run = Run("names", tmp_path, capsys, monkeypatch)
    names = run.module.spellings()
    countries, cities = run.module.typed(names)
    queries = [name for pair in names.values() for name in pair]
    clear_count = 0
    for country, pair in names.items():
        own_cities = [city for city, city_country in zip(cities, countries, strict=True) if city_country == country]
        exact = mp.exact_mean_distance(own_cities, run.synopsis.space, queries)
        run.holds(queries, exact, country)
        older, newer = (float(exact[queries.index(name)]) for name in pair)
        nearer, farther = pair if older < newer else pair[::-1]
        if abs(older - newer) > 0.9:
            clear_count += 1
            (row,) = re.findall(rf"^{country} .*$", run.printed, flags=re.MULTILINE)
            assert row.endswith((f" {nearer}", " either"))
            assert row.index(nearer) < row.index(farther)
    assert clear_count >= 5
    assert run.synopsis.guarantee.delta == 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_shows_the_example(name: str) -> None:
    """Its picture is small and not blank, and its code is in the example, line by line."""
    picture = ROOT / "docs" / "images" / f"example-{name}.png"
    assert f"(images/{picture.name})" in section(name)
    assert picture.stat().st_size < 150_000
    assert is_drawn(picture)
    source = {line.strip() for line in (ROOT / "examples" / f"{name}.py").read_text().splitlines()}
    for block in blocks(section(name), "python"):
        assert {line.strip() for line in block.splitlines()} <= source


def test_every_example_is_on_the_page() -> None:
    """And has a picture."""
    assert {path.stem for path in (ROOT / "examples").glob("[!_]*.py")} == {*EXAMPLES, "pictures"}
