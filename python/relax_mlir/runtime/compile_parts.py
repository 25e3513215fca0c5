"""Parts of a module as object files: they are compiled on several threads, equal ones once per process."""

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
from relax_mlir.lowering.llvm.function_cpu import FunctionCpu
from relax_mlir.lowering.parts.module_parts import Part
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
"""How the names of the cache's entries for shared parts begin."""

KEPT_PARTS = 512
"""Parts whose code a process keeps: some 10 kB each."""

THREADS = "RELAX_MLIR_COMPILE_THREADS"
"""The environment variable that says how many threads compile a module."""

_ending: list[tuple[ThreadPoolExecutor, Future[None]]] = []
"""Pools whose threads end when this is done."""


_live: weakref.WeakSet[PartCompiler] = weakref.WeakSet()


def _end_threads() -> None:
    for pool, _ in list(_ending):
        pool.shutdown()
    _ending[:] = [(pool, last) for pool, last in _ending if not last.done()]


before_fork(_end_threads)  # they end by themselves, but a process that forks should have few


def _forget_threads() -> None:
    """In the child of a fork: the threads of all pools are gone."""
    _ending.clear()
    for compiler in list(_live):
        compiler.go_on_alone()


after_fork_in_child(_forget_threads)

_kept: LRU[str, bytes] = LRU(KEPT_PARTS)
_lock = process_lock(Order.KEPT_CODE)


def compile_threads() -> int:
    """How many threads compile a module: what RELAX_MLIR_COMPILE_THREADS says, or one per CPU of this process.

    Raises ArgumentError if that is no number, or 0.
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
    """Compiles parts, the largest first, on `compile_threads`: on others from `add` on, on this one in `objects`.

    Args:
        libraries: paths of the shared libraries that define what the parts call.
        opt_level: LLVM's, 0 to 3, for parts that it can make faster; its code generator optimises always. Kernels that
            are written as they are to run, and what runs once per call, take half of the time without.
        persistent: whether shared parts are looked for in the persistent cache, and kept there, and all in the
            directory of parts, if there is one (`part_store`).
        low_precision: whether f16 or bf16 may occur in parts that are not of level L.
        cpu: what LLVM compiles for, where that is not the host.

    It is used as a context manager: where an error leaves it, the threads end. Else they go on for some milliseconds to
    destroy what LLVM has left, while the caller uses the code.
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
        """What was added, each with the task that makes its code."""
        self._by_key: dict[str, _Task] = {}
        self._left: list[_Task] = []
        """Those that nobody has begun with."""
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
        """Whether any part was added."""
        return bool(self._wanted)

    def meanwhile(self, warm_up: Iterable[Callable[[], None]]) -> None:
        """Do something else while there are no parts, or at the end; a consumer may already have done it."""
        new = list(warm_up)
        with self._lock.held():
            self._warm_up += new
        self._wake(len(new))

    def add(self, parts: Iterable[Part]) -> None:
        """Begin to compile parts."""
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
        """Have `work` done by the pool; None, and no pool any more, if the system has no thread for it."""
        assert self._pool is not None
        try:
            return self._pool.submit(work)
        except (RuntimeError, MemoryError):
            pool, self._pool = self._pool, None
            pool.shutdown(cancel_futures=True)
            return None

    def go_on_alone(self) -> None:
        """Do without the pool, whose threads are gone, and begin again with what they have begun."""
        self._pool, self._others = None, []
        self._left = _by_size(task for task in self._by_key.values() if not task.code)

    def objects(self) -> list[bytes]:
        """The object files of all parts that were added, in this order.

        Raises CompileError if a part cannot be lowered or compiled, or calls what nothing here defines.
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
        """Look for code that is kept."""
        shared = task.part.group is not None
        code = _known(key, self.persistent and shared)
        if code is None and self.persistent:
            code = part_store.load(key)
            if code is not None and shared:
                _keep(key, code, persistent=True)
        task.code = code or b""
        return bool(task.code)

    def _do_next(self, warm_up_first: bool = False) -> bool:
        """Compile the largest part that is left, or do a warm-up task; false: there is neither."""
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
        """What identifies the code of a part: for shared ones the source is all, wherever they are used."""
        part, what = task.part, [str(task.level), str(self.cpu or "")]
        if part.group is None:
            what += [str(self.low_precision), repr(replace(part, source=b""))]
        return hashlib.sha256("\0".join([*what, ""]).encode() + part.source).hexdigest()


def _by_size(tasks: Iterable[_Task]) -> list[_Task]:
    return sorted(tasks, key=lambda task: task.part.ops)


def _try(task: Callable[[], None]) -> None:
    """Whoever needs what failed tries again, and gets the error."""
    with contextlib.suppress(Exception):
        task()


@dataclass
class _Task:
    """A part, LLVM's level for it, and its object file once it is there."""

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
    """The object file of a part; the arguments are those of `PartCompiler`, which says what it raises."""
    require(part.exported[0], PART + PER_BYTE * len(part.source))
    lowered = lowered_part(part, low_precision, cpu)
    require_symbols(lowered, libraries, part.external)
    return object_code(lowered, part.exported[0], part.external, libraries, opt_level)


def require_symbols(module: ir.Module, libraries: Sequence[str], external: Sequence[str] = ()) -> None:
    """Raise CompileError if a module of level L declares what neither the process nor `libraries` define.

    `external`: what somebody else defines.
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
    """The name of the persistent cache's entry."""
    return f"{SHARED_ENTRY}{part_store.identity(key)}"


def _known(key: str, persistent: bool) -> bytes | None:
    with _lock:
        code = _kept.get(key)
    if not persistent:
        return code
    entry = _entry(key)
    if code is not None and not cache_store.contains(entry):
        cache_store.store(entry, code)  # a build without the cache has made it
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
