"""Checks of hand-written modules: fusion attributes of prim funcs, and their calls."""

from __future__ import annotations

from relax_mlir.diagnostics import location_text, where
from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS, PATTERN, PRIM_FUNC
from relax_mlir.dialects.kernel_specs import kernel_spec
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.fusion.prim_calls import CALL_TIR, PrimCall


def require_fusible(module: ir.Module) -> None:
    """Raise `CompileError`, with the location, for IR that `fuse-ops` cannot process."""
    _require_attributes(module)
    _require_fitting_calls(module)


def _require_attributes(module: ir.Module) -> None:
    """Raise `CompileError` if a pattern or kernel is not a string, or the axes of a kernel are missing."""
    for op in module.body.operations:
        for name in (PATTERN, KERNEL):
            if name in op.attributes and not isinstance(op.attributes[name], ir.StringAttr):
                _fail(op, name, f"is {op.attributes[name]}, expected a string")
        spec = kernel_spec(op)
        if spec is not None and spec.has_axes:
            _require_axes(op)


def _require_fitting_calls(module: ir.Module) -> None:
    """Raise `CompileError` for a call with the wrong number of arguments to a prim func of one result."""
    functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    for op in ops_of(module.operation, CALL_TIR):
        call = PrimCall.of(op)
        callee = None if call is None else functions.get(call.callee)
        if call is None or call.info is None or callee is None or PRIM_FUNC not in callee.attributes:
            continue
        given, wanted = len(call.operands) + 1 + len(call.index_exprs), len(callee.type.inputs)
        if given != wanted:
            raise CompileError(
                f"{where(op)}: call_tir of '{call.callee}': {given} arguments (outputs and tir_vars included), "
                f"the prim func takes {wanted}"
            )


def _require_axes(op: ir.OpView) -> None:
    kernel = ir.StringAttr(op.attributes[KERNEL]).value
    expected = f'expected a dictionary with "axis" or "axes" for the kernel {kernel}'
    if KERNEL_ATTRS not in op.attributes:
        _fail(op, KERNEL_ATTRS, f"is missing, {expected}")
    given = op.attributes[KERNEL_ATTRS]
    if not isinstance(given, ir.DictAttr):
        _fail(op, KERNEL_ATTRS, f"is {given}, {expected}")
    axes: list[ir.Attribute] | None = [given["axis"]] if "axis" in given else None
    if "axes" in given and isinstance(given["axes"], ir.ArrayAttr):
        axes = list(given["axes"])
    if axes is None or not all(isinstance(axis, ir.IntegerAttr) for axis in axes):
        _fail(op, KERNEL_ATTRS, f"is {given}, {expected}")


def _fail(op: ir.OpView, name: str, what: str) -> None:
    raise CompileError(f"{location_text(op.location)}: {name} of {op.attributes['sym_name']} {what}")
