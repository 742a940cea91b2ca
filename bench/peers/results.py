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
        """Return these results with the records of a later run of some peers in place of theirs."""
        names = {record.get("peer", record["kind"]) for record in newer.content["records"]} | set(
            newer.content["missing"]
        )
        kept = [r for r in self.content["records"] if r.get("peer", r["kind"]) not in names]
        gone = {name: why for name, why in self.content["missing"].items() if name not in names}
        content = {**newer.content, "records": kept + newer.content["records"]}
        return Results({**content, "missing": {**gone, **newer.content["missing"]}})

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


def _short(record: Record) -> Record:
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in record.items()}
