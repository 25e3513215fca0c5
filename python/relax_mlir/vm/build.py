"""Build bytecode from a Relax module: `rx.vm.build`, and `rx.build` with ``exec_mode="bytecode"``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.bytecode.executable import Executable
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.lowering.legalize.expose_prim_funcs import require_entries
from relax_mlir.lowering.pipeline import memory_phases, phases
from relax_mlir.runtime.build import build as build_in_mode
from relax_mlir.runtime.build_setup import LEGALIZING
from relax_mlir.runtime.compile_native import is_observed, run_phase
from relax_mlir.target import Target
from relax_mlir.transform.context import PassInstrument
from relax_mlir.vm.codegen.generate import generate
from relax_mlir.vm.codegen.outline_kernels import (
    expose,
    form_of,
    move_shape_functions,
    outline_inplace_calls,
    outline_kernels,
    outline_memory_calls,
    take_entries,
)
from relax_mlir.vm.kernel_library import add_kernels, compile_kernels, compile_users


def build(
    mod: IRModule,
    target: str | Target = "cpu",
    *,
    dump_stages: str | Path | None = None,
    instruments: Sequence[PassInstrument] = (),
    cache: bool = True,
    opt_level: int | None = None,
) -> Executable:
    """Compile `mod` to bytecode, and its prim funcs to machine code; the module itself is unchanged.

    Relax functions are lowered to explicit memory, to the shape heap (docs/explicit-memory.md) and to instructions.
    Prim funcs are optimised, fused and compiled as in native mode. Functions that are in explicit memory already, with
    or without a shape heap, are lowered from there.

    The arguments and errors are those of `relax_mlir.build`.

    >>> main = VirtualMachine(build(mod))["main"]
    >>> main(x)
    """
    return build_in_mode(
        mod,
        target,
        exec_mode="bytecode",
        dump_stages=dump_stages,
        instruments=instruments,
        cache=cache,
        opt_level=opt_level,
    )


def build_bytecode(mod: IRModule, target: Target, cache: bool) -> Executable:
    """Compile a verified module in the current pass context."""
    made, kernels = without_machine_code(mod, target)
    if made.kernels is None:
        return made
    is_legalized = form_of(mod.mlir) is None
    library = compile_kernels(kernels, target, cache) if is_legalized else compile_users(kernels, target, cache=cache)
    return Executable(made.functions, made.constants, made.words, made.offsets, made.kernels, library)


def _require_no_donations(mod: IRModule) -> None:
    for function in functions_of(mod.mlir):
        if DONATED in function.attributes:
            raise UnsupportedError(
                f"'{function.name.value}' gives results the memory of parameters ({DONATED}), which native code "
                "does alone"
            )


def without_machine_code(mod: IRModule, target: Target) -> tuple[Executable, IRModule]:
    """Return the bytecode of a module, and the module of its kernels."""
    work = mod.clone()
    _require_no_donations(work)
    require_entries(work.mlir)
    verify_each = is_observed()
    form = form_of(work.mlir)
    if form is None:
        for phase in phases(str(target), keep_closures=True):
            if phase.name in LEGALIZING:
                run_phase(phase, work, verify_each=True)
        entries = take_entries(work.mlir)
        kernels = outline_kernels(work.mlir, entries)
    else:
        entries = expose(work.mlir)
    memory, shape_heap = memory_phases()
    if form != "vm":
        run_phase(memory, work, verify_each)
    if form is not None:
        kernels = outline_memory_calls(work.mlir, entries)
    else:
        outline_inplace_calls(work.mlir, kernels, entries)
    run_phase(shape_heap, work, verify_each)
    move_shape_functions(work.mlir, kernels)
    builder = ExecBuilder()
    with work.context:
        generate(work.mlir, builder)
        for entry in entries:
            entry.write(builder)
    if len(kernels.body.operations):
        add_kernels(builder, kernels, target)
    return builder.get(), IRModule(kernels)
