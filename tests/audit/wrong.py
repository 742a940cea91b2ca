"""All mechanisms that are known to be wrong, and how many samples of each are drawn so that they are caught."""

from collections.abc import Iterator

from tests.audit import bad_floats, bad_groups, known_bad
from tests.audit.known_bad import Known

MARGIN = 1.15  # of the claim: every true loss is over it


def wrong() -> Iterator[tuple[Known, int]]:
    """Simulations in vectors, then the shipped code with one line changed, run by run."""
    simulated = {**known_bad.sparse_vectors(), **known_bad.noises(), "cell": known_bad.forgotten_cell()}
    for known in [*simulated.values(), bad_floats.float_laplace()]:
        if known.true_loss > MARGIN * known.case.claim.loss:  # Algorithm 1 is right
            yield known, 200_000
    yield known_bad.exact_choice(), 1000
    yield known_bad.exact_total(), 400
    yield known_bad.against_noisy(), 1500
    yield bad_groups.uncounted(), 200
    yield bad_groups.one_ended(), 12_000
    yield known_bad.uncut(), 4000
