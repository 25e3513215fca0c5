"""Buffers on the stack, and loops whose iterations read results of the previous iteration."""

from __future__ import annotations

import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import MLIRPass, create_pass


def test_totals_before_each_element() -> None:
    """Computed by its defining loop, not by a kernel: it has been canonicalised."""
    bb = rx.BlockBuilder()
    for name, shape in (("four", (4,)), ("any", ("n",))):
        x = rx.Var("x", rx.Tensor(shape))
        with bb.function(name, [x]):
            bb.emit_func_output(R.cumsum(x, axis=0, exclusive=True))
    module = bb.get()
    create_pass("legalize-ops").apply_(module)
    MLIRPass("canonicalize").apply_(module)
    built = rx.build(module)
    for name in ("four", "any"):
        found = to_numpy(built[name](np.array([2, -3, 5, 7], np.float32)))
        np.testing.assert_array_equal(found, [0, 2, -1, 4], err_msg=name)
