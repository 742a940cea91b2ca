"""Routes of datasets: their budgets and charges."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from milepost.privacy.accounting.account import DRAWN, SETTLED, Account, Entry
from milepost.service.auth import CURATOR
from milepost.service.errors import error_responses
from milepost.service.routes.curation import refuse_library_errors
from milepost.service.routes.dependencies import Caller, Curator
from milepost.service.schemas.requests import BudgetRequest
from milepost.service.schemas.responses import ChargeList, Dataset, DatasetList
from milepost.service.state import ServiceState

DatasetName = Annotated[str, Path(min_length=1, max_length=64)]


def budgets(state: ServiceState) -> APIRouter:
    """Return the routes of datasets: both roles see what remains; curators create budgets and see charges."""
    router = APIRouter(prefix="/v1/datasets", tags=["datasets"])
    workers = state.workers

    @router.get("", response_model=DatasetList, responses=error_responses())
    async def list_datasets(key: Caller) -> Any:
        """Return the cap of every dataset, what is spent and what remains. For analysts, only final charges count."""

        def list_accounts() -> list[dict[str, Any]]:
            ledger = state.ledger
            if ledger is None:
                return []
            accounts = ledger.datasets()
            if key.role != CURATOR:
                accounts = tuple(_without_refundable(account, ledger.history(account.name)) for account in accounts)
            return [account_view(account) for account in accounts]

        return JSONResponse({"datasets": await workers.run(list_accounts)})

    @router.post("", status_code=201, response_model=Dataset, responses=error_responses("forbidden", "refused"))
    async def create_dataset(request: BudgetRequest, _: Curator) -> Any:
        """Create the budget of a dataset, which nobody can change later. The same request again has no effect."""

        def create() -> dict[str, Any]:
            with refuse_library_errors():
                state.check_ledger()  # a lost dataset must not get a new budget
                return account_view(state.directory.ledger.create(request.name, **request.model_dump(exclude={"name"})))

        return JSONResponse(await workers.run(create), 201)

    @router.get(
        "/{name}/charges", response_model=ChargeList, responses=error_responses("forbidden", "not_found", "refused")
    )
    async def list_charges(name: DatasetName, _: Curator) -> Any:
        """Return all charges of a dataset in order, including refunded ones. `label` names the person who pays."""

        def list_entries() -> list[dict[str, Any]]:
            with refuse_library_errors():
                return [
                    {
                        "id": entry.id,
                        "charged": entry.charged,
                        "state": entry.state,
                        "guarantee": " and ".join(map(str, entry.guarantees)),
                        "accounting": entry.accounting,
                        "cost": entry.cost.number,
                        "what": entry.what,
                        "label": entry.label,
                        "protects": entry.protects,
                    }
                    for entry in state.directory.ledger.history(name)
                ]

        return JSONResponse({"charges": await workers.run(list_entries)})

    return router


def _without_refundable(account: Account, entries: Sequence[Entry]) -> Account:
    """Return an account without charges that were or can be refunded: a refund may depend on the table."""
    costs = [entry.cost.nano for entry in entries if entry.state in (DRAWN, SETTLED)]
    return replace(account, spent=account.cap.amount(sum(costs)), entries=len(costs))


def account_view(account: Account) -> dict[str, Any]:
    """Return an account as a JSON response."""
    return {
        "name": account.name,
        "cap": str(account.cap),
        "accounting": account.accounting,
        "spent": str(account.spent),
        "remaining": str(account.remaining),
        "share": account.spent.nano / account.cap.nano,
        "charges": account.entries,
    }
