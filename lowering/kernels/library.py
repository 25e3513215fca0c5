"""The library of kernels: functions that depend on a target only, which modules declare instead of defining them.

The emitter of a kernel provides it with `define`: the module gets declarations of its functions, and the kernel itself
is emitted into its own module, once per target.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.dialects.attributes import DEFINED_BY, MAY_FAIL, SAYS_PLACE, SEPARATE
from relax_mlir.error import CompileError
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.parallel import MARK, PARALLEL
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions
from relax_mlir.target import Target

KEPT = 256
"""The number of kernels that a process keeps, some 100 kB each."""


@dataclass(frozen=True)
class Kernel:
    """A kernel for a target, independent of an MLIR context.

    - `source`: its functions at level V, as bytecode, with declarations of those of other kernels.
    - `exported`: the types of the functions that other modules call, by name; the first name is that of the kernel.
    - `failing`: those of them that take memory, so that calls may fail; `parallel`: those with parallel loops.
    - `needs`: the names of the kernels that it calls.
    - `objects`: its object files if they come from a cache (see `kernels_from`); then there is no source.
    """

    target: Target
    source: bytes
    exported: Mapping[str, str]
    failing: frozenset[str]
    parallel: frozenset[str]
    needs: tuple[str, ...]
    objects: tuple[bytes, ...] = ()

    @property
    def name(self) -> str:
        """The name of its first function."""
        return next(iter(self.exported))

    def marks(self, name: str) -> list[str]:
        """The attributes of the declaration of a function that it exports."""
        failing = (MAY_FAIL, SAYS_PLACE) if name in self.failing else ()
        return [SEPARATE, *failing, *((PARALLEL,) if name in self.parallel else ())]

    def __hash__(self) -> int:
        return hash((self.target, self.name))


_kernels: OrderedDict[tuple[Target, str], Kernel] = OrderedDict()
"""The kernels that have been emitted, the most recently used ones last."""
_lock = process_lock(Order.KEPT_CODE)

Find: TypeAlias = Callable[[Target, str], Kernel | None]
_find: ContextVar[Find | None] = ContextVar("find", default=None)


@contextmanager
def kernels_from(find: Find | None) -> Iterator[None]:
    """Take compiled kernels from a cache: `find` returns the kernel of a target and name, or None.

    Without `find`, kernels are emitted if this process has only their machine code.
    """
    token = _find.set(find)
    try:
        yield
    finally:
        _find.reset(token)


def define(block: e.Block, target: Target, exported: Sequence[str], emit: Callable[[e.Block], object]) -> None:
    """Declare the functions of a kernel in the module with the body `block`, unless they are there.

    Args:
        block: the body of the module.
        target: the target that the kernel is for.
        exported: the names of the functions that other modules may call, the kernel's own name first. They must not
            depend on the module.
        emit: emits the functions at the end of the body of a module, with `define` for those of other kernels.
    """
    if e.is_defined(block, exported[0]):
        return
    kernel = _kernel(target, exported, emit)
    with ir.InsertionPoint(block):
        for name, type_ in kernel.exported.items():
            function = func.FuncOp(name, ir.FunctionType(ir.Type.parse(type_)), visibility="private")
            function.attributes[DEFINED_BY] = ir.StringAttr.get(kernel.name)
            for mark in kernel.marks(name):
                function.attributes[mark] = ir.UnitAttr.get()


def kernels_of(module: ir.Module, target: Target) -> list[Kernel]:
    """The kernels of a target that a module declares, and those that these need, callers first.

    Raises CompileError for one that this process has not emitted for the target.
    """
    found: dict[str, Kernel] = {}

    def add(names: Iterable[str]) -> None:
        for name in names:
            if name not in found:
                with _lock:
                    kernel = _kernels.get((target, name))
                if kernel is None:
                    raise CompileError(f"the library has no kernel @{name} for the target {target}")
                found[name] = kernel
                add(kernel.needs)

    add(_declared(module))
    return list(found.values())


def scratch_module(emit: Callable[[e.Block], object]) -> ir.Module:
    """A module in the current context with what `emit` adds to its body."""
    with ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            emit(module.body)
    return module


def _kernel(target: Target, exported: Sequence[str], emit: Callable[[e.Block], object]) -> Kernel:
    """The kernel with these functions, emitted if neither this process nor the cache has it."""
    kernel = _kept(target, exported[0])
    if kernel is None:
        kernel = _emitted(target, exported, emit)
        _keep(kernel)
    return kernel


def _kept(target: Target, name: str) -> Kernel | None:
    """The kernel of a name, with those that it needs, from this process or the cache of `kernels_from`."""
    find = _find.get()
    with _lock:
        kernel = _kernels.get((target, name))
    if find is None:
        kernel = kernel if kernel is not None and kernel.source else None
    elif kernel is None:
        kernel = find(target, name)
    if kernel is None or any(_kept(target, needed) is None for needed in kernel.needs):
        return None
    _keep(kernel)
    return kernel


def _keep(kernel: Kernel) -> None:
    """Keep a kernel as the most recently used one; another thread may need the source of the one that is there."""
    key = kernel.target, kernel.name
    with _lock:
        if kernel.source or key not in _kernels:
            _kernels[key] = kernel
        _kernels.move_to_end(key)
        if len(_kernels) > KEPT:
            _kernels.popitem(last=False)


def _emitted(target: Target, exported: Sequence[str], emit: Callable[[e.Block], object]) -> Kernel:
    module = scratch_module(emit)
    table = functions(module)
    failing = _reaching(module, MAY_FAIL, lambda op: op.name == "memref.alloc")
    parallel = _reaching(module, PARALLEL, lambda op: op.name == "func.call" and callee_of(op) == MARK)
    source = io.BytesIO()
    module.operation.write_bytecode(source)
    return Kernel(
        target,
        source.getvalue(),
        {name: str(table[name].type) for name in exported},
        frozenset(failing.intersection(exported)),
        frozenset(parallel.intersection(exported)),
        tuple(_declared(module)),
    )


def _reaching(module: ir.Module, mark: str, has: Callable[[ir.Operation], bool]) -> set[str]:
    """The functions with an op of a kind, the declarations with a mark, and all functions that call these."""
    callers: dict[str, set[str]] = {}
    left: list[str] = []
    for name, function in functions(module).items():
        if mark in function.attributes:
            left.append(name)
        for op in ops_of(function.operation, "func.call", "memref.alloc"):
            if has(op):
                left.append(name)
            if op.name == "func.call":
                callers.setdefault(callee_of(op), set()).add(name)
    found: set[str] = set()
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += callers.get(name, ())
    return found


def _declared(module: ir.Module) -> list[str]:
    """The names of the kernels of which a module declares functions."""
    declared = [op for op in functions(module).values() if DEFINED_BY in op.attributes]
    return list(dict.fromkeys(ir.StringAttr(op.attributes[DEFINED_BY]).value for op in declared))
