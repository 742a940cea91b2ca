"""`python -m tests.golden`: compare what is computed now with what is stored, and exit 1 where it differs.

`--update` writes what is computed now: its diff shows which behaviour has changed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden.areas import AREAS
from tests.golden.records import differences, record, to_text

STORED = Path(__file__).parent / "stored"


def read_stored(area: str) -> Any:
    """Return the stored record of an area."""
    path = STORED / f"{area}.json"
    return json.loads(path.read_text()) if path.is_file() else {}


def compare(area: str) -> Iterator[str]:
    """Yield a line for each difference between what an area computes now and its file."""
    yield from differences(read_stored(area), record(AREAS[area]()), area)


def main() -> int:
    """Compare all or some areas with their files, or write them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("areas", nargs="*", help=f"some of {', '.join(AREAS)}; all by default")
    parser.add_argument("--update", action="store_true", help="write what is computed now")
    options = parser.parse_args()
    wrong = set(options.areas) - set(AREAS)
    if wrong:
        parser.error(f"no area {', '.join(sorted(wrong))}; there are {', '.join(AREAS)}")
    count = 0
    for area in options.areas or AREAS:
        start = time.process_time()
        if options.update:
            STORED.mkdir(exist_ok=True)
            (STORED / f"{area}.json").write_text(to_text(record(AREAS[area]())) + "\n")
        else:
            lines = list(compare(area))
            count += len(lines)
            print(*lines, sep="\n", end="\n" * bool(lines))
        print(f"{area}: {time.process_time() - start:.1f} CPU s", file=sys.stderr)
    if count:
        print(f"{count} differences; python -m tests.golden --update stores what is computed now")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
