"""`module_pass`, `function_pass`, `prim_func_pass`, `dataflowblock_pass`: passes of plain functions and plain classes.

A decorated function becomes a pass; a decorated class with ``transform_module`` (``transform_function``,
``transform_dataflowblock``) becomes a pass class. Functions take ``(mod, ctx)``, or ``(function, mod, ctx)`` and
``(block, mod, ctx)``, where `mod` is an `IRModule`. They return a module (a function): either their argument, changed
in place, or a new one, whose contents replace the old ones. A function that only works in place may be annotated
``-> None`` and return nothing::

    @module_pass(opt_level=2)
    def transform(mod, ctx):
        new = rx.IRModule({"abs": f})
        new.update(mod)
        return new
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from relax_mlir.error import ArgumentError, expect
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import kept
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import level, pass_names
from relax_mlir.transform.passes import DataflowBlockPass, FunctionPass, ModulePass, PrimFuncPass
from relax_mlir.transform.returned import take_block, take_function, take_module, works_in_place
from relax_mlir.transform.run import current_module


def module_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `ModulePass` from ``f(mod, ctx)`` or from a class with ``transform_module``."""
    return _decorate(target, ModulePass, "run", "transform_module", _on_module, opt_level, name, required)


def function_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `FunctionPass` from ``f(function, mod, ctx)`` or from a class with ``transform_function``."""
    return _decorate(
        target, FunctionPass, "run_on_function", "transform_function", _on_function, opt_level, name, required
    )


def prim_func_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `PrimFuncPass` from ``f(function, mod, ctx)`` or from a class with ``transform_function``."""
    return _decorate(
        target, PrimFuncPass, "run_on_function", "transform_function", _on_function, opt_level, name, required
    )


def dataflowblock_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] | None = None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Create a `DataflowBlockPass` from ``f(block, mod, ctx)`` or from a class with ``transform_dataflowblock``."""
    return _decorate(
        target,
        DataflowBlockPass,
        "run_on_block",
        "transform_dataflowblock",
        _on_block,
        opt_level,
        name,
        required,
    )


def _decorate(
    target: Any,  # noqa: ANN401 - a function or a class
    base: type,
    method: str,
    user_method: str,
    adapt: Callable[[Callable[..., Any], bool], Callable[..., None]],
    opt_level: int,
    name: str | None,
    required: Iterable[str] | None,
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    def make(target: Any) -> Any:  # noqa: ANN401 - a function or a class
        if not callable(target):
            raise ArgumentError(f"a pass is made of a function or a class, not of {target!r}")
        expect("a pass: 'name'", name, str | None, "a string")
        called = name or target.__name__
        settings = {
            "name": called,
            "opt_level": level(f"pass '{called}': 'opt_level'", opt_level),
            "required": pass_names(f"pass '{called}': 'required'", required),
            "__doc__": target.__doc__,
            "__module__": target.__module__,
        }
        if not inspect.isclass(target):
            work = adapt(lambda _, *arguments: target(*arguments), works_in_place(target))
            return type(target.__name__, (base,), {**settings, method: work})()
        if not hasattr(target, user_method):
            raise ArgumentError(f"class {target.__name__} has no method {user_method}")
        of_user = getattr(target, user_method)
        return type(
            target.__name__, (target, base), {**settings, method: adapt(of_user, works_in_place(of_user))}
        )

    return make if target is None else make(target)


def _on_module(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: ModulePass, module: ir.Module, ctx: PassContext) -> None:
        mod = current_module(module)
        take_module(f"pass '{self.name}'", mod, function(self, mod, ctx), in_place)

    return run


def _on_function(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: FunctionPass, target: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        mod = current_module(module)
        result = function(self, kept(module, target), mod, ctx)
        take_function(f"pass '{self.name}'", mod, target, result, in_place)

    return run


def _on_block(function: Callable[..., Any], in_place: bool) -> Callable[..., None]:
    def run(self: DataflowBlockPass, block: ir.Operation, module: ir.Module, ctx: PassContext) -> None:
        take_block(f"pass '{self.name}'", block, function(self, block, current_module(module), ctx), in_place)

    return run
