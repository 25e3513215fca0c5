"""Store the results of users' passes in their modules; see `relax_mlir.transform.pass_decorators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.error import ArgumentError
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import as_function, put, remove
from relax_mlir.module_weights import attribute_in, copied

VISIBILITY = "sym_visibility"


def works_in_place(function: Callable[..., Any]) -> bool:
    """True if a function is annotated ``-> None``: it changes its argument in place."""
    return getattr(function, "__annotations__", {}).get("return", ...) in (None, "None")


def take_module(what: str, mod: IRModule, result: object, in_place: bool) -> None:
    """Replace the contents of `mod` by those of the module `result`, which may be `mod` itself.

    Raises:
        ArgumentError: `result` is no module; begins with `what`, the pass.
    """
    if result is None and in_place:
        return
    if isinstance(result, ir.Module):
        result = IRModule(result)
    if not isinstance(result, IRModule):
        raise ArgumentError(_fault(what, result, "an IRModule: the one that it was given, or a new one"))
    if result.mlir == mod.mlir:
        return
    new = [copied(op.operation, mod.context) for op in result.body.operations]
    for old in list(mod.body.operations):
        remove(mod.mlir, old)
    with mod.context, ir.Location.unknown():
        for op in new:
            mod.body.append(op)
        attributes = mod.operation.attributes
        for name in list(attributes):
            del attributes[name]
        for name in list(result.operation.attributes):
            attributes[name] = attribute_in(result.operation.attributes[name], mod.context)


def take_function(what: str, mod: IRModule, function: func.FuncOp, result: object, in_place: bool) -> None:
    """Replace `function` by the function `result`, which may be `function` itself; name and visibility stay.

    Raises:
        ArgumentError: `result` is no function; begins with `what`, the pass.
    """
    if result is None and in_place:
        return
    name = function.name.value
    if not isinstance(result, func.FuncOp | IRModule):
        raise ArgumentError(_fault(what, result, f"a function: '{name}', or a new one in its place"))
    new = as_function(f"{what} returned a wrong value", result)
    if new.operation == function.operation:
        return
    public = VISIBILITY not in function.attributes
    visibility = None if public else function.attributes[VISIBILITY]
    made = put(mod.mlir, name, new)
    if visibility is not None:
        made.attributes[VISIBILITY] = visibility
    elif VISIBILITY in made.attributes:
        del made.attributes[VISIBILITY]


def take_block(what: str, block: ir.Operation, result: object, in_place: bool) -> None:
    """Check that `result` is the dataflow block itself, which is changed in place.

    Raises:
        ArgumentError: it is something else; begins with `what`, the pass.
    """
    if not (result is None and in_place) and result is not block:
        raise ArgumentError(_fault(what, result, "the block that it was given, changed in place"))


def _fault(what: str, result: object, expected: str) -> str:
    if result is None:
        return (
            f"{what} returned None, expected {expected}. A function that changes what it is given, in place, and "
            "returns nothing says so: '-> None'"
        )
    return f"{what} returned {type(result).__name__}, expected {expected}"
