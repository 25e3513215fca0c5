"""`build`: compile a Relax module to an executable."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, overload

from relax_mlir import instrument
from relax_mlir.analysis.well_formed import verify_linkable
from relax_mlir.dialects.constants import require
from relax_mlir.dialects.types import remembered_types
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.lazy import Hook, collector_paused
from relax_mlir.memory_left import promised
from relax_mlir.runtime.build_setup import (
    CompileReport,
    Options,
    load_libraries,
    module_and_target,
    short_switch_interval,
)
from relax_mlir.runtime.cache_key import module_constants, source_hash
from relax_mlir.runtime.compile_cache import CacheSlot
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.threads import require_threads
from relax_mlir.target import Target
from relax_mlir.transform import PassContext
from relax_mlir.transform.context import PassInstrument, as_instruments

if TYPE_CHECKING:
    from relax_mlir.bytecode.executable import Executable as BytecodeExecutable
    from relax_mlir.te.schedule import Schedule
    from relax_mlir.te.tensors import Tensor

EXEC_MODES = ("native", "bytecode")
"""The execution modes of an executable."""

_bytecode: Hook[[IRModule, Target, bool], BytecodeExecutable] = Hook("build.bytecode")


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
            docs/passes.md describes the levels.

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
        raise ArgumentError(f"build: exec_mode is {exec_mode!r}, expected one of {', '.join(map(repr, EXEC_MODES))}")
    target = Target.parse(target)
    _require_host(target)
    target = target.runnable_here()
    require_threads(target.num_threads, "build")
    expect("build: 'cache'", cache, bool, "True or False")
    dumps = [] if dump_stages is None else [instrument.DumpStages(dump_stages)]
    load_libraries(mod.mlir)
    current = PassContext.current()
    context = current.derived(opt_level=current.opt_level if opt_level is None else opt_level)
    with promised("build", mod.mlir), _watched(context, [*dumps, *as_instruments(instruments)]):
        if exec_mode == "bytecode":
            return _build_bytecode(mod, target, cache, profile)
        stages = None if dump_stages is None else Path(dump_stages)
        return _build_native(mod, target, Options(stages, cache, profile))


def build_legalized(mod: IRModule, target: Target, cache: bool) -> Executable:
    """Compile a module at level R1, the output of the phases up to ``calls``; the arguments are those of `build`.

    Its prim funcs come from the compiler, so the checks of users' prim funcs are skipped.
    """
    with promised("build", mod.mlir):
        return _build_native(mod, target, Options(None, cache, False, is_legalized=True))


def _build_native(mod: IRModule, target: Target, options: Options) -> Executable:
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
    # Code from the cache does without the lowering.
    with collector_paused():
        from relax_mlir.lowering.legalize.expose_prim_funcs import require_entries
        from relax_mlir.runtime.compile_native import compile_native

    with _required_passes(), short_switch_interval(), remembered_types():
        mod.verify()
        verify_linkable(mod.mlir)
        if not options.is_legalized:
            require_entries(mod.mlir)
        return compile_native(mod, target, slot, replace(options, source=source))


def _build_bytecode(mod: IRModule, target: Target, cache: bool, profile: bool) -> BytecodeExecutable:
    if profile:
        raise ArgumentError(
            "build: 'profile' is for exec_mode=\"native\"; a virtual machine profiles any bytecode: "
            "VirtualMachine(executable).profile()"
        )
    require(module_constants(mod.mlir))
    with _required_passes():
        mod.verify()
        verify_linkable(mod.mlir)
        return _bytecode(mod, target, cache)


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
def _required_passes() -> Iterator[None]:
    """Enter the current context with the passes that every lowering requires, which instruments cannot skip.

    Raises ArgumentError if the context disables one of them.
    """
    from relax_mlir.lowering.pipeline import with_needed

    with _watched(with_needed(PassContext.current()), ()):
        yield


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
