"""Compile the units (`Part`) of a module to machine code, on several threads and without duplicates."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from relax_mlir.capi import PassPipeline, parse_module, spare_context
from relax_mlir.error import ArgumentError, CompileError
from relax_mlir.fork_safety import Order, RenewedLock, after_fork_in_child, before_fork, process_lock
from relax_mlir.lowering.base.module_parts import FunctionCpu, Part, split_module
from relax_mlir.lowering.llvm.to_llvm import code_to_flat, support_to_flat, to_llvm_dialect
from relax_mlir.memory_left import PART, PER_BYTE, require, threads_for
from relax_mlir.mlir import ir, llvm
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import PART_MAKERS, PART_PACKAGES, machine, sources_in, sources_of
from relax_mlir.runtime.cache_store import LRU
from relax_mlir.runtime.elf import SUPPORTED, LoadedObject, ObjectFileError, with_symbol_names
from relax_mlir.runtime.machine_code import (
    LLVM_OPTIONS,
    JitCode,
    MachineCode,
    ObjectCode,
    destroy_engines,
    object_code,
    shared_libraries,
)
from relax_mlir.target import usable_cpus
from relax_mlir.transform import MLIRPass, ModulePass, PassContext

# Lower compilation units from level V or F to level L without the GIL, so that threads lower in parallel.


BODY = "__body."
"""Name prefix of functions that are exported by an alias (see `_hide_behind_aliases`); no other name begins so."""

_Steps: TypeAlias = list[PassPipeline | ModulePass]
"""Pipelines of MLIR passes, alternating with Python passes."""


@dataclass(frozen=True)
class _Kind:
    """The properties of units that determine their pipelines: level F or L, else V; their contents (see `Part`)."""

    is_flat: bool = False
    has_checks: bool = False
    is_hot: bool = False
    all_vectors: bool = False
    has_math: bool = False
    low_precision: bool = False


_free: dict[_Kind, list[_Steps]] = {}
"""Pipelines that are not in use."""
_steps_lock = process_lock(Order.MADE_STEPS)


def has_pipelines() -> bool:
    """True if this process has pipelines for any unit."""
    return bool(_free)


def prepare_pipelines() -> None:
    """Create the pipelines for kernels, which are the first units of most modules."""
    with _steps(_Kind()):
        pass


def lowered_part(part: Part, low_precision: bool, cpu: FunctionCpu | None = None) -> ir.Module:
    """Lower a unit to level L in the spare context.

    Args:
        part: a unit of level V, F or L.
        low_precision: True if f16 or bf16 may occur in it.
        cpu: the CPU to compile for, if it is not the host's.

    Raises CompileError if a pass fails (MLIR's message is on stderr), or an op of another dialect is left over.
    """
    module = parse_module(part.source, spare_context())
    is_hot = part.has_checks and part.optimised
    kind = _Kind(part.is_flat, part.has_checks, is_hot, part.all_vectors, part.has_math, low_precision)
    with _steps(kind) as steps:
        for step in steps:
            if isinstance(step, PassPipeline):
                _run(step, module)
            else:
                with module.context, ir.Location.unknown():
                    step.run(module, PassContext())
    if not part.is_shared:  # shared units come from generators that emit only LLVM ops
        _require_llvm(module)
    _hide_behind_aliases(module, part.exported, part.used_within)
    if cpu is not None:
        _compile_for(cpu, module)
    return module


def _compile_for(cpu: FunctionCpu, module: ir.Module) -> None:
    """Set the target CPU of the functions of a module of level L, if it is not the host's."""
    with module.context, ir.Location.unknown():
        words = (("target-cpu", cpu.name), ("target-features", cpu.features))
        pairs = [ir.ArrayAttr.get([*map(ir.StringAttr.get, pair)]) for pair in words]
        for op in module.body.operations:
            if isinstance(op, llvm.LLVMFuncOp) and op.regions[0].blocks:
                given = list(op.attributes["passthrough"]) if "passthrough" in op.attributes else []
                op.attributes["passthrough"] = ir.ArrayAttr.get([*given, *pairs])


def _new_steps(kind: _Kind) -> _Steps:
    """Create pipelines; this loads the dialects that they need, which is not thread-safe."""
    to_flat = support_to_flat(kind.is_hot) if kind.has_checks else code_to_flat()
    first = [] if kind.is_flat else to_flat
    steps: _Steps = []
    texts: list[str] = []
    for step in [*first, *to_llvm_dialect(kind.low_precision, kind.all_vectors, kind.has_math)]:
        if isinstance(step, MLIRPass):
            texts += [each.text for each in step.passes]
            continue
        assert isinstance(step, ModulePass)
        steps += [PassPipeline(",".join(texts), spare_context()), step]
        texts = []
    return [*steps, PassPipeline(",".join(texts), spare_context())]


@contextmanager
def _steps(kind: _Kind) -> Iterator[_Steps]:
    """Borrow pipelines for one thread: creating them takes as long as running them on a small unit."""
    with _steps_lock:
        free = _free.setdefault(kind, [])
        steps = free.pop() if free else _new_steps(kind)
    yield steps
    with _steps_lock:
        free.append(steps)


def _run(passes: PassPipeline, module: ir.Module) -> None:
    if not passes.run(module):
        raise CompileError("a part of the module cannot be lowered to the LLVM dialect (MLIR's message is on stderr)")


def _require_llvm(module: ir.Module) -> None:
    """Raise CompileError for ops of other dialects, which may crash the translation to LLVM IR."""
    names: set[str] = set()
    add, go_on = names.add, ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        add(op.name)
        return go_on

    module.operation.walk(visit)
    left = sorted(name for name in names if not name.startswith("llvm.") and name != "builtin.module")
    if left:
        raise CompileError(
            f"a part of the module cannot be lowered to the LLVM dialect: {', '.join(left)} is left over"
        )


def _hide_behind_aliases(module: ir.Module, exported: Sequence[str], used: Sequence[str]) -> None:
    """Make a unit's functions internal and export aliases of them; calls of `used` within the unit stay direct.

    The execution engine adds a wrapper `_mlir_f(void**)` for every function f that is not internal. The wrappers are
    unused, and each takes LLVM a third of a millisecond.
    """
    functions = {symbol_name(op): op for op in module.body.operations}
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        internal, external = (ir.Attribute.parse(f"#llvm.linkage<{kind}>") for kind in ("internal", "external"))
        # LLVM infers the type of an alias from the function.
        type_, pointer = ir.Type.parse("!llvm.func<void ()>"), ir.Type.parse("!llvm.ptr")
        for name in exported:
            op, body = functions[name], BODY + name
            if name in used:
                ir.SymbolTable.replace_all_symbol_uses(name, body, module.operation)
            op.attributes["sym_name"] = ir.StringAttr.get(body)
            op.attributes["linkage"] = internal
            alias = llvm.AliasOp(type_, name, external)
            with ir.InsertionPoint(alias.regions[0].blocks.append()):
                llvm.ReturnOp(arg=llvm.AddressOfOp(pointer, body).result)


# The code of compilation units on disk.
#
# The cache of compiled modules contains only whole modules, and nothing compiled by other sources of this project. The
# key of a unit covers its own text and the sources that generate its code (`PART_MAKERS`). The cache has the units that
# modules share. Other units change with their modules; a directory of units, for work on the compiler, has all.


UNITS_DIRECTORY = "RELAX_MLIR_PARTS_DIR"
"""The environment variable with the directory of all units; without it, shared ones are in the cache of modules."""

UNIT_ENTRY = "unit-"
"""The prefix of entry names."""


def find_unit(key: str, persistent: bool) -> bytes | None:
    """Return the code of a unit that this process has compiled, or one on disk if `persistent`.

    `key` identifies the unit and its compilation options.
    """
    with _lock:
        code = _kept.get(key)
    if not persistent:
        return code
    if code is not None:
        if not cache_store.contains(_entry(key), _folder()):
            store_unit(key, code)  # compiled by a build without the cache
        return code
    code = load_unit(key)
    if code is not None:
        try:
            LoadedObject(code)
        except ObjectFileError as error:
            cache_store.drop(_entry(key), f"it cannot be loaded ({error})", _folder())
            return None
    return code


def load_unit(key: str) -> bytes | None:
    """Return the code of a unit on disk."""
    return cache_store.load(_entry(key), _folder())


def store_unit(key: str, code: bytes) -> None:
    """Store the code of a unit on disk."""
    cache_store.store(_entry(key), code, _folder())


def _folder() -> Path | None:
    folder = os.environ.get(UNITS_DIRECTORY)
    return Path(folder) if folder else None


def _entry(key: str) -> str:
    """The name of an entry, which depends on the code generator of this process."""
    return UNIT_ENTRY + hashlib.sha256(f"{_makers()} {key}".encode()).hexdigest()


@functools.cache
def _makers() -> str:
    """Hash everything that determines the code generated for a text in this process."""
    facts = (*machine(), sources_of(PART_MAKERS), sources_in(PART_PACKAGES), *LLVM_OPTIONS)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


# Compile the units (`Part`) of a module to object files, on several threads and without duplicates.


ResultT = TypeVar("ResultT")

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
        raise ArgumentError(f"the environment variable {THREADS} is {text!r}, expected a whole number from 1 on")
    return int(text)


class PartCompiler:
    """Compiles units, the largest first, on `compile_threads` threads.

    Other threads start in `add`; the calling thread takes part in `objects`.

    Args:
        libraries: paths of the shared libraries that define the units' external functions.
        opt_level: LLVM's, 0 to 3, for units that benefit. The others, which are kernels generated in optimised form and
            code that runs once per call, use level 0, which takes half the time. The code generator always optimises.
        persistent: if True, shared units are cached on disk, and all units if there is a directory of units.
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
        self._objects: list[bytes] = []
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

    def meanwhile(self, warm_up: Iterable[Callable[[], None]]) -> None:
        """Run warm-up tasks while no units are waiting, or at the end; their users may have run them already."""
        new = list(warm_up)
        with self._lock.held():
            self._warm_up += new
        self._wake(len(new))

    def add(self, parts: Iterable[Part]) -> None:
        """Start compiling units that are part of the executable."""
        self._wanted += self._start(parts)

    def add_objects(self, objects: Iterable[bytes]) -> None:
        """Add object files that are part of the executable."""
        self._objects += objects

    def key(self, part: Part) -> str:
        """Return the key of the code of a unit (see `find_unit`)."""
        return self._key(_Task(part, self.opt_level if part.optimised else 0))

    def start(self, parts: Iterable[Part]) -> None:
        """Start compiling units that will probably be added."""
        self._start(parts)

    def _start(self, parts: Iterable[Part]) -> list[tuple[_Task, Part]]:
        """Start compiling units that are not compiled yet; return the task of each."""
        missing, found = [], []
        for part in parts:
            task = _Task(part, self.opt_level if part.optimised else 0)
            key = self._key(task)
            first = self._by_key.setdefault(key, task)
            found.append((first, part))
            if first is task and not self._find(task, key):
                missing.append(task)
        with self._lock.held():
            self._left = _by_size([*self._left, *missing])
        self._wake(len(missing))
        return found

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
        """Return the object files of all units, in the order in which they were added, and those of `add_objects`.

        Raises CompileError if a unit cannot be lowered or compiled, or calls an undefined function.
        """
        while self._do_next(warm_up_first=True):
            pass
        for other in self._others:
            if not other.cancelled():
                other.result()
        compiled = [
            with_symbol_names(task.code, dict(part.renamed)) if part.renamed else task.code
            for task, part in self._wanted
        ]
        return [*compiled, *self._objects]

    def _find(self, task: _Task, key: str) -> bool:
        """Look up a task's code; return True if it was found."""
        task.code = find_unit(key, self._is_stored(task.part)) or b""
        return bool(task.code)

    def _is_stored(self, part: Part) -> bool:
        return self.persistent and (part.is_shared or _folder() is not None)

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
        with _lock:
            _kept.put(key, task.code)
        if self._is_stored(task.part):
            store_unit(key, task.code)

    def _key(self, task: _Task) -> str:
        """Return the cache key of a unit. A shared unit is identified by its source, independently of the module."""
        part, what = task.part, [str(task.level), str(self.cpu or "")]
        if not part.is_shared:
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
        symbol_name(op) for op in module.body.operations if isinstance(op, llvm.LLVMFuncOp) and not op.regions[0].blocks
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


# Compile a module of level F or L to machine code in this process.


def compile_module(module: ir.Module, opt_level: int, low_precision: bool = True) -> tuple[MachineCode, list[bytes]]:
    """Compile a module of level F or L; return its code and its object files, if LLVM has not linked it.

    Args:
        module: is unchanged afterwards, or at level L.
        opt_level: LLVM's, 0 to 3.
        low_precision: True if f16 or bf16 may occur in a module of level F.

    Raises CompileError if the module calls undefined functions.
    """
    if SUPPORTED:
        with (
            contextlib.suppress(ObjectFileError),
            PartCompiler(shared_libraries(), opt_level, False, low_precision) as compiler,
        ):
            return compile_rest(module, compiler)
    return linked_by_llvm(module, opt_level)


def compile_rest(module: ir.Module, compiler: PartCompiler) -> tuple[MachineCode, list[bytes]]:
    """Compile a module of level F or L; the compiler has the code of functions that it declares.

    Raises CompileError if the module calls undefined functions, ObjectFileError if objects cannot be loaded.
    """
    compiler.add(split_module(module))
    objects = compiler.objects()
    return ObjectCode(objects), objects


def linked_by_llvm(module: ir.Module, opt_level: int) -> tuple[MachineCode, list[bytes]]:
    """Compile a module of level F, which is at level L afterwards, as one; there are no object files.

    LLVM's linker supports other systems than x86-64 Linux, and object files that the loader does not support.

    Raises CompileError if the module calls undefined functions.
    """
    for step in to_llvm_dialect():
        step.apply_(module)
    require_symbols(module, shared_libraries())
    return JitCode(module, opt_level), []
