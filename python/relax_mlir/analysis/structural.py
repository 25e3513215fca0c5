"""Structural equality and hashes of modules and of functions, up to the names of SSA values and of symbols.

Locations are ignored, and so is whether an attribute with its default value is written explicitly. Symbols may be
renamed, one to one per function: ``(n, m)`` and ``(a, b)`` are equal, ``(n, n)`` and ``(a, b)`` are not. Constants are
compared by their elements.

Equal modules have equal functions of the same names. If single functions are compared, their names and visibility are
ignored, since these belong to the module. The names of the functions that they call count, unless
``map_free_vars=True``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PARAMS, SYMBOL_BOUNDS
from relax_mlir.dialects.base import dim_attribute_names, dims_in
from relax_mlir.dialects.constants import byte_pieces
from relax_mlir.dialects.prim_funcs import prim_params
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import ArgumentError, RelaxError
from relax_mlir.ir_queries import HasModule, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import content, resources
from relax_mlir.symbolic import Dim

DIM_KINDS = (ir.ArrayAttr, ir.StringAttr, ir.IntegerAttr)
NAME_ATTRIBUTES = ("sym_name", "sym_visibility")
"""The name and visibility of a function, which belong to the module."""

Comparable: TypeAlias = HasModule | ir.Module | func.FuncOp
"""A module, or a Relax or prim function."""


class _Different(Exception):
    """Carries the description of the first difference."""


def structural_equal(left: Comparable, right: Comparable, map_free_vars: bool = False) -> bool:
    """True if two modules, or two functions, are structurally equal; see `assert_structural_equal`."""
    return find_difference(left, right, map_free_vars) is None


def assert_structural_equal(left: Comparable, right: Comparable, map_free_vars: bool = False) -> None:
    """Raise `AssertionError` with the first difference and its location unless the two are structurally equal.

    Args:
        left: an `IRModule`, or a function of one (``mod["main"]``), Relax or prim.
        right: another one of the same kind.
        map_free_vars: function names may differ, one to one: those of a module's functions, which are then compared
            in order, and those of the functions that they call.

    Raises:
        AssertionError: the two differ.
        ArgumentError: one is neither a module nor a function, or only one of them is a module.
    """
    difference = find_difference(left, right, map_free_vars)
    if difference is not None:
        what = "functions" if isinstance(left, func.FuncOp) else "modules"
        raise AssertionError(f"the {what} differ: {difference}")


def find_difference(left: Comparable, right: Comparable, map_free_vars: bool = False) -> str | None:
    """Describe the first difference between two modules or functions; None if equal. Their order does not count."""
    ours, theirs = tops_of(left, "left"), tops_of(right, "right")
    single = isinstance(left, func.FuncOp)
    if single != isinstance(right, func.FuncOp):
        raise ArgumentError(f"structural equality: {left!r} is compared with {right!r}: one is no module")
    if single or map_free_vars:
        if len(ours) != len(theirs):
            return f"the left module has {len(ours)} functions, the right one {len(theirs)}"
        pairs = list(zip(ours, theirs, strict=True))
    elif set(ours) != set(theirs):
        missing, extra = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
        return f"functions {missing} are only in the left, {extra} only in the right module"
    else:
        pairs = [(name, name) for name in ours]
    names = Names(single or map_free_vars, map_free_vars, dict(pairs) if single or map_free_vars else {})
    for name, other_name in pairs:
        difference = _difference(name, ours[name], theirs[other_name], names)
        if difference is not None:
            mine, other = _as_written(ours[name]), _as_written(theirs[other_name])
            if mine is None or other is None or _difference(name, mine, other, names) is not None:
                return difference
    return None


def tops_of(given: Comparable, what: str = "argument") -> dict[str, ir.Operation]:
    """The functions and other top-level ops of a module by name; for a function, itself only."""
    if isinstance(given, func.FuncOp):
        return {given.name.value: given.operation}
    module = getattr(given, "mlir", given)
    if not isinstance(module, ir.Module):
        raise ArgumentError(
            f"structural equality: the {what} is {given!r:.80} ({type(given).__name__}), expected an IRModule or a "
            "function of one"
        )
    named: dict[str, ir.Operation] = {}
    for index, view in enumerate(module.body.operations):
        is_named = "sym_name" in view.attributes
        named[ir.StringAttr(view.attributes["sym_name"]).value if is_named else f"#{index}"] = view.operation
    return named


@dataclass
class Names:
    """The correspondence of function names found so far, and the names that may differ."""

    own: bool
    """True if the compared functions may have different names."""
    called: bool
    """True if the functions that they call may have different names."""
    known: dict[str, str] = field(default_factory=dict)

    def same(self, mine: str, other: str) -> bool:
        """True if two names refer to corresponding functions."""
        if mine in self.known:
            return self.known[mine] == other
        if not self.called:
            return mine == other and other not in self.known.values()
        if other in self.known.values():
            return False
        self.known[mine] = other
        return True


def _difference(name: str, left: ir.Operation, right: ir.Operation, names: Names) -> str | None:
    try:
        _Comparison(name, names).compare_op(left, right)
    except _Different as difference:
        return str(difference)
    return None


def _as_written(op: ir.Operation) -> ir.Operation | None:
    """The function parsed again from its text, which makes default attributes explicit; None if it cannot be."""
    if any(ops_of(op, "relax.constant")) or resources(op):
        return None
    with op.context:
        try:
            return ir.Operation.parse(op.get_asm()).operation
        except ir.MLIRError:
            return None  # invalid ops may print text that does not parse


@dataclass
class _Comparison:
    function: str
    names: Names
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
            if self.names.own and left.name == "func.func":
                for item in NAME_ATTRIBUTES:
                    attributes.pop(item, None)
            if "arg_attrs" in attributes and not any(_without_names(attributes["arg_attrs"])):
                del attributes["arg_attrs"]
        if set(ours) != set(theirs):
            self.fail(left, f"its attributes are {sorted(ours)}, the other's {sorted(theirs)}")
        for name, mine in ours.items():
            if name in ("function_type", SYMBOL_BOUNDS):
                continue  # follows from the types of arguments and results; bounds are compared at the end
            if name == "arg_attrs":
                if _without_names(mine) != _without_names(theirs[name]):
                    self.fail(left, "the attributes of its parameters differ")
                continue
            if name == PARAMS and self.same_params(left, right):
                continue
            if not self.same_attribute(left, name, mine, theirs[name]):
                self.fail(left, f"attribute '{name}' is {str(mine)[:80]}, the other's {str(theirs[name])[:80]}")

    def same_params(self, left: ir.Operation, right: ir.Operation) -> bool:
        """True if two prim funcs declare the same parameters, up to the names of parameters and of sizes."""
        try:
            ours, theirs = prim_params(_function(left)), prim_params(_function(right))
        except RelaxError:
            return False
        if ours is None or theirs is None or len(ours) != len(theirs):
            return False
        for mine, other in zip(ours, theirs, strict=True):
            if mine.dtype != other.dtype or not self.same_dims(mine.shape, other.shape):
                return False
            if mine.dtype is None and not self.same_symbol(mine.name, other.name):
                return False  # an integer parameter, which buffer sizes may use
        return True

    def compare_bounds(self, left: ir.Operation, right: ir.Operation) -> None:
        """Compare the bounds of symbols, once the correspondence of symbols is complete."""
        ours, theirs = _entries(left.attributes[SYMBOL_BOUNDS]), _entries(right.attributes[SYMBOL_BOUNDS])
        renamed = {self.symbols.get(name, name): value for name, value in ours.items()}
        if renamed != theirs:
            self.fail(left, f"the bounds of its symbols are {ours}, the other's {theirs}")

    def same_attribute(self, op: ir.Operation, name: str, mine: ir.Attribute, other: ir.Attribute) -> bool:
        if name in dim_attribute_names(op) and isinstance(mine, DIM_KINDS) and isinstance(other, DIM_KINDS):
            return self.same_dims(list(dims_in(mine)), list(dims_in(other)))
        if op.name == "relax.constant" and name == "value":
            return self.same_elements(mine, other)
        if isinstance(mine, ir.FlatSymbolRefAttr) and isinstance(other, ir.FlatSymbolRefAttr):
            return self.names.same(mine.value, other.value)
        return content(mine) == content(other)

    @staticmethod
    def same_elements(mine: ir.Attribute, other: ir.Attribute) -> bool:
        if str(mine.type) != str(other.type):
            return False
        if isinstance(mine, ir.DenseElementsAttr) and mine.is_splat and content(mine) == content(other):
            return True
        return all(a == b for a, b in zip_longest(byte_pieces(mine), byte_pieces(other), fillvalue=b""))

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
    return {item.name: content(item.attr) for item in map(items.__getitem__, range(len(items)))}


def _without_names(arg_attrs: ir.Attribute) -> list[dict[str, str]]:
    """The attributes of the parameters, without their names, which are names of SSA values."""
    return [
        {item.name: content(item.attr) for item in ir.DictAttr(one) if item.name != "relax.name"}
        for one in ir.ArrayAttr(arg_attrs)
    ]


def _type_text(type_: ir.Type) -> str:
    try:
        return str(struct_info(type_))
    except RelaxError:
        return str(type_)


def _function(op: ir.Operation) -> func.FuncOp:
    view = op.opview
    assert isinstance(view, func.FuncOp), f"{op.name} has the attribute {PARAMS}"
    return view


# Structural hashes: equal modules, and equal functions, have equal hashes (see `structural_equal`).

SAID_BY_TYPES = ("function_type", "arg_attrs", SYMBOL_BOUNDS)
"""Attributes of functions that follow from their bodies, contain names, or are hashed last."""
UPSTREAM = ("value", "predicate", "iterator_types")
"""Attributes of upstream ops that are always printed; others may be omitted at their default value."""


def structural_hash(given: Comparable, map_free_vars: bool = False) -> int:
    """A 64-bit hash, equal for structurally equal modules or functions, and the same in every process.

    Args:
        given: an `IRModule`, or a function of one.
        map_free_vars: as for `assert_structural_equal`.

    Raises:
        ArgumentError: `given` is neither.
    """
    tops = tops_of(given)
    if isinstance(given, func.FuncOp) or map_free_vars:
        names = {name: f"#{number}" for number, name in enumerate(tops)}
        texts = [_digest(op, names, map_free_vars, hide=True) for op in tops.values()]
    else:
        texts = [name + _digest(tops[name], {}, False, hide=False) for name in sorted(tops)]
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:8], "big")


def _digest(op: ir.Operation, names: dict[str, str], rename: bool, *, hide: bool) -> str:
    writer = _Writer(names, rename, hide)
    found = hashlib.sha256()
    for text in writer.op(op):
        found.update(text.encode() + b"\0")
    return found.hexdigest()


@dataclass
class _Writer:
    """Writes an op such that equal ones have the same text: values, symbols and, on request, functions are numbered."""

    names: dict[str, str]
    rename: bool
    hide: bool
    values: dict[ir.Value, int] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)

    def op(self, op: ir.Operation) -> Iterator[str]:
        yield op.name
        yield from (str(self.values.get(operand)) for operand in op.operands)
        yield from self.attributes(op)
        yield from self.bind(op.results)
        for region in op.regions:
            blocks = list(region.blocks)
            for block in blocks:
                yield from self.bind(block.arguments)
            for block in blocks:
                for view in block.operations:
                    yield from self.op(view.operation)
                yield "end"
        if SYMBOL_BOUNDS in op.attributes:
            yield from self.bounds(ir.DictAttr(op.attributes[SYMBOL_BOUNDS]))

    def bind(self, values: Iterable[ir.Value]) -> Iterator[str]:
        for value in values:
            self.values[value] = len(self.values)
            yield self.type(value.type)

    def attributes(self, op: ir.Operation) -> Iterator[str]:
        is_own = op.name.startswith("relax.") or op.name == func.FuncOp.OPERATION_NAME
        found = {a.name: a.attr for a in map(op.attributes.__getitem__, range(len(op.attributes)))}
        for name in sorted(found):
            attribute = found[name]
            if name in SAID_BY_TYPES or (self.hide and name in NAME_ATTRIBUTES):
                continue
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                yield f"{name}={self.function(attribute.value)}"
            elif name == PARAMS and op.name == func.FuncOp.OPERATION_NAME:
                yield f"{name}={self.params(op, attribute)}"
            elif is_own or name in UPSTREAM:
                yield f"{name}={self.attribute(op, name, attribute)}"

    def function(self, name: str) -> str:
        if self.rename and name not in self.names:
            self.names[name] = f"#{len(self.names)}"
        return self.names.get(name, name)

    def attribute(self, op: ir.Operation, name: str, attribute: ir.Attribute) -> str:
        if name in dim_attribute_names(op) and isinstance(attribute, DIM_KINDS):
            return self.dims(list(dims_in(attribute)))
        if op.name == "relax.constant" and name == "value":
            digest = hashlib.sha256()
            for piece in byte_pieces(attribute):
                digest.update(piece)
            return f"{attribute.type}{digest.hexdigest()}"
        return content(attribute)

    def params(self, op: ir.Operation, attribute: ir.Attribute) -> str:
        """The parameter declarations of a prim func, without parameter names."""
        view = op.opview
        assert isinstance(view, func.FuncOp)
        try:
            given = prim_params(view)
        except RelaxError:
            return str(attribute)
        items = (
            self.dim(symbolic.symbol(item.name)) if item.dtype is None else f"{item.dtype}{self.dims(item.shape)}"
            for item in given or ()
        )
        return "; ".join(items)

    def bounds(self, given: ir.DictAttr) -> Iterator[str]:
        items = map(given.__getitem__, range(len(given)))
        yield from sorted(f"{self.symbols.get(item.name, item.name)}: {item.attr}" for item in items)

    def type(self, given: ir.Type) -> str:
        try:
            return self.info(struct_info(given))
        except RelaxError:
            return str(given)

    def info(self, info: StructInfo) -> str:
        if isinstance(info, Tensor):
            return f"Tensor({self.dims(info.shape)}, {info.dtype})"
        if isinstance(info, Shape):
            return f"Shape({self.dims(info.values)})"
        if isinstance(info, Tuple):
            return f"Tuple({', '.join(map(self.info, info.fields))})"
        return str(info)

    def dims(self, dims: Iterable[Dim | None] | None) -> str:
        return "?" if dims is None else f"({', '.join(map(self.dim, dims))})"

    def dim(self, dim: Dim | None) -> str:
        if dim is None or isinstance(dim, int):
            return str(dim)
        alone = symbolic.linear_definition(dim)
        if alone is not None:
            return self.symbols.setdefault(alone, f"s{len(self.symbols)}")
        names = symbolic.symbols(dim)
        if any(name not in self.symbols for name in names):
            return str(dim)
        return str(symbolic.substitute(dim, {name: symbolic.symbol(self.symbols[name]) for name in names}))
