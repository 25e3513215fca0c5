"""Lower a module and compile it to machine code: what `build` does if the cache does not have the code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.base.constant_table import TableEntry, constant_table, table_entries
from relax_mlir.lowering.base.module_parts import FunctionCpu
from relax_mlir.lowering.base.support import early_support
from relax_mlir.lowering.entry.instrument_calls import Site, profiled_sites
from relax_mlir.lowering.expand import mentions_low_precision
from relax_mlir.lowering.kernels.early_kernels import early_kernels
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.kernels.library import Kernel, kernels_from, kernels_of
from relax_mlir.lowering.llvm.link_kernels import LinkKernels, units_of
from relax_mlir.lowering.pipeline import Phase, phases
from relax_mlir.mlir import ir
from relax_mlir.runtime import build_setup, compile_units, kernel_store, memory, threads
from relax_mlir.runtime.build_setup import LEGALIZING, MACHINE_CODE, CompileReport, Options
from relax_mlir.runtime.compile_cache import CacheSlot
from relax_mlir.runtime.compile_units import PartCompiler, compile_rest, linked_by_llvm
from relax_mlir.runtime.elf import SUPPORTED, ObjectFileError
from relax_mlir.runtime.executable import Engine, Executable, Interface
from relax_mlir.runtime.machine_code import shared_libraries
from relax_mlir.target import Target
from relax_mlir.transform import DiagnosticContext, PassContext, Sequential, create_pass
from relax_mlir.transform.context import DUMP_DIR, REPRODUCERS, VERIFY_EACH
from relax_mlir.transform.run import run_on_copy

# Warm-up: one-time work of a process, done on another thread while the first module is lowered.


def warm_up(num_threads: int) -> list[Callable[[], None]]:
    """Return tasks for what this process still lacks: pipelines for units, the memory pool, the thread pool.

    The thread pool is included only for `num_threads` above 1. Code that needs a result waits for it, or computes it.
    """
    work = [] if compile_units.has_pipelines() else [compile_units.prepare_pipelines]
    if not memory.is_ready():
        work.append(memory.prepare)
    if num_threads > 1 and not threads.is_ready():
        work.append(threads.prepare)
    return work


# Run one phase of the lowering, with or without verification after each pass.
#
# Verifying a module after each pass and checking the legality of each op cost about as much as the passes themselves.
# `build` therefore first verifies once per phase. On failure it starts again and runs all phases with `verify_each`,
# which identifies the failing pass. If instruments are attached or verification is requested, it does so at once.


def is_observed() -> bool:
    """True if instruments, verification or IR dumps are enabled in the current context."""
    context = PassContext.current()
    return bool(context.instruments or VERIFY_EACH in context.config or context.option(DUMP_DIR))


@contextmanager
def unverified(mod: IRModule) -> Iterator[IRModule]:
    """A copy of `mod` for phases without ``verify_each``: no verification by passes, and no reproducers on failure."""
    outer = PassContext.current()
    held = None if outer.diag_ctx is None else DiagnosticContext()
    config = {**outer.config, VERIFY_EACH: False, REPRODUCERS: False}
    context = outer.derived(config=config, instruments=(), diag_ctx=held)
    with context, run_on_copy(mod, context, "build") as run:
        yield run.mod
    if held is not None and outer.diag_ctx is not None:  # on failure, the next attempt reports them
        for diagnostic in held.diagnostics:
            outer.diag_ctx.emit(diagnostic)


def run_phase(phase: Phase, work: IRModule, verify_each: bool = True) -> None:
    """Run `phase` on `work`, in place.

    Args:
        verify_each: if True, check that each op is legal at the level of the phase and, unless the context disables
            it, verify the module after each pass. If False, verify it only at the end.

    Raises:
        VerifyError: the module is not at the phase's level. PassError: a pass failed, or left an invalid module. Also
            errors of passes and, if not `verify_each`, `ir.MLIRError` for an invalid module.
    """
    build_setup.begin_step(phase.name)
    if verify_each:
        work.apply_(phase.as_pass())
        return
    work.apply_(Sequential(phase.passes, name=phase.name))
    work.mlir.operation.verify()


def compile_native(mod: IRModule, target: Target, slot: CacheSlot | None, options: Options) -> Executable:
    """Verify after each phase. On failure, or with instruments attached, recompile and verify after every pass.

    Kernels of the library are linked into the module only where LLVM's linker has to load the code.
    """
    if SUPPORTED:
        try:
            return _verified(mod, target, slot, options, is_whole=False)
        except ObjectFileError:
            pass  # LLVM's linker supports more object files
    return _verified(mod, target, slot, options, is_whole=True)


def _verified(mod: IRModule, target: Target, slot: CacheSlot | None, options: Options, is_whole: bool) -> Executable:
    failure = ""
    if not is_observed():
        try:
            with unverified(mod) as work:
                return _compile_with(work, False, target, slot, options, is_whole)
        except MemoryError:
            raise
        except ObjectFileError:
            pass  # cached code may call symbols that this process lacks
        # The second attempt raises the error and names the pass; if it succeeds, a warning reports this error.
        except Exception as error:
            failure = str(error) or type(error).__name__
    executable = _compile_with(mod.clone(), True, target, slot, options, is_whole)
    if failure:
        warnings.warn(f"build: succeeded at the second attempt only; the first: {failure}", stacklevel=4)
    return executable


def _start_kernels(module: ir.Module, target: Target, compiler: PartCompiler) -> None:
    """Start to compile kernels that a module at level R0 will need (see `early_kernels`)."""
    if PassContext.current().pass_enabled(LowerContractions().info):
        for kernel in early_kernels(module, target):
            with module.context:
                compiler.start(units_of([kernel]))


def _add_kernels(module: ir.Module, target: Target, compiler: PartCompiler) -> list[Kernel]:
    """Add the code of the kernels that a module needs to its own code; return them."""
    kernels = kernels_of(module, target)
    with module.context:
        compiler.add(units_of(kernels))
    for kernel in kernels:
        compiler.add_objects(kernel.objects)
    return kernels


def _save_kernels(kernels: Sequence[Kernel], compiler: PartCompiler) -> None:
    """Store the kernels that do not come from the cache."""
    for kernel in kernels:
        if not kernel.objects:
            kernel_store.save(kernel, [compiler.key(unit) for unit in units_of([kernel])])


def _no_cache(target: Target, name: str) -> Kernel | None:
    return None


def _verified_to_llvm(work: IRModule, to_llvm: Phase, seconds: dict[str, float]) -> IRModule:
    """Lower a module to the LLVM dialect, so that every pass is verified; return its copy at level F."""
    started = perf_counter()
    flat = work.clone()
    run_phase(to_llvm, work)
    seconds[to_llvm.name] = perf_counter() - started
    return flat


def _compile_with(
    work: IRModule,
    verify_each: bool,
    target: Target,
    slot: CacheSlot | None,
    options: Options,
    is_whole: bool,
) -> Executable:
    """Compile a module; `is_whole`: as one, with its kernels, by LLVM's linker."""
    seconds: dict[str, float] = {}
    table: list[TableEntry] = []
    facts = Interface.of_source(work.mlir, str(target), options.source)
    sites: tuple[Site, ...] = ()
    low_precision = mentions_low_precision(work.mlir)
    context = PassContext.current()
    # The second attempt ignores cached code, which may call symbols that this process lacks.
    is_kept = slot is not None and not verify_each and not is_whole
    compiler = PartCompiler(shared_libraries(), context.opt_level, is_kept, low_precision, FunctionCpu.of(target))
    linked: list[Kernel] = []
    cached = None if verify_each or is_whole else (kernel_store.load if is_kept else _no_cache)
    with compiler, kernels_from(cached):
        compiler.meanwhile(warm_up(target.num_threads))
        apart = None if is_whole else compiler.add
        if apart:  # the cheapest unit to generate comes first, so that another CPU can start
            apart([early_support()])
            _start_kernels(work.mlir, target, compiler)
        *to_flat, to_llvm = phases(str(target), low_precision, apart)
        for phase in to_flat:
            if options.is_legalized and phase.name in LEGALIZING:
                continue
            started = perf_counter()
            written_by_users = phase.name == "relax"  # may contain users' prim funcs
            run_phase(phase, work, verify_each or written_by_users)
            if options.profile and phase.name == "memrefs":
                work.apply_(create_pass("instrument-calls"))
                sites = profiled_sites(work.mlir)
            if phase.name == "kernels":
                table = table_entries(work.mlir)
                facts = facts.with_facts_of(work.mlir)
                if is_whole:
                    work.apply_(LinkKernels(str(target)))
                else:
                    linked = _add_kernels(work.mlir, target, compiler)
            seconds[phase.name] = perf_counter() - started
        # Without verification, units are lowered to the LLVM dialect separately only.
        flat = _verified_to_llvm(work, to_llvm, seconds) if verify_each else work
        started = perf_counter()
        build_setup.begin_step(MACHINE_CODE)
        code, objects = linked_by_llvm(flat.mlir, context.opt_level) if is_whole else compile_rest(flat.mlir, compiler)
        if is_kept:
            _save_kernels(linked, compiler)
        interface = facts.with_entries_of(flat.mlir)
        executable = Executable(Engine(code, interface, constant_table(table), objects))
    seconds[MACHINE_CODE] = perf_counter() - started
    if slot is not None:
        slot.save(objects, interface, table)
    executable.profile_sites = sites
    executable.compile_report = CompileReport(seconds, options.stages)
    return executable
