"""Likeness: the frame that points came in, so that answers are a Series or a frame of its library, with its index."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from milepost._typing import AnyArray
from milepost.spaces.objects import package


@dataclass(frozen=True)
class Likeness:
    """A frame's library, "pandas" or "polars", and its index where it has one."""

    library: str
    index: Any = None

    def series(self, name: str, values: Any) -> Any:
        """Values in the order of the frame's rows."""
        module = import_module(self.library)
        if self.library == "polars":
            return module.Series(name, values)
        return module.Series(values, index=self.index, name=name)

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Several columns of them."""
        module = import_module(self.library)
        return module.DataFrame(columns) if self.library == "polars" else module.DataFrame(columns, index=self.index)


def likeness(data: Any) -> Likeness | None:
    """That of a frame or Series of pandas (or GeoPandas, already located) or Polars; None of anything else."""
    library = package(data)
    if library == "pandas":
        return Likeness(library, data.index)
    return Likeness(library) if library == "polars" else None


def shaped(values: AnyArray, single: bool, like: Likeness | None, name: str) -> Any:
    """One value for one point, a Series where the points came in a frame, else the array."""
    if single:
        return values[:1].tolist()[0]
    return values if like is None else like.series(name, values)
