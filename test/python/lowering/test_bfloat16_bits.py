"""bfloat16 values that live across loops and branches, which LLVM would pass through missing runtime calls."""

import ml_dtypes
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy


def test_scalars_that_live_across_loops() -> None:
    constant = np.linspace(-2, 2, 2).astype(ml_dtypes.bfloat16).reshape(2, 1, 1, 1, 1)
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n",), "float32")), rx.Var("y", rx.Tensor(("n", "m"), "bfloat16"))
    with bb.function("main", [x, y]):
        low = R.minimum(R.const(constant), R.astype(x, "bfloat16"))
        high = R.maximum(R.max(y, axis=[1]), R.const(np.full((100, 1), 0.5, ml_dtypes.bfloat16)))
        bb.emit_func_output([low, high, R.where(y > y + y, y, R.negative(y))])
    executable = rx.build(bb.get())
    rng = np.random.default_rng(0)
    for n, m in ((3, 5), (1, 1), (0, 4), (17, 33)):
        a = rng.normal(size=n).astype("float32")
        b = rng.normal(size=(n, m)).astype(ml_dtypes.bfloat16)
        low, high, chosen = (to_numpy(t) for t in executable["main"](a, b))
        np.testing.assert_array_equal(low, np.minimum(constant, a.astype(ml_dtypes.bfloat16)))
        highest = b.max(axis=1, initial=-np.inf)
        np.testing.assert_array_equal(high, np.maximum(highest, np.full((100, 1), 0.5, ml_dtypes.bfloat16)))
        np.testing.assert_array_equal(chosen, np.where(b > b + b, b, -b))


def test_constants_without_elements() -> None:
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 0), "bfloat16"))
    with bb.function("main", [x]):
        bb.emit_func_output(x + np.zeros((1, 0), ml_dtypes.bfloat16))
    result = to_numpy(rx.build(bb.get())["main"](np.zeros((3, 0), ml_dtypes.bfloat16)))
    assert result.shape == (3, 0) and result.dtype == ml_dtypes.bfloat16
