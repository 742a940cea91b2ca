"""Load a synopsis from the card and the tensors of its file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from milepost._typing import AnyArray
from milepost._validation import check_whole
from milepost.answers.released_data import FORMAT
from milepost.errors import MilepostError
from milepost.mechanisms.base import Label, NoisyStatistic
from milepost.mechanisms.coordinate.modeled_curves import with_model
from milepost.mechanisms.groups import Groups, group_tensors
from milepost.mechanisms.registry import check_accounting, is_registered, load_statistic
from milepost.mechanisms.table_model import TableModel
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.spaces.registry import space_from_json
from milepost.statistics.sketch import MAX_TOTAL
from milepost.storage.formats import check_format
from milepost.storage.paths import local_path
from milepost.synopsis import file_format
from milepost.synopsis.synopsis import MODEL, SPACE, Synopsis

OLDER_FORMATS = {  # the last version that reads each; later ones have other directions, which a card does not store
    2: "a version before 0.1.0 (commit 42d2854)",
    3: "a version before 0.1.0 (commit cb0f754)",
}


def load(path: str | Path) -> Synopsis:
    """Load a synopsis that `Synopsis.save` wrote; refuse a damaged or foreign file, and one of another format.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Synopsis
        It answers as the saved one.

    Raises
    ------
    MilepostError
        If the file is not a complete synopsis of this format, or its space or mechanism is not registered.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> synopsis = mp.release([[2.0], [8.0]] * 500, mp.L1([(0, 10)]), epsilon=9)
    >>> path = tempfile.mkdtemp() + "/ages.milepost"
    >>> synopsis.save(path)
    >>> mp.load(path).mean_distance([5]) == synopsis.mean_distance([5])
    True
    """
    card, tensors = file_format.read(local_path(path, "Download the file first."))
    check_format(path, card.get("format"), FORMAT, OLDER_FORMATS, "make the release again, which spends again")
    if card.get("contents") is not None:
        raise MilepostError(
            f"{path} holds the classifier {str(card['contents'])[:100]!r} and not a synopsis; read it with "
            "mp.sklearn.NearestGroup.load(path)"
        )
    try:
        if not is_registered(card["mechanism"]):
            raise MilepostError(
                f"{path} was made by the mechanism {str(card['mechanism'])[:100]!r}, which is not known here; register "
                "it with mp.register_mechanism(…), then load the file"
            )
        (space_tensors, model_tensors), tensors = _take_prefixes(tensors, (SPACE, MODEL))
        space = space_from_json(card["space"], space_tensors)
        model = TableModel.load(model_tensors, _model_width(space)) if model_tensors else None
        queries = None if card["queries"] is None else Queries.from_json(space, card["queries"])
        guarantee, change, labels = (
            Guarantee.from_json(card["guarantee"]),
            ProtectedChange(**card["change"]),
            card["labels"],
        )
        check_accounting(card["mechanism"], guarantee)
        if card["n"] is not None or change.public_total:
            check_whole("n", card["n"], 1, MAX_TOTAL)
        if change.public_total:
            (statistic,) = with_model(space, [_load_statistic(card, tensors, space, queries)], model)
            return Synopsis(space, statistic, guarantee, change, card["n"], queries)
        parts = [group_tensors(tensors, index) for index in range(len(labels))] if labels else [tensors]
        statistics = with_model(space, [_load_statistic(card, part, space, queries) for part in parts], model)
        return counted_synopsis(space, statistics, labels, guarantee, change, queries)
    except MilepostError:
        raise
    except (KeyError, TypeError, IndexError) as error:
        raise MilepostError(f"{path} is not a complete synopsis: {error} is missing or wrong") from None
    except (ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError):  # a card that was edited
        raise MilepostError(f"{path} is not a synopsis that milepost has written: its card is wrong") from None


def _take_prefixes(
    tensors: dict[str, AnyArray], prefixes: Sequence[str]
) -> tuple[list[dict[str, AnyArray]], dict[str, AnyArray]]:
    """Return the tensors whose names begin with each prefix, without it, and all others."""
    taken: list[dict[str, AnyArray]] = []
    for prefix in prefixes:
        taken.append({name.removeprefix(prefix): part for name, part in tensors.items() if name.startswith(prefix)})
        tensors = {name: part for name, part in tensors.items() if not name.startswith(prefix)}
    return taken, tensors


def _model_width(space: Space) -> int:
    ball = space.enclosing_ball
    if ball is None:
        raise MilepostError("the file's model does not fit its space")
    return len(ball[0])


def counted_synopsis(
    space: Space,
    statistics: Sequence[NoisyStatistic],
    labels: Sequence[Label],
    guarantee: Guarantee,
    change: ProtectedChange,
    queries: Queries | None = None,
) -> Synopsis:
    """Return a synopsis of statistics with noisy totals: one statistic per label, or a single one."""
    n = sum(statistic.total.size for statistic in statistics)
    statistic = Groups(labels, statistics) if labels else statistics[0]
    return Synopsis(space, statistic, guarantee, change, n, queries)


def _load_statistic(
    card: dict[str, Any], tensors: dict[str, AnyArray], space: Space, queries: Queries | None
) -> NoisyStatistic:
    n = 0 if card["n"] is None else card["n"]  # if n is private, the tensors have a noisy one
    return load_statistic(card["mechanism"], space, queries, n, card["parameters"], tensors)
