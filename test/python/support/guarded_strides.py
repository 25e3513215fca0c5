"""Vectorised loops with strides, on arrays between inaccessible pages: ``TARGET``."""

from __future__ import annotations

import faulthandler
import sys

import numpy as np
import relax_mlir as rx
from guard_pages import GuardedMemory
from relax_mlir.script import parse
from tir_reference import numpy_dtype

MEMORY = GuardedMemory()
DTYPES = ("float32", "float64", "int32", "float16", "int8", "bool")
STEPS = (2, 3, 4, 5)
LENGTHS = (0, 1, 2, 7, 15, 16, 17, 31, 33, 64, 70)

OPEN = """    @T.prim_func
    def open_{dtype}_{step}(A: T.Buffer(("{step} * n",), "{dtype}"), B: T.Buffer(("n",), "{dtype}")):
        for i in T.vectorized(n):
            B[i] = A[i * {step} + {offset}]
"""
BOUNDED = """    @T.prim_func
    def bounded_{dtype}_{step}(A: T.Buffer(("{step} * n",), "{dtype}"), B: T.Buffer(("n",), "{dtype}")):
        for o in range((n + 15) // 16):
            for i in T.vectorized(T.min(16, n - o * 16)):
                B[i + o * 16] = A[(i + o * 16) * {step} + {offset}]
"""


def main(target: str) -> None:
    """Compare with NumPy, on memory right before and right after a protected page."""
    cases = [(dtype, step) for dtype in DTYPES for step in STEPS]
    body = "".join(
        text.format(dtype=dtype, step=step, offset=step // 2) for dtype, step in cases for text in (OPEN, BOUNDED)
    )
    built = rx.build(parse(f"@I.ir_module\nclass M:\n{body}"), target)
    rng = np.random.default_rng(0)
    for dtype, step in cases:
        for length in LENGTHS:
            data = rng.integers(0, 2 if dtype == "bool" else 100, step * length).astype(numpy_dtype(dtype))
            for name in (f"open_{dtype}_{step}", f"bounded_{dtype}_{step}"):
                for at_end in (True, False):
                    print(name, length, at_end, flush=True)
                    given = MEMORY.place(data, at_end)
                    result = MEMORY.place(np.zeros(length, data.dtype), at_end)
                    built[name](given, result)
                    np.testing.assert_array_equal(result, data[step // 2 :: step])
                    MEMORY.release()


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1])
