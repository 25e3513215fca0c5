"""Pass ``check-bounds``: prim funcs raise an error instead of accessing memory out of bounds (level T)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import CHECK, EXPOSED_SUFFIX, INDICES_PROVED, PRIM_FUNC, UNCHECKED
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.abi.runtime_declarations import RuntimeDeclarations
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.lowering.shapes.requirements import BOUNDS_ERROR, Requirement, emit, requirements
from relax_mlir.mlir import func, ir
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.config import BOUNDS_CHECK

MODES = ("auto", "all", "none")


def unproved(function: func.FuncOp, ranges: Ranges) -> Iterator[Requirement]:
    """Yield the requirements of the ops of a prim func that are not proved, in program order."""
    for op in ops_of(function.operation):
        yield from (requirement for requirement in requirements(op) if not requirement.proved(ranges))


@dataclass(frozen=True)
class CheckBounds(ModulePass):
    """Insert run-time checks for the unproved bounds of prim funcs: indices, sizes, steps.

    `mode`: ``auto`` checks the prim funcs that `check-prim-funcs` has marked, ``all`` checks all of them, ``none``
    checks nothing. Empty: the context's option ``tir.bounds_check``, which is ``auto`` by default.
    """

    name: ClassVar[str] = "check-bounds"
    mode: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `ArgumentError` for an unknown mode."""
        mode = self.mode or bounds_mode(ctx)
        if mode not in MODES:
            raise ArgumentError(f"{BOUNDS_CHECK} is one of {', '.join(MODES)}, not '{mode}'")
        tops = list(module.body.operations)
        declarations = RuntimeDeclarations(module, _checks=sum(CHECK in op.attributes for op in tops))
        for op in tops:
            if not isinstance(op, func.FuncOp) or PRIM_FUNC not in op.attributes or op.is_external:
                continue
            marked = UNCHECKED in op.attributes
            if mode == "all" or (mode == "auto" and marked):
                _check_function(
                    op, declarations, sizes_only=mode == "auto" and INDICES_PROVED in op.attributes
                )
            for mark in (UNCHECKED, INDICES_PROVED):
                if mark in op.attributes:
                    del op.attributes[mark]


def bounds_mode(ctx: PassContext) -> str:
    """The mode set in the context; raise `ArgumentError` for an unknown one."""
    mode = str(ctx.option(BOUNDS_CHECK))
    if mode not in MODES:
        raise ArgumentError(f"{BOUNDS_CHECK} is one of {', '.join(MODES)}, not '{mode}'")
    return mode


def _check_function(function: func.FuncOp, declarations: RuntimeDeclarations, sizes_only: bool) -> None:
    names = _names(function)
    for requirement in list(unproved(function, Ranges(function))):
        if sizes_only and requirement.kind == BOUNDS_ERROR:
            continue
        op, buffer = requirement.op, requirement.buffer
        what = function.name.value.removesuffix(EXPOSED_SUFFIX)
        if buffer is not None:
            what += f": {names.get(buffer, 'a local buffer')}"
        with ir.InsertionPoint(op), op.location:
            values = [emit(value) for value in requirement.values]
            holds = requirement.emit(values)
            declarations.check(
                holds,
                requirement.kind,
                f"{verbatim(what)}: {requirement.message}, at {verbatim(where(op))}",
                values,
            )


def _names(function: func.FuncOp) -> dict[ir.Value, str]:
    """The names of buffers in messages."""
    declared = prim_params(function)
    return {
        argument: f"'{declared[number].name}'" if declared is not None else f"argument {number}"
        for number, argument in enumerate(function.arguments)
    }
