"""The data directory of a service, which one process serves at a time.

DIR/service.db    keys, and the records of releases, sessions and jobs
DIR/ledger.db     the budgets of datasets, an ordinary ledger
DIR/releases      released files
DIR/sessions      stores of sessions, and their keys
DIR/tables        private tables, which the curator copies there
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from milepost.errors import MilepostError
from milepost.pipeline.interactive import stored_card
from milepost.privacy.accounting.ledger import Ledger

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
SUFFIXES = (".csv", ".txt", ".parquet")
UNFINISHED = re.compile(r"\.upload-.+|\..+\.milepost\..+")  # of uploads and releases that were not completed


@dataclass(frozen=True)
class DataDirectory:
    """The paths of all files of a service."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> "DataDirectory":
        """Return the directory, and create it and its folders if needed; only their owner may read them."""
        directory = cls(root.absolute())
        try:
            for folder in (directory.root, directory.releases, directory.sessions, directory.tables):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MilepostError(f"cannot use {root} as a data directory: {error.strerror}") from None
        return directory

    @property
    def database_path(self) -> Path:
        """The database of keys, releases, sessions and jobs."""
        return self.root / "service.db"

    @property
    def ledger_path(self) -> Path:
        """The file of the ledger."""
        return self.root / "ledger.db"

    @property
    def ledger(self) -> Ledger:
        """The ledger with the budgets of datasets."""
        return Ledger(self.ledger_path)

    @property
    def releases(self) -> Path:
        """The folder of released files."""
        return self.root / "releases"

    @property
    def sessions(self) -> Path:
        """The folder of sessions' stores."""
        return self.root / "sessions"

    @property
    def tables(self) -> Path:
        """The folder of private tables."""
        return self.root / "tables"

    def release(self, name: str) -> Path:
        """Return the file of a release."""
        return self.releases / f"{check_name(name)}.milepost"

    def session(self, name: str) -> Path:
        """Return the store of a session."""
        return self.sessions / f"{check_name(name)}.db"

    def table(self, name: str) -> Path:
        """Return the path of a private table, and refuse a name that `table_names` does not list."""
        if name not in self.table_names():
            names = ", ".join(map(repr, self.table_names())) or "no tables"
            raise MilepostError(f"there is no table {name!r} in {self.tables}. The folder has {names}.")
        return self.tables / name

    def table_names(self) -> list[str]:
        """Return the names of all files and folders that may be tables."""
        paths = [path for path in self.tables.iterdir() if not path.name.startswith(".")]
        return sorted(path.name for path in paths if path.is_dir() or path.suffix.lower() in SUFFIXES)

    def session_stores(self) -> list[tuple[Path, dict[str, Any]]]:
        """Return the stores of sessions that were charged to a ledger, with their cards; skip other files."""
        stores = []
        for path in sorted(self.sessions.glob("[!.]*.db")):
            with suppress(MilepostError, OSError):
                stores.append((path, stored_card(path)))
        return [(path, card) for path, card in stores if card.get("charge") is not None]

    def remove_unfinished(self) -> None:
        """Remove files of uploads and releases that a crash interrupted; call it while the directory is locked."""
        for path in self.releases.iterdir():
            if UNFINISHED.fullmatch(path.name) and path.is_file():
                with suppress(OSError):  # a leftover file does no harm
                    path.unlink()

    def clear_release(self, name: str) -> None:
        """Remove the file of a release that the database does not list, if there is one."""
        path = self.release(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise MilepostError(
                f"cannot remove {path}, which is in the place of a release: {error.strerror}. Move it elsewhere."
            ) from None

    def lock(self) -> TextIO:
        """Lock the directory against other services, until the file that is returned is closed."""
        try:
            lock_file = (self.root / ".lock").open("w")
        except OSError as error:
            raise MilepostError(f"cannot use {self.root} as a data directory: {error.strerror}") from None
        try:
            import fcntl

            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows, where there is no lock
            pass
        except OSError:
            lock_file.close()
            raise MilepostError(f"{self.root} is served by another process. Stop that process first.") from None
        os.set_inheritable(lock_file.fileno(), False)
        return lock_file


def check_name(name: str) -> str:
    """Return the id of a release or a session, and refuse one that could lead out of its folder."""
    if not NAME.fullmatch(name):
        raise MilepostError(
            f"an id must have 1 to 64 characters of a-z, 0-9 and -, and begin with a letter or digit, got {name!r}"
        )
    return name
