"""Office: all that a running service has at hand."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from milepost.errors import MilepostError
from milepost.pipeline.interactive import check_charge
from milepost.privacy.accounting.ledger import Ledger
from milepost.service.auth import Allowance, Keys
from milepost.service.data_directory import Home
from milepost.service.database import Register
from milepost.service.errors import RefusedError
from milepost.service.jobs import Jobs
from milepost.service.releases import Catalog
from milepost.service.schemas.requests import Building
from milepost.service.sessions import Desk
from milepost.service.settings import Settings
from milepost.service.telemetry import Measures
from milepost.service.timing import Clock
from milepost.service.workers import Workers


class Office:
    """A data directory while it is served; nobody else serves it meanwhile."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.settings, self.home, self.measures = settings, Home.made(root), Measures()
        with ExitStack() as opened:  # closed where something stands against the rest
            opened.enter_context(self.home.hold())
            self.home.tidy()
            self.register = Register(self.home.register)
            self.check_ledger()
            self.keys = Keys(opened.enter_context(self.register.watching()))
            self.catalog = Catalog(self.home, self.register, settings)
            self.jobs = Jobs(self.register, settings.max_jobs)
            for job in self.jobs.begun:
                if job.kind == "release":
                    self.catalog.recover(Building.model_validate_json(job.words))
            self.desk = Desk(self.home, self.register, settings)
            self._open = opened.pop_all()
        self.workers = Workers(settings.max_waiting, max(settings.max_sessions, self.desk.open))
        self.clock = Clock(settings.clock, settings.periods, self.measures.late)

    @property
    def ledger(self) -> Ledger | None:
        """The budgets of datasets; None where there are none yet."""
        return self.home.ledger if self.home.ledger_path.exists() else None

    def check_ledger(self) -> None:
        """Refuse a ledger that has lost a dataset or the charge of a session: it would grant their budgets again."""
        path = self.home.ledger_path
        known = {one.name for one in self.home.ledger.datasets()} if path.exists() and path.stat().st_size else set()
        stores = self.home.stores()
        for dataset, what in (*self.register.datasets(), *((card["charge"]["dataset"], at) for at, card in stores)):
            if dataset not in known:
                raise MilepostError(
                    f"{path} does not know the dataset {dataset!r}, which {what} names: its budget would begin anew. "
                    "Restore the ledger from its backup. If the budget is to begin anew, remove what names it, or "
                    f"create it: milepost ledger create {path} {dataset} --epsilon …"
                )
        for at, card in stores:
            check_charge(card, at, self.home.ledger)

    def allowance(self, name: str) -> Allowance:
        """The budgets, as far as a person may spend them."""
        share = self.keys.share(name)
        if share is None:
            raise RefusedError("refused", detail=f"nobody called {name!r} has a key; `milepost keys create` makes one")
        return Allowance(self.home.ledger_path, name, share)

    def close(self) -> None:
        """When what was begun is done."""
        self.jobs.close()
        self.workers.close()
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
