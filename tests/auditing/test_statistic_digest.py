"""The digest of the exact statistic depends on the rows that are used, and on nothing else."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.testing import exact_statistic_digest

PLANE = mp.L1({"x": (0, 10), "y": (0, 10)})
ROLES: dict[str, Any] = {
    "groups": "city",
    "labels": ["Bonn", "Ulm"],
    "privacy_unit": "person",
    "contributions": 2,
    "row_weights": "weight",
    "max_row_weight": 2.0,
}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rng, n = np.random.default_rng(0), 200
    return pa.table(
        {
            "x": rng.uniform(0, 10, n),
            "y": rng.uniform(0, 10, n),
            "city": rng.choice(["Bonn", "Ulm"], n),
            "person": rng.integers(0, 50, n),
            "weight": rng.uniform(0, 2, n),
        }
    )


@pytest.mark.parametrize("roles", [{}, ROLES], ids=["rows", "roles"])
def test_the_order_and_the_kind_of_table_do_not_matter(roles: dict[str, Any], people: pa.Table) -> None:
    here = exact_statistic_digest(people, PLANE, **roles)
    shuffled = people.take(np.random.default_rng(1).permutation(len(people)))
    assert exact_statistic_digest(shuffled.to_pandas(), PLANE, **roles) == here
    assert exact_statistic_digest(iter(shuffled.to_batches(max_chunksize=7)), PLANE, **roles) == here
    assert len(here) == 64


def test_what_is_used_of_a_row_matters(people: pa.Table) -> None:
    """A point, the group, the weight, the bound on a person's rows; and one row more."""
    digests = [exact_statistic_digest(people, PLANE, **ROLES)]
    for name, value in {
        "x": 1.0,
        "city": {"Bonn": "Ulm", "Ulm": "Bonn"}[people["city"][0].as_py()],
        "weight": 1.5,
    }.items():
        cells = people[name].to_pylist()
        changed = people.set_column(people.column_names.index(name), name, pa.array([value, *cells[1:]]))
        digests.append(exact_statistic_digest(changed, PLANE, **ROLES | {"contributions": 100}))
    digests.append(exact_statistic_digest(people, PLANE, **ROLES | {"contributions": 100}))
    digests.append(exact_statistic_digest(people.slice(1), PLANE, **ROLES | {"contributions": 100}))
    digests.append(exact_statistic_digest(people, PLANE))
    digests.append(exact_statistic_digest(people, PLANE, columns=["y", "x"]))
    assert len(set(digests)) == len(digests)


def test_anything_but_a_space_is_refused(people: pa.Table) -> None:
    with pytest.raises(mp.MilepostError, match="space must be"):
        exact_statistic_digest(people, [(0, 1)])  # type: ignore[arg-type]
