"""Arrays: names for the types that cross layers, and what a masked array holds."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
ImageArray: TypeAlias = NDArray[np.int32]  # of many records at a time; what is summed of them is int64
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]


def unmasked(data: Any) -> Any:
    """Replace the hidden entries of masked arrays by missing ones: NaN among floats, else None.

    Every array or list from outside passes here before NumPy sees it: `np.asarray` would read what is under a mask.
    A list may hold masked rows. Fields of a structured array are apart, see `milepost.frames.readable`.
    """
    if isinstance(data, list | tuple):
        masked = any(isinstance(entry, np.ma.MaskedArray) for entry in data)
        return [unmasked(entry) for entry in data] if masked else data
    if not isinstance(data, np.ma.MaskedArray) or data.dtype.names is not None:
        return data
    hidden, shown = np.ma.getmaskarray(data), np.ma.getdata(data)
    if not hidden.any():
        return shown
    if not data.ndim:
        return None
    result = shown.copy() if shown.dtype.kind == "f" else shown.astype(object)
    result[hidden] = np.nan if shown.dtype.kind == "f" else None
    return result
