"""The decorators ``@I.ir_module``, ``@R.function`` and ``@T.prim_func``; they parse the decorated source."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, overload

from relax_mlir.error import ArgumentError
from relax_mlir.ir_module import IRModule
from relax_mlir.script.parser import ModuleParser
from relax_mlir.script.source import Source


@overload
def ir_module(cls: type) -> IRModule: ...
@overload
def ir_module(*, check_well_formed: bool = True, s_tir: bool = False) -> Callable[[type], IRModule]: ...
def ir_module(cls: type | None = None, *, check_well_formed: bool = True, s_tir: bool = False) -> Any:
    """Parse the decorated class as a module. The bodies of its functions are parsed, never executed.

    Args:
        cls: the class.
        check_well_formed: accepted for TVM; modules are always verified.
        s_tir: accepted for TVM; every prim func is what TVM calls S-TIR.

    Raises:
        ScriptError: lists every error with its file, line and column.
    """
    frame = sys._getframe(1)
    if cls is None:
        return lambda late: _module(late, frame)
    return _module(cls, frame)


def _module(cls: type, frame: FrameType) -> IRModule:
    if not isinstance(cls, type):
        raise ArgumentError(f"ir_module decorates a class, not {cls!r}")
    captured = _captured(frame, vars(cls).values())
    source = Source.of(cls, frame)
    node = source.tree().body[0]
    assert isinstance(node, ast.ClassDef)
    return ModuleParser(source, captured, runs_python=True).module(node)


@overload
def function(definition: Callable[..., Any]) -> Any: ...  # noqa: ANN401 - a module or a marked function
@overload
def function(
    *, private: bool = False, pure: bool = False, check_well_formed: bool = True
) -> Callable[[Callable[..., Any]], Any]: ...
def function(
    definition: Callable[..., Any] | None = None,
    *,
    private: bool = False,
    pure: bool = False,
    check_well_formed: bool = True,
) -> Any:
    """Mark a Relax function in an `ir_module` class; outside of one, return a module with that function.

    Args:
        definition: the function, whose body is parsed, never executed.
        private: the function cannot be called from outside the module.
        pure: if True, side effects in the function are an error; otherwise purity is inferred from the body.
        check_well_formed: accepted for TVM; functions are always verified.
    """
    if definition is None:
        frame = sys._getframe(1)
        return lambda late: _function(late, frame)
    return _function(definition, sys._getframe(1))


def _function(definition: Callable[..., Any], frame: FrameType) -> Any:  # noqa: ANN401 - a module, or the function itself
    if not inspect.isfunction(definition):
        raise ArgumentError(f"R.function and T.prim_func decorate a function, not {definition!r}")
    owner = definition.__qualname__.rpartition(".")[0]
    if owner and not owner.endswith("<locals>"):
        return definition
    source = Source.of(definition, frame)
    node = source.tree().body[0]
    assert isinstance(node, ast.FunctionDef)
    return ModuleParser(source, _captured(frame, [definition]), runs_python=True).functions([node], [], "Module")


def _captured(frame: FrameType, members: Iterable[Any]) -> Mapping[str, Any]:
    """Return the Python names visible to a script: globals, then closure variables, then the caller's locals."""
    names = dict(frame.f_globals)
    for member in members:
        if inspect.isfunction(member):
            names.update(_closure(member))
    names.update(frame.f_locals)
    return names


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the closure variables of `function` that have a value; those assigned later have none yet."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


@overload
def prim_func(definition: Callable[..., Any]) -> Any: ...  # noqa: ANN401 - a module or a marked function
@overload
def prim_func(
    *, private: bool = True, check_well_formed: bool = True, s_tir: bool = True
) -> Callable[[Callable[..., Any]], Any]: ...
def prim_func(
    definition: Callable[..., Any] | None = None,
    *,
    private: bool = True,
    check_well_formed: bool = True,
    s_tir: bool = True,
) -> Any:
    """Mark a prim func in an `ir_module` class; outside of one, return a module with that function.

    Args:
        definition: the function, whose body is parsed, never executed.
        private: accepted for TVM; prim funcs are always private.
        check_well_formed: accepted for TVM; prim funcs are always verified.
        s_tir: accepted for TVM; every prim func is what TVM calls S-TIR.
    """
    if definition is None:
        frame = sys._getframe(1)
        return lambda late: _function(late, frame)
    return _function(definition, sys._getframe(1))
