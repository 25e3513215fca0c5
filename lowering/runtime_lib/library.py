"""Start-up code of an exported library, which fills the tables that the runtime fills otherwise.

A library has code for one or more CPU levels, the best first. The first level that the CPU can run is bound: its entry
points, its constant pointers into the weights, the library's own memory pool (`pool_text`), and a thread pool
(`team_text`): that of the process, otherwise the library's own. The variables RELAX_MLIR_MEMORY_LIMIT and
RELAX_MLIR_BLOCKTIME work as in the runtime; a malformed value is ignored, because there is no way to report it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.base import support
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    MEMORY_ADDRESS,
    PROFILE_ADDRESS,
    THREADS_ADDRESS,
)
from relax_mlir.lowering.base.support import fill_template, set_error_text
from relax_mlir.mlir_text import quoted, quoted_bytes, symbol

START = "__relax_start"
WEIGHTS = "__relax_weights"
"""The weights, or the header of their file if they are separate."""

CPU_WORDS = "__relax_cpu_words"
"""The assembly function that writes the CPU's features to an array of words."""

PROFILE_FUNCTION = "__relax_profile"
"""In profiled libraries, the FFI function ``() -> opaque pointer`` that returns where they look for records."""

MAX_LEVELS = 100
"""Maximum number of levels of a library; a level's index has two digits in `code_prefix`."""

_PAGE_SIZE_NAME, _PAGES_NAME, _HUGE_PAGES_ADVICE = 30, 85, 14
"""_SC_PAGESIZE, _SC_PHYS_PAGES and MADV_HUGEPAGE of Linux."""

_OPEN_FLAGS, _SEEK_END, _PROT_READ, _MAP_PRIVATE = 0x80000, 2, 1, 2
"""O_RDONLY with O_CLOEXEC, and so on, of Linux."""

_PATH_SIZE, _PROBLEM_SIZE = 4096, 4608

_ARCH_PRCTL, _ASK_FOR_STATE, _TILE_DATA = 158, 0x1023, 18
"""The system call that requests AMX tiles from Linux: ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA."""

_OPAQUE_POINTER = 4
"""The FFI's type index of an opaque pointer."""

_LOST_IN_A_CHILD = ("started", "sleepers", "open", "lock")
"""Fields of the thread pool's state that are invalid in the child of a fork."""

_FREE = "      %allowed = arith.constant true"
_ASK = f"""\
      %call = arith.constant {_ARCH_PRCTL} : i64
      %ask = arith.constant {_ASK_FOR_STATE} : i64
      %tiles = arith.constant {_TILE_DATA} : i64
      %good = arith.constant 0 : i64
      %answer = llvm.call @syscall(%call, %ask, %tiles) vararg(!llvm.func<i64 (i64, ...)>) : (i64, i64, i64) -> i64
      %allowed = arith.cmpi eq, %answer, %good : i64"""

_PROFILE = f"""\
llvm.mlir.global internal @profile_place() : !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}}

// Where the code looks for the address of records, or null.
llvm.func @{ENTRY_PREFIX}{PROFILE_FUNCTION}(
    %self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {{
  %good = arith.constant 0 : i32
  %kind = arith.constant {_OPAQUE_POINTER} : i32
  %p_place = llvm.mlir.addressof @profile_place : !llvm.ptr
  %place = llvm.load %p_place : !llvm.ptr -> !llvm.ptr
  %p_value = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %result : i32, !llvm.ptr
  llvm.store %place, %p_value : !llvm.ptr, !llvm.ptr
  llvm.return %good : i32
}}
"""
_BIND_PROFILE = f"""\
  %profile = llvm.call @{PROFILE_ADDRESS}LEVEL() : () -> !llvm.ptr
  %p_profile = llvm.mlir.addressof @profile_place : !llvm.ptr
  llvm.store %profile, %p_profile : !llvm.ptr, !llvm.ptr
"""

_EMBEDDED = f"""\
llvm.mlir.global external hidden @{WEIGHTS}() : i8

llvm.func internal @find_weights() -> !llvm.ptr {{
  %weights = llvm.mlir.addressof @{WEIGHTS} : !llvm.ptr
  llvm.return %weights : !llvm.ptr
}}
"""


@dataclass(frozen=True)
class LibraryLevel:
    """Code of a library for some target.

    `places`: byte offsets of its constants in the weights, by index. `needed`: the bits required per word in
    `CPU_WORDS`. `tiles`: it uses AMX tiles, which a process must request.
    """

    places: tuple[int, ...]
    needed: tuple[int, ...]
    tiles: bool = False


@dataclass(frozen=True)
class WeightsFile:
    """A separate file of weights: its name, its size, and the size of its header, in bytes."""

    name: str
    size: int
    header_size: int


@dataclass(frozen=True)
class LibrarySettings:
    """Environment variables and their defaults, for `runtime.memory` and `runtime.threads` (milliseconds)."""

    limit_variable: str
    default_limit: int
    blocktime_variable: str
    default_blocktime: float
    longest_blocktime: float


def level_suffix(number: int) -> str:
    """Suffix of the functions of a level."""
    return f".level{number}" if number else ""


def code_prefix(level: int) -> str:
    """The prefix of functions whose code is compiled for the target, as long as `ENTRY_PREFIX`, which it replaces.

    The entry point first checks that the code may run. Names have no suffix: a function may be called ``f.level1``.
    """
    return f"__relax{level:02}_"


def code_name(function: str, level: int) -> str:
    """The name of the code of an entry point."""
    return code_prefix(level) + function


def _c_string(text: str) -> str:
    """A literal of the text and a zero byte."""
    return quoted(text + "\0")


def library_text(
    functions: Sequence[str],
    levels: Sequence[LibraryLevel],
    *,
    machine: str,
    missing: str,
    weights: WeightsFile | None,
    settings: LibrarySettings,
    is_profiled: bool = False,
) -> str:
    """The start-up module of a library, as MLIR text of level V.

    Args:
        functions: names of the entry points, which all levels have.
        levels: the best first.
        machine: the architecture, as `platform.machine` names it.
        missing: the error message of calls on a CPU that can run none of the levels.
        weights: the separate file of weights; None if they are linked with this module.
        is_profiled: all levels write profile records.
    """
    state = {field: 8 * number for number, field in enumerate(support.FIELDS)}
    team_name = support.registry_name(machine)
    tiles = any(level.tiles for level in levels)
    return fill_template(
        "library",
        state,
        POOL_STATE=support.POOL_STATE,
        TEAM_STATE=support.TEAM_STATE,
        team_name=quoted(team_name),
        TEAM_NAME_SIZE=len(team_name),
        OPAQUE_POINTER=_OPAQUE_POINTER,
        START=START,
        set_error=set_error_text("llvm.func internal @set_error", "llvm.return"),
        CPU_WORDS=CPU_WORDS,
        profile=_PROFILE if is_profiled else "",
        entries="\n".join(
            fill_template("library_entry", entry=symbol(ENTRY_PREFIX + name), code=_code_place(name))
            for name in functions
        ),
        words=len(levels[0].needed),
        missing=_c_string(missing),
        find_weights=_EMBEDDED if weights is None else _weights_text(weights),
        levels="\n".join(_level_text(functions, number, level, is_profiled) for number, level in enumerate(levels)),
        attempts=_attempts_text(len(levels)),
        syscall="llvm.func @syscall(i64, ...) -> i64\n" if tiles else "",
        PAGE_SIZE_NAME=_PAGE_SIZE_NAME,
        PAGES_NAME=_PAGES_NAME,
        HUGE_PAGES_ADVICE=_HUGE_PAGES_ADVICE,
        parallel=support.offset("parallel"),
        blocktime=support.offset("blocktime"),
        forgotten=_forgotten_text(),
        **_settings_words(settings),
    )


def _attempts_text(count: int) -> str:
    """Calls that bind the first of `count` levels that the CPU can run."""
    return "".join(
        f"    %bound{number} = llvm.call @try{level_suffix(number)}({f'%bound{number - 1}' if number else '%none'}, "
        "%found, %weights) : (i1, !llvm.ptr, !llvm.ptr) -> i1\n"
        for number in range(count)
    )


def _forgotten_text() -> str:
    """Stores of zero to the fields of the thread pool that a child process lacks."""
    return "".join(
        f"  %{field} = llvm.getelementptr %team[{support.offset(field)}] : (!llvm.ptr) -> !llvm.ptr, i8\n"
        f"  llvm.store %zero, %{field} : i64, !llvm.ptr\n"
        for field in _LOST_IN_A_CHILD
    )


def _settings_words(settings: LibrarySettings) -> dict[str, str | int]:
    """The words of the template that `settings` determine."""
    return {
        "limit_variable": _c_string(settings.limit_variable),
        "DEFAULT_LIMIT": settings.default_limit,
        "LARGEST_LIMIT": (1 << 62) - (1 << 10),
        "blocktime_variable": _c_string(settings.blocktime_variable),
        "DEFAULT_BLOCKTIME": repr(float(settings.default_blocktime)),
        "LONGEST_BLOCKTIME": repr(float(settings.longest_blocktime)),
    }


def _code_place(function: str) -> str:
    """The global with the address of the code of a function."""
    return symbol(f"code.{function}")


def _level_text(functions: Sequence[str], number: int, level: LibraryLevel, is_profiled: bool) -> str:
    suffix = level_suffix(number)
    declared = (
        f"llvm.func {symbol(code_name(name, number))}(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32\n"
        for name in functions
    )
    bindings = (
        f"  %from{at} = llvm.mlir.addressof {symbol(code_name(name, number))} : !llvm.ptr\n"
        f"  %to{at} = llvm.mlir.addressof {_code_place(name)} : !llvm.ptr\n"
        f"  llvm.store %from{at}, %to{at} : !llvm.ptr, !llvm.ptr\n"
        for at, name in enumerate(functions)
    )
    return fill_template(
        "library_level",
        level=suffix,
        CONSTANTS_ADDRESS=f"{CONSTANTS_ADDRESS}{suffix}",
        MEMORY_ADDRESS=f"{MEMORY_ADDRESS}{suffix}",
        THREADS_ADDRESS=f"{THREADS_ADDRESS}{suffix}",
        CPU_WORDS=CPU_WORDS,
        places=", ".join(map(str, level.places)) or "0",
        count=max(1, len(level.places)),
        needed=", ".join(map(str, level.needed)),
        words=len(level.needed),
        functions="".join(declared) + (f"llvm.func @{PROFILE_ADDRESS}{suffix}() -> !llvm.ptr\n" if is_profiled else ""),
        bindings="".join(bindings) + (_BIND_PROFILE.replace("LEVEL", suffix) if is_profiled else ""),
        permission=_ASK if level.tiles else _FREE,
    )


def _weights_text(weights: WeightsFile) -> str:
    return fill_template(
        "library_weights",
        WEIGHTS=WEIGHTS,
        START=START,
        PATH_SIZE=_PATH_SIZE,
        PROBLEM_SIZE=_PROBLEM_SIZE,
        OPEN_FLAGS=_OPEN_FLAGS,
        SEEK_END=_SEEK_END,
        PROT_READ=_PROT_READ,
        MAP_PRIVATE=_MAP_PRIVATE,
        file=quoted_bytes(os.fsencode(weights.name) + b"\0"),
        size=weights.size,
        header_size=weights.header_size,
    )
