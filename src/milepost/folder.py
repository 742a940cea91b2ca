"""Folder: the files that a path stands for: one, those of a folder, or those that match a pattern."""

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from milepost.errors import MilepostError

CSV, PARQUET = (".csv", ".txt"), (".parquet",)
HIDDEN = (".", "_")  # as Spark names what is no data
NO_KEYS: Mapping[str, pa.Scalar] = MappingProxyType({})


@dataclass(frozen=True)
class File:
    """A CSV or Parquet file.

    name: for errors. keys: columns that are said by the names of the folders it is in, city=Bonn.
    """

    path: Path
    name: str
    keys: Mapping[str, pa.Scalar] = field(default_factory=lambda: NO_KEYS)

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in (*CSV, *PARQUET):
            raise MilepostError(
                f"{self.path.name}: only CSV (.csv, .txt) and Parquet (.parquet) files are read from a path"
            )

    @property
    def parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.path.suffix.lower() in PARQUET


def listed(path: Path) -> list[File]:
    """The files behind a path, in the order of their names: a file, a folder's and its subfolders', or a pattern's."""
    if path.is_dir():
        return _files(path, [inside for inside in path.rglob("*") if inside.is_file()])
    if glob.has_magic(str(path)) and not path.exists():
        fixed = _fixed(path)
        found = [Path(match) for match in glob.glob(str(path), recursive=True)]
        inside = [one for match in found for one in (match.rglob("*") if match.is_dir() else [match])]
        return _files(path, [one for one in inside if one.is_file()], fixed)
    return [File(path, path.name)]


def _fixed(pattern: Path) -> Path:
    """The folder down to which a pattern has no wildcards."""
    parts = pattern.parts
    first = next(k for k, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]) if first else Path()


def _files(given: Path, found: list[Path], base: Path | None = None) -> list[File]:
    """Those that may hold data; keys are told by folders below the base."""
    base = given if base is None else base
    shown = [one for one in found if not any(part.startswith(HIDDEN) for part in one.relative_to(base).parts)]
    usable = sorted({one for one in shown if one.suffix.lower() in (*CSV, *PARQUET)})
    if not usable:
        raise MilepostError(f"{given} has no CSV (.csv, .txt) or Parquet (.parquet) files")
    if len({one.suffix.lower() in PARQUET for one in usable}) > 1:
        raise MilepostError(f"{given} has CSV and Parquet files; name those to read with a pattern such as *.parquet")
    keys = _keys(usable, base)
    return [File(one, str(one.relative_to(base)), keys.get(one, NO_KEYS)) for one in usable]


def _keys(found: list[Path], base: Path) -> dict[Path, Mapping[str, pa.Scalar]]:
    """What the names of folders say, by file; the values of a key are whole numbers if all are, else text."""
    values: dict[str, list[str]] = {}
    for path in found:
        pairs = [part.partition("=") for part in path.relative_to(base).parts[:-1] if "=" in part]
        for key, _, value in pairs:
            values.setdefault(key, []).append(value)
    if not values:
        return {}
    for key, said in values.items():
        if len(said) != len(found):
            raise MilepostError(f"{base} has files with and without a folder {key}=…; read those of one kind at a time")
    from pyarrow.dataset import HivePartitioning, get_partition_keys

    whole = re.compile(r"-?\d{1,18}")
    kinds = {key: pa.int64() if all(map(whole.fullmatch, said)) else pa.string() for key, said in values.items()}
    partitioning = HivePartitioning(pa.schema(kinds))
    said_of = {path: get_partition_keys(partitioning.parse(str(path.relative_to(base)))) for path in found}
    return {path: {key: pa.scalar(said[key], kinds[key]) for key in kinds} for path, said in said_of.items()}
