"""Lower a module and compile it to machine code: what `build` does if the cache does not have the code."""

from __future__ import annotations

import warnings
from time import perf_counter

from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.base.constant_table import TableEntry, constant_table, table_entries
from relax_mlir.lowering.base.module_parts import FunctionCpu
from relax_mlir.lowering.base.support import early_support
from relax_mlir.lowering.expand.expand_ops import mentions_low_precision
from relax_mlir.lowering.kernels.cut_kernels import EarlyKernels
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.pipeline import phases
from relax_mlir.runtime import compile_steps, prepare
from relax_mlir.runtime.build_options import LEGALIZING, MACHINE_CODE, CompileReport, Options
from relax_mlir.runtime.compile_cache import CacheSlot
from relax_mlir.runtime.compile_module import compile_rest
from relax_mlir.runtime.compile_parts import PartCompiler
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.engine import Engine, Interface
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.machine_code import shared_libraries
from relax_mlir.runtime.profile_sites import Site, profiled_sites
from relax_mlir.runtime.run_phase import is_observed, run_phase, unverified
from relax_mlir.target import Target
from relax_mlir.transform import PassContext, create_pass


def compile_native(mod: IRModule, target: Target, slot: CacheSlot | None, options: Options) -> Executable:
    """Verify after each phase. On failure, or with instruments attached, recompile and verify after every pass."""
    failure = ""
    if not is_observed():
        try:
            with unverified(mod) as work:
                return _compile_with(work, False, target, slot, options)
        except ObjectFileError:
            pass  # the second attempt keeps kernels in the module, for LLVM to link
        except MemoryError:
            raise
        # The second attempt raises the error and names the pass; if it succeeds, a warning reports this error.
        except Exception as error:
            failure = str(error) or type(error).__name__
    executable = _compile_with(mod.clone(), True, target, slot, options)
    if failure:
        warnings.warn(f"build: succeeded at the second attempt only; the first: {failure}", stacklevel=3)
    return executable


def _compile_with(
    work: IRModule, verify_each: bool, target: Target, slot: CacheSlot | None, options: Options
) -> Executable:
    seconds: dict[str, float] = {}
    table: list[TableEntry] = []
    facts = Interface.of_source(work.mlir, str(target), options.source)
    sites: tuple[Site, ...] = ()
    low_precision = mentions_low_precision(work.mlir)
    context = PassContext.current()
    # The second attempt ignores cached code, which may call symbols that this process lacks.
    is_kept = slot is not None and not verify_each
    compiler = PartCompiler(
        shared_libraries(), context.opt_level, is_kept, low_precision, FunctionCpu.of(target)
    )
    with compiler:
        compiler.meanwhile(prepare.warm_up(target.num_threads))
        apart = compiler.add if SUPPORTED and not verify_each else None
        if apart:  # the cheapest unit to generate comes first, so that another CPU can start
            apart([early_support()])
        is_early = apart is not None and context.pass_enabled(LowerContractions().info)
        early = EarlyKernels.of(work.mlir, target, apart) if apart and is_early else None
        *to_flat, to_llvm = phases(str(target), low_precision, apart)
        for phase in to_flat:
            if options.is_legalized and phase.name in LEGALIZING:
                continue
            started = perf_counter()
            if early and phase.name == "kernels":
                early.declare(work.mlir)
            written_by_users = phase.name == "relax"  # may contain users' prim funcs
            run_phase(phase, work, verify_each or written_by_users)
            if options.profile and phase.name == "memrefs":
                work.apply_(create_pass("instrument-calls"))
                sites = profiled_sites(work.mlir)
            if phase.name == "kernels":
                table = table_entries(work.mlir)
                facts = facts.with_facts_of(work.mlir)
            seconds[phase.name] = perf_counter() - started
        flat = work
        if verify_each:  # otherwise units are lowered to the LLVM dialect separately, unobserved
            started = perf_counter()
            flat = work.clone()
            run_phase(to_llvm, work)
            seconds[to_llvm.name] = perf_counter() - started
        started = perf_counter()
        compile_steps.begin(MACHINE_CODE)
        code, objects = compile_rest(flat.mlir, compiler)
        interface = facts.with_entries_of(flat.mlir)
        executable = Executable(Engine(code, interface, constant_table(table), objects))
    seconds[MACHINE_CODE] = perf_counter() - started
    if slot is not None:
        slot.save(objects, interface, table)
    executable.profile_sites = sites
    executable.compile_report = CompileReport(seconds, options.stages)
    return executable
