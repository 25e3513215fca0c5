"""The project's intrinsics for `Stage.tensorize`: GEMM micro-kernels, dot products, axpy.

Their names contain the dtype and the size: ``gemm_float32_8x32``, ``dot_float64``, ``axpy_float32``.
"""

from relax_mlir.te.schedule.builtin_intrins import axpy, dot, gemm

__all__ = ["axpy", "dot", "gemm"]
