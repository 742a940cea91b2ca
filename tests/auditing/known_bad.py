"""All mechanisms that are known to be wrong, and how many samples of each are drawn so that they are caught."""

from collections.abc import Iterator

from tests.auditing import bad_floats, bad_groups, bad_mechanisms
from tests.auditing.bad_mechanisms import KnownCase

MARGIN = 1.15  # of the claim: every true loss is over it


def known_bad_cases() -> Iterator[tuple[KnownCase, int]]:
    """Yield vectorized simulations, then the shipped code with one line changed, each with a number of samples."""
    simulations = {
        **bad_mechanisms.sparse_vectors(),
        **bad_mechanisms.noises(),
        "cell": bad_mechanisms.forgotten_cell(),
        "pole": bad_mechanisms.forgotten_pole(),
        "counts": bad_mechanisms.forgotten_counts(),
    }
    for known_case in [*simulations.values(), bad_floats.float_laplace()]:
        if known_case.true_loss > MARGIN * known_case.case.claim.loss:  # Algorithm 1 is right
            yield known_case, 200_000
    yield bad_mechanisms.without_eta(), 1_000_000
    yield bad_mechanisms.exact_choice(), 1000
    yield bad_mechanisms.exact_total(), 400
    yield bad_mechanisms.against_noisy(), 1500
    yield bad_mechanisms.forgotten_root(), 40_000
    yield bad_mechanisms.forgotten_cross_terms(), 12_000
    yield bad_mechanisms.difference_of_ranges(), 12_000
    yield bad_groups.uncounted(), 200
    yield bad_groups.one_ended(), 12_000
    yield bad_mechanisms.uncut(), 4000
    yield bad_mechanisms.one_component(), 12_000
    yield bad_mechanisms.unpaid_anchor(), 4000
    yield bad_mechanisms.unshared_levels(), 40_000
    yield bad_mechanisms.unclipped_moments(), 4000
    yield bad_mechanisms.forgotten_cluster(), 40_000
    yield bad_mechanisms.forgotten_group(), 40_000
    yield bad_mechanisms.forgotten_class(), 40_000
    yield bad_mechanisms.rounded_last(), 20_000
