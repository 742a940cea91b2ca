"""Areas: what is computed for each of the stored files, from small tables that are the same everywhere."""

import io
import json
import re
import shlex
import tempfile
import tomllib
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import milepost as mp
from milepost import cli
from milepost._typing import FloatArray
from tests import ROOT
from tests.golden.internals import (
    Noise,
    command_line,
    no_noise,
    openapi_document,
    replace_noise,
    sketch_of,
    stream_noise,
    sums_of,
)

ROWS = 24
WORDS = ["colour", "centre", "color", "center", "meter", "metre", "theatre"]
ROADS = [[0, 1, 4, 3], [1, 0, 3, 2], [4, 3, 0, 1], [3, 2, 1, 0]]


def spread(rows: int, columns: int) -> FloatArray:
    """Return numbers between 0 and 1, without a random generator: its stream may change with NumPy."""
    row, column = np.arange(1, rows + 1)[:, None], np.arange(columns)[None]
    return np.asarray((row * (2 * column + 1) * 383 + 97 * column) % 1009 / 1009)


def box_points(*bounds: tuple[float, float], rows: int = ROWS) -> FloatArray:
    """Return rows in a box, the first one outside it."""
    low, high = np.array(bounds, dtype=np.float64).T
    points = low + spread(rows, len(bounds)) * (high - low)
    points[0] = high + 1
    return np.asarray(points)


def mixed(rows: int = ROWS) -> list[list[Any]]:
    """Return rows of a number, a label that may be unknown, and a flag."""
    return [[9 * a, "abcd"[int(4 * b)], bool(c > 0.5)] for a, b, c in spread(rows, 3).tolist()]


def letters(rows: int = ROWS) -> list[str]:
    """Return words of two letters."""
    return ["ACGT"[int(4 * a)] + "AB"[int(2 * b)] for a, b in spread(rows, 2).tolist()]


SPACES: dict[str, tuple[Any, Any, Any]] = {  # a space, a table and queries
    "l1": (mp.L1([(0, 1)]), box_points((0, 1)), [[0.25], [0.5], [1]]),
    "l1 steps": (
        mp.L1({"age": (18, 90), "height": (0, 2.2)}, step={"age": 1}),
        box_points((18, 90), (0, 2.2)),
        [[30, 1], [18, 2.2]],
    ),
    "l1 weights": (
        mp.L1({"a": (0, 100), "b": (-1, 1), "c": (5, 6)}, weights={"a": 0.02, "b": 3}),
        box_points((0, 100), (-1, 1), (5, 6)),
        [[50, 0, 5.5], [0, 1, 6]],
    ),
    "l2 box": (
        mp.L2([(0, 1), (0, 5), (2, 3)], directions=5),
        box_points((0, 1), (0, 5), (2, 3)),
        [[0.5, 1, 2], [1, 5, 3]],
    ),
    "l2 ball": (
        mp.L2(center=[1, -2], radius=3, directions=4),
        box_points((-1, 3), (-4, 0)),
        [[1, -2], [3, -2], [0, 0]],
    ),
    "lp": (mp.Lp(1.5, [(0, 1), (-1, 4)], directions=4), box_points((0, 1), (-1, 4)), [[0.5, 1], [0, 4]]),
    "great circle": (
        mp.GreatCircle((52.5, 13.4), 40, directions=4),
        box_points((52.3, 52.7), (13.1, 13.7)),
        [[52.5, 13.4], [52.6, 13.2], [52.4, 13.5]],
    ),
    "angular": (mp.Angular(3, directions=6), box_points((-1, 1), (-1, 1), (-1, 1)), [[1, 0, 0], [0, -1, 1]]),
    "gower": (
        mp.Gower([mp.number(0, 9, step=1), mp.category(["a", "b", "c"]), mp.flag()], weights=[1, 2, 0.5]),
        mixed(),
        [[3, "a", True], [9, "other", False]],
    ),
    "hamming": (mp.Hamming(["ACGT", "AB"]), letters(), ["AA", "TB"]),
    "any, words": (
        mp.AnyMetric(mp.edit_distance, 7, WORDS[:5], repetitions=2),
        [WORDS[int(7 * a)] for (a,) in spread(ROWS, 1).tolist()],
        WORDS[:2],
    ),
    "any, roads": (
        mp.AnyMetric(mp.precomputed(ROADS), 4, [0, 1, 2, 3], repetitions=2, universe=[0, 1, 2, 3]),
        [int(4 * a) for (a,) in spread(ROWS, 1).tolist()],
        [0, 2],
    ),
}
GUARANTEES: dict[str, dict[str, Any]] = {
    "approximate": {"epsilon": 2.0, "delta": 1e-6},
    "pure": {"epsilon": 2.0, "delta": 0.0},
}
RELATIONS = ("replace", "add-remove")


def people(rows: int) -> pa.Table:
    """Return points in a square with a group, a person and a weight each."""
    numbers = spread(rows, 5)
    return pa.table(
        {
            "x": 10 * numbers[:, 0],
            "y": 10 * numbers[:, 1] ** 2,
            "side": np.array(["west", "east", "nowhere"])[(2.2 * numbers[:, 2]).astype(int)],
            "person": (rows / 2 * numbers[:, 3]).astype(int),
            "weight": 3 * numbers[:, 4],
        }
    )


ROW_COLUMNS: dict[str, dict[str, Any]] = {
    "groups": {"groups": "side", "labels": ["west", "east"]},
    "groups and other": {"groups": "side", "labels": ["west", "other"]},
    "weights": {"row_weights": "weight", "max_row_weight": 2.5},
    "contributions": {"privacy_unit": "person", "contributions": 2},
    "all": {
        "groups": "side",
        "labels": ["west", "east"],
        "privacy_unit": "person",
        "contributions": 1,
        "row_weights": "weight",
        "max_row_weight": 2.5,
    },
}
SQUARE = mp.L1({"x": (0, 10), "y": (0, 10)})


def statistics() -> dict[str, Any]:
    """Return exact sketches and sums of distances of every space, and with groups, persons and weights."""
    result: dict[str, Any] = {}
    for name, (space, table, queries) in SPACES.items():
        sketch, sums = sketch_of(table, space), sums_of(table, space, queries)
        embedding = space.embedding
        result[name] = {
            "space": space.to_json(),
            "diameter": space.diameter,
            "embedding": {
                "sensitivity_bound": embedding.sensitivity_bound,
                "total_width": embedding.total_width,
                "bias": embedding.bias,
                "quantum": embedding.quantum,
            },
            "sketch": {"counts": sketch.counts, "offsets": sketch.offsets, "totals": sketch.totals},
            "sums": {"values": sums.values, "totals": sums.totals},
            "exact": mp.exact_mean_distance(table, space, queries),
        }
    for name, row_columns in ROW_COLUMNS.items():
        sketch, sums = (
            sketch_of(people(60), SQUARE, **row_columns),
            sums_of(people(60), SQUARE, [[2, 3], [5, 5]], **row_columns),
        )
        result[f"roles, {name}"] = {
            "sketch": {"counts": sketch.counts, "offsets": sketch.offsets, "totals": sketch.totals},
            "sums": {"values": sums.values, "totals": sums.totals},
        }
    return result


def plans() -> dict[str, Any]:
    """Return plans with both guarantees and relations."""
    result: dict[str, Any] = {}
    for name in ("l1 weights", "l2 ball", "great circle", "gower", "any, roads"):
        space, _, queries = SPACES[name]
        for kind, guarantee in GUARANTEES.items():
            for relation in RELATIONS if name in ("l1 weights", "any, roads") else RELATIONS[:1]:
                plan = mp.plan(space, n=20_000, neighbors=relation, queries=queries, **guarantee)
                result[f"{name}, {kind}, {relation}"] = _plan(plan)
    options: dict[str, dict[str, Any]] = {
        "sessions": {"max_queries": 200},
        "groups": {"groups": 3},
        "contributions": {"contributions": 4},
    }
    for name, params in options.items():
        result[f"square, {name}"] = _plan(mp.plan(SQUARE, n=20_000, epsilon=1, delta=1e-6, **params))
    result["square, least epsilon"] = _plan(mp.plan(SQUARE, n=20_000, error=0.05, delta=1e-6))
    return result


def _plan(plan: mp.Plan) -> dict[str, Any]:
    return {
        "guarantee": asdict(plan.guarantee),
        "order": [prediction.mechanism for prediction in plan.predictions],
        "predictions": {prediction.mechanism: asdict(prediction) for prediction in plan.predictions},
        "refused": plan.refused,
    }


def scales_of(calls: list[tuple[str, float, int]]) -> list[str | list[Any]]:
    """Return the laws and scales of all noise, with the number of draws of each."""
    counts: dict[tuple[str, float], int] = {}
    for law, scale, draws in calls:
        counts[law, scale] = counts.get((law, scale), 0) + draws
    return [[law, scale, draws] for (law, scale), draws in sorted(counts.items())]


def file_of(synopsis: mp.Synopsis) -> dict[str, Any]:
    """Return the card and tensors of a release, read from its file."""
    from safetensors import safe_open

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.milepost"
        synopsis.save(path)
        with safe_open(path, "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            entry = json.loads(file.metadata()["milepost"])
        again = mp.load(path)  # which checks the digest in the entry; it depends on last bits of floats in the card
    assert again.card == synopsis.card
    return {"card": json.loads(entry["card"]), "tensors": tensors}


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def uniform_error(synopsis: mp.Synopsis, group: Any) -> dict[str, float]:
    """The error for all points at once, where there is one."""
    statistic = synopsis.statistic if group is None else synopsis.statistic.group(group)
    if not statistic.has_uniform_error:
        return {}
    return {"uniform": synopsis.error(synopsis.confidence, uniform=True, group=group)}


def release(table: Any, space: Any, points: Any, draw: Noise, **params: Any) -> dict[str, Any]:
    """Return one release with other noise: its scales, its file, and its answers."""
    with replace_noise(draw) as calls:
        synopsis = mp.release(table, space, **params)
        scales = scales_of(calls)
        result: dict[str, Any] = {"scales": scales, **file_of(synopsis)}
        groups = synopsis.labels or (None,)
        result["answers"] = {
            str(group): {
                "mean_distance": synopsis.mean_distance(points, group=group),
                "raw": synopsis.mean_distance(points, group=group, raw=True),
                "interval": np.column_stack(synopsis.interval(points, synopsis.confidence, group=group)),
                "error": synopsis.error(synopsis.confidence, group=group),
                **uniform_error(synopsis, group),
            }
            for group in groups
        }
        result["n"] = synopsis.n
        result["statement"] = synopsis.statement()
        if synopsis.labels:
            result["comparison"] = str(synopsis.compare(points))
        assert scales_of(calls) == scales, "an answer has drawn noise"
    return result


EMBEDDED = {"slopes": ("approximate",), "hats": ("pure",), "tangents": ("approximate", "pure")}
DIRECT = {"field": ("approximate",), "net": ("approximate", "pure"), "gaussian": ("approximate",), "laplace": ("pure",)}
SMALL = mp.L1({"x": (0, 10), "y": (0, 10)}, step=1.25)  # so that releases are small


def releases() -> dict[str, Any]:
    """Return releases by every mechanism, without noise and with reproducible noise."""
    result: dict[str, Any] = {}
    table, points = people(4000), [[2.0, 3.0], [5.0, 5.0], [11.0, 0.0]]
    sites = [[2.0, 3.0], [5.0, 5.0], [9.0, 1.0]]
    for draw in (no_noise, stream_noise):
        for mechanism, kinds in (EMBEDDED | DIRECT).items():
            for kind in kinds:
                for relation in RELATIONS:
                    if mechanism == "tangents" and relation == "add-remove":
                        continue  # it needs a public number of rows
                    params = {"mechanism": mechanism, "neighbors": relation, **GUARANTEES[kind]}
                    if mechanism in DIRECT:
                        params["queries"] = sites
                    queries = sites if mechanism in DIRECT else points
                    name = f"{mechanism}, {kind}, {relation}, {draw.__name__}"
                    result[name] = release(table, SMALL, queries, draw, **params)
        for columns in ("groups", "weights", "contributions", "all"):
            for mechanism, kind in (("slopes", "approximate"), ("hats", "pure"), ("net", "approximate")):
                params = {"mechanism": mechanism, "queries": sites} if mechanism in DIRECT else {"mechanism": mechanism}
                name = f"{mechanism}, {columns}, {draw.__name__}"
                result[name] = release(table, SMALL, sites, draw, **params, **GUARANTEES[kind], **ROW_COLUMNS[columns])
    return result


def spaces() -> dict[str, Any]:
    """Return releases in every space, without noise: by slopes and hats, and for given queries."""
    result: dict[str, Any] = {}
    for name, (space, table, queries) in SPACES.items():
        many = table * 100 if isinstance(table, list) else np.tile(table, (100, 1))
        for mechanism, kind in (("slopes", "approximate"), ("hats", "pure")):
            params = {"mechanism": mechanism, **GUARANTEES[kind]}
            result[f"{name}, {mechanism}"] = release(many, space, queries, no_noise, **params)
        params = {"mechanism": "net", "queries": queries, **GUARANTEES["approximate"]}
        result[f"{name}, net"] = release(many, space, queries, no_noise, **params)
    with replace_noise(no_noise) as calls:
        space, table, queries = SPACES["great circle"]
        synopsis = mp.release(np.tile(table, (400, 1)), space, epsilon=1, delta=1e-6, mechanism="slopes")
        result["great circle, sites"] = synopsis.sites(queries, ["a", "b", "c"]).to_geojson()
        result["great circle, center"] = synopsis.center()
        result["great circle, grid"] = synopsis.grid(0.1).values
        square = mp.release(people(4000), SMALL, epsilon=1, delta=1e-6, mechanism="slopes")
        result["square, columns"] = {
            "cdf": square.cdf("x", [1.0, 5.0, 9.0]),
            "quantile": square.quantile("x", [0.1, 0.5, 0.9]),
            "explain": square.explain([2.0, 3.0]),
            "sites": str(square.sites({"one": [2.0, 3.0], "two": [5.0, 5.0]})),
        }
        calls.clear()
        bounded = mp.find_bounds(people(4000), ["x", "y", "weight"], epsilon=1)
        result["bounds"] = {"space": bounded.to_json(), "scales": scales_of(calls)}
    return result


def sessions() -> dict[str, Any]:
    """Return answers of sessions without noise, with the scales."""
    result: dict[str, Any] = {}
    rows = np.column_stack([people(4000)["x"], people(4000)["y"]])
    points = (10 * spread(8, 2)).round(3)
    for mechanism, kind in (
        ("field", "approximate"),
        ("tangents", "approximate"),
        ("tangents", "pure"),
        ("slopes", "approximate"),
    ):
        with replace_noise(no_noise) as calls:
            params: dict[str, Any] = {"mechanism": mechanism, "max_queries": 20, **GUARANTEES[kind]}
            with mp.interactive(rows, SMALL, **params) as session:
                answers = [session.ask(points[0], name="first"), *session.ask_many(points), session.ask(points[0])]
                result[f"{mechanism}, {kind}"] = {
                    "answers": [asdict(answer) for answer in answers],
                    "session": repr(session),
                    "updates": session.updates,
                    "transcript": [[name, point, asdict(answer)] for name, point, answer in session.transcript()],
                    "scales": scales_of(calls),
                }
    return result


def proofs() -> dict[str, Any]:
    """Return the labels of cited lines, and how many citations each has; another test checks where the lines are."""
    result: dict[str, Any] = {}
    for page in sorted((ROOT / "docs/proofs").glob("*.md")):
        _, heading, rest = page.read_text().partition("\n## Lines of code\n")
        if heading:
            entries = re.findall(r"^- \[(.+?)\] (.*)$", rest.partition("\n## ")[0], re.MULTILINE)
            counts: dict[str, int] = {}
            for label, text in entries:
                citations = [part for part in re.findall(r"`([^`]+)`", text) if not part.endswith(".py")]
                counts[label] = counts.get(label, 0) + len(citations)
            result[page.stem] = counts
    return result


def openapi() -> dict[str, Any]:
    """Return the service's OpenAPI document, without versions."""
    with tempfile.TemporaryDirectory() as folder:
        document: dict[str, Any] = json.loads(json.dumps(openapi_document(Path(folder))))
    document.pop("openapi")
    document["info"].pop("version")
    return document


def helps() -> dict[str, Any]:
    """Return the contents of every command's `--help`; its layout depends on the version of Typer."""
    result: dict[str, Any] = {}

    def add(command: Any, path: str) -> None:
        parameters = {}
        for parameter in command.params:
            description = {"options": [*parameter.opts, *parameter.secondary_opts], "required": parameter.required}
            description |= {"help": getattr(parameter, "help", None), "metavar": parameter.metavar}
            description |= {"default": None if callable(parameter.default) else parameter.default}
            parameters[parameter.name] = description
        result[path] = {"help": command.help, "epilog": command.epilog, "parameters": parameters}
        for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
            add(command.get_command(None, name), f"{path} {name}")

    add(command_line(), "milepost")
    return result


LINES = (  # run one after another in one folder
    "plan --space l1 --bounds x=0:10 --bounds y=0:10 --n 4000 --epsilon 2 --delta 1e-6 --max-queries 100",
    "plan --space l1 --bounds x=0:10 --n 4000 --error 0.05",
    "bounds people.csv --columns x,y --epsilon 1 -o found.toml",
    "ledger create ledger.db people --epsilon 9",
    (
        "release people.csv --space l1 --bounds x=0:10 --bounds y=0:10 --step x=1.25 --step y=1.25 --epsilon 2 "
        "--delta 1e-6 --mechanism slopes -o plain.milepost"
    ),
    (
        "release people.csv --space l1 --bounds x=0:10 --bounds y=0:10 --step x=1.25 --step y=1.25 --epsilon 2 "
        "--mechanism hats --groups side --labels west,east --ledger ledger.db --dataset people -o sides.milepost"
    ),
    "query plain.milepost --at 2,3 --at 5,5",
    "query plain.milepost --at 2,3 --geojson answers.geojson",
    "query sides.milepost --at 2,3 --at 5,5 --nearest",
    "query sides.milepost points.csv --group west -o answers.csv",
    "show plain.milepost",
    "show plain.milepost --statement",
    "show sides.milepost --registry",
    (
        "ask store.db people.csv --space l1 --bounds x=0:10 --bounds y=0:10 --epsilon 2 --delta 1e-6 --max-queries 20 "
        "--mechanism field"
    ),
    "ask store.db people.csv --at 2,3 --name spring",
    "ledger show ledger.db",
    "release people.csv --space l1 --bounds x=0:10 --epsilon 2 -o plain.milepost",
    "query nothing.milepost --at 1,2",
)
FILES: dict[str, Callable[[str], Any]] = {  # numbers as numbers, whose last digits may differ
    "found.toml": tomllib.loads,
    "answers.csv": lambda text: [[_parse(cell) for cell in line.split(",")] for line in text.splitlines()],
    "answers.geojson": json.loads,
}


def commands() -> dict[str, Any]:
    """Return what commands print and write, without noise, versions, times and sizes."""
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), replace_noise(no_noise):
        people_csv(Path("people.csv"))
        Path("points.csv").write_text("x,y\n2,3\n5,5\n")
        for number, line in enumerate(LINES):
            out, err, code = io.StringIO(), io.StringIO(), 0
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    cli.main(shlex.split(line))
                except SystemExit as stop:
                    code = int(stop.code or 0)
            output = {"out": _normalize(out.getvalue()), "err": _normalize(err.getvalue())}
            result[f"{number:02d} {line}"] = {"code": code, **output}
        for name, read in FILES.items():
            result[f"file {name}"] = read(Path(name).read_text())
    return result


def people_csv(path: Path) -> None:
    """Write the people as CSV."""
    table = people(4000).to_pydict()
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")


def _normalize(text: str) -> list[str]:
    """Return lines without what differs between runs, computers and versions."""
    text = re.sub(r"(milepost|opendp|numpy) \d[\w.]*", r"\1 VERSION", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", "TIME", text)
    text = re.sub(r"[\d,]+ bytes", "SIZE bytes", text)
    return [line.rstrip() for line in text.splitlines()]


AREAS: dict[str, Callable[[], dict[str, Any]]] = {
    area.__name__: area for area in (statistics, plans, releases, spaces, sessions, proofs, openapi, helps, commands)
}
