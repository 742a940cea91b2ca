"""Home: the data directory of a service, which one process serves at a time.

DIR/service.db    keys, and what there is of releases, sessions and jobs
DIR/ledger.db     the budgets of datasets, a ledger as any other
DIR/releases      released files
DIR/sessions      stores of sessions, and their keys
DIR/tables        private tables, which the curator puts there
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
UNFINISHED = re.compile(r"\.upload-.+|\..+\.milepost\..+")  # names of files that become releases


@dataclass(frozen=True)
class DataDirectory:
    """Where everything is."""

    root: Path

    @classmethod
    def made(cls, root: Path) -> "DataDirectory":
        """The directory, made with its folders where there are none; only its owner may look inside."""
        home = cls(root.absolute())
        try:
            for folder in (home.root, home.releases, home.sessions, home.tables):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MilepostError(f"{root} cannot be used as a data directory: {error.strerror}") from None
        return home

    @property
    def register(self) -> Path:
        """Keys, releases, sessions and jobs."""
        return self.root / "service.db"

    @property
    def ledger_path(self) -> Path:
        """Of the budgets."""
        return self.root / "ledger.db"

    @property
    def ledger(self) -> Ledger:
        """The budgets of datasets."""
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
        """The file of a release."""
        return self.releases / f"{check_name(name)}.milepost"

    def session(self, name: str) -> Path:
        """The store of a session."""
        return self.sessions / f"{check_name(name)}.db"

    def table(self, name: str) -> Path:
        """A private table by its name, which is one of those listed."""
        if name not in self.table_names():
            raise MilepostError(f"there is no table {name!r} in {self.tables}: it has {self.table_names() or 'none'}")
        return self.tables / name

    def table_names(self) -> list[str]:
        """Of all files and folders that may be tables."""
        found = [path for path in self.tables.iterdir() if not path.name.startswith(".")]
        return sorted(path.name for path in found if path.is_dir() or path.suffix.lower() in SUFFIXES)

    def stores(self) -> list[tuple[Path, dict[str, Any]]]:
        """Stores of sessions that were charged to a ledger, with their cards; other files there are passed over."""
        found = []
        for path in sorted(self.sessions.glob("[!.]*.db")):
            with suppress(MilepostError, OSError):
                found.append((path, stored_card(path)))
        return [(path, card) for path, card in found if card.get("charge") is not None]

    def tidy(self) -> None:
        """Take away what an upload or a release leaves that a crash has ended; nobody else serves the directory."""
        for path in self.releases.iterdir():
            if UNFINISHED.fullmatch(path.name) and path.is_file():
                with suppress(OSError):  # it is in nobody's way
                    path.unlink()

    def clear_release(self, name: str) -> None:
        """Take away the file of a release that is not listed, if there is one."""
        path = self.release(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise MilepostError(
                f"{path} is in the place of a release and cannot be removed: {error.strerror}; move it elsewhere"
            ) from None

    def hold(self) -> TextIO:
        """Keep other services away from the directory, until the file that is returned is closed."""
        try:
            lock = (self.root / ".lock").open("w")
        except OSError as error:
            raise MilepostError(f"{self.root} cannot be used as a data directory: {error.strerror}") from None
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # on Windows, where nobody is kept away
            pass
        except OSError:
            lock.close()
            raise MilepostError(f"{self.root} is served by another process already; stop that one first") from None
        os.set_inheritable(lock.fileno(), False)
        return lock


def check_name(name: str) -> str:
    """Refuse what cannot name a release or a session; none leads out of its folder."""
    if not NAME.fullmatch(name):
        raise MilepostError(f"a name has 1 to 64 of a-z, 0-9 and -, and begins with a letter or digit, got {name!r}")
    return name
