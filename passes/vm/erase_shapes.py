"""Types without symbols, for functions whose shapes are in a shape heap."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.dialects.base import RelaxOp, as_sequence, implies, op_class
from relax_mlir.dialects.structure import TUPLE, make_tuple, match_shape, tuple_get_item
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import callee_of, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim


def erased(info: StructInfo) -> StructInfo:
    """`info` with unknown dimensions in place of symbolic ones."""
    if isinstance(info, Tensor):
        return Tensor(_dims(info.shape), info.dtype)
    if isinstance(info, Shape):
        return Shape(_dims(info.values))
    if isinstance(info, Tuple):
        return Tuple([erased(item) for item in info.fields])
    return info


def _dims(dims: tuple[Dim | None, ...] | None) -> list[int | None] | None:
    return None if dims is None else [dim if isinstance(dim, int) else None for dim in dims]


def _erased_type(type_: ir.Type) -> ir.Type:
    try:
        return type_ if isinstance(type_, ir.IndexType) else erased(struct_info(type_)).to_type()
    except RelaxError:
        return type_  # a type of an upstream op, without shapes


def erase_signature(function: func.FuncOp) -> None:
    """Erase the shapes in the types of a function's parameters and results."""
    inputs = [_erased_type(t) for t in function.type.inputs]
    results = [_erased_type(t) for t in function.type.results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def erase_types(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Erase the shapes in the types of all values of a function; requires that the signatures of callees are erased.

    If the erased operands of an op no longer determine a static dimension of its result, a `match_shape` states it.
    """
    _erase_block(entry_block(function), functions)


def _erase_block(block: ir.Block, functions: Mapping[str, func.FuncOp]) -> None:
    for argument in block.arguments:
        argument.set_type(_erased_type(argument.type))
    for view in list(block.operations):
        op = view.operation
        with op.location:
            _erase_op(op, functions)
        for region in op.regions:
            for inner in region.blocks:
                _erase_block(inner, functions)


def _erase_op(op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> None:
    if op.name == TUPLE:
        op.results[0].set_type(ir.TupleType.get_tuple([v.type for v in op.operands]))
        return
    claims = [_erased_type(result.type) for result in op.results]
    for result, claim, given in zip(op.results, claims, _given(op, claims, functions), strict=True):
        if given == claim:
            result.set_type(claim)
            continue
        users = list(result.uses)
        result.set_type(given)
        with ir.InsertionPoint.after(op):
            known = _stated(Value(result), struct_info(claim))
        for use in users:
            use.owner.operation.operands[use.operand_number] = known.ssa


def _stated(value: Value, claim: StructInfo) -> Value:
    """`value` with the struct info `claim`, by a `match_shape` if necessary."""
    if value.struct_info == claim:
        return value
    if isinstance(claim, Tuple):
        return make_tuple(*(_stated(tuple_get_item(value, i), item) for i, item in enumerate(claim.fields)))
    assert isinstance(claim, Tensor | Shape)
    dims = claim.shape if isinstance(claim, Tensor) else claim.values
    assert dims is not None
    return match_shape(value, dims, new_dtype(value, claim))


def new_dtype(value: Value, claim: StructInfo) -> str | None:
    """The dtype of `claim`, if `value` is a tensor of unknown dtype; else None."""
    info = value.struct_info
    known = isinstance(info, Tensor) and info.dtype is not None
    return None if known or not isinstance(claim, Tensor) or claim.dtype is None else claim.dtype.name


def _given(op: ir.Operation, claims: list[ir.Type], functions: Mapping[str, func.FuncOp]) -> list[ir.Type]:
    """The types deduced from the op's operands where they are less precise than `claims`; else the claims."""
    cls = op_class(op)
    if cls is None or not claims:
        return claims
    if op.name == "relax.call":
        name = callee_of(op)
        arguments = struct_info(op.operands[0].type)
        assert isinstance(arguments, Tuple)
        inferred: list[StructInfo] = [infer_call(name, functions[name], arguments.fields)]
    elif cls.infer.__func__ is not RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # class methods
        inferred = list(as_sequence(cls.infer(cls.args_of(op))))
    else:
        return claims
    return [
        claim if implies(info, struct_info(claim)) else info.to_type()
        for claim, info in zip(claims, inferred, strict=True)
    ]
