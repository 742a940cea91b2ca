"""Files of every format that a version of the library has written, in `formats/`.

A format that changes gets a new number, and a new file next to the old ones: `python -m tests.golden.format_files`
writes the files of the current formats that are missing. No file is ever replaced: the old ones show what this version
does with the files that users have.
"""

from pathlib import Path

import numpy as np

import milepost as mp
from milepost._typing import FloatArray
from milepost.answers.released_data import FORMAT as SYNOPSIS_FORMAT
from milepost.pipeline.interactive import FORMAT as SESSION_FORMAT
from milepost.privacy.accounting.account import SCHEMA as LEDGER_SCHEMA

FOLDER = Path(__file__).parent / "formats"
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)}, distance_unit="km")
EPSILON, DELTA = 1.0, 1e-6
QUERY = [5.0, 2.5]
CURRENT = {  # the file of each kind that the current version writes
    "ledger": f"ledger-{LEDGER_SCHEMA.version}.ledger",
    "synopsis": f"synopsis-{SYNOPSIS_FORMAT}.milepost",
    "session": f"session-{SESSION_FORMAT}.db",
}


def table() -> FloatArray:
    """Return 500 rows, without a random generator: its stream may change with NumPy."""
    row = np.arange(500)[:, None]
    return np.asarray(row * np.array([[383, 149]]) % 1009 / 100.9)


def write_missing(folder: Path) -> list[str]:
    """Write the files of the current formats that a folder lacks, and return their names.

    The session answers from a synopsis: the noise scales of other sessions must agree to the last bit with those that
    are computed when they are resumed, and may not do so on another computer.
    """
    missing = {kind: folder / name for kind, name in CURRENT.items() if not (folder / name).exists()}
    if "ledger" in missing:
        ledger = mp.Ledger(missing["ledger"])
        ledger.create("homes", epsilon=9, delta=DELTA)
        ledger.charge("homes", mp.Guarantee(EPSILON, DELTA), "slopes", protects="replace, row").settle()
        ledger.create("schools", epsilon=9, delta=DELTA, accounting="zcdp")
        for guarantee in (mp.Guarantee(EPSILON, DELTA, accounting="zcdp"), mp.Guarantee(EPSILON, DELTA)):
            ledger.charge("schools", guarantee, "net", protects="replace, row").settle()
        ledger.create("names", epsilon=9)
        ledger.charge("names", mp.Guarantee(EPSILON), "hats", protects="replace, row").refund()
    if "synopsis" in missing:
        mp.release(table(), SPACE, epsilon=EPSILON, delta=DELTA, mechanism="slopes").save(missing["synopsis"])
    if "session" in missing:
        with mp.interactive(
            table(),
            SPACE,
            epsilon=EPSILON,
            delta=DELTA,
            max_queries=20,
            mechanism="slopes",
            store=missing["session"],
        ) as session:
            session.ask(QUERY, name="first")
    return [path.name for path in missing.values()]


if __name__ == "__main__":
    print(*write_missing(FOLDER), sep="\n")
