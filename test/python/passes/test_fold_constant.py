"""Folded constants equal the results of compiled code, on error-prone values."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from harness import Array, pairs, special_values
from relax_mlir import op as R
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.passes.bindings import FoldConstant
from relax_mlir.runtime import to_numpy

BINARY = ("add", "floor_divide", "floor_mod", "less", "maximum", "multiply", "not_equal", "subtract")
UNARY = ("abs", "floor", "isnan", "logical_not", "negative", "round", "sign", "square")
INTEGER = ("bitwise_xor", "left_shift", "right_shift")
FLOAT = ("divide", "sqrt")


def build(dtype: str, *, folded: bool) -> rx.IRModule:
    """One function per op, of no parameters (folded) or of the operands; in part, floats take turns, and integers."""
    is_float = dtypes.dtype(dtype).is_float
    alike = [each for each in DTYPES if dtypes.dtype(each).is_float == is_float]
    bb = rx.BlockBuilder()
    for name in sweep.turn(dtype, alike, (*BINARY, *UNARY, *(FLOAT if is_float else INTEGER))):
        arity = 1 if name in UNARY or name == "sqrt" else 2
        arrays = operands(dtype, arity)
        params = [] if folded else [rx.Var(f"x{i}", Tensor(a.shape, dtype)) for i, a in enumerate(arrays)]
        with bb.function(name, params):
            values = [R.constant(a) for a in arrays] if folded else params
            bb.emit_func_output(getattr(R, name)(*values))
    return bb.get()


def operands(dtype: str, arity: int) -> list[Array]:
    values = special_values(dtype)
    return [values] if arity == 1 else list(pairs(values))


DTYPES = ("int8", "uint32", "float32", "bfloat16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_folding_agrees_with_compiled_code(dtype: str) -> None:
    module = build(dtype, folded=True)
    module.apply_(FoldConstant())
    executable = rx.build(build(dtype, folded=False))
    for function in module.mlir.body.operations:
        name = function.name.value
        body = [op.operation for op in function.regions[0].blocks[0].operations]
        assert [op.name for op in body] == ["relax.constant", "func.return"], name
        folded = constants.to_numpy(body[0].attributes["value"])
        arity = 1 if name in UNARY or name == "sqrt" else 2
        compiled = to_numpy(executable[name](*operands(dtype, arity)))
        assert folded.dtype == compiled.dtype
        np.testing.assert_array_equal(folded.astype(np.float64), compiled.astype(np.float64), err_msg=name)
