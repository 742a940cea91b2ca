"""`python -m bench.peers.apart PEER FOLDER`: one peer's jobs in a process of its own; arrays and JSON in and out.

FOLDER has jobs.json, the folder above it the tables; what comes back is 0.npy, 1.npy, … with the answers, and
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
    """People, places and exact means, which the parent has written."""
    parts = (np.load(folder.parent / f"{job.table}-{part}.npy") for part in ("people", "places", "means"))
    return Table(*parts)


def work(answer: Answer, folder: Path) -> None:
    """Every job, in order."""
    outcomes = []
    for number, fields in enumerate(json.loads((folder / "jobs.json").read_text())):
        job = Job(**fields)
        outcome = answer(job, read_table(folder, job))
        np.save(folder / f"{number}.npy", outcome.answers)
        outcomes.append({"seconds": outcome.seconds, "answering": outcome.answering, "note": outcome.note})
    (folder / "outcomes.json").write_text(json.dumps(outcomes))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # peers warn of small things; what they answer is what is compared
    work(importlib.import_module(f"bench.peers.{sys.argv[1]}").answer, Path(sys.argv[2]))
