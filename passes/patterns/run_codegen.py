"""Pass ``run-codegen``: run the code generators of libraries on the functions outlined for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from relax_mlir.analysis.call_graph import impure_functions, recursion
from relax_mlir.dialects.attributes import CODEGEN, COMPOSITE
from relax_mlir.dialects.calls import call_dps_packed, require_destinations
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.location import replacing
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.inline_private_functions import inline_call, remove_uncalled
from relax_mlir.passes.patterns.fuse_ops_by_pattern import codegens, composites
from relax_mlir.rewrite.function_editing import functions_by_name, is_private, symbols_of
from relax_mlir.rewrite.replace import fit
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.codegen_region import CodegenRegion
from relax_mlir.transform.codegens import codegen_called


class RunCodegen(ModulePass):
    """Run registered code generators on functions with ``relax.codegen``, and inline the generated bodies.

    `register_codegen` registers a code generator under the name in the attribute. Its output, usually calls of packed
    functions, replaces the calls of the function, so that later passes optimise across it. Composite functions without
    a code generator are inlined back into their original ops. Follows TVM's RunCodegen.
    """

    name: ClassVar[str] = "run-codegen"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        functions = functions_by_name(module)
        found, generators = composites(module), codegens(module)
        for name, library in generators.items():
            _generate(functions[name], library, {each: functions[each] for each in found})
        _warn_of_left(module, found, ctx)
        _inline(module, {*found, *generators})
        for name in (CODEGEN, COMPOSITE):
            for function in functions_by_name(module).values():
                if name in function.attributes:
                    del function.attributes[name]


def _generate(function: func.FuncOp, library: str, composites: Mapping[str, func.FuncOp]) -> None:
    """Replace the body of a function by the output of its code generator."""
    generate = codegen_called(library)
    old = function.operation.clone(ip=False)
    view = old.opview
    assert isinstance(view, func.FuncOp)
    block = entry_block(function)
    for op in reversed([item.operation for item in block.operations]):
        op.erase()
    with ir.InsertionPoint(block), function.location:
        region = CodegenRegion(view, block, composites)
        try:
            given = generate(region)
            with replacing(function.location):
                made = _as_value(library, region, given)
        except RelaxError as error:
            error.add_hint(f"in the code generator '{library}', for function '{region.name}'")
            raise
        with replacing(function.location):
            result = fit(
                made, region.result, f"what the code generator '{library}' gives for '{region.name}'"
            )
        func.ReturnOp([result.ssa])
    if {*impure_functions({region.name: function})}:
        raise ArgumentError(
            f"code generator '{library}' emits effects for function '{region.name}', which only computes: call packed "
            "functions by call_dps_packed or call_pure_packed"
        )


def _as_value(library: str, region: CodegenRegion, given: Any) -> Value:  # noqa: ANN401 - returned by user code
    """The value that a code generator returns, or a call of the packed function that it names."""
    what = f"what the code generator '{library}' gives"
    expect(what, given, Value | ExternFunc | str, "a value, or the name of a packed function")
    if isinstance(given, Value) and not isinstance(given, ExternFunc):
        return given
    require_destinations(f"{what}, {given!r}", region.result)
    result = region.result
    out = list(result.fields) if isinstance(result, Tuple) else result
    assert isinstance(out, list | Tensor)
    return call_dps_packed(given, list(region.params), out)  # type: ignore[arg-type]  # the fields are tensors


def _warn_of_left(module: ir.Module, found: Mapping[str, str], ctx: PassContext) -> None:
    """Warn of calls of composite functions that are not part of a function for a code generator."""
    for function in functions_by_name(module).values():
        for op in ops_of(function.operation, "relax.call"):
            if callee_of(op) in found:
                ctx.warning(
                    f"no code generator is asked for '{found[callee_of(op)]}', which is compiled as any other ops: run "
                    "merge-composite-functions first, or fuse-ops-by-pattern with annotate_codegen",
                    op,
                )


def _inline(module: ir.Module, marked: set[str]) -> None:
    """Inline calls of the private functions among `marked`, and remove these functions."""
    marked -= {name for group in recursion(module) for name in group}
    again = True
    while again:
        again = False
        functions = functions_by_name(module)
        for caller in functions.values():
            calls = [op for op in ops_of(caller.operation, "relax.call") if callee_of(op) in marked]
            known = symbols_of(caller) if calls else []
            for call in calls:
                callee = functions[callee_of(call)]
                if is_private(callee):
                    again |= inline_call(call, callee, caller, known, mark=False)
    remove_uncalled(module)
