"""Names for the types of arrays that cross layers."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
ImageArray: TypeAlias = NDArray[np.int32]  # of many records at a time; what is summed of them is int64
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
