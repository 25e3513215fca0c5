"""`build`: compile a Relax module to an executable."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, overload

from relax_mlir.analysis.well_formed import verify_linkable
from relax_mlir.dialects.constants import require
from relax_mlir.dialects.types import remembered_types
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.instrument import DumpStages, PassInstrument
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.constants.constant_table import TableEntry, constant_table, table_entries
from relax_mlir.lowering.expand.expand_floats import mentions_low_precision
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.legalize.expose_prim_funcs import require_entries
from relax_mlir.lowering.levels import with_needed
from relax_mlir.lowering.llvm.function_cpu import FunctionCpu
from relax_mlir.lowering.parts.early_kernels import EarlyKernels
from relax_mlir.lowering.parts.early_support import early_support
from relax_mlir.lowering.pipeline import phases
from relax_mlir.memory_left import promised
from relax_mlir.runtime import compile_steps, prepare
from relax_mlir.runtime.build_arguments import module_and_target
from relax_mlir.runtime.cache_key import module_constants, source_hash
from relax_mlir.runtime.compile_cache import CacheSlot
from relax_mlir.runtime.compile_module import compile_rest
from relax_mlir.runtime.compile_parts import PartCompiler
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.engine import Engine, Interface
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.machine_code import shared_libraries
from relax_mlir.runtime.packed_libraries import load_libraries
from relax_mlir.runtime.profile_sites import Site, profiled_sites
from relax_mlir.runtime.run_phase import is_observed, run_phase, unverified
from relax_mlir.runtime.switch_interval import short_switch_interval
from relax_mlir.runtime.threads import require_threads
from relax_mlir.target import Target
from relax_mlir.transform import PassContext, create_pass
from relax_mlir.transform.context import as_instruments

if TYPE_CHECKING:
    from relax_mlir.te.schedule import Schedule
    from relax_mlir.te.tensors import Tensor
    from relax_mlir.vm.executable import Executable as BytecodeExecutable

EXEC_MODES = ("native", "bytecode")
"""The execution modes of an executable."""

MACHINE_CODE = "machine code"
"""The name in reports of the step after the last phase."""
LEGALIZING = ("relax", "calls")
"""The phases down to level R1."""


@dataclass(frozen=True)
class CompileReport:
    """The time in seconds that each phase of a compilation took, and the path of the stage dump."""

    phases: dict[str, float] = field(default_factory=dict)
    stages: Path | None = None
    from_cache: bool = False
    """True if the code comes from the persistent cache; `phases` then has one entry."""

    @property
    def total(self) -> float:
        """The seconds of all phases."""
        return sum(self.phases.values())


@overload
def build(
    mod: IRModule,
    target: str | Target = "cpu",
    *,
    exec_mode: Literal["native"] = "native",
    dump_stages: str | Path | None = None,
    instruments: Sequence[PassInstrument] = (),
    cache: bool = True,
    profile: bool = False,
    opt_level: int | None = None,
) -> Executable: ...
@overload
def build(
    mod: IRModule,
    target: str | Target = "cpu",
    *,
    exec_mode: Literal["bytecode"],
    dump_stages: str | Path | None = None,
    instruments: Sequence[PassInstrument] = (),
    cache: bool = True,
    opt_level: int | None = None,
) -> BytecodeExecutable: ...
@overload
def build(
    mod: Schedule,
    args: Sequence[Tensor],
    target: str | Target = "cpu",
    *,
    name: str = "main",
    dump_stages: str | Path | None = None,
    instruments: Sequence[PassInstrument] = (),
    cache: bool = True,
    profile: bool = False,
    opt_level: int | None = None,
) -> Executable: ...
def build(
    mod: IRModule | Schedule,
    *given: Any,
    target: str | Target = "cpu",
    name: str = "main",
    exec_mode: str = "native",
    dump_stages: str | Path | None = None,
    instruments: Sequence[PassInstrument] = (),
    cache: bool = True,
    profile: bool = False,
    opt_level: int | None = None,
    **more: Any,
) -> Executable | BytecodeExecutable:
    """Compile `mod` for `target`; the module itself is unchanged.

    Args:
        mod: a module at level R0 or R1. Its public functions become the executable's functions, and so do prim funcs
            with a ``global_symbol``, or all prim funcs if there is no Relax function. Prim funcs take their results as
            arguments (``ex["f"](a, b, out)``). Or a schedule of tensor expressions, followed by its parameters, as in
            ``build(s, [A, B, C])``; `te.lower` lowers it to a module with the function `name`.
        target: the machine, as text (``"cpu"``: the host) or a `Target`.
        exec_mode: ``"native"``: machine code, run in this process. ``"bytecode"``: bytecode with machine code for prim
            funcs, run by a `relax_mlir.vm.VirtualMachine` (see `relax_mlir.vm.build`).
        dump_stages: a directory that gets the module after every pass, numbered.
        instruments: pass instruments, in addition to those of the current `PassContext`.
        cache: if False, the persistent cache of compiled modules is not used. It is never used if instruments are
            attached, `profile` is set, or RELAX_MLIR_CACHE is 0.
        profile: instrument calls, so that `Executable.profile` can record them.
        opt_level: 0 (compiles fastest) to 3; it overrides that of the current `PassContext`, which is 2 by default.
            docs/passes.md lists the passes of each level.

    Raises:
        ArgumentError: an argument of the wrong kind, or a disabled pass that compilation needs.
        UnsupportedError: something in the module cannot be lowered (names the op and its location), or the
            target is another architecture than the host's, or has threads where there are none.
        PassError: a pass failed. VerifyError: the module is invalid.
        OutOfMemoryError: little memory is left.
        ArgumentError: a third-party library that the module calls is not installed.
    """
    mod, target = module_and_target(mod, given, target, name, more)
    expect("build: 'target'", target, str | Target, "a Target or its text")
    expect("build: 'instruments'", instruments, list | tuple, "a list of PassInstruments")
    expect("build: 'profile'", profile, bool, "True or False")
    if exec_mode not in EXEC_MODES:
        raise ArgumentError(
            f"build: exec_mode is {exec_mode!r}, expected one of {', '.join(map(repr, EXEC_MODES))}"
        )
    target = Target.parse(target)
    _require_host(target)
    target = target.runnable_here()
    require_threads(target.num_threads, "build")
    expect("build: 'cache'", cache, bool, "True or False")
    dumps = [] if dump_stages is None else [DumpStages(dump_stages)]
    load_libraries(mod.mlir)
    context = with_needed(PassContext.current(), opt_level)
    with promised("build", mod.mlir), _watched(context, [*dumps, *as_instruments(instruments)]):
        if exec_mode == "bytecode":
            return _build_bytecode(mod, target, cache, profile)
        stages = None if dump_stages is None else Path(dump_stages)
        return _build_native(mod, target, _Options(stages, cache, profile))


def build_legalized(mod: IRModule, target: Target, cache: bool) -> Executable:
    """Compile a module at level R1, the output of the phases up to ``calls``; the arguments are those of `build`.

    Its prim funcs come from the compiler, so the checks of users' prim funcs are skipped.
    """
    with promised("build", mod.mlir):
        return _build_native(mod, target, _Options(None, cache, False, is_legalized=True))


@dataclass(frozen=True)
class _Options:
    """Options of `build` other than the module and the target."""

    stages: Path | None
    cache: bool
    profile: bool
    is_legalized: bool = False
    source: str = ""
    """The hash of the module."""


def _build_native(mod: IRModule, target: Target, options: _Options) -> Executable:
    started = perf_counter()
    constants = module_constants(mod.mlir)
    require(constants)
    is_kept = options.cache and not options.profile
    variant = "legalized" if options.is_legalized else ""
    source = source_hash(mod.mlir)
    slot = CacheSlot.of(source, target, constants, variant) if is_kept else None
    executable = slot.load() if slot else None
    if executable is not None:
        executable.compile_report = CompileReport({"cache": perf_counter() - started}, from_cache=True)
        return executable
    with short_switch_interval(), remembered_types():
        mod.verify()
        verify_linkable(mod.mlir)
        if not options.is_legalized:
            require_entries(mod.mlir)
        return _compile(mod, target, slot, replace(options, source=source))


def _build_bytecode(mod: IRModule, target: Target, cache: bool, profile: bool) -> BytecodeExecutable:
    from relax_mlir.vm.build import build_bytecode

    if profile:
        raise ArgumentError(
            "build: 'profile' is for exec_mode=\"native\"; a virtual machine profiles any bytecode: "
            "VirtualMachine(executable).profile()"
        )
    require(module_constants(mod.mlir))
    mod.verify()
    verify_linkable(mod.mlir)
    return build_bytecode(mod, target, cache)


def _require_host(target: Target) -> None:
    """Raise `UnsupportedError` unless code for the target can run on the host.

    The target's CPU may differ from the host's. Features that the host lacks are not used (`Target.runnable_here`),
    except AMX tiles, which are an error because the target asks for them explicitly.
    """
    wanted, host = target.triple.partition("-")[0], Target.host().triple.partition("-")[0]
    tiles = {name for name in target.features - Target.host().features if name.startswith("amx_")}
    if tiles and wanted == host:
        names = sorted(tiles)
        raise UnsupportedError(
            f"build: the target has {', '.join(names)}, which this machine has not or the system does not allow; "
            f"add -mattr={','.join(f'-{name}' for name in names)}"
        )
    if wanted != host:
        raise UnsupportedError(
            f"build: the target is for {wanted}, this machine is {host}; rx.export.cross_build makes code for it, "
            "to be exported"
        )


@contextlib.contextmanager
def _watched(context: PassContext, instruments: Sequence[PassInstrument]) -> Iterator[None]:
    """Enter `context`, whose own instruments have been entered already, with additional ones."""
    kept = context.instruments
    context.instruments = list(instruments)
    with context:
        context.instruments = [*kept, *instruments]
        try:
            yield
        finally:
            context.instruments = list(instruments)


def _compile(mod: IRModule, target: Target, slot: CacheSlot | None, options: _Options) -> Executable:
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
    work: IRModule, verify_each: bool, target: Target, slot: CacheSlot | None, options: _Options
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
