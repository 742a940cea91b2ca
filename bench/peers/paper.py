"""The paper's mechanism, Theorem 2, as Milepost implements it with explicit constants: `tangents`."""

from bench.peers.job import Job, Outcome, Table
from bench.peers.milepost_release import answer as released


def answer(job: Job, table: Table) -> Outcome:
    """Release the table; every release answers all places."""
    return released(job, table, "tangents")
