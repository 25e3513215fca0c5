"""User-registered shape rules of packed functions: from struct infos of the arguments to that of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.base import OpArgs, implies
from relax_mlir.dialects.type_queries import contains_unknown
from relax_mlir.dialects.types import StructInfo, Tuple
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError, expect
from relax_mlir.mlir import ir

InferRule = Callable[..., StructInfo]
"""``rule(*args)``: a `StructInfo` per value and a Python literal per literal, in call order."""

_RULES: dict[str, InferRule] = {}


def register_infer(name: str, rule: InferRule | None = None, *, override: bool = False) -> Any:  # noqa: ANN401 - the rule, or a decorator
    """Register the shape rule of the packed function `name`; also a decorator.

    Calls of the function (`call_packed`, `call_dps_packed`, …) then need no `out`: the builder deduces it, the verifier
    checks it, and ``refine-shapes`` deduces it again from refined arguments.

    >>> @register_infer("my.pad")
    ... def pad(x, amount):
    ...     return Tensor((x.shape[0] + 2 * amount,), x.dtype)

    Args:
        name: name of the packed function.
        rule: ``rule(*args)`` takes a `StructInfo` per value and a Python literal per literal, in call order, and
            returns the `StructInfo` of the result. It raises `ShapeError`, `DTypeError` or `ArgumentError` for invalid
            arguments; the name of the rule is prepended to the message.
        override: replace a rule that is registered already.

    Raises:
        ArgumentError: `name` has a rule already.
    """
    expect("register_infer: 'name'", name, str, "the name of a packed function")
    if rule is None:
        return lambda function: register_infer(name, function, override=override)
    if not callable(rule):
        raise ArgumentError(f"register_infer: the rule of '{name}' is {rule!r}, expected a function")
    if name in _RULES and not override:
        raise ArgumentError(f"register_infer: '{name}' has a rule already; override=True replaces it")
    _RULES[name] = rule
    return rule


def unregister_infer(name: str) -> None:
    """Remove the rule of the packed function `name`, if it has one."""
    expect("unregister_infer: 'name'", name, str, "the name of a packed function")
    _RULES.pop(name, None)


def has_rule(name: str) -> bool:
    """True if the packed function `name` has a rule."""
    return name in _RULES


def rule_of(name: str) -> InferRule | None:
    """The rule of the packed function `name`, if it has one."""
    return _RULES.get(name)


def deduced(args: OpArgs) -> StructInfo | None:
    """Struct info of the result of a packed call by the rule of its function; None without a rule.

    Raises the errors of the rule, with its name, and `ArgumentError` for other exceptions and for results that are not
    a `StructInfo`.
    """
    name = args.str_attr("func")
    rule = _RULES.get(name)
    if rule is None:
        return None
    given = _arguments(args)
    what = f"{args.op}: the shape rule registered for '{name}'"
    try:
        result = rule(*given)
    except RelaxError as error:
        raise _same_kind(error)(f"{what}: {error}") from error
    except Exception as error:
        shown = ", ".join(map(str, given))
        raise ArgumentError(f"{what} raised {type(error).__name__} on ({shown}): {error}") from error
    if not isinstance(result, StructInfo):
        raise ArgumentError(f"{what} returned {result!r} ({type(result).__name__}), expected a StructInfo")
    return result


def check_rule(args: OpArgs, result: StructInfo) -> None:
    """Raise `ShapeError` unless the result of a packed call follows from the rule of its function, if it has one.

    A call for its effect alone, with the empty tuple as result, is always valid.
    """
    expected = None if result == Tuple() else _expected(args)
    if expected is not None and not implies(expected, result):
        name = args.str_attr("func")
        raise ShapeError(
            f"{args.op}: the result of '{name}' is {result}, but its registered shape rule gives {expected}"
        )


def _expected(args: OpArgs) -> StructInfo | None:
    """The result of the rule; None if it fails because sizes are unknown, as they all are in the virtual machine."""
    try:
        return deduced(args)
    except ArgumentError as error:
        failed = error.__cause__ is not None and not isinstance(error.__cause__, RelaxError)
        if failed and any(map(contains_unknown, args.tuple(0).fields)):
            return None
        raise


def _arguments(args: OpArgs) -> list[Any]:
    fields = list(args.tuple(0).fields)
    return [
        fields.pop(0) if isinstance(item, ir.UnitAttr) else item.value
        for item in ir.ArrayAttr(args.attrs["arg_spec"])
    ]


def _same_kind(error: RelaxError) -> type[RelaxError]:
    """The error class to raise for a rule's error: `ShapeError` or `DTypeError` unchanged, else `ArgumentError`."""
    return next((kind for kind in (ShapeError, DTypeError) if isinstance(error, kind)), ArgumentError)
