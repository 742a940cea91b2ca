"""Comparison: run the jobs of every peer in separate processes, and return the results as plain records."""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy import DELTA, EPSILON
from bench.peers import city, environment
from bench.peers.errors import errors_of
from bench.peers.job import PLACES, FloatArray, Job, Table
from bench.peers.registry import KS, NOT_RUN, PEERS, Peer
from milepost.privacy.guarantee import Guarantee

Record = dict[str, Any]
SPACES = (("l1", 2), ("l1", 8), ("l2", 2), ("great-circle", 2))
SIZES = (1_000, 10_000, 100_000)
MIDDLE = 10_000  # the size that the page shows in most detail
TIMED = 100_000
NAMES = (
    "NumPy",
    "SciPy cdist",
    "scikit-learn BallTree",
    "NumPy, sorted columns",
)  # the columns of without_privacy, in order


@dataclass(frozen=True)
class Scope:
    """How much is run; `quick` is for --check."""

    spaces: tuple[tuple[str, int], ...] = SPACES
    sizes: tuple[int, ...] = SIZES
    added: int | None = MIDDLE  # the size at which add-remove is measured, in the plane with ℓ₁
    timed: int | None = TIMED
    quick: bool = False


QUICK = Scope(spaces=(("l1", 2),), sizes=(1_000,), added=None, timed=None, quick=True)


def jobs_of(peer: Peer, scope: Scope) -> Iterator[Job]:
    """Return all jobs of a peer."""
    for metric, width in scope.spaces:
        if metric not in peer.metrics:
            continue
        for n in scope.sizes:
            for neighbors in peer.neighbors:
                added = neighbors == "add-remove"
                if (peer.sizes and n not in peer.sizes) or (
                    added and (n != scope.added or (metric, width) != ("l1", 2))
                ):
                    continue
                for delta in (DELTA, 0.0) if peer.approximate else (0.0,):
                    for k in (PLACES,) if peer.single_pass else peer.ks:
                        releases = peer.releases(k, n)
                        yield Job(metric, width, n, k, EPSILON, delta, neighbors, releases)
        if scope.timed and PLACES in peer.ks:
            for delta in (DELTA,) if metric == "l1" else peer.planar_times:
                yield Job(metric, width, scope.timed, PLACES, EPSILON, delta, "replace", 2, timed=True)


def run(peer: str, python: Path, jobs: list[Job], folder: Path) -> list[tuple[Record, FloatArray]]:
    """Return the outcomes and answers of a peer; raise CalledProcessError with its output if it fails."""
    place = folder / peer
    place.mkdir()
    (place / "jobs.json").write_text(json.dumps([asdict(job) for job in jobs]))
    root = environment.ROOT
    variables = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "OPENBLAS_NUM_THREADS": "1"}
    command = [str(python), "-m", "bench.peers.worker", peer, str(place)]
    subprocess.run(command, check=True, env=variables, cwd=root, capture_output=True, text=True)  # noqa: S603
    outcomes = json.loads((place / "outcomes.json").read_text())
    return [(outcome, np.load(place / f"{number}.npy")) for number, outcome in enumerate(outcomes)]


def single(job: Job) -> float:
    """Return the deviation of one worst-placed query answered alone, for replacing a record."""
    relative = 2**0.5 / job.epsilon if job.delta == 0 else 1 / Guarantee(job.epsilon, job.delta).mu
    return float(job.diameter / job.n * relative)


def records_of(peer: Peer, job: Job, outcome: Record, answers: FloatArray, table: Table) -> Iterator[Record]:
    """Return one record for each k that the answers allow, or one record of times."""
    common = {"peer": peer.name, "metric": job.metric, "width": job.width, "n": job.n, "delta": job.delta}
    common |= {"neighbors": job.neighbors, "note": outcome["note"]}
    if job.timed:
        first, again = outcome["seconds"]
        yield {**common, "kind": "time", "first": first, "again": again, "answering": outcome["answering"]}
        return
    indices = [np.arange(PLACES) if peer.single_pass else job.query_indices(release) for release in range(job.releases)]
    errors = np.array([given - table.means[which] for given, which in zip(answers, indices, strict=True)])
    for k in KS if peer.single_pass else (job.k,):
        yield {**common, "kind": "errors", "k": k, "single": single(job), **asdict(errors_of(errors, k))}


def compare(scope: Scope, only: tuple[str, ...] = ()) -> Record:
    """Compare all peers, or those whose files are named; name the peers that do not install or run, with the reason."""
    missing = {} if scope.quick else environment.set_up()
    tables: dict[str, Table] = {}
    records: list[Record] = []
    failed = dict(NOT_RUN)
    own = Path(sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for peer in PEERS:
            if (scope.quick and not peer.quick) or (only and peer.module not in only):
                continue
            why = next((why for package, why in missing.items() if package.startswith(peer.package)), "")
            jobs = list(jobs_of(peer, scope))
            for job in jobs:
                if job.table not in tables:
                    tables[job.table] = city.table_of(job)
                    city.write(folder, job, tables[job.table])
            if not why:
                print(f"{peer.name}: {len(jobs)} settings", flush=True)
                try:
                    done = run(peer.module, own if peer.own or scope.quick else environment.PYTHON, jobs, folder)
                except subprocess.CalledProcessError as error:
                    why = f"failed: {(error.stderr.strip().splitlines() or ['no word'])[-1]}"
                else:
                    for job, (outcome, answers) in zip(jobs, done, strict=True):
                        records += records_of(peer, job, outcome, answers, tables[job.table])
            if why:
                failed[peer.name] = why
                print(f"{peer.name}: {why}", flush=True)
        if not only or "without_privacy" in only:
            records += list(scales(scope))
            records += list(exact_times(scope, own, folder))
    installed = {} if scope.quick else environment.versions(environment.PYTHON)
    return {
        "records": records,
        "missing": failed,
        "versions": {
            name: installed[name] for name in ("opendp", "mbi", "jax", "diffprivlib", "python-dp") if name in installed
        },
        "runs": "several runs, of a peer or some each" if only else "one run",
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }


def scales(scope: Scope) -> Iterator[Record]:
    """Return the sampling error of each table, for scale."""
    for metric, width in scope.spaces:
        for n in scope.sizes:
            error = city.sampling(city.people_of(n, width, metric), city.places_of(width, metric), metric)
            yield {"kind": "sampling", "metric": metric, "width": width, "n": n, "typical": error}


def exact_times(scope: Scope, python: Path, folder: Path) -> Iterator[Record]:
    """Return the seconds for all places without privacy."""
    if scope.timed is None:
        return
    jobs = [Job(metric, width, scope.timed, PLACES, EPSILON, 0.0, "replace", 1, True) for metric, width in scope.spaces]
    for job in jobs:
        if not (folder / f"{job.table}-people.npy").is_file():
            city.write(folder, job, city.table_of(job))
    for job, (outcome, _) in zip(jobs, run("without_privacy", python, jobs, folder), strict=True):
        for name, seconds in zip(NAMES, outcome["seconds"], strict=False):
            yield {"kind": "exact", "peer": name, "metric": job.metric, "width": job.width, "seconds": seconds}
