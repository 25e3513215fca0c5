"""`module_pass`, `function_pass`, `dataflowblock_pass`: passes of plain functions and plain classes.

On a function the result is a pass; on a class with ``transform_module`` (``transform_function``,
``transform_dataflowblock``) it is a pass class. Functions take ``(module, ctx)``, or ``(function, module,
ctx)`` and ``(block, module, ctx)``, and work in place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from relax_mlir.error import ArgumentError
from relax_mlir.transform.info import pass_names
from relax_mlir.transform.passes import DataflowBlockPass, FunctionPass, ModulePass


def module_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: str | Iterable[str] = (),
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Make a `ModulePass` of ``f(module, ctx)`` or of a class with ``transform_module``."""
    return _decorate(target, ModulePass, "run", "transform_module", opt_level, name, required)


def function_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: str | Iterable[str] = (),
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Make a `FunctionPass` of ``f(function, module, ctx)`` or of a class with ``transform_function``."""
    return _decorate(target, FunctionPass, "run_on_function", "transform_function", opt_level, name, required)


def dataflowblock_pass(
    target: Any = None,  # noqa: ANN401 - a function or a class
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: str | Iterable[str] = (),
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    """Make a `DataflowBlockPass` of ``f(block, module, ctx)`` or a class with ``transform_dataflowblock``."""
    return _decorate(
        target, DataflowBlockPass, "run_on_block", "transform_dataflowblock", opt_level, name, required
    )


def _decorate(
    target: Any,  # noqa: ANN401 - a function or a class
    base: type,
    method: str,
    user_method: str,
    opt_level: int,
    name: str | None,
    required: str | Iterable[str],
) -> Any:  # noqa: ANN401 - a pass, a pass class, or a decorator
    def make(target: Any) -> Any:  # noqa: ANN401 - a function or a class
        if not callable(target):
            raise ArgumentError(f"a pass is made of a function or a class, not of {target!r}")
        settings = {
            "name": name or target.__name__,
            "opt_level": opt_level,
            "required": pass_names("'required'", required),
            "__doc__": target.__doc__,
            "__module__": target.__module__,
        }
        if not inspect.isclass(target):
            return type(target.__name__, (base,), {**settings, method: staticmethod(_in_place(target))})()
        if not hasattr(target, user_method):
            raise ArgumentError(f"class {target.__name__} has no method {user_method}")
        return type(
            target.__name__, (target, base), {**settings, method: _in_place(getattr(target, user_method))}
        )

    return make if target is None else make(target)


def _in_place(function: Callable[..., Any]) -> Callable[..., None]:
    """The same function, checked to return nothing or what it was given."""

    def call(*arguments: Any) -> None:  # noqa: ANN401 - the arguments of the pass
        result = function(*arguments)
        if result is not None and not any(result is argument for argument in arguments):
            raise ArgumentError(
                f"a pass works in place, but {function.__name__} returned {type(result).__name__}"
            )

    return call
