"""Compile the units (`Part`) of a module to object files, on several threads and without duplicates."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

from relax_mlir.error import ArgumentError, CompileError
from relax_mlir.fork_safety import Order, RenewedLock, after_fork_in_child, before_fork, process_lock
from relax_mlir.lowering.base.module_parts import FunctionCpu, Part
from relax_mlir.memory_left import PART, PER_BYTE, require, threads_for
from relax_mlir.mlir import ir, llvm
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import cache_store, part_store
from relax_mlir.runtime.elf_object import LoadedObject, ObjectFileError
from relax_mlir.runtime.elf_symbols import with_symbol_names
from relax_mlir.runtime.llvm_codegen import destroy_engines, object_code
from relax_mlir.runtime.lru import LRU
from relax_mlir.runtime.part_lowering import lowered_part
from relax_mlir.target import usable_cpus

ResultT = TypeVar("ResultT")

SHARED_ENTRY = "shared-"
"""The prefix of cache entries of shared units."""

KEPT_PARTS = 512
"""The number of units whose code a process caches, some 10 kB each."""

THREADS = "RELAX_MLIR_COMPILE_THREADS"
"""The environment variable with the number of compilation threads."""

_ending: list[tuple[ThreadPoolExecutor, Future[None]]] = []
"""Pools that are shutting down, each with its last task."""


_live: weakref.WeakSet[PartCompiler] = weakref.WeakSet()


def _end_threads() -> None:
    for pool, _ in list(_ending):
        pool.shutdown()
    _ending[:] = [(pool, last) for pool, last in _ending if not last.done()]


before_fork(_end_threads)  # they end by themselves, but few should exist at a fork


def _forget_threads() -> None:
    """In the child of a fork, discard the pools, whose threads do not exist there."""
    _ending.clear()
    for compiler in list(_live):
        compiler.go_on_alone()


after_fork_in_child(_forget_threads)

_kept: LRU[str, bytes] = LRU(KEPT_PARTS)
_lock = process_lock(Order.KEPT_CODE)


def compile_threads() -> int:
    """Return the number of compilation threads: RELAX_MLIR_COMPILE_THREADS, or one per CPU of this process.

    Raises ArgumentError if that is not a positive integer.
    """
    text = os.environ.get(THREADS)
    if text is None:
        return usable_cpus()
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentError(
            f"the environment variable {THREADS} is {text!r}, expected a whole number from 1 on"
        )
    return int(text)


class PartCompiler:
    """Compiles units, the largest first, on `compile_threads` threads.

    Other threads start in `add`; the calling thread takes part in `objects`.

    Args:
        libraries: paths of the shared libraries that define the units' external functions.
        opt_level: LLVM's, 0 to 3, for units that benefit. The others, which are kernels generated in optimised form and
            code that runs once per call, use level 0, which takes half the time. The code generator always optimises.
        persistent: if True, shared units are cached persistently, and all units in the directory of units, if there is
            one (`part_store`).
        low_precision: True if f16 or bf16 may occur in units above level L.
        cpu: the CPU to compile for, if it is not the host's.

    Use it as a context manager. After an error, the threads end on exit. Otherwise they continue for some milliseconds
    to destroy LLVM's engines, while the caller uses the code.
    """

    def __init__(
        self,
        libraries: Sequence[str],
        opt_level: int,
        persistent: bool,
        low_precision: bool,
        cpu: FunctionCpu | None = None,
    ) -> None:
        self.libraries, self.opt_level = libraries, opt_level
        self.persistent, self.low_precision, self.cpu = persistent, low_precision, cpu
        self._wanted: list[tuple[_Task, Part]] = []
        """Everything that was added, each with the task that compiles it."""
        self._by_key: dict[str, _Task] = {}
        self._left: list[_Task] = []
        """The tasks that have not been started."""
        self._warm_up: list[Callable[[], None]] = []
        self._lock = RenewedLock()
        others = threads_for(compile_threads() - 1)
        self._pool = ThreadPoolExecutor(others, "relax-mlir-compile") if others else None
        self._others: list[Future[bool]] = []
        _live.add(self)

    def __enter__(self) -> PartCompiler:
        return self

    def __exit__(self, *exception: object) -> None:
        with self._lock.held():
            self._left.clear()
            self._warm_up.clear()
        if self._pool is None:
            destroy_engines()
            return
        _ending[:] = [(pool, last) for pool, last in _ending if not last.done()]
        if last := self._submit(destroy_engines):
            _ending.append((self._pool, last))
            self._pool.shutdown(wait=exception[0] is not None)
        else:
            destroy_engines()

    @property
    def has_parts(self) -> bool:
        """True if a unit has been added."""
        return bool(self._wanted)

    def meanwhile(self, warm_up: Iterable[Callable[[], None]]) -> None:
        """Run warm-up tasks while no units are waiting, or at the end; their users may have run them already."""
        new = list(warm_up)
        with self._lock.held():
            self._warm_up += new
        self._wake(len(new))

    def add(self, parts: Iterable[Part]) -> None:
        """Start compiling units."""
        missing = []
        for part in parts:
            task = _Task(part, self.opt_level if part.optimised else 0)
            key = self._key(task)
            first = self._by_key.setdefault(key, task)
            self._wanted.append((first, part))
            if first is task and not self._find(task, key):
                missing.append(task)
        with self._lock.held():
            self._left = _by_size([*self._left, *missing])
        self._wake(len(missing))

    def _wake(self, count: int) -> None:
        for _ in range(count):
            if self._pool is not None and (other := self._submit(self._do_next)):
                self._others.append(other)

    def _submit(self, work: Callable[[], ResultT]) -> Future[ResultT] | None:
        """Submit `work` to the pool. If the system cannot start a thread, drop the pool and return None."""
        assert self._pool is not None
        try:
            return self._pool.submit(work)
        except (RuntimeError, MemoryError):
            pool, self._pool = self._pool, None
            pool.shutdown(cancel_futures=True)
            return None

    def go_on_alone(self) -> None:
        """Continue without the pool, whose threads do not exist after a fork, and restart unfinished tasks."""
        self._pool, self._others = None, []
        self._left = _by_size(task for task in self._by_key.values() if not task.code)

    def objects(self) -> list[bytes]:
        """Return the object files of all units, in the order in which they were added.

        Raises CompileError if a unit cannot be lowered or compiled, or calls an undefined function.
        """
        while self._do_next(warm_up_first=True):
            pass
        for other in self._others:
            if not other.cancelled():
                other.result()
        return [
            with_symbol_names(task.code, dict(part.renamed)) if part.renamed else task.code
            for task, part in self._wanted
        ]

    def _find(self, task: _Task, key: str) -> bool:
        """Look up a task's code in the caches; return True if it was found."""
        shared = task.part.group is not None
        code = _known(key, self.persistent and shared)
        if code is None and self.persistent:
            code = part_store.load(key)
            if code is not None and shared:
                _keep(key, code, persistent=True)
        task.code = code or b""
        return bool(task.code)

    def _do_next(self, warm_up_first: bool = False) -> bool:
        """Compile the largest waiting unit or run a warm-up task; return False if there is neither."""
        with self._lock.held():
            if self._warm_up and (warm_up_first or not self._left):
                work = functools.partial(_try, self._warm_up.pop(0))
            elif self._left:
                work = functools.partial(self._compile, self._left.pop())
            else:
                return False
        work()
        return True

    def _compile(self, task: _Task) -> None:
        task.code = compile_part(task.part, self.libraries, task.level, self.low_precision, self.cpu)
        key = self._key(task)
        _keep(key, task.code, self.persistent and task.part.group is not None)
        if self.persistent:
            part_store.store(key, task.code)

    def _key(self, task: _Task) -> str:
        """Return the cache key of a unit. A shared unit is identified by its source, independently of the module."""
        part, what = task.part, [str(task.level), str(self.cpu or "")]
        if part.group is None:
            what += [str(self.low_precision), repr(replace(part, source=b""))]
        return hashlib.sha256("\0".join([*what, ""]).encode() + part.source).hexdigest()


def _by_size(tasks: Iterable[_Task]) -> list[_Task]:
    return sorted(tasks, key=lambda task: task.part.ops)


def _try(task: Callable[[], None]) -> None:
    """Run a warm-up task and ignore its errors: the code that needs the result runs it again and gets the error."""
    with contextlib.suppress(Exception):
        task()


@dataclass
class _Task:
    """A unit, LLVM's optimisation level for it, and its object file once it is compiled."""

    part: Part
    level: int
    code: bytes = b""


def compile_part(
    part: Part,
    libraries: Sequence[str],
    opt_level: int,
    low_precision: bool,
    cpu: FunctionCpu | None = None,
) -> bytes:
    """Compile a unit to an object file; see `PartCompiler` for the arguments and errors."""
    require(part.exported[0], PART + PER_BYTE * len(part.source))
    lowered = lowered_part(part, low_precision, cpu)
    require_symbols(lowered, libraries, part.external)
    return object_code(lowered, part.exported[0], part.external, libraries, opt_level)


def require_symbols(module: ir.Module, libraries: Sequence[str], external: Sequence[str] = ()) -> None:
    """Raise CompileError if a module of level L declares functions that neither the process nor `libraries` define.

    `external`: functions that other code defines, which are not checked.
    """
    declared = [
        symbol_name(op)
        for op in module.body.operations
        if isinstance(op, llvm.LLVMFuncOp) and not op.regions[0].blocks
    ]
    missing = [
        name
        for name in declared
        if name not in external
        and not name.startswith("llvm.")
        and not any(hasattr(library, name) for library in _loaded(tuple(libraries)))
    ]
    if missing:
        names = ", ".join(sorted(missing))
        raise CompileError(f"compiled code calls functions that do not exist here: {names}")


@functools.cache
def _loaded(libraries: tuple[str, ...]) -> tuple[ctypes.CDLL, ...]:
    return (ctypes.CDLL(None), *map(ctypes.CDLL, libraries))


def _entry(key: str) -> str:
    """Return the name of the persistent cache entry."""
    return f"{SHARED_ENTRY}{part_store.identity(key)}"


def _known(key: str, persistent: bool) -> bytes | None:
    with _lock:
        code = _kept.get(key)
    if not persistent:
        return code
    entry = _entry(key)
    if code is not None and not cache_store.contains(entry):
        cache_store.store(entry, code)  # compiled by a build without the cache
    if code is None and (code := cache_store.load(entry)) is not None:
        try:
            LoadedObject(code)
        except ObjectFileError as error:
            cache_store.drop(entry, f"it cannot be loaded ({error})")
            return None
    return code


def _keep(key: str, code: bytes, persistent: bool) -> None:
    with _lock:
        _kept.put(key, code)
    if persistent:
        cache_store.store(_entry(key), code)
