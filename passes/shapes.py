"""Types and shapes: `normalize`, `refine-shapes`, `name-unknown-dims`, `remove-redundant-reshape`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.analysis.type_inference import deduce, deduce_types
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.structure import TUPLE, pack, unpack
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import IsView, PassesOn, has_trait, ops_with
from relax_mlir.dialects.types import (
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_attr,
    dims_from_attr,
    info_or_none,
    struct_info,
)
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import FunctionTable, defining_op, entry_block, is_used, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.op import permute_dims, reshape
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.rewrite.effects import make_all_effects_explicit, make_effects_explicit
from relax_mlir.rewrite.shape_hoisting import hoist_match
from relax_mlir.symbolic import assuming
from relax_mlir.transform import FunctionPass, ModulePass, PassContext, relax_functions

# Pass `normalize`: deduce the most precise type of every op, in canonical form.


class Normalize(FunctionPass):
    """Deduce result types again, canonicalise shape expressions, and forward fields of `tuple` ops.

    A result whose type is less precise than its op's shape rule gives (an unknown dimension or dtype) gets the more
    precise type, and so do the results of dataflow blocks, conditionals, calls and functions that depend on it. Values
    carried by loops keep their types.
    """

    name: ClassVar[str] = "normalize"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        deduce_types(function, module)


# Pass `refine-shapes`: propagate shape information forwards and backwards.


class RefineShapes(ModulePass):
    """Propagate shapes and dtypes forwards and backwards, to a fixed point.

    Forwards, as in ``normalize``: result types are deduced again through tuples, conditionals, dataflow blocks, calls
    and function results, including the shape rules of packed functions (`op.register_infer`). Callers see the refined
    results of their callees.

    Backwards, a `match_shape` of the result of an op that preserves its operand's shape (a unary op, a cast, a softmax,
    a binary op with a scalar, a permutation) moves in front of the op and checks the operand, repeatedly up to the
    first op that does not preserve the shape. The values in between then have a known shape. The check remains, so that
    the program raises the same error, only earlier: no call of a packed or Relax function, no conditional and no other
    effect is between the two positions, and both are in one block (a dataflow block counts as part of the enclosing
    block). The symbols of the pattern must be defined at the new position, or by the pattern itself.

    No other information moves backwards: ``add`` broadcasts, so a result of shape ``(m, n)`` does not determine either
    operand. `op.ewise_add`, which does not broadcast, inserts the `match_shape` that this pass moves.
    """

    name: ClassVar[str] = "refine-shapes"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Iterate until no function's type changes; each round propagates callee results to callers."""
        make_all_effects_explicit(module)
        functions = relax_functions(module)
        by_name = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        for _ in range(len(functions) + 1):
            before = [function.type for function in functions]
            for function in functions:
                with assuming(read_bounds(function)):
                    _refine(function, module, by_name)
            if before == [function.type for function in functions]:
                return


def _refine(function: func.FuncOp, module: ir.Module, functions: Mapping[str, func.FuncOp]) -> None:
    deduce_types(function, module)
    while any(hoist_match(match, functions) for match in ops_of(function.operation, "relax.match_shape")):
        deduce_types(function, module)


# Pass `name-unknown-dims`: replace unknown dimensions by symbols, for tensors of known rank and dtype.


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
            info = info_or_none(type_)
            found.extend(info.symbols() if info is not None else ())
        if op.name == MATCH:
            pattern = dims_from_attr(op.attributes["pattern"])
            found.extend(Tensor(pattern, None).symbols())  # only sizes matter, not the dtype
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    yield from found


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
            self.value(argument, ir.InsertionPoint.at_block_begin(block), ir.Location.unknown(block.owner.context))

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
        info = info_or_none(value.type)
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
        return pack([_vague(item, info, location) for item, info in zip(fields, wanted.fields, strict=True)], location)
    assert isinstance(wanted, Tensor | Shape)
    return _match(value, wanted, location)


# Pass `remove-redundant-reshape`: merge or remove chains of reshapes and of transpositions.


VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if name.startswith("relax."))
"""Relax ops that change the shape and keep the order of elements."""


class RemoveRedundantReshape(FunctionPass):
    """Apply the last of a chain of `reshape`, `flatten`, `expand_dims` and `squeeze` ops to the first tensor.

    An op whose result provably has the shape of that tensor is removed. Chains of `permute_dims` become one op, and
    identity permutations are removed.
    """

    name: ClassVar[str] = "remove-redundant-reshape"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        _Shorten().visit(function)


class _Shorten(ExprMutator):
    def visit_default(self, binding: Binding) -> Value | None:
        return self._view(binding) if binding.op in VIEWS else None

    def _view(self, binding: Binding) -> Value | None:
        source, length = binding.operands[0], 1
        while (made := self.definition(source)) is not None and made.op in VIEWS:
            source, length = made.operands[0], length + 1
        wanted = binding.result.tensor_info
        if implies(source.struct_info, wanted) and wanted.known_shape is not None:
            return source
        if length == 1 or wanted.known_shape is None:
            return None
        return reshape(source, list(wanted.known_shape))

    def visit_permute_dims(self, binding: Binding) -> Value | None:
        axes, source, length = _axes(binding), binding.operands[0], 1
        while (made := self.definition(source)) is not None and made.op == "permute_dims":
            inner = _axes(made)
            if axes is None or inner is None:
                break
            axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 1
        if axes is None:
            return None
        if axes == sorted(axes):
            return source
        return permute_dims(source, axes) if length > 1 else None


def _axes(binding: Binding) -> list[int] | None:
    """The axes of a `permute_dims`, as non-negative integers; None if the rank is unknown."""
    given, info = binding.attrs["axes"], binding.operands[0].tensor_info
    if info.ndim is None:
        return None
    return _normal(given, info)


def _normal(given: list[int] | None, info: Tensor) -> list[int]:
    assert info.ndim is not None
    return list(reversed(range(info.ndim))) if given is None else [axis % info.ndim for axis in given]
