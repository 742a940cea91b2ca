"""Page: docs/comparison.md, whose tables stand between markers and are made from the results."""

from pathlib import Path

from bench.peers import environment, plot, tables
from bench.peers.comparison import SPACES
from bench.peers.results import Results

PAGE = environment.ROOT / "docs" / "comparison.md"
README = environment.ROOT / "README.md"
HEADLINE = "bench.peers"  # the README's marker


def headline(results: Results) -> str:
    """Return the README's table."""
    return tables.headline(results)


def parts(results: Results) -> dict[str, str]:
    """Return the text of each marker."""
    return {
        HEADLINE: headline(results),
        **{
            f"typical {metric} {width}": "\n\n".join(
                tables.typical(results, metric, width, delta) for delta in tables.GUARANTEES
            )
            for metric, width in SPACES
        },
        "detailed": "\n\n".join(tables.detailed(results, delta, "replace") for delta in tables.GUARANTEES),
        "add-remove": "\n\n".join(tables.detailed(results, delta, "add-remove") for delta in tables.GUARANTEES),
        "times": tables.times(results),
        "missing": tables.missing(results),
        "versions": tables.versions(results),
    }


def fill_markers(text: str, contents: dict[str, str]) -> str:
    """Return the text with the part between `<!-- name -->` and `<!-- /name -->` replaced, for each name in it."""
    for name, content in contents.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if found and closed:
            text = f"{before}{start}{content}\n{end}{after}"
    return text


def write(results: Results) -> None:
    """Write the page, the README if it has the marker, and the picture."""
    contents = parts(results)
    rewrite(PAGE, contents)
    rewrite(README, {HEADLINE: contents[HEADLINE]})
    plot.draw(results)


def rewrite(path: Path, contents: dict[str, str]) -> None:
    """Write a file if its content changes."""
    text = path.read_text()
    if (new := fill_markers(text, contents)) != text:
        path.write_text(new)


def everything(results: Results) -> str:
    """Return all tables, to print."""
    return "\n\n".join(f"{name}\n\n{content}" for name, content in parts(results).items())
