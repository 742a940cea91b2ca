"""The demo as a service: made-up people, three releases and a session, in a data directory of their own."""

import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from milepost.demo.clinic import DELTA, EPSILON, REGION, homes
from milepost.service.home import Home
from milepost.service.keys import CURATOR, create_key
from milepost.service.office import Office
from milepost.service.register import Register
from milepost.service.requests import Building, Opening
from milepost.service.running import Address, run
from milepost.service.settings import Settings
from milepost.spaces.lp import L1

WHO = "you"
CAP = 4.0  # ε of the made-up dataset


def serve_demo(n: int, port: int, console: Console, *, show: bool) -> None:
    """Make everything up, serve it, and open the page; all of it is gone afterwards."""
    with TemporaryDirectory(prefix="milepost-demo-") as folder:
        with console.status("Making up people, releases and a session …"):
            key = stage(Path(folder), n)

        def ready(url: str) -> None:
            page = f"{url}#key={key}&release=homes"
            console.print(f"The page is at\n\n  {page}\n\nand stays until Ctrl-C.", soft_wrap=True, markup=False)
            if show:
                webbrowser.open(page)

        run(Path(folder), Address(port=port), Settings(), ready)


def stage(root: Path, n: int) -> str:
    """A data directory with something to look at, and the key of a curator for it."""
    home = Home.made(root)
    _, key = create_key(Register(home.register), WHO, CURATOR)
    people, ages = homes(n), np.random.default_rng(7).gamma(6, 7, n)
    side = np.where(people[:, 1] < REGION.longitude, "west", "east")
    table = {"lat": people[:, 0], "lon": people[:, 1], "age": ages, "side": side}
    pq.write_table(pa.table(table), home.tables / "homes.parquet")
    home.ledger.create("homes", epsilon=CAP, delta=DELTA)
    made: dict[str, Any] = {"table": "homes.parquet", "dataset": "homes", "epsilon": EPSILON, "delta": DELTA}
    city = {"space": "great-circle", "center": [REGION.latitude, REGION.longitude], "radius_km": REGION.radius_km}
    age = {"space": "l1", "bounds": {"age": [0, 110]}, "unit": "years"}
    with Office(root, Settings()) as office:
        paying = office.allowance(WHO)
        for words, space in (
            (Building(id="homes", title="Homes in and around a city", space=city, **made), REGION),
            (Building(id="ages", title="Ages", space=age, **made), L1({"age": (0, 110)}, unit="years")),
            (
                Building(
                    id="sides", title="Homes, west and east", space=city, groups="side", labels=["west", "east"], **made
                ),
                REGION,
            ),
        ):
            office.catalog.build(words, space, paying)
        opening = Opening(
            id="clinic", title="Where a clinic could stand", analyst=WHO, space=city, max_queries=50, **made
        )
        office.desk.reserve(opening, REGION)
        office.desk.begin(opening, REGION, paying)
    return key
