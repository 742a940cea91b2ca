"""Budgets: what may be spent on datasets, and what was."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from milepost.privacy.accounting.account import DRAWN, SETTLED, Account, Entry
from milepost.service.auth import CURATOR
from milepost.service.errors import documented
from milepost.service.routes.curation import refusing
from milepost.service.routes.dependencies import Caller, Curator
from milepost.service.schemas.requests import BudgetRequest
from milepost.service.schemas.responses import ChargeList, Dataset, DatasetList
from milepost.service.state import ServiceState

DatasetName = Annotated[str, Path(min_length=1, max_length=64)]


def budgets(office: ServiceState) -> APIRouter:
    """Both roles see how much is left; curators create budgets, and see what they were spent on."""
    router = APIRouter(prefix="/v1/datasets", tags=["datasets"])
    workers = office.workers

    @router.get("", response_model=DatasetList, responses=documented())
    async def list_datasets(key: Caller) -> Any:
        """Every dataset's cap, and what is spent and left; for analysts, by charges that cannot be given back."""

        def listed() -> list[dict[str, Any]]:
            ledger = office.ledger
            if ledger is None:
                return []
            accounts = ledger.datasets()
            if key.role != CURATOR:
                accounts = tuple(_for_good(account, ledger.history(account.name)) for account in accounts)
            return [shown(account) for account in accounts]

        return JSONResponse({"datasets": await workers.run(listed)})

    @router.post("", status_code=201, response_model=Dataset, responses=documented("forbidden", "refused"))
    async def create_dataset(words: BudgetRequest, _: Curator) -> Any:
        """A budget for a dataset, for good; the same one again changes nothing."""

        def created() -> dict[str, Any]:
            with refusing():
                office.check_ledger()  # what was lost is not begun anew by the way
                return shown(office.directory.ledger.create(words.name, **words.model_dump(exclude={"name"})))

        return JSONResponse(await workers.run(created), 201)

    @router.get("/{name}/charges", response_model=ChargeList, responses=documented("forbidden", "not_found", "refused"))
    async def list_charges(name: DatasetName, _: Curator) -> Any:
        """Every charge, in order, those that were given back included. `label`: whose share it counts to."""

        def listed() -> list[dict[str, Any]]:
            with refusing():
                return [
                    {
                        "id": entry.id,
                        "charged": entry.charged,
                        "state": entry.state,
                        "guarantee": " and ".join(map(str, entry.guarantees)),
                        "cost": entry.cost.number,
                        "what": entry.what,
                        "label": entry.label,
                        "protects": entry.protects,
                    }
                    for entry in office.directory.ledger.history(name)
                ]

        return JSONResponse({"charges": await workers.run(listed)})

    return router


def _for_good(account: Account, entries: Sequence[Entry]) -> Account:
    """An account without charges that may yet be given back, or were: perhaps for what a table holds."""
    drawn = [entry.cost.nano for entry in entries if entry.state in (DRAWN, SETTLED)]
    return replace(account, spent=account.cap.amount(sum(drawn)), entries=len(drawn))


def shown(account: Account) -> dict[str, Any]:
    """An account as HTTP shows it."""
    return {
        "name": account.name,
        "cap": str(account.cap),
        "spent": str(account.spent),
        "left": str(account.left),
        "share": account.spent.nano / account.cap.nano,
        "charges": account.entries,
    }
