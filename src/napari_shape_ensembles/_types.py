"""Types of arrays."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Labels = NDArray[np.int32]
