"""Structural equality of modules: the same functions, up to the names of SSA values and of symbols.

Locations do not count, nor whether an attribute that has its default is written. Symbols may be renamed, one to one per
function: ``(n, m)`` and ``(a, b)`` are equal, where ``(n, n)`` and ``(a, b)`` are not. Constants are compared by their
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.dialects.constants import to_numpy
from relax_mlir.dialects.symbolic_attributes import dim_attribute_names, dims_in
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule

DIM_KINDS = (ir.ArrayAttr, ir.StringAttr, ir.IntegerAttr)


class _Different(Exception):
    """Carries the description of the first difference."""


def structural_equal(left: IRModule, right: IRModule) -> bool:
    """Whether the two modules are structurally equal."""
    return find_difference(left, right) is None


def assert_structural_equal(left: IRModule, right: IRModule) -> None:
    """Raise `AssertionError` with the first difference unless the modules are structurally equal."""
    difference = find_difference(left, right)
    if difference is not None:
        raise AssertionError(f"the modules differ: {difference}")


def find_difference(left: IRModule, right: IRModule) -> str | None:
    """The first difference between the modules in words, or None. The order of functions does not count."""
    ours, theirs = _tops(left), _tops(right)
    if set(ours) != set(theirs):
        missing, extra = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
        return f"functions {missing} are only in the left, {extra} only in the right module"
    for name in ours:
        difference = _difference(name, ours[name], theirs[name])
        if difference is not None:
            mine, other = _as_written(ours[name]), _as_written(theirs[name])
            if mine is None or other is None or _difference(name, mine, other) is not None:
                return difference
    return None


def _difference(name: str, left: ir.Operation, right: ir.Operation) -> str | None:
    try:
        _Comparison(name).compare_op(left, right)
    except _Different as difference:
        return str(difference)
    return None


def _as_written(op: ir.Operation) -> ir.Operation | None:
    """A function as its text says it, with the attributes that the text leaves out; None if no text says all of it."""
    if any(ops_of(op, "relax.constant")):
        return None
    with op.context:
        try:
            return ir.Operation.parse(op.get_asm()).operation
        except ir.MLIRError:
            return None  # invalid ops have a text that nobody can read


def _tops(module: IRModule) -> dict[str, ir.Operation]:
    named: dict[str, ir.Operation] = {}
    for index, view in enumerate(module.mlir.body.operations):
        key = (
            ir.StringAttr(view.attributes["sym_name"]).value if "sym_name" in view.attributes else f"#{index}"
        )
        named[key] = view.operation
    return named


@dataclass
class _Comparison:
    function: str
    values: dict[ir.Value, ir.Value] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)

    def fail(self, op: ir.Operation, message: str) -> None:
        where = str(op.location).removeprefix("loc(").removesuffix(")")
        raise _Different(f"function '{self.function}', {op.name} at {where}: {message}")

    def compare_op(self, left: ir.Operation, right: ir.Operation) -> None:
        if left.name != right.name:
            self.fail(left, f"the other is {right.name}")
        if len(left.operands) != len(right.operands) or len(left.results) != len(right.results):
            self.fail(left, "the numbers of operands or results differ")
        for index, (mine, other) in enumerate(zip(left.operands, right.operands, strict=True)):
            if self.values.get(mine) != other:
                self.fail(left, f"operand {index} is another value")
        self.compare_attributes(left, right)
        for index, (mine, other) in enumerate(zip(left.results, right.results, strict=True)):
            self.bind(left, f"result {index}", mine, other)
        for mine_region, other_region in zip(left.regions, right.regions, strict=True):
            self.compare_region(left, mine_region, other_region)
        if SYMBOL_BOUNDS in left.attributes:
            self.compare_bounds(left, right)

    def bind(self, op: ir.Operation, what: str, mine: ir.Value, other: ir.Value) -> None:
        self.compare_types(op, what, mine.type, other.type)
        self.values[mine] = other

    def compare_region(self, op: ir.Operation, left: ir.Region, right: ir.Region) -> None:
        ours, theirs = list(left.blocks), list(right.blocks)
        if len(ours) != len(theirs):
            self.fail(op, "the numbers of blocks differ")
        for mine, other in zip(ours, theirs, strict=True):
            if len(mine.arguments) != len(other.arguments):
                self.fail(op, "the numbers of block arguments differ")
            for index, (a, b) in enumerate(zip(mine.arguments, other.arguments, strict=True)):
                self.bind(op, f"argument {index}", a, b)
        for mine, other in zip(ours, theirs, strict=True):
            my_ops, other_ops = list(mine.operations), list(other.operations)
            for my_op, other_op in zip(my_ops, other_ops, strict=False):
                self.compare_op(my_op.operation, other_op.operation)
            if len(my_ops) != len(other_ops):
                self.fail(op, f"its body has {len(my_ops)} ops, the other's {len(other_ops)}")

    def compare_attributes(self, left: ir.Operation, right: ir.Operation) -> None:
        ours = {a.name: a.attr for a in map(left.attributes.__getitem__, range(len(left.attributes)))}
        theirs = {a.name: a.attr for a in map(right.attributes.__getitem__, range(len(right.attributes)))}
        for attributes in (ours, theirs):
            if "arg_attrs" in attributes and not any(_without_names(attributes["arg_attrs"])):
                del attributes["arg_attrs"]
        if set(ours) != set(theirs):
            self.fail(left, f"its attributes are {sorted(ours)}, the other's {sorted(theirs)}")
        for name, mine in ours.items():
            if name in ("function_type", SYMBOL_BOUNDS):
                continue  # the types of arguments and returned values say it; bounds are compared at the end
            if name == "arg_attrs":
                if _without_names(mine) != _without_names(theirs[name]):
                    self.fail(left, "the attributes of its parameters differ")
                continue
            if not self.same_attribute(left, name, mine, theirs[name]):
                self.fail(
                    left, f"attribute '{name}' is {str(mine)[:80]}, the other's {str(theirs[name])[:80]}"
                )

    def compare_bounds(self, left: ir.Operation, right: ir.Operation) -> None:
        """The bounds of symbols, once it is known which symbol is which."""
        ours, theirs = _entries(left.attributes[SYMBOL_BOUNDS]), _entries(right.attributes[SYMBOL_BOUNDS])
        renamed = {self.symbols.get(name, name): value for name, value in ours.items()}
        if renamed != theirs:
            self.fail(left, f"the bounds of its symbols are {ours}, the other's {theirs}")

    def same_attribute(self, op: ir.Operation, name: str, mine: ir.Attribute, other: ir.Attribute) -> bool:
        if name in dim_attribute_names(op) and isinstance(mine, DIM_KINDS) and isinstance(other, DIM_KINDS):
            return self.same_dims(list(dims_in(mine)), list(dims_in(other)))
        if op.name == "relax.constant" and name == "value":
            return self.same_elements(mine, other)
        return str(mine) == str(other)

    @staticmethod
    def same_elements(mine: ir.Attribute, other: ir.Attribute) -> bool:
        if str(mine.type) != str(other.type):
            return False
        return to_numpy(mine).tobytes() == to_numpy(other).tobytes()

    def compare_types(self, op: ir.Operation, what: str, mine: ir.Type, other: ir.Type) -> None:
        if not self.same_type(mine, other):
            self.fail(op, f"{what} is {_type_text(mine)}, the other's {_type_text(other)}")

    def same_type(self, mine: ir.Type, other: ir.Type) -> bool:
        try:
            return self.same_info(struct_info(mine), struct_info(other))
        except RelaxError:
            return str(mine) == str(other)

    def same_info(self, mine: StructInfo, other: StructInfo) -> bool:
        if isinstance(mine, Tensor) and isinstance(other, Tensor):
            return mine.dtype == other.dtype and self.same_dims(mine.shape, other.shape)
        if isinstance(mine, Shape) and isinstance(other, Shape):
            return self.same_dims(mine.values, other.values)
        if isinstance(mine, Tuple) and isinstance(other, Tuple):
            same_length = len(mine.fields) == len(other.fields)
            return same_length and all(map(self.same_info, mine.fields, other.fields))
        return mine == other

    def same_dims(self, mine: Sequence[Dim | None] | None, other: Sequence[Dim | None] | None) -> bool:
        if mine is None or other is None:
            return mine is other
        return len(mine) == len(other) and all(map(self.same_dim, mine, other))

    def same_dim(self, mine: Dim | None, other: Dim | None) -> bool:
        if mine is None or other is None or isinstance(mine, int) or isinstance(other, int):
            return mine == other
        ours, theirs = symbolic.linear_definition(mine), symbolic.linear_definition(other)
        if ours is not None and theirs is not None:
            return self.same_symbol(ours, theirs)
        names = symbolic.symbols(mine)
        if any(name not in self.symbols for name in names):
            return mine == other
        return symbolic.substitute(mine, {n: symbolic.symbol(self.symbols[n]) for n in names}) == other

    def same_symbol(self, mine: str, other: str) -> bool:
        if mine not in self.symbols:
            if other in self.symbols.values():
                return False
            self.symbols[mine] = other
        return self.symbols[mine] == other


def _entries(attribute: ir.Attribute) -> dict[str, str]:
    items = ir.DictAttr(attribute)
    return {item.name: str(item.attr) for item in map(items.__getitem__, range(len(items)))}


def _without_names(arg_attrs: ir.Attribute) -> list[dict[str, str]]:
    """The attributes of the parameters but for their names, which are names of SSA values."""
    return [
        {item.name: str(item.attr) for item in ir.DictAttr(one) if item.name != "relax.name"}
        for one in ir.ArrayAttr(arg_attrs)
    ]


def _type_text(type_: ir.Type) -> str:
    try:
        return str(struct_info(type_))
    except RelaxError:
        return str(type_)
