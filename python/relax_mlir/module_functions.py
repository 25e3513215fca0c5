"""Looking up, removing, adding and replacing functions of a module by name, for `IRModule`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Union
from weakref import WeakKeyDictionary

from relax_mlir.analysis.reserved import unusable_name
from relax_mlir.diagnostics import of_error
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.error import (
    ArgumentError,
    UnknownNameError,
    VerifyError,
    expect,
)
from relax_mlir.mlir import func, ir
from relax_mlir.module_weights import copied

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule

FunctionLike = Union["func.FuncOp", "IRModule"]
"""A value to store in a module under a name: a function of any module, or a module of exactly one function."""

_removed: WeakKeyDictionary[ir.Module, ir.Module] = WeakKeyDictionary()
"""The modules that hold the functions removed from a module, as long as it lives: users may still refer to them."""


class GlobalVar(str):
    """The name of a function, as in TVM: a string, whose `name_hint` is the string itself."""

    __slots__ = ()

    @property
    def name_hint(self) -> str:
        """The name."""
        return str(self)

    def __repr__(self) -> str:
        return f"GlobalVar({str(self)!r})"


class ModuleFunctions(Mapping[GlobalVar, "func.FuncOp"]):
    """All functions of a module by name, Relax and prim, in order: ``for gv, f in mod.functions.items()``.

    Calling it returns the Relax functions only, without declarations: ``for f in mod.functions()``.
    """

    def __init__(self, module: ir.Module) -> None:
        self._module = module

    def __call__(self) -> Iterator[func.FuncOp]:
        for op in functions_of(self._module):
            if PRIM_FUNC not in op.attributes and not op.is_external:
                yield kept(self._module, op)

    def __getitem__(self, name: str) -> func.FuncOp:
        return kept(self._module, function_called(self._module, name))

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter([GlobalVar(op.name.value) for op in functions_of(self._module)])

    def __len__(self) -> int:
        return len(functions_of(self._module))

    def __contains__(self, name: object) -> bool:
        table = ir.SymbolTable(self._module.operation)
        return isinstance(name, str) and name in table and isinstance(table[name], func.FuncOp)


def functions_of(module: ir.Module) -> list[func.FuncOp]:
    """All functions at the top level of a module."""
    expect("the functions of a module: 'module'", module, ir.Module, "an ir.Module, such as mod.mlir")
    return [op for op in module.body.operations if isinstance(op, func.FuncOp)]


def function_called(module: ir.Module, name: str) -> func.FuncOp:
    """The function `name`; raises `UnknownNameError`."""
    expect("a function's name", name, str, "a string")
    table = ir.SymbolTable(module.operation)
    found = table[name] if name in table else None  # noqa: SIM401 - it has no `get`
    if not isinstance(found, func.FuncOp):
        raise UnknownNameError("function", name, [op.name.value for op in functions_of(module)])
    return found


def kept(module: ir.Module, function: func.FuncOp) -> func.FuncOp:
    """A function for users: it has views of its parts, and keeps the module alive, which owns it."""
    from relax_mlir.expr.function import Function

    return Function.view(function, module)


def as_function(where: str, source: object) -> func.FuncOp:
    """The function that `source` is (see `FunctionLike`).

    Raises:
        ArgumentError: it is none, or a module of several functions; begins with `where`.
    """
    from relax_mlir.ir_module import IRModule

    if isinstance(source, IRModule):
        found = functions_of(source.mlir)
        if len(found) != 1:
            names = ", ".join(op.name.value for op in found) or "none"
            raise ArgumentError(
                f"{where}: a module stands for its function if it has just one; it has: {names}. Take one by "
                'name: mod["f"]'
            )
        return kept(source.mlir, found[0])
    expect(where, source, func.FuncOp, 'a function (mod["f"], or a module of one function)')
    assert isinstance(source, func.FuncOp)
    return source


def put(module: ir.Module, name: str, source: func.FuncOp) -> func.FuncOp:
    """Copy `source`, of any module, into `module` as `name`; it replaces the function of that name.

    Recursive calls of `source` call the copy. Weights are shared, not copied.

    Raises:
        VerifyError: `source` is no valid function. UnsupportedError: it lacks the data of a weight.
    """
    expect("a function's name", name, str, "a string")
    if why := unusable_name(name):
        raise ArgumentError(f"a function's name {name!r} {why}")
    old = next((op for op in functions_of(module) if op.name.value == name), None)
    if old is not None and old.operation == source.operation:
        return old
    try:
        copy = copied(source.operation, module.context)
    except ir.MLIRError as error:
        raise VerifyError(f"function '{source.name.value}' is not valid", of_error(error)) from None
    former = source.name.value
    with module.context, ir.Location.unknown():
        if former != name:
            ir.SymbolTable.replace_all_symbol_uses(former, name, copy)
            copy.attributes["sym_name"] = ir.StringAttr.get(str(name))
        module.body.append(copy)
        if old is not None:
            copy.move_before(old.operation)
            remove(module, old)
    return function_called(module, name)


def remove(module: ir.Module, op: ir.Operation | ir.OpView) -> None:
    """Remove an op from the body of `module`; existing references to it stay readable."""
    with module.context, ir.Location.unknown():
        if module not in _removed:
            _removed[module] = ir.Module.create()
        _removed[module].body.append(op.operation)
