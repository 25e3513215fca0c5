"""`call_tir_inplace`: a call of a prim func that overwrites arguments with results."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.base import OpArgs, RelaxOp, implies
from relax_mlir.dialects.calls import (
    Callee,
    callee_name,
    destinations,
    require_destinations,
    result_info,
    tir_vars_attr,
)
from relax_mlir.dialects.number_attributes import ints_attr
from relax_mlir.dialects.structure import make_tuple
from relax_mlir.dialects.traits import CallsFunction, HasDestination, KeptAtR1, TakesOwnership
from relax_mlir.dialects.types import DimLike, StructInfo, Tensor, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value, create, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext, ir

FRESH = -1
"""Entry of `inplace_indices` for a result in new memory."""


class CallTirInplaceOp(
    RelaxOp,
    name="call_tir_inplace",
    traits=[ext.Pure, CallsFunction, HasDestination, KeptAtR1, TakesOwnership],
):
    """Call of a prim func that stores results in the memory of its arguments.

    `inplace_indices` has an entry per result: the index of the argument (a field of the tuple `args`) whose memory the
    result reuses, or -1 for new memory. The callee takes the arguments, then one tensor per result in new memory, then
    an ``index`` per entry of `tir_vars`; with tensor semantics it returns all results, in order.

    Values are immutable: if the old elements of an argument are still needed (it has other uses, or is a parameter or a
    constant), the callee gets a copy.
    """

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    inplace_indices: ir.ArrayAttr
    tir_vars: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("tir_vars",)

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        dims_from_attr(args.attrs["tir_vars"])
        require_destinations(args.op, results[0])
        outs, fields = destinations(results[0]), args.tuple(0).fields
        indices = args.ints_attr("inplace_indices")
        if len(indices) != len(outs):
            raise ArgumentError(f"{args.op}: {len(indices)} inplace_indices for {len(outs)} results")
        taken = [index for index in indices if index != FRESH]
        if not taken:
            raise ArgumentError(f"{args.op}: no result is in place; that is a call_tir")
        for number, index in enumerate(indices):
            if index == FRESH:
                continue
            if not 0 <= index < len(fields):
                raise ArgumentError(
                    f"{args.op}: result {number} takes argument {index}, but there are {len(fields)} arguments"
                )
            if taken.count(index) > 1:
                raise ArgumentError(f"{args.op}: two results take argument {index}")
            given, out = fields[index], outs[number]
            if not (implies(given, out) and implies(out, given)):
                raise ShapeError(f"{args.op}: result {number} is {out}, but argument {index} is {given}")


def passed_results(op: ir.Operation) -> list[StructInfo]:
    """The results of a `relax.call_tir` or `relax.call_tir_inplace` that are passed to the callee as destinations."""
    outs = list(destinations(struct_info(op.results[0].type)))
    if op.name != CallTirInplaceOp.OPERATION_NAME:
        return outs
    return [out for out, index in zip(outs, inplace_indices(op), strict=True) if index == FRESH]


def inplace_indices(op: ir.Operation) -> list[int]:
    """For each result of a call, the index of the argument whose memory it reuses, or `FRESH`."""
    if op.name != CallTirInplaceOp.OPERATION_NAME:
        return [FRESH] * len(destinations(struct_info(op.results[0].type)))
    return [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(op.attributes["inplace_indices"])]


def call_tir_inplace(
    callee: Callee,
    args: Sequence[Value],
    inplace_indices: int | Sequence[int],
    out: Tensor | Sequence[Tensor],
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """Call the prim func `callee` on `args`; its results reuse the memory of arguments.

    `inplace_indices`: for each result, the index of the argument whose memory it reuses, or -1 for new memory. `out`:
    shape and dtype of the result or results; an in-place result has those of its argument. The arguments keep their
    elements for all other uses: elements that are needed later are copied.
    """
    require_insertion_point("call_tir_inplace")
    expect("call_tir_inplace: 'args'", args, list | tuple | Value, "a list of values, or a tuple")
    return inplace_call(callee, make_tuple(*args), inplace_indices, result_info(out), tir_vars)


def inplace_call(
    callee: Callee,
    args: Value,
    inplace_indices: int | Sequence[int],
    result: StructInfo,
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """`call_tir_inplace` of one tuple of arguments, with the struct info of its result."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(callee_name("call_tir_inplace", callee)),
        "inplace_indices": ints_attr(inplace_indices, "call_tir_inplace: 'inplace_indices'"),
        "tir_vars": tir_vars_attr("call_tir_inplace", tir_vars),
    }
    return create(CallTirInplaceOp, [args], attributes, [result])[0]
