"""The library computes what is stored, and a change of it is reported where it is."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import milepost as mp
from tests.golden.__main__ import STORED, compare, main, read_stored
from tests.golden.areas import AREAS, SMALL, people, release
from tests.golden.internals import GAUSSIAN_OF_SLOPES, command_line, no_noise, noise, stream_noise
from tests.golden.records import differences, record, to_text


@pytest.mark.parametrize("area", AREAS)
def test_what_is_computed_is_what_is_stored(area: str) -> None:
    lines = list(compare(area))
    assert not lines, "\n".join([*lines[:20], "python -m tests.golden --update stores what is computed now"])


def test_every_stored_file_is_small_and_of_an_area() -> None:
    paths = list(STORED.iterdir())
    assert {path.stem for path in paths} == set(AREAS)
    assert sum(path.stat().st_size for path in paths) < 620_000


def test_a_changed_cell_of_a_sketch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record of one coordinate, moved to the next cell."""
    computed = AREAS["statistics"]()
    counts = computed["l2 ball"]["sketch"]["counts"]
    index = tuple(int(part) for part in np.argwhere(counts)[3])
    counts[index] -= 1
    counts[(*index[:-1], index[-1] + 1)] += 1
    monkeypatch.setitem(AREAS, "statistics", lambda: computed)
    lines = list(compare("statistics"))
    cell, after = (",".join(map(str, (*index[:-1], at))) for at in (index[-1], index[-1] + 1))
    assert lines == [
        f"statistics['l2 ball'].sketch.counts.cells['{cell}']: expected 1, got nothing",
        f"statistics['l2 ball'].sketch.counts.cells['{after}']: expected nothing, got 1",
    ]


def test_a_changed_cell_of_a_large_array_is_reported_by_its_block() -> None:
    array = np.arange(1, 100_001)
    changed = array.copy()
    changed[50_000] += 1
    changed[50_001] -= 1
    (line,) = differences(record(array), record(changed))
    assert line.startswith("$.digests[16]: expected ")


def with_smaller_scale(law: str) -> Callable[[Any, float], Any]:
    """Return noise of this law with a scale that is too small by 10⁻⁹."""
    add = getattr(noise, law)
    return lambda values, scale: add(values, scale * (1 - 1e-9))


def test_a_changed_noise_scale_is_reported_even_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    name, params = "slopes, approximate, replace, no_noise", {"mechanism": "slopes", "epsilon": 2.0, "delta": 1e-6}
    points = [[2.0, 3.0], [5.0, 5.0], [11.0, 0.0]]
    expected = read_stored("releases")[name]
    assert not list(differences(expected, record(release(people(4000), SMALL, points, no_noise, **params))))
    monkeypatch.setattr(*GAUSSIAN_OF_SLOPES, with_smaller_scale("gaussian_each"))
    got = record(release(people(4000), SMALL, points, no_noise, **params))
    (scale, *others) = differences(expected, got, name)
    assert scale.startswith(f"{name}.scales[0][1]: expected ")
    assert all(".scales[" in line for line in others)


def test_a_changed_help_text_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    parameter = next(each for each in command_line().get_command(None, "show").params if each.name == "force")
    monkeypatch.setattr(parameter, "help", "Replace the file.")
    (line,) = compare("helps")
    before = read_stored("helps")["milepost show"]["parameters"]["force"]["help"]
    assert line == f'helps[\'milepost show\'].parameters.force.help: expected "{before}", got "Replace the file."'


def test_the_command_exits_1_where_something_differs_and_0_where_nothing_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["golden", "proofs"])
    assert main() == 0
    assert capsys.readouterr().out == ""
    computed = AREAS["proofs"]()
    computed["slopes"]["scale"] += 1
    monkeypatch.setitem(AREAS, "proofs", lambda: computed)
    assert main() == 1
    out = capsys.readouterr().out
    assert out.startswith("proofs.slopes.scale: expected 3, got 4\n")
    assert "--update" in out


def test_floats_may_differ_in_their_last_bits_and_integers_may_not() -> None:
    assert not list(differences([0.1 + 0.2, 1e300], [0.3, 1e300 * (1 + 1e-15)]))
    assert list(differences(1.0, 1 + 1e-9)) == ["$: expected 1.0, got 1.000000001"]
    assert list(differences(10**15, 10**15 + 1)) == ["$: expected 1000000000000000, got 1000000000000001"]
    assert list(differences(1, 1.0)) == ["$: expected 1, got 1.0"]
    assert list(differences(["a", "b"], ["a"])) == ["$: expected 2 entries, got 1"]


def test_stored_json_has_sorted_keys_and_reads_back() -> None:
    value = {"b": [1, 2.5, None], "a": {"0,10": 3, "0,9": 2}, "c": ["x" * 60, "y" * 60], "d": {}, "e": [{"f": [1]}]}
    text = to_text(value)
    assert json.loads(text) == value
    assert [line for line in text.splitlines() if '"0,' in line] == ['  "0,9": 2,', '  "0,10": 3']


def test_other_noise_is_gone_afterwards() -> None:
    """Whatever happens within the block; and the stream is the same twice, with the scale in it."""
    before = noise._add
    with pytest.raises(mp.MilepostError, match="delta"):
        release(people(100), SMALL, [[1.0, 1.0]], no_noise, mechanism="slopes", epsilon=1.0)
    assert noise._add is before
    values = np.arange(1000)
    assert np.array_equal(stream_noise("laplace", values, 5.0), stream_noise("laplace", values, 5.0))
    assert 4 < np.abs(stream_noise("laplace", values, 5.0) - values).mean() < 6
