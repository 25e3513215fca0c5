"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from relax_mlir.error import ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, index_tensor_of, replaced, require, require_equal, size
from relax_mlir.topi.tag import INJECTIVE


def reverse_sequence(a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0) -> Tensor:
    """Reverse the first `seq_lengths` elements along `seq_axis`, for each index of `batch_axis`.

    Lengths are clamped to 0 and the size of the axis.
    """
    what = "topi.reverse_sequence"
    tensor, lengths = require(f"{what}: 'a'", a), index_tensor_of(f"{what}: 'seq_lengths'", seq_lengths)
    along, batch = axis_of(what, seq_axis, tensor.ndim), axis_of(what, batch_axis, tensor.ndim)
    if along == batch:
        raise ShapeError(f"{what}: 'seq_axis' and 'batch_axis' are both {along}")
    require_equal(f"{what}: 'seq_lengths'", lengths.shape, (tensor.shape[batch],))
    whole = tensor.shape[along]

    def value(*i: Expr) -> Expr:
        length = functions.minimum(lengths(i[batch]).astype("int64"), size(whole))
        place = functions.select(i[along] < length, length - 1 - i[along], i[along])
        return tensor(*replaced(i, along, place))

    return computed(tensor.shape, value, "T_reverse_sequence", INJECTIVE)


def sequence_mask(data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0) -> Tensor:
    """Replace elements at or after `valid_length` along `axis` with `mask_value`; `axis` is 0 or 1.

    The other of the first two dimensions is that of the sequences, and `valid_length` has a length for each.
    """
    what = "topi.sequence_mask"
    tensor = require(f"{what}: 'data'", data)
    lengths = index_tensor_of(f"{what}: 'valid_length'", valid_length)
    if tensor.ndim < 2 or axis not in (0, 1):
        raise ShapeError(f"{what}: axis {axis} of {tensor}, expected 0 or 1, and two dimensions or more")
    require_equal(f"{what}: 'valid_length'", lengths.shape, (tensor.shape[1 - axis],))
    filling = functions.const(mask_value, tensor.dtype)

    def value(*i: Expr) -> Expr:
        return functions.select(i[axis] < lengths(i[1 - axis]).astype("int64"), tensor(*i), filling)

    return computed(tensor.shape, value, "T_sequence_mask", INJECTIVE)
