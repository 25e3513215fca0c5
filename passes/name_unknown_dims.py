"""Pass ``name-unknown-dims``: replace unknown dimensions by symbols, for tensors of known rank and dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.analysis.type_inference import deduce
from relax_mlir.dialects.structure import TUPLE, pack, unpack
from relax_mlir.dialects.traits import PassesOn, has_trait
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, dims_attr, dims_from_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import FunctionTable, defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.transform import FunctionPass, PassContext

MATCH = "relax.match_shape"


class NameUnknownDims(FunctionPass):
    """Match every tensor with unknown dimensions, ``Tensor((None, 4))``, with a shape of fresh symbols, ``(d0, 4)``.

    Its users get types in these symbols, so that they can be compiled. An op that would then reject its operands (two
    unknown dimensions need not be equal) keeps its original operands. The results of conditionals, loops and functions
    keep their types.
    """

    name: ClassVar[str] = "name-unknown-dims"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        make_effects_explicit(function)
        functions = FunctionTable(module.operation)
        block = entry_block(function)
        kept = _kept_types(function.operation)
        naming = _Naming(functions, set(_symbols(function.operation)))
        naming.arguments(block)
        naming.block(block)
        for op, types in kept:
            _restore(op, types)
        for value in naming.origins:
            if not is_used(value):
                value.owner.erase()


def _kept_types(root: ir.Operation) -> list[tuple[ir.Operation, list[ir.Type]]]:
    """Ops whose operands must keep their types, with these types."""
    found: list[tuple[ir.Operation, list[ir.Type]]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _keeps_types(op):
            found.append((op, [operand.type for operand in op.operands]))
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def _symbols(root: ir.Operation) -> Iterator[str]:
    """All symbols that occur in a function."""
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        types = [v.type for v in (*op.operands, *op.results)]
        types += [a.type for region in op.regions for block in region.blocks for a in block.arguments]
        for type_ in types:
            info = _relax_info(type_)
            found.extend(info.symbols() if info is not None else ())
        if op.name == MATCH:
            pattern = dims_from_attr(op.attributes["pattern"])
            found.extend(Tensor(pattern, None).symbols())  # only sizes matter, not the dtype
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    yield from found


def _relax_info(type_: ir.Type) -> StructInfo | None:
    try:
        return struct_info(type_)
    except RelaxError:
        return None  # a value of an upstream op


def _keeps_types(op: ir.Operation) -> bool:
    """True if the operand types are constrained by other types: terminators, conditionals, loops, upstream ops."""
    return op.name not in (TUPLE, "relax.output") and not op.name.startswith("relax.")


@dataclass
class _Naming:
    functions: Mapping[str, func.FuncOp]
    taken: set[str]
    origins: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Original value by named value."""
    count: int = 0

    def fresh(self) -> str:
        while f"d{self.count}" in self.taken:
            self.count += 1
        name = f"d{self.count}"
        self.taken.add(name)
        return name

    def arguments(self, block: ir.Block) -> None:
        for argument in block.arguments:
            self.value(
                argument, ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(block.owner.context)
            )

    def block(self, block: ir.Block) -> None:
        for op in [view.operation for view in block.operations]:
            for region in op.regions:
                for nested in region.blocks:
                    self.arguments(nested)
                    self.block(nested)
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        """Deduce the result types of an op again, and name their unknown dimensions."""
        if op.name.startswith("relax.") or op.name == TUPLE:
            self.retype(op)
        for result in op.results:
            self.value(result, ir.InsertionPoint.after(op), op.location)

    def retype(self, op: ir.Operation) -> None:
        current = [struct_info(result.type) for result in op.results]
        try:
            infos = deduce(op, current, self.functions)
        except RelaxError:
            self.forget_names(op)
            return
        for result, old, new in zip(op.results, current, infos, strict=True):
            if _differ_in_dims(old, new):
                result.set_type(new.to_type())

    def forget_names(self, op: ir.Operation) -> None:
        """Restore the original operands of an op."""
        for index, operand in enumerate(op.operands):
            defining = defining_op(operand)
            if operand in self.origins:
                op.operands[index] = self.origins[operand]
            elif defining is not None and defining.name == TUPLE:
                fields = [self.origins.get(value, value) for value in defining.operands]
                with ir.InsertionPoint(op):
                    op.operands[index] = pack(fields, op.location)

    def value(self, value: ir.Value, point: ir.InsertionPoint, location: ir.Location) -> None:
        """Name the unknown dimensions of a tensor, for the users that benefit."""
        info = _relax_info(value.type)
        if not isinstance(info, Tensor) or info.dtype is None or info.shape is None or None not in info.shape:
            return
        uses = [use for use in value.uses if _profits(use.owner.operation)]
        if not uses:
            return
        named = Tensor([self.fresh() if dim is None else dim for dim in info.shape], info.dtype)
        assert named.shape is not None
        with point:
            match = _match(value, named, location)
        self.origins[match] = value
        for use in uses:
            use.owner.operation.operands[use.operand_number] = match


def _differ_in_dims(old: StructInfo, new: StructInfo) -> bool:
    """True if two struct infos differ only in dimensions, so that a `match_shape` can restore the old one."""
    if isinstance(old, Tuple) and isinstance(new, Tuple):
        pairs = list(zip(old.fields, new.fields, strict=True))
        return old != new and all(a == b or _differ_in_dims(a, b) for a, b in pairs)
    if isinstance(old, Tensor) and isinstance(new, Tensor):
        return old != new and old.dtype == new.dtype and old.ndim == new.ndim
    return isinstance(old, Shape) and isinstance(new, Shape) and old != new and old.ndim == new.ndim


def _profits(user: ir.Operation) -> bool:
    if user.name == TUPLE:
        return any(_profits(use.owner.operation) for use in user.results[0].uses)
    return not has_trait(user, PassesOn) and not _keeps_types(user)


def _match(value: ir.Value, info: Tensor | Shape, location: ir.Location) -> ir.Value:
    """`value` with the struct info `info`, which may be more or less precise."""
    dims = info.shape if isinstance(info, Tensor) else info.values
    assert dims is not None
    return ir.Operation.create(
        MATCH,
        results=[info.to_type()],
        operands=[value],
        attributes={"pattern": dims_attr(dims), "result_dtype": ir.UnitAttr.get(value.context)},
        loc=location,
    ).results[0]


def _restore(op: ir.Operation, types: list[ir.Type]) -> None:
    """Restore the original types of the operands of `op`."""
    for index, wanted in enumerate(types):
        value = op.operands[index]
        if value.type != wanted:
            with ir.InsertionPoint(op):
                op.operands[index] = _vague(value, struct_info(wanted), op.location)


def _vague(value: ir.Value, wanted: StructInfo, location: ir.Location) -> ir.Value:
    """`value` with the less precise type of `wanted`."""
    if value.type == wanted.to_type():
        return value
    if isinstance(wanted, Tuple):
        have = struct_info(value.type)
        assert isinstance(have, Tuple)
        fields = unpack(value, [item.to_type() for item in have.fields])
        return pack(
            [_vague(item, info, location) for item, info in zip(fields, wanted.fields, strict=True)], location
        )
    assert isinstance(wanted, Tensor | Shape)
    return _match(value, wanted, location)
