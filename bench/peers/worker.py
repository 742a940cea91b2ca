"""`python -m bench.peers.worker PEER FOLDER`: run the jobs of one peer in a separate process; exchange arrays and JSON.

FOLDER has jobs.json, and the folder above it has the tables. The process writes answers to 0.npy, 1.npy, … and writes
outcomes.json.
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

import numpy as np

from bench.peers.job import Answer, Job, Table


def read_table(folder: Path, job: Job) -> Table:
    """Return the people, places and exact means that the parent process wrote."""
    parts = (np.load(folder.parent / f"{job.table}-{part}.npy") for part in ("people", "places", "means"))
    return Table(*parts)


def work(answer: Answer, folder: Path) -> None:
    """Run every job, in order."""
    outcomes = []
    for number, fields in enumerate(json.loads((folder / "jobs.json").read_text())):
        job = Job(**fields)
        outcome = answer(job, read_table(folder, job))
        np.save(folder / f"{number}.npy", outcome.answers)
        outcomes.append({"seconds": outcome.seconds, "answering": outcome.answering, "note": outcome.note})
    (folder / "outcomes.json").write_text(json.dumps(outcomes))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # peers warn about minor things; only their answers are compared
    work(importlib.import_module(f"bench.peers.{sys.argv[1]}").answer, Path(sys.argv[2]))
