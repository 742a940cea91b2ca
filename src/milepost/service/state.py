"""The state of a running service."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from milepost.errors import MilepostError
from milepost.pipeline.interactive import check_charge
from milepost.privacy.accounting.ledger import Ledger
from milepost.service.auth import Keys, Quota
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ServiceDatabase
from milepost.service.errors import RefusedError
from milepost.service.jobs import Jobs
from milepost.service.releases import ReleaseCatalog
from milepost.service.schemas.requests import ReleaseRequest
from milepost.service.sessions import SessionService
from milepost.service.settings import Settings
from milepost.service.telemetry import Telemetry
from milepost.service.timing import Clock
from milepost.service.workers import Workers


class ServiceState:
    """A locked data directory, and the parts of the service that use it."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.settings, self.directory, self.telemetry = settings, DataDirectory.create(root), Telemetry()
        with ExitStack() as stack:  # closes everything if a later step fails
            stack.enter_context(self.directory.lock())
            self.directory.remove_unfinished()
            self.database = ServiceDatabase(self.directory.database_path)
            self.check_ledger()
            self.keys = Keys(stack.enter_context(self.database.watching()))
            self.releases = ReleaseCatalog(self.directory, self.database, settings)
            self.jobs = Jobs(self.database, settings.max_jobs)
            for job in self.jobs.interrupted_runs:
                if job.kind == "release":
                    self.releases.recover(ReleaseRequest.model_validate_json(job.words))
            self.sessions = SessionService(self.directory, self.database, settings)
            self._resources = stack.pop_all()
        self.workers = Workers(settings.max_waiting, max(settings.max_sessions, self.sessions.open))
        self.clock = Clock(settings.clock, settings.periods, self.telemetry.late)

    @property
    def ledger(self) -> Ledger | None:
        """The ledger with the budgets of datasets, or None if there is none yet."""
        return self.directory.ledger if self.directory.ledger_path.exists() else None

    def check_ledger(self) -> None:
        """Refuse a ledger that lacks a dataset or the charge of a session: it would grant their budgets again."""
        path = self.directory.ledger_path
        accounts = self.directory.ledger.datasets() if path.exists() and path.stat().st_size else ()
        datasets = {account.name for account in accounts}
        stores = self.directory.session_stores()
        for dataset, what in (
            *self.database.datasets(),
            *((card["charge"]["dataset"], store) for store, card in stores),
        ):
            if dataset not in datasets:
                raise MilepostError(
                    f"{path} does not know the dataset {dataset!r}, which {what} names: its budget would start again. "
                    "Restore the ledger from its backup. To start the budget again on purpose, run "
                    f"milepost ledger create {path} {dataset} --epsilon …"
                )
        for store, card in stores:
            check_charge(card, store, self.directory.ledger)

    def quota(self, name: str) -> Quota:
        """Return the ledger, limited to the share that a person may spend."""
        share = self.keys.share(name)
        if share is None:
            raise RefusedError("refused", detail=f"{name!r} has no key. Create one with `milepost keys create`.")
        return Quota(self.directory.ledger_path, name, share)

    def close(self) -> None:
        """Wait for running work, and close everything."""
        self.jobs.close()
        self.workers.close()
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
