"""Pass ``canonicalize-bindings``: remove bindings that only rename a value."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp, pack
from relax_mlir.dialects.types import Shape, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.transform import FunctionPass, PassContext
from relax_mlir.transform.passes import dataflow_blocks


class CanonicalizeBindings(FunctionPass):
    """Remove bindings that only rename a value, and redundant outputs of dataflow blocks.

    Such bindings are: a field of a tuple whose fields are known; a tuple of all fields of another tuple, in order; a
    `match_shape` that is already proved. A dataflow block outputs each value once, and only values that it defines and
    that are used after it. A block without outputs is removed unless it holds ops that must stay.
    """

    name: ClassVar[str] = "canonicalize-bindings"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        _DropNames().visit(function)
        for block in dataflow_blocks(function):
            clean_outputs(block)
        _DropNames().visit(function)


class _DropNames(ExprMutator):
    def visit_tuple_get_item(self, binding: Binding) -> Value | None:
        made = self.definition(binding.operands[0])
        return made.operands[binding.attrs["index"]] if made is not None and made.op == "tuple" else None

    def visit_tuple(self, binding: Binding) -> Value | None:
        fields = [self.definition(field) for field in binding.operands]
        sources = [f.operands[0] for f in fields if f is not None and f.op == "tuple_get_item"]
        if not sources or len(sources) != len(fields) or binding.result.struct_info != sources[0].struct_info:
            return None
        in_order = all(
            field is not None and field.attrs["index"] == index and self.same(source, sources[0])
            for index, (field, source) in enumerate(zip(fields, sources, strict=True))
        )
        return sources[0] if in_order else None

    def visit_match_shape(self, binding: Binding) -> Value | None:
        value, pattern = binding.operands[0], dims_from_attr(binding.operation.attributes["pattern"])
        given = value.struct_info
        if isinstance(given, Shape):
            return value if implies(given, Shape(pattern)) else None
        if not isinstance(given, Tensor):
            return None  # it names an integer, or casts an object to a tensor
        dtype = binding.result.tensor_info.dtype
        return value if implies(given, Tensor(pattern, dtype)) else None


def clean_outputs(block: ir.Operation) -> None:
    """Remove outputs of the dataflow block `block` that are unused after it, duplicates, or defined before it.

    A result that is used as a whole tuple is unchanged.
    """
    result, end = block.results[0], entry_block(block).operations[-1].operation
    users = [use.owner.operation for use in result.uses]
    defining = defining_op(end.operands[0])
    several = defining is not None and defining.name == TUPLE and _is_inside(defining, block)
    if not several:
        if users and not _is_inside(defining, block):
            result.replace_all_uses_with(end.operands[0])
        return
    assert defining is not None
    if any(user.name != TupleGetItemOp.OPERATION_NAME for user in users):
        return
    given = list(defining.operands)
    wanted: list[ir.Value] = []
    for user in users:
        value = given[ir.IntegerAttr(user.attributes["index"]).value]
        if not _is_inside(defining_op(value), block):
            user.results[0].replace_all_uses_with(value)
            user.erase()
    readers = [use.owner.operation for use in result.uses]
    for value in given:
        used = any(given[ir.IntegerAttr(user.attributes["index"]).value] == value for user in readers)
        if used and value not in wanted:
            wanted.append(value)
    if wanted != given:
        _give_out(block, end, defining, wanted, readers)


def _give_out(
    block: ir.Operation,
    end: ir.Operation,
    defining: ir.Operation,
    wanted: list[ir.Value],
    readers: list[ir.Operation],
) -> None:
    given = list(defining.operands)
    positions = [wanted.index(given[ir.IntegerAttr(user.attributes["index"]).value]) for user in readers]
    with ir.InsertionPoint(end):
        end.operands[0] = wanted[0] if len(wanted) == 1 else pack(wanted, defining.location)
    block.results[0].set_type(end.operands[0].type)
    if not is_used(defining.results[0]):
        defining.erase()
    for user, position in zip(readers, positions, strict=True):
        if len(wanted) == 1:
            user.results[0].replace_all_uses_with(block.results[0])
            user.erase()
        else:
            user.attributes["index"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), position)
    assert isinstance(struct_info(block.results[0].type), Tuple) or len(wanted) == 1


def _is_inside(op: ir.Operation | None, block: ir.Operation) -> bool:
    return op is not None and op.parent is not None and bool(op.parent.operation == block)
