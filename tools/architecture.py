"""`python -m tools.architecture`: print the size of the package, its layers, and how long the path of a call is.

`tests/project/test_architecture.py` fails when an import points up, when modules import each other in a circle, and
when a folder has too many modules. Imports inside of functions and under `TYPE_CHECKING` count as any other.
"""

import argparse
import ast
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PACKAGE = "milepost"
SOURCE = Path(__file__).parents[1] / "src"
MAX_MODULES = 16  # in one folder
MAX_PARAMETERS = 21  # of one function
LAYERS = (  # a module imports from its own layer and from those above it in this list
    ("errors", "_typing"),
    ("_validation",),
    ("storage",),
    ("privacy", "spaces"),
    ("statistics",),
    ("ingest",),
    ("mechanisms",),
    ("answers",),
    ("reporting",),
    ("synopsis",),
    ("sessions",),
    ("pipeline",),
    ("auditing", "demo"),
    ("sklearn", "spark", "testing"),  # public doors
    ("",),  # the package itself, with its public names
    ("service",),
    ("cli",),
)
CARRIER_LAYERS = ("ingest", "statistics")
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}

Graph = dict[str, set[str]]  # the modules that each module imports, by their names within the package


class Edge(NamedTuple):
    """An import of one module by another."""

    importer: str
    imported: str


def module_files(source: Path = SOURCE) -> dict[str, Path]:
    """Return the file of each module; the package itself has an empty name."""
    root = source / PACKAGE
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix("__init__").removesuffix("."): path
        for path in sorted(root.rglob("*.py"))
    }


def import_graph(files: dict[str, Path]) -> Graph:
    """Return which modules each module imports, wherever in the file it does so."""
    return {name: {found for found in _imported(path, files) if found != name} for name, path in files.items()}


def _imported(path: Path, files: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == PACKAGE or name.startswith(f"{PACKAGE}."):
                inner = name.removeprefix(PACKAGE).removeprefix(".")
                yield inner if inner in files else inner.rpartition(".")[0]


def layer(module: str) -> str:
    """Return the first part of a module's name."""
    return module.partition(".")[0]


def upward_edges(graph: Graph) -> list[Edge]:
    """Return imports that point up, or across to another name of the same level; unknown names count as the top."""
    return sorted(
        Edge(importer, imported)
        for importer, found in graph.items()
        for imported in found
        if layer(imported) != layer(importer)
        and LEVELS.get(layer(imported), len(LAYERS)) >= LEVELS.get(layer(importer), len(LAYERS))
    )


def import_cycle(graph: Graph) -> list[str]:
    """Return some modules that import each other in a circle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(module) for module in error.args[1]]
    return []


def modules_in_cycles(graph: Graph) -> int:
    """Return how many modules can reach themselves by imports."""
    return sum(module in _reachable(graph, module) for module in graph)


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(graph[module])
    return found


def folder_sizes(files: dict[str, Path], source: Path = SOURCE) -> Counter[str]:
    """Return how many modules each folder holds itself, `__init__` included; the root is `.`."""
    return Counter(str(path.parent.relative_to(source / PACKAGE)) for path in files.values())


def carrier_types(source: Path = SOURCE) -> list[str]:
    """Return the classes of the folders between a table and a sketch, without exceptions and protocols."""
    classes: list[str] = []
    for module, path in module_files(source).items():
        if layer(module) in CARRIER_LAYERS:
            nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))
            classes += [node.name for node in nodes if not _is_exception_or_protocol(node)]
    return classes


def longest_signature(source: Path = SOURCE) -> tuple[int, str]:
    """Return the largest number of parameters that a function has, without self and cls, and its name."""
    signatures = (
        (len([arg for arg in _arguments(node) if arg not in ("self", "cls")]), f"{module}.{node.name}")
        for module, path in module_files(source).items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return max(signatures, default=(0, ""))


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def repeated_options(source: Path = SOURCE) -> list[str]:
    """Return the command-line options that are declared more than once: the name in a call of typer.Option or Option.

    A parameter of a command that is a group of options, or the type of one, is a use and no declaration.
    """
    counts = Counter(
        name for path in sorted((source / PACKAGE / "cli").rglob("*.py")) for name in _declared_options(path)
    )
    return sorted(name for name, count in counts.items() if count > 1)


def _declared_options(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Option":
            constants = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            yield from (name for name in constants if isinstance(name, str) and name.startswith("--"))
        elif isinstance(node, ast.Dict):  # a table of options, by the name of the parameter
            for key, value in zip(node.keys, node.values, strict=True):
                if not (isinstance(key, ast.Constant) and isinstance(value, ast.Call)):
                    continue
                if ast.unparse(value.func) == "Option":
                    yield f"--{str(key.value).replace('_', '-')}"


def public_names(source: Path = SOURCE) -> list[str]:
    """Return the names that the package exports."""
    path = module_files(source).get("")
    for node in ast.parse(path.read_text()).body if path else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _is_exception_or_protocol(node: ast.ClassDef) -> bool:
    names = {part for base in node.bases for part in re.findall(r"\w+", ast.unparse(base))}
    return "Protocol" in names or any(name.endswith(("Error", "Exception", "Warning")) for name in names)


class CallPath(NamedTuple):
    """How many functions, in how many files, one call goes through."""

    functions: int
    files: int


def traced(work: Callable[[], Any], source: Path = SOURCE) -> CallPath:
    """Run some work and count the package's functions that it calls, in all threads; comprehensions do not count."""
    seen: dict[str, set[tuple[str, int]]] = defaultdict(set)
    root = str(source / PACKAGE)

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
            seen[code.co_filename].add((code.co_name, code.co_firstlineno))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return CallPath(sum(map(len, seen.values())), len(seen))


def call_paths() -> dict[str, CallPath]:
    """Return the path of one release of an array, and that of one question to a session."""
    import numpy as np

    import milepost as mp

    points = np.random.default_rng(0).uniform(0, 10, size=(1_000, 2))
    space = mp.L2([(0, 10), (0, 10)])

    def release() -> object:
        return mp.release(points, space, epsilon=1, delta=1e-6)

    release()  # what is loaded or kept by the first call is no part of the path
    session = mp.interactive(points, space, epsilon=1, delta=1e-6, max_queries=100)
    return {
        "mp.release(array, mp.L2(…))": traced(release),
        "session.ask((3, 4))": traced(lambda: session.ask((3, 4))),
    }


def report(source: Path = SOURCE) -> Iterable[str]:
    """Yield the lines that the command prints, but for the paths of calls."""
    files = module_files(source)
    graph, sizes = import_graph(files), folder_sizes(files, source)
    largest, most = max(sizes.items(), key=lambda item: item[1])
    lines = sum(len(path.read_text().splitlines()) for path in files.values())
    yield f"modules: {len(files)}, lines: {lines:,}"
    yield f"modules in the root: {sizes['.']}; in the largest folder, {largest}: {most}"
    yield f"carrier types from table to sketch: {len(carrier_types(source))}"
    repeated, (arguments, function) = repeated_options(source), longest_signature(source)
    yield f"options declared more than once: {len(repeated)}" + f" ({', '.join(repeated)})" * bool(repeated)
    yield f"arguments of the longest function: {arguments} ({PACKAGE}.{function})"
    yield f"public names: {len(public_names(source))}"
    upward, count = upward_edges(graph), sum(map(len, graph.values()))
    yield f"imports: {count}, upward: {len(upward)}, modules in cycles: {modules_in_cycles(graph)}"
    yield from (f"  {PACKAGE}.{importer} imports {PACKAGE}.{imported}" for importer, imported in upward)


def main() -> None:
    """Print the report, of this package or of that of another checkout."""
    parser = argparse.ArgumentParser(prog="python -m tools.architecture", description=__doc__)
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder that holds the package")
    options = parser.parse_args()
    print(*report(options.source.resolve()), sep="\n")
    if options.source == SOURCE:
        for call, path in call_paths().items():
            print(f"{call}: {path.functions} functions in {path.files} files")


if __name__ == "__main__":
    main()
