"""One thread and all CPU features for every peer. Import this before NumPy and peers: they read variables only once."""

from __future__ import annotations

import os

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RELAX_MLIR_NUM_THREADS",
)
"""Variables that limit threads."""

CPU_TYPES = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "BLIS_ARCH_TYPE",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ATEN_CPU_CAPABILITY",
    "NPY_DISABLE_CPU_FEATURES",
)
"""Variables that restrict the CPU features of a peer."""

COUNT = 1

for _variable in THREADS:
    os.environ[_variable] = str(COUNT)
for _variable in CPU_TYPES:
    os.environ.pop(_variable, None)
