"""The table of errors in docs/numerics.md has every math function and float dtype, within its bound, and is current."""

from __future__ import annotations

import pytest

mpmath = pytest.importorskip("mpmath", reason="the reference of some functions of f64")

from math_check import MAX_ULP  # noqa: E402
from math_table import DTYPES, PAGE, bound, measured, recorded  # noqa: E402
from relax_mlir.lowering.kernels.math.math_functions import DOUBLE_EXPANSIONS, EXPANSIONS  # noqa: E402


def test_every_function_and_dtype_is_in_the_table() -> None:
    names = {name.removeprefix("math.") for name in (*EXPANSIONS, *DOUBLE_EXPANSIONS)} | {"gelu"}
    assert names == set(MAX_ULP)
    table = recorded()
    assert set(table) == {(op, dtype) for op in names for dtype in DTYPES}
    for (op, dtype), ulp in table.items():
        assert 0 < ulp <= bound(op, dtype), (op, dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["tanh", "log1p", "gelu"])
def test_the_table_is_current(op: str, dtype: str) -> None:
    ulp, _ = measured(op, dtype)
    assert ulp == pytest.approx(recorded()[op, dtype], abs=0.006), PAGE
