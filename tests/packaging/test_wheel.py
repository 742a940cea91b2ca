"""What is published: wheel and sdist hold what they should, and a fresh environment with the wheel does as promised."""

import ast
import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests import ROOT

SOURCE = ROOT / "src" / "milepost"
FRAME_PACKAGES = {
    "pandas",
    "polars",
    "geopandas",
    "py4j",
}  # by whoever hands over a frame; py4j is how PySpark is spoken to
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # those whose name is not that of the package
TOP = {"tests", "bench", "docs", "examples", "src", ".ci"}
PAGES = ("README.md", "docs/tutorial.md")
EXTRAS = [
    "milepost.pipeline.group_estimator",
    "milepost.pipeline.mean_distance",
    "milepost.pipeline.nearest_group",
    "milepost.sklearn",
]  # modules that need an extra which is not installed here
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # without this repository


def call(*arguments: str | Path, folder: Path, **environment: str) -> str:
    """Runs a command and returns what it prints; what it prints of an error is told."""
    process = subprocess.run(  # noqa: S603
        [str(argument) for argument in arguments],
        cwd=folder,
        env=CLEAN | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, f"{' '.join(map(str, arguments))}\n{process.stdout}\n{process.stderr}"
    return process.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, and in `again` the wheel of the sdist; hatchling stays in a folder of its own."""
    folder = tmp_path_factory.mktemp("built")
    tools = folder / "tools"
    pip("install", "--no-compile", "--target", str(tools), "hatchling>=1.27,<2", folder=folder)

    def build(kind: str, source: Path, to: Path) -> None:
        arguments = ("-m", "hatchling", "build", "-t", kind, "-d", to)
        call(sys.executable, *arguments, folder=source, PYTHONPATH=str(tools))

    for kind in ("sdist", "wheel"):
        build(kind, ROOT, folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "source", filter="data")
    build("wheel", next((folder / "source").iterdir()), folder / "again")
    return folder


@pytest.fixture(scope="module")
def fresh(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has milepost[serve,plots] from the wheel, and what that needs."""
    folder = tmp_path_factory.mktemp("fresh")
    call(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
    programs = folder / "venv" / "bin"
    (wheel,) = built.glob("*.whl")
    requirement = f"milepost[serve,plots] @ {wheel.as_uri()}"
    pip("--python", str(programs / "python"), "install", "--no-compile", requirement, folder=folder)
    return programs


def pip(*arguments: str, folder: Path) -> None:
    call(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments, folder=folder)


def files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    content = files(*built.glob("*.whl"))
    package = {name for name in content if name.startswith("milepost/")}
    sources = call("git", "ls-files", "src/milepost", folder=ROOT).split() if (ROOT / ".git").exists() else []
    assert {name.removeprefix("src/") for name in sources} <= package
    assert not [name for name in package if "__pycache__" in name or "test" in Path(name).parts]
    assert {"milepost/py.typed", "milepost/service/static/index.html"} <= package
    vendored = {Path(name).name for name in package if "/vendor/" in name}
    licences = {Path(name).name for name in content if ".dist-info/licenses/" in name}
    assert {"d3.min.js", "topojson-client.min.js", "land-50m.json"} <= vendored
    assert {name for name in vendored if name.endswith(".LICENSE")} | {"LICENSE"} == licences
    metadata = {name for name in content if not name.startswith("milepost/")}
    assert all(re.match(r"milepost-[\d.]+\.dist-info/", name) for name in metadata)


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(built: Path) -> None:
    first, second = files(*built.glob("*.whl")), files(*(built / "again").glob("*.whl"))
    assert first == second
    (source,) = (built / "source").iterdir()
    assert TOP | {"Makefile", "LICENSE", "README.md", "CHANGELOG.md"} <= {path.name for path in source.iterdir()}
    built_files = [path for path in source.rglob("*") if path.suffix in (".pyc", ".milepost") or path.name == ".venv"]
    assert {path.parent for path in built_files} <= {source / "tests" / "golden" / "formats"}  # which are stored


@pytest.mark.slow
def test_the_metadata_is_whole(built: Path) -> None:
    content = files(*built.glob("*.whl"))
    metadata = message_from_bytes(next(text for name, text in content.items() if name.endswith("/METADATA")))
    assert metadata["Name"] == "milepost"
    assert metadata["Description-Content-Type"] == "text/markdown"
    description = metadata.get_payload(decode=True)
    assert isinstance(description, bytes)
    assert description.strip() == (ROOT / "README.md").read_bytes().strip()
    assert {"serve", "plots"} <= set(metadata.get_all("Provides-Extra", []))
    assert "Private ::" not in str(metadata)


@pytest.mark.slow
def test_a_fresh_environment_does_as_promised(fresh: Path, tmp_path: Path) -> None:
    """All in one test, since the environment takes long to make and each worker would make its own."""
    commands_work(fresh, tmp_path)
    service_answers(fresh, tmp_path)
    modules_are_there(fresh, tmp_path)
    for page in PAGES:
        blocks_run(page, fresh, tmp_path)


def blocks_run(page: str, fresh: Path, tmp_path: Path) -> None:
    """With nothing of the repository but the page and the script that runs it."""
    for name in ("tests/blocks.py", page):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    path = f"{fresh}{os.pathsep}{os.environ['PATH']}"
    call(fresh / "python", tmp_path / "tests" / "blocks.py", tmp_path / page, folder=tmp_path, PATH=path)


def commands_work(fresh: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"milepost \d+\.\d+\.\d+\n", call(fresh / "milepost", "--version", folder=tmp_path))
    call(fresh / "milepost", "demo", "--n", "20000", "--output", "x.png", folder=tmp_path)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def service_answers(fresh: Path, tmp_path: Path) -> None:
    """And has its page, with all that the page names."""
    with serve(fresh, tmp_path) as url:
        assert json.loads(read(f"{url}/v1/health")) == {"status": "ok"}
        page = read(f"{url}/").decode()
        needed = re.findall(r'(?:src|href)="(/?[\w/.-]+)"', page)
        assert len(needed) >= 3
        for name in needed:
            assert read(f"{url}/{name.removeprefix('/')}"), name


@contextlib.contextmanager
def serve(programs: Path, folder: Path) -> Iterator[str]:
    """A service of an empty data directory on a free port."""
    command = [str(programs / "milepost"), "serve", "--data-dir", "house", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=CLEAN, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            match = re.search(r"http://\S+:\d+", process.stdout.readline())
            assert match is not None
            yield match[0]
        finally:
            process.kill()


def read(url: str) -> bytes:
    with urlopen(url, timeout=30) as answer:  # noqa: S310
        assert answer.status == 200
        return bytes(answer.read())


def modules_are_there(fresh: Path, tmp_path: Path) -> None:
    """All but those of an extra can be imported where nothing but declared dependencies is installed."""
    code = """
import importlib, json, pkgutil, milepost
assert "site-packages" in milepost.__file__
missing = []
for module in pkgutil.walk_packages(milepost.__path__, "milepost."):
    try:
        importlib.import_module(module.name)
    except ImportError:
        missing.append(module.name)
print(json.dumps(missing))
"""
    assert json.loads(call(fresh / "python", "-c", code, folder=tmp_path)) == EXTRAS


def test_what_is_imported_is_declared() -> None:
    """By this package itself: what a dependency happens to bring along may go with its next version."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = {name.lower().replace("_", "-") for name in re.findall(r'"([A-Za-z][\w.-]*)(?:\[\w+\])?[><=]', text)}
    for path in SOURCE.rglob("*.py"):
        for name in imported_packages(path.read_text(encoding="utf-8")) - {
            *sys.stdlib_module_names,
            "milepost",
            *FRAME_PACKAGES,
        }:
            assert DISTRIBUTIONS.get(name, name.replace("_", "-")) in declared, (
                f"{path.relative_to(ROOT)} imports {name}, which pyproject.toml does not name"
            )


def imported_packages(source: str) -> set[str]:
    """The packages whose modules a file imports."""
    packages = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            packages.add(str(node.module).split(".")[0])
    return packages
