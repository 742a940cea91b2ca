"""Example command lines for the end of every `--help`, the same as in docs/cli.md."""

EXAMPLES = {
    "demo": ("milepost demo --output demo.png", "milepost demo --serve"),
    "plan": (
        (
            "milepost plan --space l1 --bounds age=18:90 --bounds visits=0:40 --n 100000 --epsilon 1 --delta 1e-6 "
            "--max-queries 10000"
        ),
        "milepost plan --space great-circle --center 52.52,13.405 --radius-km 30 --n 50000 --error 0.05 --delta 1e-6",
    ),
    "bounds": (
        "milepost bounds homes.csv --columns income,rent --epsilon 0.1 -o homes.toml",
        "milepost release homes.csv --space homes.toml --epsilon 0.9 --delta 1e-6 -o homes.milepost",
    ),
    "release": (
        (
            "milepost release homes.csv --space l1 --bounds age=18:90 --bounds visits=0:40 --epsilon 1 --delta 1e-6 "
            "-o homes.milepost"
        ),
        (
            "milepost release homes.csv --space great-circle --center 52.52,13.405 --radius-km 30 --epsilon 1 "
            "--delta 1e-6 -o homes.milepost"
        ),
        (
            "milepost release homes.csv --space l2 --bounds x=0:10 --bounds y=0:10 --groups district "
            "--labels north,south --epsilon 1 --delta 1e-6 -o districts.milepost"
        ),
    ),
    "query": (
        "milepost query homes.milepost --at 35,4 --at 50,10",
        "milepost query homes.milepost points.csv",
        "milepost query districts.milepost --at 5,5 --nearest",
        "milepost query homes.milepost points.parquet --keep id -o answers.parquet",
    ),
    "ask": (
        (
            "milepost ask homes.db homes.csv --space l1 --bounds age=18:90 --bounds visits=0:40 --epsilon 1 "
            "--delta 1e-6 --max-queries 200"
        ),
        "milepost ask homes.db homes.csv --at 35,4 --name spring",
        "milepost ask homes.db homes.csv points.csv -o answers.csv",
    ),
    "show": (
        "milepost show homes.milepost",
        "milepost show homes.milepost --statement",
        "milepost show homes.milepost --plot homes.png",
    ),
    "columns": (
        "milepost columns homes.milepost",
        "milepost columns homes.milepost age",
        "milepost columns homes.milepost --share-of age=18:65 --share-of visits=10:",
    ),
    "difference": (
        "milepost difference old.milepost new.milepost --plot difference.png",
        "milepost difference districts.milepost --groups north,south",
        "milepost difference homes.milepost synthetic.csv",
    ),
    "drift": ("milepost drift monday.milepost tuesday.milepost", "milepost drift weeks --plot drift.png"),
    "audit": ("milepost audit", "milepost audit --mechanism slopes --samples 100000 --plot audit.png"),
    "serve": (
        "milepost serve --data-dir house",
        "milepost serve --data-dir house --host 0.0.0.0 --port 443 --certificate house.pem --private-key house.key",
        "milepost serve --settings",
    ),
    "ledger create": ("milepost ledger create ledger.db homes --epsilon 3 --delta 1e-6",),
    "ledger show": ("milepost ledger show ledger.db",),
    "ledger history": ("milepost ledger history ledger.db homes --csv charges.csv",),
    "keys create": ("milepost keys create carla --role curator --data-dir house",),
    "keys revoke": ("milepost keys revoke carla --data-dir house",),
    "keys list": ("milepost keys list --data-dir house",),
}
BEGIN = """\b
Begin with:
  milepost demo            made-up people, from a plan to a map
  milepost plan --help     the error to expect, before any data is touched
  milepost release --help  a file that answers every query
"""
WIDTH = 74  # characters of a line; with indentation and backslash it fits a terminal of 80


def epilog(name: str) -> str:
    r"""Return the end of a command's help; a `\b` keeps its lines as they are."""
    lines = [line for example in EXAMPLES[name] for line in wrap_command(example)]
    return "\n".join(["\b", "Examples:" if len(EXAMPLES[name]) > 1 else "Example:", *(f"  {line}" for line in lines)])


def wrap_command(example: str) -> list[str]:
    r"""Wrap a command line before options, with a `\` at the end of every line but the last.

    >>> print(*wrap_command(EXAMPLES["plan"][1]), sep="\n")
    milepost plan --space great-circle --center 52.52,13.405 --radius-km 30 \
        --n 50000 --error 0.05 --delta 1e-6
    """
    start, *options = example.split(" -")
    lines = [start]
    for option in options:
        if len(lines[-1]) + len(f" -{option}") > WIDTH:
            lines.append(f"    -{option}")
        else:
            lines[-1] += f" -{option}"
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
