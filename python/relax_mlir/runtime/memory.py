"""Memory of compiled code: results, workspaces and copies for calls are blocks of one pool per process.

A free block is cached for the next call that needs its size. The limit of cached bytes is `DEFAULT_LIMIT` (or a quarter
of the machine's memory) unless the environment variable RELAX_MLIR_MEMORY_LIMIT sets another number. Repeated calls of
a function therefore need no memory from the system.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relax_mlir import symbolic, terminal
from relax_mlir.error import ArgumentError
from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock
from relax_mlir.lowering.base.support import CLASSES, FIELDS, OPT_LEVEL, POOL_STATE, pool_text
from relax_mlir.runtime.process_code import state_address
from relax_mlir.symbolic import Dim

DEFAULT_LIMIT = 1 << 30
LIMIT_VARIABLE = "RELAX_MLIR_MEMORY_LIMIT"

_lock = process_lock(Order.PROCESS_CODE)


class _State(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p if i < 3 else ctypes.c_int64) for i, name in enumerate(FIELDS))


_pool: _State | None = None


@dataclass(frozen=True)
class MemoryStats:
    """Statistics of the memory pool of compiled code in this process.

    `used`: blocks in use by results, workspaces and calls; `kept`: cached blocks; `peak_bytes`: the maximum in use;
    `taken`: blocks handed out, of which `allocated` came from the system; `freed`: blocks returned to the system. Bytes
    count whole blocks, which are less than 25 % larger than requested.
    """

    used_bytes: int
    used_blocks: int
    kept_bytes: int
    kept_blocks: int
    peak_bytes: int
    taken: int
    allocated: int
    freed: int
    limit: int


def memory_stats() -> MemoryStats:
    """Return the statistics of the pool."""
    state = _state()
    return MemoryStats(**{name: getattr(state, name) for name in MemoryStats.__dataclass_fields__})


def release_memory() -> int:
    """Return all cached memory to the system; returns its size in bytes. Memory in use is unaffected."""
    release = ctypes.CFUNCTYPE(ctypes.c_int64)(_state().release)
    return int(release())


def set_memory_limit(limit: int) -> int:
    """Cache at most `limit` free bytes (0: none); return the previous limit.

    If more is cached, all cached memory is freed at once. Raises ArgumentError for anything but a number of bytes.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 1 << 62:
        raise ArgumentError(f"set_memory_limit: 'limit' is {limit!r}, expected a number of bytes from 0")
    state = _state()
    old, state.limit = int(state.limit), limit
    if state.kept_bytes > limit:
        release_memory()
    return old


def poison_memory(on: bool = True) -> None:
    """For debugging: fill every block with NaN (integers: -1) when it is allocated and when it is freed."""
    _state().poison = int(on)


def bind(table: int) -> None:
    """Connect a compiled module to the pool; its two pointers {take, give} are at the address `table_html`."""
    state = _state()
    pointers = (ctypes.c_void_p * 2).from_address(table)
    pointers[0], pointers[1] = state.take, state.give


def is_ready() -> bool:
    """True if the pool is compiled."""
    return _pool is not None


def prepare() -> None:
    """Compile the pool if necessary."""
    _state()


def _state() -> _State:
    """Return the pool of this process, compiled on first use."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = _compile()
    return _pool


def _compile() -> _State:
    limit = _initial_limit()
    state = _State.from_address(state_address(pool_text(), POOL_STATE, OPT_LEVEL))
    state.limit = limit
    state.advice = getattr(mmap, "MADV_HUGEPAGE", 0)
    return state


def _forget_threads() -> None:
    """In the child of a fork, reset a locked pool: its owner is gone and may have been changing the free lists."""
    if _pool is None or not _pool.lock:
        return
    heads = (ctypes.c_void_p * CLASSES).from_address(ctypes.addressof(_pool) + ctypes.sizeof(_State))
    heads[:] = [None] * CLASSES
    _pool.kept_bytes = _pool.kept_blocks = _pool.lock = 0


after_fork_in_child(_forget_threads)


def _initial_limit() -> int:
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return min(DEFAULT_LIMIT, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
    if not text.isdecimal() or int(text) >= 1 << 62:
        raise ArgumentError(f"the environment variable {LIMIT_VARIABLE} is {text!r}, expected a number of bytes")
    return int(text)


# Memory plans: the temporaries of a compiled function, known before it runs.


@dataclass(frozen=True)
class PlannedBuffer:
    """A temporary of a function.

    `op`: the function that writes it, or the first operation that uses it. `kind`: ``"workspace"``; ``"stack"`` for
    small buffers of static size; ``"call"`` for buffers that a loop carries or whose size is only known later (`bytes`
    is then None), which are separate blocks. `slot` is its slot in the workspace. `first` and `last` are the inclusive
    range of operations in which it is live; a loop or a branch counts as one. `in_place`: it reuses the memory of an
    argument of its op that is not live afterwards.
    """

    op: str
    location: str
    type: str
    kind: str
    bytes: Dim | None
    slot: int | None
    first: int
    last: int
    in_place: bool = False

    def meets(self, other: PlannedBuffer) -> bool:
        """True if both are live at the same operation, unless one reuses the memory of the other."""
        if self.slot == other.slot and (
            (self.in_place and other.last == self.first) or (other.in_place and self.last == other.first)
        ):
            return False
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Slot:
    """A range of bytes in the workspace."""

    offset: Dim
    bytes: Dim


@dataclass(frozen=True)
class Placed:
    """A buffer in the workspace for given values of the symbols, from byte `start` to `end`."""

    buffer: PlannedBuffer
    start: int
    end: int


@dataclass(frozen=True)
class MemoryPlan:
    """The workspace of a function: its size and its slots, as expressions of the function's symbols."""

    function: str
    formula: Dim
    """The size of the workspace in bytes."""
    slots: tuple[Slot, ...]
    buffers: tuple[PlannedBuffer, ...]

    @classmethod
    def from_json(cls, text: str) -> MemoryPlan:
        """Parse the output of `plan-memory`."""
        data = json.loads(text)

        def buffer(entry: dict[str, Any]) -> PlannedBuffer:
            size = entry["bytes"]
            return PlannedBuffer(**{**entry, "bytes": None if size is None else symbolic.parse(size)})

        return cls(
            data["function"],
            symbolic.parse(data["bytes"]),
            tuple(Slot(symbolic.parse(s["offset"]), symbolic.parse(s["bytes"])) for s in data["slots"]),
            tuple(buffer(entry) for entry in data["buffers"]),
        )

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the expressions."""
        dims = [self.formula, *(b.bytes for b in self.buffers if b.bytes is not None)]
        return tuple(sorted({name for dim in dims for name in symbolic.symbols(dim)}))

    def bytes(self, **values: int) -> int:
        """Return the size of the workspace in bytes. ShapeError: a symbol has no value."""
        return symbolic.evaluate(self.formula, self._known(values))

    def bind(self, **values: int) -> MemoryPlan:
        """Return the plan for values of some of its symbols. ArgumentError: it has no such symbol."""
        known = self._known(values)

        def at(dim: Dim) -> Dim:
            return symbolic.substitute(dim, known)

        buffers = (replace(b, bytes=None if b.bytes is None else at(b.bytes)) for b in self.buffers)
        slots = (Slot(at(slot.offset), at(slot.bytes)) for slot in self.slots)
        return MemoryPlan(self.function, at(self.formula), tuple(slots), tuple(buffers))

    def unshared(self, **values: int) -> int:
        """Return the total size in bytes of the workspace buffers without sharing."""
        return sum(placed.end - placed.start for placed in self.place(**values))

    def place(self, **values: int) -> list[Placed]:
        """Return the workspace buffers with their byte ranges. ShapeError: a symbol has no value."""
        known = self._known(values)
        found = []
        for buffer in self.buffers:
            if buffer.slot is not None and buffer.bytes is not None:
                start = symbolic.evaluate(self.slots[buffer.slot].offset, known)
                found.append(Placed(buffer, start, start + symbolic.evaluate(buffer.bytes, known)))
        return found

    def _known(self, values: dict[str, int]) -> dict[str, int]:
        unknown = sorted(set(values) - set(self.symbols))
        if unknown:
            raise ArgumentError(
                f"memory plan of {self.function}: no symbol {', '.join(unknown)}; "
                f"its formulas have: {', '.join(self.symbols) or 'none'}"
            )
        return values

    def __str__(self) -> str:
        """Format a table with a row per buffer, below the formula of the total size, in the width of the terminal."""
        rows = [("op", "bytes", "place", "life", "type", "location")]
        for b in self.buffers:
            place = b.kind if b.slot is None else f"{b.slot}: {self.slots[b.slot].offset}"
            place += " in place" if b.in_place else ""
            size = "?" if b.bytes is None else str(b.bytes)
            rows.append((b.op, size, place, f"{b.first}-{b.last}", b.type, b.location.rpartition("/")[2]))
        table = terminal.lines_of(rows, terminal.width(), first=4)
        count = f"{len(self.slots)} slot{'s' * (len(self.slots) != 1)}"
        head = f"{self.function}: workspace of {self.formula} bytes, {count}"
        return "\n".join([head, *(table if self.buffers else [])])

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        from relax_mlir import highlight  # only needed here

        return highlight.preformatted_html(str(self))

    def plot(self, path: str | Path, **values: int) -> None:
        """Draw the buffers of the workspace, time to the right and offsets upwards, for given values of the symbols.

        Needs matplotlib (ArgumentError without). ShapeError: a symbol has no value.
        """
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ArgumentError(
                "MemoryPlan.plot draws with matplotlib, which is not installed: pip install matplotlib"
            ) from error
        figure = Figure(figsize=(10, 6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for i, placed in enumerate(self.place(**values)):
            b = placed.buffer
            axes.broken_barh(
                [(b.first, b.last - b.first + 1)],
                (placed.start, placed.end - placed.start),
                facecolors=f"C{i % 10}",
                edgecolor="black",
                alpha=0.7,
            )
            axes.text(b.first, (placed.start + placed.end) / 2, f" {b.op}", va="center", fontsize=7)
        axes.autoscale()
        given = ", ".join(f"{name}={value}" for name, value in values.items())
        axes.set(
            xlabel="operation",
            ylabel="offset in bytes",
            title=f"{self.function}({given}): {self.formula} bytes",
        )
        figure.savefig(path)
