"""Options and arguments that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

import milepost as mp

SpaceOption = Annotated[
    str,
    typer.Option(
        "--space",
        help="The distance: l1, l2, lp, great-circle, angular, gower, hamming, edit, or a file.toml.",
    ),
]
BoundsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bounds",
        metavar="NAME=LOW:HIGH",
        help="The public interval of a column; once a column. LOW:HIGH goes by position.",
    ),
]
WeightsOption = Annotated[
    list[str] | None,
    typer.Option("--weights", metavar="NAME=WEIGHT", help="What one unit of a column counts; 1 where not said."),
]
StepOption = Annotated[
    list[str] | None,
    typer.Option("--step", metavar="NAME=STEP", help="For columns of whole steps, such as age=1."),
]
CenterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--center",
        metavar="NAME=VALUE",
        help="The centre of a ball (l2), once a column; or LAT,LON of a great-circle cap.",
    ),
]
RadiusOption = Annotated[float | None, typer.Option("--radius", help="The radius of a ball (l2).")]
RadiusKmOption = Annotated[float | None, typer.Option("--radius-km", help="The radius of a great-circle cap, in km.")]
DimOption = Annotated[int | None, typer.Option("--dim", help="How many numbers a vector has (angular).")]
PowerOption = Annotated[float | None, typer.Option("--p", help="The power of lp, between 1 and 2.")]
DistanceUnitOption = Annotated[
    str | None, typer.Option("--distance-unit", help="The unit of distances of l1, l2 or lp, for labels: km.")
]
DirectionsOption = Annotated[
    int | None,
    typer.Option(
        "--directions", help="How many projections stand for the distance; more are closer to it. Not for l1 and edit."
    ),
]
DiameterOption = Annotated[
    float | None, typer.Option("--diameter", help="For edit: the largest distance; longer ones count as this.")
]
NumberOption = Annotated[
    list[str] | None,
    typer.Option("--number", metavar="NAME=LOW:HIGH", help="For gower: a column of numbers, and its public interval."),
]
CategoryOption = Annotated[
    list[str] | None,
    typer.Option("--category", metavar="NAME=A,B", help="For gower: a column of labels, and the public list of them."),
]
FlagOption = Annotated[
    list[str] | None, typer.Option("--flag", metavar="NAME", help="For gower: a column that is true or false.")
]
AlphabetOption = Annotated[
    str | None, typer.Option("--alphabet", help="For hamming: the letters that a place may hold, such as ACGT.")
]
LengthOption = Annotated[int | None, typer.Option("--length", help="For hamming: the number of letters of a sequence.")]
QueriesOption = Annotated[
    Path | None,
    typer.Option("--queries", help="A CSV or Parquet file of the only points to ask about; edit needs it."),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B", help="Columns of the table or of POINTS to use, in the order of the space."
    ),
]
NeighborsOption = Annotated[
    str,
    typer.Option(
        "--neighbors", help="replace, or add-remove where it is private whether somebody is in the table at all."
    ),
]
PrivacyUnitOption = Annotated[
    str | None, typer.Option("--privacy-unit", metavar="COLUMN", help="The column that tells whose rows are whose.")
]
ContributionsOption = Annotated[
    int, typer.Option("--contributions", help="How many rows of one person are used at most.")
]
GroupOption = Annotated[str | None, typer.Option("--group", metavar="LABEL", help="One group of a file that has some.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", help="The ε of the guarantee.")]
DeltaOption = Annotated[float, typer.Option("--delta", help="The δ of the guarantee; 0 is pure ε.")]
FailureProbabilityOption = Annotated[
    float, typer.Option("--failure-probability", help="The probability with which the promised error may fail.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        help="auto (the smallest predicted error), slopes, hats, tangents, field, net, gaussian or laplace.",
    ),
]
RowWeightsOption = Annotated[
    str | None, typer.Option("--row-weights", metavar="COLUMN", help="The column of each row's weight.")
]
MaxRowWeightOption = Annotated[
    float | None, typer.Option("--max-row-weight", help="The public maximum that larger weights are cut to.")
]
RowsOption = Annotated[
    int | None, typer.Option("--n", help="About how many rows there are, where that is private but roughly known.")
]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="The ledger that is charged before the table is read.")
]
DatasetOption = Annotated[str | None, typer.Option("--dataset", help="The name of the budget in the ledger.")]
AtOption = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="X,Y", help="One point, in the order of the space; may be given many times."),
]
PointsArgument = Annotated[
    Path | None, typer.Argument(metavar="POINTS", help="The points to ask about: CSV with a header, or Parquet.")
]
AnswersOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the answers to this file: .csv, .txt or .parquet.")
]
TableArgument = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help="The private table: CSV with a header, or Parquet; a folder, or a quoted pattern."
    ),
]
SynopsisArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file that `milepost release` wrote.")]


def load_synopsis(file: Path, group: str | None, *, any_group: bool) -> mp.Synopsis:
    """Return a synopsis, or one group of it. any_group: whether a synopsis with groups needs no `--group`."""
    synopsis = mp.load(file)
    if group is not None:
        return synopsis.group({str(label): label for label in synopsis.labels}.get(group, group))
    if synopsis.labels and not any_group:
        labels = ", ".join(map(str, synopsis.labels))
        raise mp.MilepostError(
            f"{file} has groups ({labels}): say which with --group {synopsis.labels[0]}; "
            "`milepost query --nearest` compares all of them"
        )
    return synopsis


def split_names(columns: str | None) -> list[str] | None:
    """Split names of columns at commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


def open_ledger(path: Path | None) -> mp.Ledger | None:
    """Return the ledger of `--ledger`."""
    return None if path is None else mp.Ledger(path)


def check_row_weights(row_weights: str | None, max_row_weight: float | None) -> None:
    """Refuse weights of the distance where `--row-weights` expects the column of rows' weights."""
    if row_weights is not None and "=" in row_weights and max_row_weight is None:
        raise mp.MilepostError(
            f"--row-weights is the column of rows' weights. What a column counts in the distance is "
            f"--weights {row_weights}"
        )
