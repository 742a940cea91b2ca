"""Results: the records of a run, in results.json next to this file, and functions that find them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.registry import PEERS

PATH = Path(__file__).with_name("results.json")
Record = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """The results of `compare`."""

    content: Record

    @classmethod
    def load(cls) -> "Results":
        """Return the results of the last `--write`."""
        return cls(json.loads(PATH.read_text()))

    def merge(self, newer: "Results") -> "Results":
        """Return these results with the records of a later run of some peers and spaces in place of theirs.

        A peer that failed in the later run loses all its records.
        """
        found, failed = newer.content["records"], newer.content["missing"]
        replaced = {_subject(record) for record in found}
        names = {name for name, *_ in replaced} | set(failed)
        kept = [r for r in self.content["records"] if _subject(r) not in replaced and _subject(r)[0] not in failed]
        missing = {name: why for name, why in self.content["missing"].items() if name not in names}
        return Results({**newer.content, "records": kept + found, "missing": {**missing, **failed}})

    def save(self) -> None:
        """Write one record a line, so that changes are readable."""
        rest = {key: value for key, value in self.content.items() if key != "records"}
        lines = ",\n".join(json.dumps(_short(record), ensure_ascii=False) for record in self.content["records"])
        PATH.write_text(json.dumps(rest, ensure_ascii=False, indent=1)[:-2] + f',\n "records": [\n{lines}\n]}}\n')

    def find(self, kind: str, **wanted: object) -> list[Record]:
        """Return the records of a kind that have these values."""
        records: list[Record] = self.content["records"]
        return [r for r in records if r["kind"] == kind and all(r.get(key) == value for key, value in wanted.items())]

    def one(self, kind: str, **wanted: object) -> Record | None:
        """Return the only such record, or None."""
        found = self.find(kind, **wanted)
        return found[0] if found else None

    def peers(self, kind: str, **wanted: object) -> list[str]:
        """Return the names of peers that have such records, in order."""
        found = {record["peer"] for record in self.find(kind, **wanted)}
        return [peer.name for peer in PEERS if peer.name in found]

    def typical(self, peer: str, k: int, approximate: bool) -> float:
        """Return a typical error; for --check, which has one table only."""
        found = [r for r in self.find("errors", peer=peer, k=k) if (r["delta"] > 0) == approximate]
        return float(found[0]["typical"])


def _subject(record: Record) -> tuple[str, str, int]:
    return str(record.get("peer", record["kind"])), str(record["metric"]), int(record["width"])


def _short(record: Record) -> Record:
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in record.items()}
