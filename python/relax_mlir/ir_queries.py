"""Queries on the IR that all phases of the compiler use."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping
from typing import Protocol

from relax_mlir.fork_safety import cached_property
from relax_mlir.mlir import func, ir

FUNCTION = "func.func"


class HasModule(Protocol):
    """An object with an MLIR module: `relax_mlir.IRModule`, which is above this module."""

    @property
    def mlir(self) -> ir.Module:
        """The module."""


def ops_of(root: ir.Operation, *names: str, order: ir.WalkOrder = ir.WalkOrder.PRE_ORDER) -> list[ir.Operation]:
    """`root` and all ops in it, in program order; with `names`, only the ops of these names.

    In post-order, ops come after those in their regions. The list is complete before the caller changes any op, so that
    changes do not affect the walk.
    """
    found: list[ir.Operation] = []
    add, go_on = found.append, ir.WalkResult.ADVANCE  # looked up once: a module is walked a hundred times

    def visit(op: ir.Operation) -> ir.WalkResult:
        add(op)
        return go_on

    def visit_named(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            add(op)
        return go_on

    root.walk(visit_named if names else visit, order)
    return found


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op whose result `value` is; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def is_used(value: ir.Value) -> bool:
    """True if `value` has a use; looks at one use only, as there may be thousands."""
    return next(iter(value.uses), None) is not None


def has_one_use(value: ir.Value) -> bool:
    """True if `value` has exactly one use; looks at two uses at most."""
    return len(list(itertools.islice(value.uses, 2))) == 1


def owner_block(value: ir.Value) -> ir.Block:
    """The block that defines `value`, as the result of one of its ops or as its argument."""
    owner = value.owner
    return owner if isinstance(owner, ir.Block) else owner.operation.block


def entry_block(op: ir.Operation | ir.OpView) -> ir.Block:
    """The first block of the first region of `op`."""
    return op.regions[0].blocks[0]


def first_op(block: ir.Block) -> ir.Operation | None:
    """The first op of a block; None if it has none."""
    return _operation(ir.InsertionPoint.at_block_begin(block).ref_operation)


def next_op(op: ir.Operation) -> ir.Operation | None:
    """The op after `op` in its block; None for the last one. Takes the same time in blocks of any length."""
    return _operation(ir.InsertionPoint.after(op).ref_operation)


def _operation(view: ir.OpView | ir.Operation | None) -> ir.Operation | None:
    return None if view is None else view.operation


def ancestors(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops around `op`, from the innermost one to the module."""
    parent = op.parent
    while parent is not None:
        yield parent.operation
        parent = parent.operation.parent


def enclosing_function(op: ir.Operation) -> ir.Operation | None:
    """The ``func.func`` that is or contains `op`; None outside of functions."""
    if op.name == FUNCTION:
        return op
    return next((around for around in ancestors(op) if around.name == FUNCTION), None)


def function_of(op: ir.Operation) -> ir.Operation:
    """The ``func.func`` that contains `op`, which must be in one."""
    found = enclosing_function(op)
    assert found is not None, f"{op.name} stands in no function"
    return found


def enclosing_op_in(block: ir.Block, op: ir.Operation) -> ir.Operation | None:
    """The op in `block` that is or contains `op`; None if the function of `op` has no such op."""
    if op.block == block:
        return op
    for around in ancestors(op):
        if around.name == FUNCTION:
            return None
        if around.block == block:
            return around
    return None


def loop_values(loop: ir.Operation) -> list[ir.Value]:
    """Every value through which a loop may pass on an operand."""
    arguments = [a for region in loop.regions for block in region.blocks for a in block.arguments]
    return [*loop.results, *arguments]


def is_a(op: ir.Operation | None, *classes: type[ir.OpView]) -> bool:
    """True if `op` is an op of one of the classes; false for None.

    Names are compared, so that no view of the op is created, and ops of contexts without the dialect can be queried.
    """
    return op is not None and any(op.name == cls.OPERATION_NAME for cls in classes)


def callee_of(call: ir.Operation) -> str:
    """The function that an op with the attribute ``callee`` calls; "" for a nested reference (``@a::@b``)."""
    callee = call.attributes["callee"]
    return str(callee.value) if isinstance(callee, ir.FlatSymbolRefAttr) else ""


def symbols_named(op: ir.Operation, ignored: str = "") -> Iterator[str]:
    """The symbols in the attributes of `op` except `ignored`, also in lists and dictionaries."""
    attributes = op.attributes
    for index in range(len(attributes)):
        named = attributes[index]
        if named.name != ignored:
            yield from _symbols_in(named.attr)


def _symbols_in(attribute: ir.Attribute) -> Iterator[str]:
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        yield attribute.value
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _symbols_in(item)
    elif isinstance(attribute, ir.DictAttr):
        for index in range(len(attribute)):
            yield from _symbols_in(attribute[index].attr)


def has_symbol(module: ir.Module, name: str) -> bool:
    """True if a function or declaration of the module is called `name`; for many names, use `symbol_names`."""
    return name in ir.SymbolTable(module.operation)


def symbol_names(block: ir.Block) -> set[str]:
    """The names of all symbols of a module's body: functions, prim funcs and declarations."""
    ops = (op.operation for op in block.operations)
    return {ir.StringAttr(op.attributes["sym_name"]).value for op in ops if "sym_name" in op.attributes}


def fresh_name(wanted: str, taken: Container[str]) -> str:
    """`wanted`, with a numeric suffix (``f_1``) if it is in `taken`."""
    return wanted if wanted not in taken else f"{wanted}_{free_number(f'{wanted}_', taken)}"


def free_number(prefix: str, taken: Container[str]) -> int:
    """A positive number such that `prefix` and the number are a name that is not in `taken`.

    The number is doubled until one is free, then searched by bisection: programs have thousands of values of one name.
    """
    free = 1
    while f"{prefix}{free}" in taken:
        free *= 2
    last = free // 2
    while free - last > 1:
        middle = (last + free) // 2
        last, free = (middle, free) if f"{prefix}{middle}" in taken else (last, middle)
    return free


class FunctionTable(Mapping[str, func.FuncOp]):
    """The functions of a module by name; the table is built on the first look-up."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module

    @cached_property
    def _table(self) -> ir.SymbolTable:
        return ir.SymbolTable(self._module)

    def __getitem__(self, name: str) -> func.FuncOp:
        found = self._table[name]
        if not isinstance(found, func.FuncOp):
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        tops = entry_block(self._module).operations
        return (op.name.value for op in tops if isinstance(op, func.FuncOp))

    def __len__(self) -> int:
        return sum(1 for _ in self)
