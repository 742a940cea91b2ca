import re
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import milepost as mp
from milepost import demo, plots

N = 60_000


def test_the_demo_tells_a_consistent_story_and_draws_it(tmp_path: Path) -> None:
    output = tmp_path / "pictures" / "demo.png"
    console = Console(file=StringIO(), width=150)
    found = demo.run(output, N, console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()

    assert output.read_bytes().startswith(b"\x89PNG")
    assert output.stat().st_size > 50_000
    assert f"The picture is at {output}" in text

    people = demo.homes(N)
    assert [visit.site for visit in found.visits] == list(demo.SITES)
    for visit in found.visits:
        place = demo.SITES[visit.site]
        assert visit.exact == pytest.approx(mp.exact(people, demo.CITY, place))
        assert visit.private == found.synopsis.mean_distance(place)
        assert visit.error == found.synopsis.error()
        # beyond three times the promise, some noise would have to leave three times its margin: below 1e-6
        assert abs(visit.difference) <= 3 * visit.error
        row = next(line for line in text.splitlines() if visit.site in line)
        shown = [float(number) for number in re.findall(r"[-+]?\d+\.\d{4}", row)]
        np.testing.assert_allclose(shown, [visit.private, visit.error, visit.exact, visit.difference], atol=0.00006)
        assert row.split()[-1] == ("yes" if visit.kept else "no")

    assert found.asked == demo.QUERIES
    assert 1 <= found.updates <= found.most_updates
    assert f"{found.kept} of {found.asked} answers" in text


def test_homes_are_seeded_and_stand_along_streets_of_the_city() -> None:
    people = demo.homes(5000)
    np.testing.assert_array_equal(people, demo.homes(5000))
    assert people.min() >= 0
    assert people.max() <= 10
    on_street = np.isclose(people / demo.BLOCK, np.rint(people / demo.BLOCK))
    assert on_street.any(axis=1).all()


def test_the_exact_curve_agrees_with_exact() -> None:
    people = demo.homes(3000)
    grid = np.linspace(0, 10, 33)
    for column in people.T:
        expected = mp.exact(column[:, None], mp.L1([(0, 10)]), grid[:, None])
        np.testing.assert_allclose(demo.curve(column, grid), expected, atol=1e-9)


def test_a_picture_without_matplotlib_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mp.MilepostError, match=r"milepost\[plots\]"):
        plots.check_picture(tmp_path / "demo.png")


@pytest.mark.parametrize("name", ["demo", "demo.doc"])
def test_a_picture_of_an_unknown_kind_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(mp.MilepostError, match=r"\.png"):
        plots.check_picture(tmp_path / name)
