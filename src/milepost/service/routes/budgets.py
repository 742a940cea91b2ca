"""Budgets: what may be spent on datasets, and what was."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import JSONResponse

from milepost.privacy.account import Account
from milepost.service.access import Caller, Curator
from milepost.service.keys import CURATOR
from milepost.service.office import Office
from milepost.service.problems import documented
from milepost.service.routes.curation import refusing
from milepost.service.shapes import Budget, Charges, Dataset, Datasets

DatasetName = Annotated[str, Path(min_length=1, max_length=64)]


def budgets(office: Office) -> APIRouter:
    """Both roles see how much is left; curators create budgets, and see what they were spent on."""
    router = APIRouter(prefix="/v1/datasets", tags=["datasets"])
    workers = office.workers

    @router.get("", response_model=Datasets, responses=documented())
    async def list_datasets(key: Caller) -> Any:
        """Every dataset's cap, and what is spent and left; for analysts, `charges` leaves out those given back."""

        def listed() -> list[dict[str, Any]]:
            ledger = office.ledger
            found = [] if ledger is None else [shown(account) for account in ledger.datasets()]
            if ledger is not None and key.role != CURATOR:  # one may have been given back for what a table holds
                for one in found:
                    one["charges"] = sum(entry.counts for entry in ledger.history(one["name"]))
            return found

        return JSONResponse({"datasets": await workers.run(listed)})

    @router.post("", status_code=201, response_model=Dataset, responses=documented("forbidden", "refused"))
    async def create_dataset(words: Budget, _: Curator) -> Any:
        """A budget for a dataset, for good; the same one again changes nothing."""

        def created() -> dict[str, Any]:
            with refusing():
                return shown(office.home.ledger.create(words.name, **words.model_dump(exclude={"name"})))

        return JSONResponse(await workers.run(created), 201)

    @router.get("/{name}/charges", response_model=Charges, responses=documented("forbidden", "not_found", "refused"))
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
                    for entry in office.home.ledger.history(name)
                ]

        return JSONResponse({"charges": await workers.run(listed)})

    return router


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
