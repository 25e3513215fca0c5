"""Integers in bytecode: negative ones, and divisions, as in native code."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SOURCE = """
@R.function
def main(x: R.Tensor(("n",), "float32"), k: R.Prim("int64"), d: R.Prim("int64")):
    if k == -1:
        y = -x
    else:
        y = x + R.astype(R.prim_to_tensor(k // d), "float32")
    return y, R.prim_to_tensor(k - -3), R.prim_to_tensor(k // 2)
"""


def test_both_modes_agree() -> None:
    module = parse(SOURCE)
    modes = [rx.build(module)["main"], rx.build(module, exec_mode="bytecode")["main"]]
    x = np.arange(3, dtype=np.float32)
    for k, d in ((-1, 4), (-7, 2), (0, 1), (9, 4)):
        wanted = (-x if k == -1 else x + k // d, k + 3, k // 2)
        for main in modes:
            for ours, theirs in zip(main(x, k, d), wanted, strict=True):
                np.testing.assert_array_equal(to_numpy(ours), theirs)
    for main in modes:
        with pytest.raises(ShapeError, match="division by 0; divisors of integers are positive"):
            main(x, 5, 0)
