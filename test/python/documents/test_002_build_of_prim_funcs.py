"""The document on compilation: `build` compiles all prim funcs of a module; the other rows are in `test_000_*`."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ShapeError
from relax_mlir.script import ir as I
from relax_mlir.script import tir as T


def test_build_compiles_all_prim_funcs_of_the_module() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def add(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32"), C: T.Buffer((n,), "float32")):  # noqa: F821 - a symbol
            for i in range(n):  # noqa: F821 - a symbol
                C[i] = A[i] + B[i]

        @T.prim_func
        def twice(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):  # noqa: F821 - a symbol
            for i in range(n):  # noqa: F821 - a symbol
                B[i] = A[i] * T.float32(2)

    ex = rx.build(Module)
    a, b, out = np.arange(5, dtype="float32"), np.ones(5, "float32"), np.zeros(5, "float32")
    ex["add"](a, b, out)
    np.testing.assert_array_equal(out, a + b)
    ex["twice"](a, out)
    np.testing.assert_array_equal(out, a * 2)
    with pytest.raises(ShapeError, match="add: parameter 'C' dimension 0 is 4, but n = 5"):
        ex["add"](a, b, out[:4])
