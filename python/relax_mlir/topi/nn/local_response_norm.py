"""Local response normalization."""

from __future__ import annotations

from relax_mlir.error import ArgumentError
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, replaced, require, require_float
from relax_mlir.topi.common import size as extent
from relax_mlir.topi.tag import BROADCAST, COMM_REDUCE


def lrn(
    data: Tensor, size: int, axis: int = 1, alpha: float = 0.0001, beta: float = 0.75, bias: float = 2
) -> Tensor:
    """``data / (bias + alpha / size * sum)^beta``, with the sum of the squares of `size` elements around each."""
    what = "topi.nn.lrn"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    place = axis_of(what, axis, tensor.ndim)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError(f"{what}: 'size' is {size!r}, expected an integer from 1 on")
    tap = reductions.reduce_axis((0, size), "r")
    before = (size - 1) // 2

    def squares(*i: Expr) -> object:
        at = i[place] + tap - before
        item = functions.if_then_else(
            functions.all(at >= 0, at < extent(tensor.shape[place])),
            tensor(*replaced(i, place, at)),
            functions.const(0, tensor.dtype),
        )
        return reductions.sum(item * item, tap)

    total = computed(tensor.shape, squares, "T_lrn_squares", COMM_REDUCE)

    def value(*i: Expr) -> Expr:
        scaled = total(*i) * (float(alpha) / size) + float(bias)
        return tensor(*i) / functions.power(scaled, functions.const(float(beta), tensor.dtype))

    return computed(tensor.shape, value, "T_lrn", BROADCAST)
