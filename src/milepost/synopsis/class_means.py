"""ClassMeansRelease: the released means of classes, what they say about points, and their file."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milepost._typing import AnyArray, BoolArray, FloatArray
from milepost.answers.comparison import large_groups, nearest_shares
from milepost.answers.evaluation import evaluate_blocks
from milepost.answers.released_data import FORMAT
from milepost.errors import MilepostError
from milepost.ingest.query_points import query_points
from milepost.ingest.row_attributes import RowColumns
from milepost.mechanisms.base import Label
from milepost.mechanisms.class_means import ClassMeans
from milepost.mechanisms.coordinate.piecewise_linear import points_per_block
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.registry import space_from_json
from milepost.storage.formats import check_format
from milepost.storage.paths import WRITE_REMEDY, local_path
from milepost.synopsis import file_format
from milepost.synopsis.synopsis import SPACE

CLASS_MEANS = "class-means"  # the entry `contents` of the card


@dataclass(frozen=True, eq=False)
class ClassMeansRelease:
    """Noisy class means and the public numbers about them: all that a classifier knows, and nothing private.

    labels: of the classes, in the order of the means.
    """

    space: Space
    means: ClassMeans
    labels: tuple[Label, ...]
    guarantee: Guarantee
    change: ProtectedChange
    synopsis: None = None

    def scores(self, points: Any) -> tuple[FloatArray, BoolArray]:
        """Return the expected squared distances of points to class means, float64[n, classes], and which may win."""
        distances, _ = self._distances(points)
        return distances, large_groups(self.labels, self.means.detectable)

    def probabilities(self, points: Any) -> FloatArray:
        """Return the probability that each class has the nearest mean, float64[n, classes], over the noise."""
        distances, deviations = self._distances(points)
        return nearest_shares(distances, deviations, large_groups(self.labels, self.means.detectable))

    def _distances(self, points: Any) -> tuple[FloatArray, FloatArray]:
        space = self.space
        batch, _, _ = query_points(points, space)

        def answer(part: slice) -> tuple[FloatArray, ...]:
            vectors = space.vectors(space.query_records(space.read_queries(batch[part], part.start)))
            distances, deviations = self.means.squared_distances(np.asarray(vectors, dtype=np.float64))
            return *distances.T, *deviations.T

        rows = points_per_block(self.means.width * 2)
        columns = evaluate_blocks(answer, len(batch), rows, space.thread_safe)
        classes = len(self.labels)
        return np.column_stack(columns[:classes]), np.column_stack(columns[classes:])

    @property
    def card(self) -> dict[str, Any]:
        """Return everything about the release but its arrays, as the file stores it."""
        return {
            "format": FORMAT,
            "contents": CLASS_MEANS,
            "space": self.space.to_json(),
            "outside": self.space.clipping_rule,
            "guarantee": self.guarantee.to_json(),
            "change": self.change.to_json(),
            "labels": list(self.labels),
            "parameters": self.means.parameters(),
        }

    def save(self, path: str | Path) -> None:
        """Write the release as one safetensors file, which appears complete or not at all."""
        tensors = {f"{SPACE}{name}": tensor for name, tensor in self.space.tensors().items()}
        file_format.write(local_path(path, WRITE_REMEDY), self.card, self.means.tensors() | tensors)

    @classmethod
    def load(cls, path: str | Path, card: dict[str, Any], tensors: dict[str, AnyArray]) -> "ClassMeansRelease":
        """Return the release of the card and the tensors of a file; refuse what no release has."""
        check_format(path, card.get("format"), FORMAT, {}, "fit again, which spends again")
        try:
            of_space = {name: tensor for name, tensor in tensors.items() if name.startswith(SPACE)}
            tensors = {name: tensor for name, tensor in tensors.items() if name not in of_space}
            stripped = {name.removeprefix(SPACE): tensor for name, tensor in of_space.items()}
            space = space_from_json(card["space"], stripped)
            labels = RowColumns(groups=0, labels=card["labels"]).labels
            width = len(vector_ball(space)[0])
            means = ClassMeans.load(card["parameters"], tensors, len(labels), width)
            change = ProtectedChange(**card["change"])
            if change.groups != len(labels):
                raise MilepostError("the file's class means do not fit its space and labels")
            return cls(space, means, tuple(labels), Guarantee.from_json(card["guarantee"]), change)
        except MilepostError:
            raise
        except (KeyError, TypeError, IndexError) as error:
            raise MilepostError(f"{path} has no complete class means: {error} is missing or wrong") from None
        except (ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError):  # a card that was edited
            raise MilepostError(f"{path} was not written by milepost: its card is wrong") from None


def vector_ball(space: Space) -> tuple[FloatArray, float]:
    """Return the ball that has all records of a space as vectors; refuse a space that has none."""
    ball = space.enclosing_ball
    if ball is None or not 0 < ball[1] < math.inf:
        raise MilepostError(
            f'rule="means" needs points that are vectors, and those of the space {space.kind!r} are not. Use '
            'rule="distance", which needs distances only.'
        )
    return ball
