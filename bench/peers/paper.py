"""The paper's mechanism, Theorem 2, as Milepost has it with its constants worked out: `tangents`."""

from bench.peers.job import Job, Outcome, Table
from bench.peers.milepost_release import answer as released


def answer(job: Job, table: Table) -> Outcome:
    """Releases of the table; every one answers all places."""
    return released(job, table, "tangents")
