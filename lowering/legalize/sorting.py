"""Lowering of sorting and searching by topi, and of ops whose results have unknown sizes by the runtime."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.diagnostics import where
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.sorting import (
    ArgsortOp,
    BucketizeOp,
    MedianOp,
    MultinomialFromUniformOp,
    NonzeroOp,
    SearchsortedOp,
    SortOp,
    TopkOp,
    UniqueOp,
)
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import by_topi, expression, runtime_call
from relax_mlir.lowering.legalize.runtime_calls import NONZERO, UNIQUE, call_runtime
from relax_mlir.mlir import ir
from relax_mlir.te import Tensor
from relax_mlir.topi.statistics import multinomial_from_uniform as drawn


@expression(SortOp)
def sort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The elements sorted along an axis."""
    return topi.sort(inputs[0], attrs.axis, is_ascend=not attrs.descending)


@expression(ArgsortOp)
def argsort(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The indices that sort along an axis."""
    return topi.argsort(inputs[0], attrs.axis, not attrs.descending, attrs.dtype)


@expression(TopkOp)
def topk(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor] | Tensor:
    """The first elements in sorted order along an axis, and their indices."""
    return topi.topk(inputs[0], attrs.k, attrs.axis, attrs.ret_type, not attrs.largest, attrs.dtype)


by_topi(MedianOp, "median", "axis", "keepdims")
by_topi(SearchsortedOp, "searchsorted", "right", "dtype")


@expression(BucketizeOp)
def bucketize(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Bucket indices by binary search."""
    assert isinstance(out_type, TensorInfo)
    return topi.bucketize(inputs[0], inputs[1], attrs.right, str(out_type.dtype))


@expression(MultinomialFromUniformOp)
def multinomial_from_uniform(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Sample by cumulative probabilities."""
    prob, sample, rows = inputs
    return drawn(prob, sample, rows, attrs.dtype)


@runtime_call(UniqueOp)
def unique(op: ir.Operation, args: OpArgs) -> ir.Value:
    flags = [args.attrs[name] for name in ("sorted", "return_index", "return_inverse", "return_counts")]
    axis = [] if args.is_unit("axis") else [args.attrs["axis"]]
    return call_runtime(UNIQUE, list(op.operands), [*flags, ir.StringAttr.get(where(op)), *axis], op.results[0].type)


@runtime_call(NonzeroOp)
def nonzero(op: ir.Operation, args: OpArgs) -> ir.Value:
    return call_runtime(NONZERO, list(op.operands), [], op.results[0].type)
