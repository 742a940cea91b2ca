"""The comparison with peers: its page, tables and statistics; `python -m bench.peers --check` runs some of them."""

import math
import re
from dataclasses import asdict

import numpy as np
import pytest

import milepost as mp
from bench.peers import cap, city, page, tables
from bench.peers.comparison import QUICK, SPACES, Scope, jobs_of, single
from bench.peers.environment import packages
from bench.peers.errors import errors_of
from bench.peers.job import PLACES, SIDE, Job, Table, farthest, mean_distances
from bench.peers.registry import KS, NOT_RUN, PEERS
from bench.peers.results import Results
from bench.peers.without_privacy import columns, plain

CAP = mp.GreatCircle(cap.CENTER, cap.RADIUS_KM)


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.load()


@pytest.fixture(scope="module")
def text() -> str:
    return page.PAGE.read_text()


def between(text: str, name: str) -> str:
    match = re.search(rf"<!-- {re.escape(name)} -->\n(.*?)\n<!-- /{re.escape(name)} -->", text, re.DOTALL)
    assert match, f"no marker {name}"
    return match[1]


def test_page_shows_the_stored_results(text: str, results: Results) -> None:
    """Every part of the page is what `python -m bench.peers --redraw` would write."""
    for name, content in page.parts(results).items():
        assert between(text, name) == content


def test_readme_shows_the_same_headline(results: Results) -> None:
    """Where the README has the markers."""
    readme = page.README.read_text()
    if f"<!-- {page.HEADLINE} -->" in readme:
        assert between(readme, page.HEADLINE) == page.headline(results)


def test_tables_parse(results: Results) -> None:
    """All rows of a table have as many cells as its header, and its numbers are numbers."""
    for name, content in page.parts(results).items():
        if "|" not in content:
            continue
        for table in content.split("\n\n"):
            header, rule, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
            assert len(rule) == 1, name
            assert rows, name
            for row in rows:
                assert len(row) == len(header), (name, row)
                for cell in row[1:]:
                    assert cell in {"–", "with it"} or re.match(r"[\d,.e+-]+( s| ± [\d.e+-]+|(, \d+)*)?$", cell), cell


def test_every_peer_is_measured_or_named(results: Results) -> None:
    """One that does not install or run is in the list of the missing, with the reason."""
    measured = {record["peer"] for record in results.find("errors")}
    missing = results.content["missing"]
    assert {peer.name for peer in PEERS} == measured | (set(missing) - set(NOT_RUN))
    assert all(len(why) > 20 for why in missing.values())


def test_all_settings_are_there(results: Results) -> None:
    """The stored results are of the whole comparison, not of a small one."""
    for peer in PEERS:
        if peer.name in results.content["missing"]:
            continue
        for job in jobs_of(peer, Scope()):
            about = {"peer": peer.name, "metric": job.metric, "width": job.width, "delta": job.delta}
            records = results.find("time" if job.timed else "errors", **about, n=job.n, neighbors=job.neighbors)
            assert records, (peer.name, job)
            assert job.timed or {record["releases"] for record in records} <= {
                peer.releases(k, job.n) for k in (*KS, PLACES)
            }


def test_picture_is_there(text: str) -> None:
    """The page shows it."""
    assert "images/comparison.png" in text
    assert (page.PAGE.parent / "images" / "comparison.png").is_file()


def test_requirements_are_ranges() -> None:
    """Each package has a lower and an upper bound."""
    assert all(re.fullmatch(r"[a-z-]+>=[\d.]+,<[\d.]+", line) for line in packages())


def test_markers_are_filled_and_the_rest_is_kept() -> None:
    """Also where the new text has backslashes."""
    before = "a\n<!-- x -->\nold\n<!-- /x -->\nb <!-- y -->\n"
    assert (
        page.fill_markers(before, {"x": r"new \1", "z": "?"}) == "a\n<!-- x -->\nnew \\1\n<!-- /x -->\nb <!-- y -->\n"
    )


def test_errors_of_known_answers() -> None:
    """Two releases of four places, two at a time."""
    errors = np.array([[1.0, -3.0, 0.0, 1.0], [1.0, 3.0, -1.0, 0.0]])
    summary = errors_of(errors, 2)
    assert summary.typical == pytest.approx(math.sqrt(22 / 8))
    assert summary.largest == pytest.approx(2)
    assert summary.typical_deviation == 0
    assert summary.largest_95 is None  # too few
    assert asdict(errors_of(errors, 4))["largest"] == 3


def test_exact_ways_agree() -> None:
    """Brute force, NumPy and sorted columns; nobody is farther than the farthest corner."""
    rng = np.random.default_rng(0)
    people, points = rng.uniform(0, SIDE, (50, 3)), rng.uniform(0, SIDE, (7, 3))
    for metric in ("l1", "l2"):
        exact = mean_distances(people, points, metric)
        np.testing.assert_allclose(plain(people, points, metric), exact)
        assert (exact <= farthest(points, metric)).all()
    np.testing.assert_allclose(columns(people, points), mean_distances(people, points, "l1"))


def test_great_circle_distances_agree() -> None:
    """Brute force over chords, the haversine formula, and Milepost's exact distances."""
    rng = np.random.default_rng(0)
    people, points = cap.from_chart(cap.in_disc(rng, 50)), cap.from_chart(cap.in_disc(rng, 7))
    exact = mean_distances(people, points, "great-circle")
    np.testing.assert_allclose(plain(people, points, "great-circle"), exact, rtol=1e-10)
    np.testing.assert_allclose(mp.exact_mean_distance(people, CAP, points), exact, rtol=1e-10)
    assert (exact <= farthest(points, "great-circle")).all()
    assert farthest(np.array([cap.CENTER]), "great-circle") == pytest.approx(cap.RADIUS_KM)


def test_chart_of_the_cap_is_lamberts() -> None:
    """There and back; Milepost's own chart has the same square; points outside the disc move to its border."""
    points = cap.from_chart(cap.in_disc(np.random.default_rng(0), 100))
    positions = cap.to_chart(points)
    np.testing.assert_allclose(cap.from_chart(positions), points, atol=1e-10)
    assert CAP.chart is not None
    np.testing.assert_allclose(CAP.chart.positions(CAP.query_records(points)), positions, atol=1e-8)
    corner = cap.from_chart(np.zeros((1, 2)))
    assert cap.haversine(corner, np.array(cap.CENTER)) == pytest.approx(cap.RADIUS_KM)


def test_empty_cells_are_those_outside_the_cap() -> None:
    """Nobody is in an empty cell, and of many people in the cap somebody is in each of the other cells."""
    cells = 8
    positions = cap.in_disc(np.random.default_rng(0), 100_000)
    seen = {tuple(cell) for cell in np.minimum(positions / cap.SIDE_KM * cells, cells - 1).astype(int).tolist()}
    empty = {tuple(cell) for cell in cap.empty_cells(cells).tolist()}
    assert not seen & empty
    assert len(seen) + len(empty) == cells**2


def test_single_is_a_worst_placed_query_alone() -> None:
    """As DESIGN says: 4.225 × diameter/n for ε = 1, δ = 1e-6, and √2 × diameter/n for pure ε = 1."""
    approximate = Job("l1", 2, 1_000, 1, 1.0, 1e-6, "replace", 1)
    pure = Job("l1", 2, 1_000, 1, 1.0, 0.0, "replace", 1)
    assert single(approximate) / (20 / 1_000) == pytest.approx(4.225, abs=1e-3)
    assert single(pure) / (20 / 1_000) == pytest.approx(math.sqrt(2))
    cap_job = Job("great-circle", 2, 1_000, 1, 1.0, 0.0, "replace", 1)
    assert single(cap_job) / (CAP.diameter / 1_000) == pytest.approx(math.sqrt(2))


def test_releases_are_asked_about_other_places() -> None:
    """k places each, all different until there are no more."""
    job = Job("l1", 2, 1_000, 100, 1.0, 0.0, "replace", 1)
    assert len(np.unique([job.query_indices(release) for release in range(100)])) == PLACES


def test_scopes() -> None:
    """--check stays in the environment of development; the whole has every space."""
    assert {peer.package for peer in PEERS if peer.quick} <= {"milepost", "opendp"}
    assert QUICK.timed is None
    assert {(job.metric, job.width) for peer in PEERS for job in jobs_of(peer, Scope())} == set(SPACES)
    assert set(tables.TITLES) == set(SPACES)


def test_city_is_seeded() -> None:
    """The same people whoever asks, all in the box."""
    job = Job("l1", 2, 500, 1, 1.0, 0.0, "replace", 1)
    first, second = city.table_of(job), city.table_of(job)
    assert isinstance(first, Table)
    np.testing.assert_array_equal(first.people, second.people)
    assert first.people.min() >= 0
    assert first.people.max() <= SIDE
    np.testing.assert_allclose(first.means[:20], mean_distances(first.people, first.places[:20], "l1"))


def test_people_and_places_are_in_the_cap() -> None:
    """A few people of towns are moved to its border; places are anywhere."""
    table = city.table_of(Job("great-circle", 2, 500, 1, 1.0, 0.0, "replace", 1))
    for points in (table.people, table.places):
        away = cap.haversine(points, np.array(cap.CENTER))
        assert away.max() <= cap.RADIUS_KM * (1 + 1e-9)
        assert np.mean(away > cap.RADIUS_KM * (1 - 1e-9)) < 0.05


def test_merge_replaces_the_spaces_that_ran_again() -> None:
    """Records of other peers and of other spaces are kept, and no record is there twice."""

    def record(peer: str, metric: str, typical: float) -> dict[str, object]:
        return {"kind": "errors", "peer": peer, "metric": metric, "width": 2, "typical": typical}

    def sampling(typical: float) -> dict[str, object]:
        return {"kind": "sampling", "metric": "l2", "width": 2, "typical": typical}

    old = [
        record("a", "l1", 1.0),
        record("a", "l2", 2.0),
        record("b", "l2", 3.0),
        record("c", "l2", 4.0),
        sampling(5.0),
    ]
    before = Results({"records": old, "missing": {"a": "did not install", "d": "too slow"}, "runs": "one run"})
    new = [record("a", "l2", 6.0), sampling(7.0)]
    after = before.merge(Results({"records": new, "missing": {"c": "failed"}, "runs": "several"})).content
    assert after["records"] == [old[0], old[2], *new]
    assert after["missing"] == {"d": "too slow", "c": "failed"}
    assert after["runs"] == "several"
