"""One thread for everybody. Import this before NumPy or any peer: thread pools read these variables once."""

from __future__ import annotations

import os

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RELAX_MLIR_NUM_THREADS",
)
COUNT = 1

for _variable in VARIABLES:
    os.environ[_variable] = str(COUNT)
