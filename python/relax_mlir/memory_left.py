"""The memory that this process can still allocate, checked before work of MLIR and LLVM.

Both end the process if an allocation fails. So the code that starts such work states how much memory it may take
(`require`, `promised`), and gets an OutOfMemoryError if less is available. Without a limit, the check takes about a
microsecond.

The amounts are several times the measured ones (x86-64, glibc): building a module takes 22 MB and about 5 kB per op,
and a compiling thread takes an arena of malloc (64 MB, briefly 128) and its stack.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.error import OutOfMemoryError
from relax_mlir.fork_safety import Order, process_lock

if TYPE_CHECKING:  # this module is imported before MLIR
    from relax_mlir.mlir import ir

MB = 1 << 20
CONTEXT = 24 * MB
"""For a context, including what the first context of a process creates."""
STEP = 16 * MB
"""For any other single step: a text is parsed, a pass runs."""
PART = 48 * MB
"""For the compilation of one compilation unit."""
IMPORTS = 32 * MB
"""For modules of this package that are imported on first use."""
BUILD = 96 * MB
"""For a build on one thread, including what the first build of a process creates."""
PER_THREAD = 144 * MB
"""For each further compiling thread."""
PER_OP = 32 << 10
"""For each op of a module that is built or transformed."""
PER_BYTE = 400
"""For each byte of bytecode that is lowered and compiled."""
PER_CHARACTER = 40
"""For each character of a parsed text, up to `MOST_CODE`: the rest of a longer text is numbers of constants."""
MOST_CODE = 8 << 20
PRIVATE_GROUP = Path("/sys/fs/cgroup")
"""The control group (version 2) as a container sees it."""

_lock = process_lock(Order.MEMORY)
_promises = 0
"""Bytes reserved for running builds."""


def memory_left() -> tuple[int, str] | None:
    """The number of bytes still available, and the name of the limit; None: there is no limit."""
    limits = [limit for limit in (_address_space(), _data(), _committed()) if limit is not None]
    return min(limits, default=None)


def _address_space() -> tuple[int, str] | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else (limit - _pages(0), "RLIMIT_AS, ulimit -v")


def _data() -> tuple[int, str] | None:
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if limit == resource.RLIM_INFINITY else (limit - _pages(5), "RLIMIT_DATA, ulimit -d")


def _pages(field: int) -> int:
    """A field of /proc/self/statm in bytes; 0 if there is none."""
    try:
        with open(
            "/proc/self/statm", encoding="ascii"
        ) as stream:  # each process has a separate file: after a fork, too
            return int(stream.read().split()[field]) * resource.getpagesize()
    except FileNotFoundError:
        return 0


def _committed() -> tuple[int, str] | None:
    if not _is_committed():
        return None
    lines = Path("/proc/meminfo").read_text().splitlines()
    kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    left = kilobytes["CommitLimit"] - kilobytes["Committed_AS"]
    return left << 10, "vm.overcommit_memory=2"


@functools.cache
def _is_committed() -> bool:
    """True if the system does not overcommit memory."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
    return False


@functools.cache
def _is_grouped() -> bool:
    return (PRIVATE_GROUP / "memory.max").exists()


def group_left(folder: Path = PRIVATE_GROUP) -> tuple[int, str] | None:
    """The bytes left in the control group of a container; None: it has no limit.

    If a process exceeds them, the system kills it.

    The page cache is not counted: the system frees it on demand.
    """
    try:
        limit = (folder / "memory.max").read_text().strip()
        if limit == "max" or (folder / "memory.swap.max").read_text().strip() != "0":
            return None
        used = int((folder / "memory.current").read_text())
        facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except OSError:
        return None
    return int(limit) - used + int(facts.get("inactive_file", 0)), f"the control group, {folder}/memory.max"


def require(where: str, needed: int) -> None:
    """Raise OutOfMemoryError unless `needed` bytes are available; `where`: the function that needs them."""
    if (left := memory_left()) is not None:
        _require(where, needed, *left)


def _require(where: str, needed: int, left: int, limit: str) -> None:
    if left < needed:
        raise OutOfMemoryError(
            f"{where}: {needed / MB:.0f} MB of memory may be needed, {max(left, 0) / MB:.0f} MB are left (the limit "
            f"is that of {limit}); raise the limit, or free memory"
        )


@contextlib.contextmanager
def promised(where: str, module: ir.Module) -> Iterator[None]:
    """Reserve the memory of a build of a module, so that concurrent builds do not count on it.

    Allocation failures in Python in the meantime are raised as OutOfMemoryError, too.
    """
    global _promises
    with reported(where):
        group, left = group_left() if _is_grouped() else None, memory_left()
        if group is not None:
            _require(where, STEP + PER_OP * ops_of(module) // 4, *group)
        if left is None:
            yield
            return
        needed = BUILD + PER_OP * ops_of(module)
        with _lock:
            _require(where, _promises + needed, *left)
            _promises += needed
        try:
            yield
        finally:
            with _lock:
                _promises -= needed


def for_text(length: int) -> int:
    """The number of bytes that parsing a text of `length` takes."""
    return STEP + PER_CHARACTER * min(length, MOST_CODE) + 3 * length


def require_for(where: str, module: ir.Module) -> None:
    """Raise OutOfMemoryError, as `require` does, unless there is memory for one step on a module."""
    if (left := memory_left()) is not None:
        _require(where, STEP + PER_OP * ops_of(module), *left)


def ops_of(module: ir.Module) -> int:
    """The number of ops in a module."""
    from relax_mlir.mlir import ir

    found = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def threads_for(threads: int) -> int:
    """The number of additional threads, at most `threads`, for which a build has the memory to compile."""
    if threads and (left := memory_left()) is not None:
        return max(0, min(threads, (left[0] - BUILD) // PER_THREAD))
    return threads


@contextlib.contextmanager
def reported(where: str) -> Iterator[None]:
    """Raise OutOfMemoryError for allocation failures in Python and its libraries."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(f"{where}: no memory is left ({error or 'for an object of Python'})") from error
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise OutOfMemoryError(f"{where}: no memory is left ({error})") from error
