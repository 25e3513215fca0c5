"""What an exported library does when it is loaded: it fills the tables that else the runtime fills.

It binds the pointers of constants to the weights that are linked beside it, and gives the code the library's own pool
of memory (`pool.py`) and team of threads (`thread_pool.py`). The variables RELAX_MLIR_MEMORY_LIMIT and
RELAX_MLIR_BLOCKTIME mean what they mean there; a value that is no number is ignored, since nobody can be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from relax_mlir.lowering.abi.emit_ffi_wrappers import ENTRY_PREFIX
from relax_mlir.lowering.abi.emit_lifecycle import CONSTANTS_ADDRESS, MEMORY_ADDRESS, THREADS_ADDRESS
from relax_mlir.lowering.runtime_lib import pool, thread_pool
from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template
from relax_mlir.lowering.runtime_lib.set_error import set_error_text

START = "__relax_start"
WEIGHTS = "__relax_weights"
CPU_WORDS = "__relax_cpu_words"
"""The function that writes what the CPU has to an array of words; it is assembly."""

CODE_PREFIX = "__relaxfn_"
"""In the place of `ENTRY_PREFIX`, and as long: names functions whose code is compiled for the target. The entry point
asks first whether it may run."""

_PAGE_SIZE_NAME, _PAGES_NAME, _HUGE_PAGES_ADVICE = 30, 85, 14
"""_SC_PAGESIZE, _SC_PHYS_PAGES and MADV_HUGEPAGE of Linux."""

_LOST_IN_A_CHILD = ("started", "sleepers", "open", "lock")
"""Words of the team's state that a child of a fork must not believe."""


_ENTRY = """\
llvm.func @${CODE_PREFIX}${name}(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32

llvm.func @${ENTRY_PREFIX}${name}(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
  %p_runs = llvm.mlir.addressof @runs : !llvm.ptr
  %runs = llvm.load %p_runs : !llvm.ptr -> i8
  %zero = arith.constant 0 : i8
  %good = arith.cmpi ne, %runs, %zero : i8
  %status = scf.if %good -> i32 {
    %done = llvm.call @${CODE_PREFIX}${name}(%self, %args, %count, %result)
      : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    scf.yield %done : i32
  } else {
    %failed = llvm.call @refuse() : () -> i32
    scf.yield %failed : i32
  }
  llvm.return %status : i32
}
"""


def library_text(
    functions: Sequence[str],
    places: Sequence[int],
    *,
    needed: Sequence[int],
    missing: str,
    limit_variable: str,
    default_limit: int,
    blocktime_variable: str,
    default_blocktime: float,
    longest_blocktime: float,
) -> str:
    """The module that starts a library, as MLIR text of level V.

    Args:
        functions: names of the entry points.
        needed: the bits that each word of `CPU_WORDS` must have; else entry points fail with the message `missing`.
        places: where the constants lie behind the symbol `WEIGHTS`, in bytes, by their index.
        limit_variable, default_limit: of `runtime.memory`.
        blocktime_variable, default_blocktime, longest_blocktime: of `runtime.threads`, in milliseconds.
    """
    state = {field: 8 * number for number, field in enumerate(pool.FIELDS)}
    forgotten = "".join(
        f"  %{field} = llvm.getelementptr %team[{thread_pool.offset(field)}] : (!llvm.ptr) -> !llvm.ptr, i8\n"
        f"  llvm.store %zero, %{field} : i64, !llvm.ptr\n"
        for field in _LOST_IN_A_CHILD
    )
    return fill_template(
        "library",
        state,
        POOL_STATE=pool.STATE,
        TEAM_STATE=thread_pool.STATE,
        CONSTANTS_ADDRESS=CONSTANTS_ADDRESS,
        MEMORY_ADDRESS=MEMORY_ADDRESS,
        THREADS_ADDRESS=THREADS_ADDRESS,
        START=START,
        set_error=set_error_text("llvm.func internal @set_error", "llvm.return"),
        CPU_WORDS=CPU_WORDS,
        entries="\n".join(_entry(name) for name in functions),
        needed=", ".join(map(str, needed)),
        words=len(needed),
        missing=missing,
        WEIGHTS=WEIGHTS,
        PAGE_SIZE_NAME=_PAGE_SIZE_NAME,
        PAGES_NAME=_PAGES_NAME,
        HUGE_PAGES_ADVICE=_HUGE_PAGES_ADVICE,
        LIMIT_VARIABLE=limit_variable,
        DEFAULT_LIMIT=default_limit,
        LARGEST_LIMIT=(1 << 62) - (1 << 10),
        BLOCKTIME_VARIABLE=blocktime_variable,
        DEFAULT_BLOCKTIME=repr(float(default_blocktime)),
        LONGEST_BLOCKTIME=repr(float(longest_blocktime)),
        parallel=thread_pool.offset("parallel"),
        blocktime=thread_pool.offset("blocktime"),
        forgotten=forgotten,
        places=", ".join(map(str, places)) or "0",
        count=max(1, len(places)),
    )


def _entry(name: str) -> str:
    return Template(_ENTRY).substitute(name=name, CODE_PREFIX=CODE_PREFIX, ENTRY_PREFIX=ENTRY_PREFIX)
