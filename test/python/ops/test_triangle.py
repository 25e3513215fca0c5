"""eye, tril and triu against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from harness import Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ShapeError

DTYPES = ("float32", "bfloat16", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(dtype: str) -> None:
    suite = Suite.of(dtype, DTYPES)
    kind = dtypes.dtype(dtype).numpy
    batch, matrix = [Tensor(("n", "m", 4), dtype)], [Tensor(("n", "m"), dtype)]
    suite.add("tril", R.tril, np.tril, batch)
    suite.add("triu", R.triu, np.triu, matrix)
    suite.add("tril_up", lambda x: R.tril(x, 1), lambda x: np.tril(x, 1), matrix)
    suite.add("triu_down", lambda x: R.triu(x, -2), lambda x: np.triu(x, -2), batch)
    suite.add("square", lambda x: R.eye("n", dtype=dtype), lambda x: np.eye(len(x), dtype=kind), matrix)
    suite.add("eye", lambda x: R.eye("n", "m", 1, dtype), lambda x: np.eye(*x.shape, k=1, dtype=kind), matrix)
    suite.run(test_triangles)


def test_a_vector_has_no_triangle() -> None:
    suite = Suite()
    suite.add("tril", R.tril, np.tril, [Tensor(("n",), "float32")], sizes=())
    with pytest.raises(ShapeError, match=r"tril: operand 'x' is .*, expected at least two dimensions"):
        suite.module()
