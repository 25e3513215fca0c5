"""Code that compiled programs call: support functions, errors, the memory pool, the thread pool, the clock."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from relax_mlir.dialects.attributes import MAY_FAIL, SAYS_PLACE, SEPARATE, SUPPORT
from relax_mlir.ffi import LIMIT_OFFSET, POOL_PREFIX
from relax_mlir.lowering.base.module_parts import BRANCH_OPS, Part
from relax_mlir.lowering.base.signature import LAYOUT
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Code, Fragment, attribute, functions, is_declaration, quoted, symbol_name
from relax_mlir.target import MAX_THREADS

# Modules of the runtime library, as MLIR templates in `lowering/templates/`, with ``${NAME}`` for values.


TEMPLATES = Path(__file__).parents[1] / "templates"


def fill_template(name: str, values: Mapping[str, object] | None = None, **more: object) -> str:
    """Return the text of ``<name>.mlir`` with its placeholders replaced; raise `KeyError` for one without a value."""
    text = (TEMPLATES / f"{name}.mlir").read_text(encoding="utf-8")
    return Template(text).substitute(values or {}, **more)


# A clock function for compiled code, as MLIR text.


def clock_text(head: str, return_op: str, attributes: str = "") -> str:
    """A function ``() -> i64`` that returns nanoseconds of a monotonic clock; it calls ``clock_gettime``.

    Args:
        head: the text before its type: ``func.func private @now``.
        return_op: the return op of functions of this kind.
        attributes: the text after its type: `` attributes {…}``.
    """
    return f"""
{head}() -> i64{attributes} {{
  %two = arith.constant 2 : i64
  %monotonic = arith.constant 1 : i32
  %billion = arith.constant 1000000000 : i64
  %time = llvm.alloca %two x i64 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  %rc = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %at8 = llvm.getelementptr %time[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %rest = llvm.load %at8 : !llvm.ptr -> i64
  %scaled = arith.muli %seconds, %billion : i64
  %now = arith.addi %scaled, %rest : i64
  {return_op} %now : i64
}}
"""


# The memory pool of a process: code that allocates blocks and caches freed ones.
#
# All compiled modules of a process share one pool: results, workspaces and the memory of calls are its blocks. The pool
# is a separate module (`pool_text`, level V) that is never unloaded, so that a result may outlive the code that
# computed it. `runtime/memory.py` compiles it and passes its address to modules.
#
# A block begins with a header of 16 bytes: a word for the owner (the list link while the block is free), and the index
# of its size class. There are `PER_DOUBLING` classes between powers of two, so a block is less than 25 % larger than
# requested. Blocks of `PAGED_BYTES` and more are page-aligned; those of `HUGE_BYTES` and more are aligned to huge pages
# and advise the kernel to use them.
#
# One lock guards lists and counters. It is held for about ten instructions and never during a system allocation. A
# thread that cannot get it (after a fork its owner may not exist) allocates from the system.


PER_DOUBLING = 4
SMALLEST_LOG = 6
CLASSES = PER_DOUBLING * (48 - SMALLEST_LOG)
HUGE_BYTES = 2 << 20
ALIGNMENT = 64
PAGE_BYTES = 4096
PAGED_BYTES = 256 << 10
ATTEMPTS = 20_000

HEAD_BYTES = 16
"""Header bytes of a block. The owner may write the first 8 until it frees the block, but not those at offset 8."""

POOL_STATE = "__relax_pool_state"

OPT_LEVEL = 0
"""LLVM's level for this code: LLVM gains nothing in its hot code, and every first build waits for it."""

FIELDS = (
    "take",
    "give",
    "release",
    "lock",
    "limit",
    "advice",
    "poison",
    "kept_bytes",
    "kept_blocks",
    "used_bytes",
    "used_blocks",
    "peak_bytes",
    "taken",
    "allocated",
    "freed",
)
"""The 64-bit words of the state, in order; the heads of the free lists follow.

The first three are pointers to the functions take(bytes) -> block or null, give(block), release() -> bytes freed.
"""


def class_bytes(number: int) -> int:
    """The size of the blocks of a class."""
    power, quarter = divmod(number, PER_DOUBLING)
    return (quarter + PER_DOUBLING + 1) << (power + SMALLEST_LOG - 2)


def size_class(size: int) -> int:
    """The class of the smallest blocks that have `size` bytes."""
    last = max(size, 128) - 1
    power = last.bit_length() - 1
    return (power - SMALLEST_LOG) * PER_DOUBLING + (last >> (power - 2)) - PER_DOUBLING


_POINTERS = 3
_TYPE = f"!llvm.struct<(array<{_POINTERS} x ptr>, array<{len(FIELDS) - _POINTERS} x i64>, array<{CLASSES} x ptr>)>"
_HEADS = 8 * len(FIELDS)


def pool_text() -> str:
    """The module of the pool, as MLIR text of level V."""
    return fill_template(
        "pool",
        {field: 8 * number for number, field in enumerate(FIELDS)},
        STATE=POOL_STATE,
        ALIGNMENT=ALIGNMENT,
        ATTEMPTS=ATTEMPTS,
        CLASSES=CLASSES,
        HEAD_BYTES=HEAD_BYTES,
        HUGE_BYTES=HUGE_BYTES,
        PAGED_BYTES=PAGED_BYTES,
        PAGE_BYTES=PAGE_BYTES,
        PER_DOUBLING=PER_DOUBLING,
        PER_DOUBLING_AND_ONE=PER_DOUBLING + 1,
        first_class=PER_DOUBLING * SMALLEST_LOG + PER_DOUBLING,
        first_shift=SMALLEST_LOG - 2,
        free_lists=_HEADS,
        state_type=_TYPE,
    )


# The thread pool of a process: code that runs the iterations of a loop on several threads.
#
# All compiled modules of a process share one thread pool. It is a separate module (`team_text`, level V) that is never
# unloaded; `runtime/threads.py` compiles it and passes its address to modules.
#
# `parallel(function, context, count, threads)` calls ``function(context, begin, end)`` for parts of 0 to count. The
# caller publishes the job and takes parts like every other thread. A thread that wakes up in time joins, and the caller
# waits only for threads that have joined, never for one that the system does not schedule. There is one job at a time:
# a caller that finds another job in progress (from another thread, or from inside of a job) runs all its parts itself.
# Threads poll for the next job for a while (`blocktime`), then sleep (futex).
#
# `limit` is for several processes on one machine: if it is not 0, it bounds the threads of a job, whatever number the
# code was compiled for.


TEAM_STATE = "__relax_team_state"

THREADS_TABLE = "__relax_threads"
"""The global of a compiled module that points to `parallel`."""

PARTS_PER_THREAD = 4
"""Number of parts per thread of a job with many iterations, because threads do not all run equally fast."""

_OFFSETS = {
    "parallel": 0,
    "limit": LIMIT_OFFSET,
    "jobs": 64,
    "sleepers": 128,
    "open": 192,
    "next": 256,
    "done": 320,
    "function": 384,
    "context": 392,
    "count": 400,
    "part": 408,
    "lock": 448,
    "started": 512,
    "avoided": 520,
    "blocktime": 528,
    "patience": 536,
    "ids": 576,
}
"""Byte offsets of the fields of the state; fields that several threads write have separate cache lines."""

MAX_PLACED = 7
"""Up to this many threads get an affinity that excludes the caller's CPU, where some systems leave woken threads.

The system distributes larger numbers of threads.
"""

SHORT_BLOCKTIME = 50_000
"""Nanoseconds of polling if the caller's affinity has fewer CPUs than there are threads, which then compete."""

LOOKS = 64
"""Number of polls for a job between two reads of the clock."""

PATIENCE = 2000
"""Number of polls of a caller for the last part before it yields its CPU."""

MASK_BYTES = 128
"""Bytes of a CPU set in the C library."""

_STATE_WORDS = _OFFSETS["ids"] // 8 + MAX_THREADS


def offset(field: str) -> int:
    """The byte offset of a field of the state."""
    return _OFFSETS[field]


_MACHINES = {
    "x86_64": (202, 'llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()'),
    "aarch64": (98, 'llvm.call_intrinsic "llvm.aarch64.hint"(%some) : (i32) -> ()'),
}
"""Per machine (Linux): the number of the futex system call, and the instruction of a polling thread."""


def supports(system: str, machine: str) -> bool:
    """True if the thread pool supports a system and a machine, as named by `platform`."""
    return system == "Linux" and machine in _MACHINES


def registry_name(machine: str) -> str:
    """The name of the FFI function ``() -> opaque pointer`` that returns the thread pool state of the process.

    It contains a hash of the code: libraries of another version, whose state has another layout, use a separate pool.
    """
    return f"{POOL_PREFIX}{hashlib.sha256(team_text(machine).encode()).hexdigest()[:16]}"


def team_text(machine: str) -> str:
    """The module of the thread pool, as MLIR text of level V."""
    futex, pause = _MACHINES[machine]
    return fill_template(
        "thread_pool",
        _OFFSETS,
        STATE=TEAM_STATE,
        LOOKS=LOOKS,
        MASK_BYTES=MASK_BYTES,
        MAX_PLACED=MAX_PLACED,
        PARTS_PER_THREAD=PARTS_PER_THREAD,
        PATIENCE=PATIENCE,
        SHORT_BLOCKTIME=SHORT_BLOCKTIME,
        clock=clock_text("llvm.func internal @now", "llvm.return"),
        futex=futex,
        mask_bits=8 * MASK_BYTES,
        mask_words=MASK_BYTES // 8,
        pause=pause,
        state_type=f"!llvm.array<{_STATE_WORDS} x i64>",
    )


# A function of compiled code that raises an FFI error, as MLIR text.
#
# The FFI's own ``TVMFFIErrorSetRaisedFromCStr`` resolves the names of all frames on the C stack. For the first error of
# a process it reads the debug information of every library, which takes seconds, and finds nothing, because compiled
# code has none.


SET_ERROR_CALLS = (
    "@strlen(!llvm.ptr) -> i64",
    "@TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "@TVMFFIErrorSetRaised(!llvm.ptr)",
    "@TVMFFIObjectDecRef(!llvm.ptr) -> i32",
)
"""The functions that it calls."""


def set_error_text(head: str, return_op: str, mark: str = "") -> str:
    """A function ``(kind, message) -> ()`` of two zero-terminated strings; it calls `SET_ERROR_CALLS`.

    Args:
        head: the text before its parameters: ``llvm.func internal @set_error``.
        return_op: the return op of functions of this kind.
        mark: a unit attribute for it.
    """
    more = f", {mark}" if mark else ""
    return f"""
{head}(%kind: !llvm.ptr, %message: !llvm.ptr) attributes {{passthrough = ["cold", "noinline"]{more}}} {{
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %kind_text = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %message_text = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %no_frames = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %kind_size = llvm.call @strlen(%kind) : (!llvm.ptr) -> i64
  %message_size = llvm.call @strlen(%message) : (!llvm.ptr) -> i64
  %kind_size_at = llvm.getelementptr %kind_text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %message_size_at = llvm.getelementptr %message_text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %no_size_at = llvm.getelementptr %no_frames[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %kind_text : !llvm.ptr, !llvm.ptr
  llvm.store %kind_size, %kind_size_at : i64, !llvm.ptr
  llvm.store %message, %message_text : !llvm.ptr, !llvm.ptr
  llvm.store %message_size, %message_size_at : i64, !llvm.ptr
  llvm.store %message, %no_frames : !llvm.ptr, !llvm.ptr
  llvm.store %zero, %no_size_at : i64, !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %status = llvm.call @TVMFFIErrorCreate(%kind_text, %message_text, %no_frames, %out)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
  %dropped = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  {return_op}
}}
"""


# Functions of compiled code that raise errors of a given kind and format, and append a place to the message.
#
# A few of them are in the support functions that all modules share (`SHARED_RAISERS`); a module defines the others that
# it needs.


RAISER_PREFIX = "relax.rt.raise."
"""Prefix of the names of all these functions."""
ADD_PLACE = f"{RAISER_PREFIX}place"
SET_ERROR = f"{RAISER_PREFIX}text"

RAISER_CALLS = ("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32", *SET_ERROR_CALLS)
ADD_PLACE_CALLS = ("@TVMFFIErrorMoveFromRaised(!llvm.ptr)", *SET_ERROR_CALLS)
"""The functions that they call."""

SHARED_COUNT = 8
"""Functions for fewer values than this are shared."""

COLD = 'passthrough = ["cold", "noinline"]'

_KIND, _MESSAGE, _MESSAGE_SIZE = 24, 40, 48
"""Offsets in an FFI error of the pointers to its kind and message, and of the message's size."""


def raiser(count: int) -> str:
    """The name of the function that raises an error whose message shows `count` values."""
    return f"{RAISER_PREFIX}{count}"


def set_error(mark: str) -> str:
    """The function `SET_ERROR`, which raises an error; `mark` is an attribute for it."""
    return set_error_text(f"func.func private @{SET_ERROR}", "return", mark).lstrip()


def raiser_text(count: int, mark: str) -> str:
    """The function `@relax.rt.raise.COUNT(kind, format, count times i64)`; strings are passed by address."""
    code = Code()
    values = [f"%a{i}" for i in range(count)]
    types = ["!llvm.ptr", "i64", "!llvm.ptr", *["i64"] * count]

    def print_to(buffer: str, size: str) -> str:
        operands = ", ".join([buffer, size, "%format", *values])
        return code.let(
            f"llvm.call @snprintf({operands}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : "
            f"({', '.join(types)}) -> i32"
        )

    length = code.let(f"arith.extsi {print_to(code.null(), code.constant(0))} : i32 to i64")
    size = code.let(f"arith.addi {length}, {code.constant(1)} : i64")
    buffer = code.let(f"llvm.alloca {size} x i8 : (i64) -> !llvm.ptr")
    print_to(buffer, size)
    code.do(f"func.call @{SET_ERROR}(%kind, {buffer}) : (!llvm.ptr, !llvm.ptr) -> ()")
    code.do("func.return")
    parameters = ", ".join(["%kind: !llvm.ptr", "%format: !llvm.ptr", *(f"{v}: i64" for v in values)])
    head = f"func.func private @{raiser(count)}({parameters}) attributes {{{COLD}, {mark}}} {{"
    return "\n".join([head, *code.lines, "}"])


def add_place_text(mark: str) -> str:
    """The function `ADD_PLACE`, which appends a string to the message of the current error."""
    return f"""
func.func private @{ADD_PLACE}(%place: !llvm.ptr) attributes {{{COLD}, {mark}}} {{
  %one = arith.constant 1 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %is_error = llvm.icmp "ne" %error, %null : !llvm.ptr
  cf.cond_br %is_error, ^raised, ^done
^raised:
  %kind_at = llvm.getelementptr %error[{_KIND}] : (!llvm.ptr) -> !llvm.ptr, i8
  %kind = llvm.load %kind_at : !llvm.ptr -> !llvm.ptr
  %message_at = llvm.getelementptr %error[{_MESSAGE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %message = llvm.load %message_at : !llvm.ptr -> !llvm.ptr
  %size_at = llvm.getelementptr %error[{_MESSAGE_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %more = llvm.call @strlen(%place) : (!llvm.ptr) -> i64
  %rest = arith.addi %more, %one : i64
  %room = arith.addi %size, %rest : i64
  %buffer = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %end = llvm.getelementptr %buffer[%size] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memcpy"(%buffer, %message, %size) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memcpy"(%end, %place, %rest) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  func.call @{SET_ERROR}(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  %status = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  cf.br ^done
^done:
  return
}}
""".lstrip()


def shared_raisers(mark: str) -> str:
    """The functions that all modules share."""
    return "\n".join(
        [set_error(mark), add_place_text(mark), *(raiser_text(count, mark) for count in range(SHARED_COUNT))]
    )


# Support functions of compiled code: memory of one call, result tensors, contiguous copies.
#
# They are part of every module (unused ones are dropped), so that compiled code needs only libc and libtvm_ffi. Like
# all code of this level they fail through the declarations `relax.check` and `relax.propagate`.
#
# All memory comes in blocks from the pool of the process: `@__relax_memory` holds its two functions, which
# the runtime fills in; the defaults are those of the C library.
#
# The *frame* of a call is the address of a list head on its stack: a chain of blocks {next, class of the block, object
# or null, padding to 64 bytes, memory}, released together when the function returns, with or without an error. A block
# is memory of the call, or holds a reference to an FFI object.
#
# The functions that every module needs can be compiled separately (`SEPARATE_SUPPORT`); modules then declare them.


CACHED_OBJECT = "relax.cached_object"

MEMORY_TABLE = "__relax_memory"

_HEAD = re.compile(
    r"^(?P<kind>func\.func private|llvm\.func internal) (?P<name>@relax\.rt\.[\w.]+)\((?P<inputs>[^)]*)\)"
    r"(?P<results>[^{]*?)( attributes \{.*\})? \{$",
    re.MULTILINE,
)


def _declarations(text: str) -> dict[str, str]:
    """Declarations of the functions that a text defines, by name."""
    found = {}
    for match in _HEAD.finditer(text):
        kind = match["kind"].removesuffix(" internal")
        inputs = re.sub(r"%\w+: ", "", match["inputs"])
        found[match["name"][1:]] = f"{kind} {match['name']}({inputs}){match['results']}"
    return found


_MEMORY_CHECK = attribute(
    {
        "kind": "OutOfMemoryError",
        "message": "cannot allocate {0} bytes (0 stands for a size that is negative or beyond all memory)",
    }
)

_NULL_CHECK = attribute(
    {
        "kind": "ArgumentError",
        "message": "a tensor of {0} bytes has no memory: its data pointer is null (fake and meta tensors are such)",
    }
)

_DTYPE_CODES = ("int", "uint", "float", "handle", "bfloat", "complex", "bool", "code7+")
"""Names of DLPack's type codes 0 to 6; the last name represents all other codes."""

DECLARED = fill_template("support_declarations", memory_check=_MEMORY_CHECK)
"""Declarations for support functions: the C library, the FFI, and the failing functions."""
_TABLE = fill_template("support_memory_table", MEMORY_TABLE=MEMORY_TABLE)
CONSTRUCT = fill_template("support_construct")
"""Functions that create FFI objects; they call those in `DECLARED`."""
_OBJECTS = f"{CONSTRUCT}\n{fill_template('support_objects')}"

_CORE = "\n".join(
    [
        fill_template("support_memory", MEMORY_TABLE=MEMORY_TABLE),
        fill_template("support_tensors", PAGE_BYTES=PAGE_BYTES, PAGED_BYTES=PAGED_BYTES),
        fill_template("support_names", dtype_table=quoted("".join(code.ljust(8, "\0") for code in _DTYPE_CODES))),
        fill_template("support_argument_errors"),
        fill_template("support_arguments", LAYOUT),
        shared_raisers(SUPPORT),
    ]
)
"""Support functions of entry points with tensors."""

_CORE_HEADS = {match["name"][1:]: match[0] for match in _HEAD.finditer(_CORE)}

CORE_MAY_FAIL = frozenset(name for name, head in _CORE_HEADS.items() if MAY_FAIL in head)
"""Those that may fail."""

SEPARATE_SUPPORT = "\n".join([DECLARED, f"llvm.mlir.global external @{MEMORY_TABLE}() : !llvm.array<2 x ptr>", _CORE])
"""A module of level V with checks: the functions that `define_support` omits if `is_separate` is set."""

CORE_NAMES = frozenset(_CORE_HEADS)
"""The names of all of its functions."""


def _marks(name: str) -> str:
    """The attributes of the declaration that replaces a function."""
    return ", ".join([SEPARATE, *(mark for mark in (MAY_FAIL, SAYS_PLACE, COLD) if mark in _CORE_HEADS[name])])


SEPARATE_DECLARATIONS = {
    name: f"{declared} attributes {{{_marks(name)}}}" for name, declared in _declarations(_CORE).items()
}
"""The declarations that replace the functions, by name."""

ENTRY_CALLS = frozenset(name for name in CORE_NAMES if not name.startswith(RAISER_PREFIX))
"""The names of those that entry points call; the raisers that a module needs are known later (see `Raisers`)."""

CORE_SEPARATE = "\n".join(text for name, text in SEPARATE_DECLARATIONS.items() if name in ENTRY_CALLS)
"""The declarations of these, as text."""

_NULL_DECLARED = f"func.func private @relax.check.null(i1, index) attributes {{relax.check = {_NULL_CHECK}}}"


def support_text() -> str:
    """All support functions, as a module of level V with checks that needs no entry points."""
    return "\n".join([DECLARED, _NULL_DECLARED, _TABLE, _CORE, _OBJECTS])


_OBJECT_NAMES = frozenset(_declarations(_OBJECTS))


def has_separate_support(functions: Mapping[str, func.FuncOp]) -> bool:
    """True if a module declares the common support functions instead of defining them."""
    return any(SEPARATE in function.attributes for name, function in functions.items() if name in CORE_NAMES)


def define_support(module: ir.Module, is_separate: bool) -> None:
    """Define the support functions of entry points with tensors in a module; with `is_separate`, declare them."""
    fragment = Fragment()
    fragment.define(DECLARED)
    fragment.define(_TABLE)
    if is_separate:
        for name, function in functions(module).items():
            if name in CORE_NAMES:  # a declaration without the attributes
                function.operation.erase()
        fragment.define(CORE_SEPARATE)
    else:
        fragment.define(_CORE)
    fragment.splice(module)


def define_object_support(module: ir.Module) -> None:
    """Define the support functions that a module declares and `define_support` does not define."""
    if any(symbol_name(op) in _OBJECT_NAMES and is_declaration(op) for op in module.body.operations):
        fragment = Fragment()
        fragment.define(DECLARED)
        declared = _declarations(_CORE)
        fragment.define("\n".join(declared[name] for name in declared if name in ENTRY_CALLS))
        fragment.define(_NULL_DECLARED)
        fragment.define(_OBJECTS)
        fragment.splice(module)


# The support functions that all modules need, as the first compilation unit; their source text is constant.


@functools.cache
def early_support() -> Part:
    """The compilation unit; modules compiled without it declare its functions (see `EmitFFIWrappers`)."""
    return Part(
        source=SEPARATE_SUPPORT.encode(),
        exported=tuple(sorted(CORE_NAMES)),
        used_within=tuple(sorted(name for name in CORE_NAMES if SEPARATE_SUPPORT.count(f"@{name}(") > 1)),
        external=(MEMORY_TABLE,),
        is_shared=True,
        ops=SEPARATE_SUPPORT.count("\n") + BRANCH_OPS * SEPARATE_SUPPORT.count("scf."),
        is_flat=False,
        all_vectors=False,
        optimised=False,
        has_checks=True,
    )
