"""Parse the arguments of `build`: a module and a target, or a schedule with its parameters and a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.error import ArgumentError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.target import Target


def module_and_target(
    mod: Any,  # noqa: ANN401 - what a user gives
    given: Sequence[Any],
    target: str | Target,
    name: str,
    more: Mapping[str, Any],
) -> tuple[IRModule, Any]:
    """Return the module to compile and the target; `given` and `more` are the positional and keyword arguments.

    Raises:
        ArgumentError: unknown or missing arguments.
    """
    rest, named = list(given), dict(more)
    if isinstance(mod, IRModule):
        _nothing_left(rest[1:], named)
        return mod, rest[0] if rest else target
    # Imported on demand, since most programs have no schedules.
    from relax_mlir.te.schedule import Schedule, lower

    if isinstance(mod, Schedule):
        if not rest and "args" not in named:
            raise ArgumentError("build: a schedule needs its parameters: build(s, [A, B, C])")
        args = named.pop("args") if "args" in named else rest.pop(0)
        _nothing_left(rest[1:], named)
        return lower(mod, args, name), rest[0] if rest else target
    expect("build: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one), or a te.Schedule")
    raise AssertionError


def _nothing_left(rest: Sequence[Any], named: Mapping[str, Any]) -> None:
    if rest:
        raise ArgumentError(f"build: {len(rest)} arguments too many, beginning with {rest[0]!r}")
    if named:
        raise ArgumentError(f"build: unknown argument '{next(iter(named))}'")
