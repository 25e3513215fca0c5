"""Types after a rewrite: results are deduced again, and values are fitted to fixed types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir import symbolic
from relax_mlir.analysis.call_inference import infer_call
from relax_mlir.dialects.base import RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.structure import TUPLE, make_tuple, match_shape, tuple_get_item
from relax_mlir.dialects.type_queries import contains_unknown
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnknownNameError
from relax_mlir.ir_queries import callee_of, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

Functions = Mapping[str, func.FuncOp]


def deduce(op: ir.Operation, functions: Functions) -> Sequence[StructInfo] | None:
    """Infos of the results of `op` for its current operands; None if its types are fixed.

    Raises the errors of the shape rule if the operands are no longer valid.
    """
    if op.name == TUPLE:
        return [Tuple([struct_info(operand.type) for operand in op.operands])]
    if op.name == "relax.dataflow":
        return [struct_info(entry_block(op).operations[-1].operation.operands[0].type)]
    if op.name == "relax.call":
        return [_deduce_call(op, functions)]
    cls = op_class(op)
    if cls is None:
        return None
    args = cls.args_of(op)
    if cls.infer.__func__ is not RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # classmethods
        return as_sequence(cls.infer(args))
    cls.check(args, [struct_info(result.type) for result in op.results])
    return None


def _deduce_call(op: ir.Operation, functions: Functions) -> StructInfo:
    name = callee_of(op)
    if name not in functions:
        raise UnknownNameError("function", name, functions)
    arguments = struct_info(op.operands[0].type)
    assert isinstance(arguments, Tuple)
    return infer_call(name, functions[name], arguments.fields)


def fit(value: Value, wanted: StructInfo, what: str) -> Value:
    """`value` as a value of the type `wanted`, by a `match_shape` if needed; `what` names the declaration in errors.

    Properties that cannot be proved are checked at run time. Emits at the insertion point.

    Raises:
        ShapeError, DTypeError, ArgumentError: `value` cannot have that type.
    """
    given = value.struct_info
    if given == wanted:
        return value
    if isinstance(given, Tuple) and isinstance(wanted, Tuple) and len(given.fields) == len(wanted.fields):
        fields = [tuple_get_item(value, index) for index in range(len(given.fields))]
        return make_tuple(
            *(
                fit(f, w, f"{what}, field {i}")
                for i, (f, w) in enumerate(zip(fields, wanted.fields, strict=True))
            )
        )
    if isinstance(given, Tensor) and isinstance(wanted, Tensor):
        return _fit_tensor(value, given, wanted, what)
    if isinstance(given, Shape) and isinstance(wanted, Shape) and wanted.values is not None:
        _check_dims(what, given, given.values, wanted, wanted.values)
        return match_shape(value, wanted.values)
    raise ArgumentError(f"{what} is declared as {wanted}, but is {given} after the rewrite")


def _fit_tensor(value: Value, given: Tensor, wanted: Tensor, what: str) -> Value:
    if wanted.dtype != given.dtype and (wanted.dtype is None or given.dtype is not None):
        raise DTypeError(f"{what} is declared as {wanted}, but is {given} after the rewrite; astype it")
    if wanted.shape is None:
        raise ShapeError(
            f"{what} is declared as {wanted}, of unknown rank, but is {given} after the rewrite, and "
            "match_shape cannot forget a rank; give the declaration the rank"
        )
    _check_dims(what, given, given.shape, wanted, wanted.shape)
    return match_shape(value, wanted.shape, None if wanted.dtype is None else wanted.dtype.name)


def _check_dims(
    what: str,
    given: StructInfo,
    have: tuple[Dim | None, ...] | None,
    wanted: StructInfo,
    want: tuple[Dim | None, ...],
) -> None:
    if have is None:
        return
    differ = len(have) != len(want) or any(
        isinstance(h, int) and isinstance(w, int) and symbolic.prove_not_equal(h, w)
        for h, w in zip(have, want, strict=True)
    )
    if differ:
        raise ShapeError(f"{what} is declared as {wanted}, but is {given} after the rewrite")


def better(first: StructInfo, second: StructInfo) -> bool:
    """True if `first` is as precise as `second` or more, and may be used where `second` is declared."""
    return implies(first, second) and (contains_unknown(second) or implies(second, first))
