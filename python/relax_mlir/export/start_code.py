"""The objects that every library has in addition to its own code: memory pool, thread pool, start code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.export.cpu_words import needed_words
from relax_mlir.lowering.base import support
from relax_mlir.lowering.base.module_parts import FunctionCpu, Part, feature_text
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.cross_compile import llvm_ir
from relax_mlir.lowering.runtime_lib.library import (
    CPU_WORDS,
    PROFILE_FUNCTION,
    START,
    WEIGHTS,
    LibraryLevel,
    LibrarySettings,
    WeightsFile,
    code_name,
    level_suffix,
    library_text,
)
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.part_lowering import lowered_part
from relax_mlir.runtime.process_codegen import object_of, part_of
from relax_mlir.target import Target, host_flags

PLAIN = {"x86_64": "x86-64", "aarch64": "cortex-a72"}
"""For each architecture, a baseline CPU: all CPUs of the architecture have its features."""

_LINKED = (CPU_WORDS, support.POOL_STATE, support.TEAM_STATE, WEIGHTS, "pthread_atfork", "__register_atfork")
"""The symbols that the start code of a library needs at link time, in addition to those of its levels."""

_TABLES = (CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS)

_SETTINGS = LibrarySettings(
    limit_variable=memory.LIMIT_VARIABLE,
    default_limit=memory.DEFAULT_LIMIT,
    blocktime_variable=threads.BLOCKTIME_VARIABLE,
    default_blocktime=threads.DEFAULT_BLOCKTIME,
    longest_blocktime=threads.LONGEST_BLOCKTIME,
)


def start_text(
    functions: Sequence[str],
    targets: Sequence[Target],
    places: Sequence[Sequence[int]],
    weights: WeightsFile | None,
    is_profiled: bool = False,
) -> str:
    """The start module of a library as MLIR text; the arguments are those of `start_objects`."""
    levels = [
        LibraryLevel(
            tuple(own),
            tuple(needed_words(target, host_flags())),
            any(name.startswith("amx_") for name in target.features),
        )
        for target, own in zip(targets, places, strict=True)
    ]
    missing = f"this CPU lacks what the library is compiled for: {' or '.join(map(str, targets))}"
    machine = targets[0].architecture
    return library_text(
        functions,
        levels,
        machine=machine,
        missing=missing,
        weights=weights,
        settings=_SETTINGS,
        is_profiled=is_profiled,
    )


def start_objects(
    functions: Sequence[str],
    targets: Sequence[Target],
    places: Sequence[Sequence[int]],
    weights: WeightsFile | None,
    is_profiled: bool,
) -> list[bytes]:
    """Compile the start code to object files.

    Args:
        functions: names of the entry points.
        targets: the machines that the functions are compiled for, in order of preference.
        places: for each of them, the byte offsets of the constants in the weights.
        weights: their separate file; None: they are linked into the library.
        is_profiled: true: the code writes profiling records.
    """
    machine = targets[0].architecture
    entries = [*functions, *([PROFILE_FUNCTION] if is_profiled else [])]
    exported = (START, *(f"{ENTRY_PREFIX}{name}" for name in entries))
    levels = range(len(targets))
    linked = (
        *_LINKED,
        *(f"{name}{level_suffix(number)}" for number in levels for name in (*_TABLES, PROFILE_ADDRESS)),
        *(code_name(name, number) for number in levels for name in functions),
    )
    start = replace(
        part_of(start_text(functions, targets, places, weights, is_profiled), exported), external=linked
    )
    team = part_of(support.team_text(machine), (support.TEAM_STATE,))
    return [
        _object(part_of(support.pool_text(), (support.POOL_STATE,)), machine, support.OPT_LEVEL),
        _object(team, machine),
        _object(start, machine),
    ]


def _object(part: Part, machine: str, opt_level: int = 2) -> bytes:
    """An object for any CPU of an architecture: the code that checks for missing CPU features must run on all."""
    plain = Target(f"cpu -mcpu={PLAIN[machine]}")
    if machine == Target.host().architecture:
        return object_of(part, opt_level, FunctionCpu(plain.cpu, feature_text(plain)))
    module = lowered_part(part, low_precision=False)
    return cross_compile.object_file(llvm_ir(module), plain, opt_level)
