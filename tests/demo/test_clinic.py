import re
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import milepost as mp
from milepost.demo import clinic
from milepost.demo.without_privacy import without_privacy
from milepost.reporting.plotting import style
from tests.chance import sure

N = 60_000


@pytest.mark.slow
def test_the_demo_tells_a_consistent_story_and_draws_it(tmp_path: Path) -> None:
    """Five sites, the nearest first, with answers that are the release's own; two pictures."""
    output = tmp_path / "pictures" / "demo.png"
    console = Console(file=StringIO(), width=150)
    result = clinic.run(output, N, console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()

    for picture in (output, tmp_path / "pictures" / "demo-without-privacy.png"):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size > 50_000
        assert str(picture) in text

    people = clinic.homes(N)
    assert {visit.site for visit in result.results} == set(clinic.SITES)
    assert [visit.private for visit in result.results] == sorted(visit.private for visit in result.results)
    for visit in result.results:
        point = clinic.SITES[visit.site]
        assert visit.exact == pytest.approx(mp.exact_mean_distance(people, clinic.REGION, point))
        assert visit.private == result.synopsis.mean_distance(point)
        assert visit.error <= result.synopsis.error()
        assert abs(visit.difference) <= result.synopsis.error(sure(len(result.results)))
        row = next(line for line in text.splitlines() if visit.site in line)
        numbers = [float(number) for number in re.findall(r"[-+]?\d+\.\d{4}", row)]
        np.testing.assert_allclose(numbers, [visit.private, visit.error, visit.exact, visit.difference], atol=0.00006)
        assert row.split()[-1] == ("yes" if visit.within_error else "no")
    assert result.results[0].site in text.splitlines()[-2] + text.splitlines()[-3]


def test_homes_are_seeded_and_stand_in_the_region() -> None:
    """The same ones each time; nearly all within the cap."""
    people = clinic.homes(5000)
    np.testing.assert_array_equal(people, clinic.homes(5000))
    wide_space = mp.GreatCircle(clinic.REGION.center, 1000)
    distances = wide_space.distance(wide_space.read(people), wide_space.read_queries(clinic.REGION.center[None]))
    assert np.mean(distances <= clinic.REGION.radius_km) > 0.95


@pytest.mark.slow
def test_the_map_without_privacy_is_exact() -> None:
    """Up to the embedding, whose largest deviation it shows as its error; nothing of it can be saved as a release."""
    people = clinic.homes(1000)
    synopsis = mp.release(people, clinic.REGION, epsilon=100, delta=1e-6, mechanism="slopes")
    exact_synopsis = without_privacy(people, synopsis)
    points = list(clinic.SITES.values())
    truth = mp.exact_mean_distance(people, clinic.REGION, points)
    assert np.abs(exact_synopsis.mean_distance(points) - truth).max() <= exact_synopsis.error()
    assert exact_synopsis.statistic.tensors() == {}


def test_a_picture_without_matplotlib_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mp.MilepostError, match=r"milepost\[plots\]"):
        style.check_plot_path(tmp_path / "demo.png")


@pytest.mark.parametrize("name", ["demo", "demo.doc"])
def test_a_picture_of_an_unknown_kind_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(mp.MilepostError, match=r"\.png"):
        style.check_plot_path(tmp_path / name)
