"""Profiles: the recording of calls, their summaries per op (table, trace, roofline plot), and the machine's limits."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from relax_mlir import highlight
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.lowering.entry.instrument_calls import FIXED, HEADER, Site, evaluate
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.llvm.to_llvm import flat_control_flow, to_llvm_dialect
from relax_mlir.mlir import ExecutionEngine, func, ir
from relax_mlir.target import Target
from relax_mlir.terminal import print_table, report_table

# Peak performance of the machine: multiply-adds of one core, and bandwidth of copies.


@dataclass(frozen=True)
class Limits:
    """Peak performance of one core: f32 operations per second, and bytes per second of a large copy."""

    flops: float
    bandwidth: float

    @staticmethod
    def measure() -> Limits:
        """The limits of this machine, measured once per process."""
        return Limits(fma_peak(), copy_bandwidth(LARGE))


LARGE = 1 << 28
ROUNDS = 15
STEPS = 200_000
"""Iterations of independent multiply-adds per call: about a millisecond."""


@cache
def fma_peak() -> float:
    """FLOP/s of f32 vector multiply-adds on one core, with as many independent chains as vector registers allow."""
    target = Target("cpu")
    lanes, chains = target.lanes(32), min(target.num_vector_registers - 4, 24)
    engine = _engine(lanes, chains)
    floats = (ctypes.c_float(0.999), ctypes.c_float(1e-6), ctypes.c_float())
    pointers = [ctypes.pointer(ctypes.c_int64(STEPS)), *map(ctypes.pointer, floats)]
    seconds = _best(lambda: engine.invoke("multiply_add", *pointers))
    return 2.0 * STEPS * chains * lanes / seconds


def _engine(lanes: int, chains: int) -> ExecutionEngine:
    """``multiply_add(n, x, y)``: repeat v = v·x + y for `chains` vectors, ``n`` times; return the sum of all lanes."""
    with ir.Context(), ir.Location.unknown():
        module, f32 = ir.Module.create(), ir.F32Type.get()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("multiply_add", ([ir.IndexType.get(), f32, f32], [f32]))
            function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            count, x, y = function.arguments
            factor, term = simd.splat(x, lanes), simd.splat(y, lanes)
            with e.carrying_loop(0, count, 1, [factor] * chains) as loop:
                loop.give([simd.fma(value, factor, term) for value in loop.values])
            total = e.constant(f32, 0)
            for value in loop.results:
                total = simd.reduce("add", value, total)
            func.ReturnOp([total])
        for transform in (*flat_control_flow(), *to_llvm_dialect()):
            transform.apply_(module)
        return ExecutionEngine(module, opt_level=2)


@cache
def copy_bandwidth(size: int) -> float:
    """Bytes per second of a copy that moves `size` bytes in total, reads plus writes."""
    source = np.ones(max(size // 8, 1), np.float32)
    copy = np.empty_like(source)
    return 2 * source.nbytes / _best(lambda: np.copyto(copy, source))


def _best(call: Callable[[], object]) -> float:
    """Seconds per call: the median of the faster half of the runs, because this is a limit."""
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(sorted(samples)[: len(samples) // 2])


# The recorded calls and their summaries per op, as a table, a trace, or a roofline plot.


WORDS = ("op", "at")
NUMBERS = ("calls", "µs", "%", "GFLOP/s", "% peak", "GB/s", "% copy")
"""Columns of the table."""
TRUNCATED = "calls were dropped: raise the capacity"


@dataclass(frozen=True)
class Event:
    """One call: its site, thread, start and end (nanoseconds of the monotonic clock), and sizes."""

    site: Site
    thread: int
    start: int
    end: int
    sizes: Mapping[str, int]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) * 1e-9

    @property
    def flops(self) -> int | None:
        """Floating-point operations, a fused multiply-add counted as two; None if there is no formula."""
        return evaluate(self.site.flops, self.sizes)

    @property
    def bytes(self) -> int | None:
        """Bytes of arguments and results, each once; None if there is no formula."""
        return evaluate(self.site.bytes, self.sizes)


@dataclass(frozen=True)
class OpSummary:
    """All calls at one site, or of one op: their number and totals (None: unknown for some)."""

    site: Site
    calls: int
    seconds: float
    flops: int | None
    bytes: int | None


class Profile:
    """The calls of a profiled executable. `events` are available when the context is left.

    Attributes:
        sites: every call site that can be recorded.
        events: the calls, in the order in which they ended (approximately, with several threads).
        truncated: true if calls were dropped because the buffer was full.
    """

    def __init__(self, sites: tuple[Site, ...]) -> None:
        self.sites = sites
        self.events: tuple[Event, ...] = ()
        self.truncated = False

    def ops(self) -> list[OpSummary]:
        """Prim and packed functions by site, in order of decreasing time."""
        return self._summaries("prim", "packed")

    def functions(self) -> list[OpSummary]:
        """Relax functions, including the time of their callees."""
        return self._summaries("function")

    def _summaries(self, *kinds: str) -> list[OpSummary]:
        # Group by the identity of the site: two sites may compare equal.
        groups: dict[int, list[Event]] = {}
        for event in self.events:
            if event.site.kind in kinds:
                groups.setdefault(id(event.site), []).append(event)
        found = [
            OpSummary(
                events[0].site,
                len(events),
                sum(event.seconds for event in events),
                _sum([event.flops for event in events]),
                _sum([event.bytes for event in events]),
            )
            for events in groups.values()
        ]
        return sorted(found, key=lambda op: -op.seconds)

    def table(self, limits: Limits | None = None) -> Table:
        """The ops with times, calls, GFLOP/s, GB/s, and their shares of `limits` (measured now if not given).

        ``% peak`` is relative to the peak FLOP/s of the machine, ``% copy`` to its copy bandwidth.
        """
        limits = limits or Limits.measure()
        found = report_table("Profile", WORDS, NUMBERS)
        found.columns[1].style = "dim"
        rows = self._rows(limits)
        for cells in rows[: len(rows) - len(self.functions())]:
            found.add_row(*map(escape, cells))
        for cells in rows[len(rows) - len(self.functions()) :]:
            found.add_row(*map(escape, cells), style="bold")
        if self.truncated:
            found.caption = TRUNCATED
        return found

    def _rows(self, limits: Limits) -> list[tuple[str, ...]]:
        """The cells of the table: a row per op, then one per function."""
        ops = self.ops()
        total = sum(op.seconds for op in ops)
        rows: list[tuple[str, ...]] = []
        for op in ops:
            flops, bytes = _rate(op.flops, op.seconds), _rate(op.bytes, op.seconds)
            share = f"{100 * op.seconds / total:.1f}" if total else "-"
            rates = (*_shown(flops, limits.flops), *_shown(bytes, limits.bandwidth))
            rows.append((*_head(op), share, *rates))
        rows += [(*_head(function), *[""] * 5) for function in self.functions()]
        return rows

    def _repr_html_(self) -> str:
        """The table as HTML for notebooks, readable on light and dark pages."""
        title = f"Profile ({TRUNCATED})" if self.truncated else "Profile"
        return highlight.table_html(title, (*WORDS, *NUMBERS), self._rows(Limits.measure()), len(WORDS))

    def __repr__(self) -> str:
        return f"<Profile of {len(self.events)} calls; print() shows the table>"

    def print(self, limits: Limits | None = None) -> None:
        """Print the table."""
        print_table(self.table(limits))

    def trace(self) -> dict[str, Any]:
        """The calls in the Trace Event Format of ``chrome://tracing``: one complete event each, nested by time."""
        first = min((event.start for event in self.events), default=0)
        events = []
        for event in self.events:
            arguments = {"location": event.site.location, "flops": event.flops, "bytes": event.bytes}
            events.append(
                {
                    "name": event.site.name,
                    "cat": event.site.kind,
                    "ph": "X",
                    "ts": (event.start - first) / 1e3,
                    "dur": (event.end - event.start) / 1e3,
                    "pid": os.getpid(),
                    "tid": event.thread,
                    "args": {**arguments, "sizes": dict(event.sizes)},
                }
            )
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def save_trace(self, path: str | Path) -> None:
        """Write `trace` as JSON."""
        Path(path).write_text(json.dumps(self.trace()), encoding="utf-8")

    def save_roofline(self, path: str | Path, limits: Limits | None = None) -> None:
        """Plot each op below the roofline of the machine: GFLOP/s over FLOPs per byte.

        Raises:
            UnsupportedError: matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise UnsupportedError("save_roofline: needs matplotlib (pip install matplotlib)") from None
        limits = limits or Limits.measure()
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        points = [op for op in self.ops() if op.flops and op.bytes and op.seconds > 0]
        for op in points:
            assert op.flops is not None and op.bytes is not None
            x, y = op.flops / op.bytes, op.flops / op.seconds * 1e-9
            axes.plot(x, y, "o")
            axes.annotate(op.site.name, (x, y), fontsize=7)
        ridge = limits.flops / limits.bandwidth
        ends = [op.flops / op.bytes for op in points if op.flops and op.bytes] + [ridge / 64, ridge * 16]
        xs = [min(ends), ridge, max(ends)]
        axes.plot(xs, [min(x * limits.bandwidth, limits.flops) * 1e-9 for x in xs], "k-")
        axes.set(xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="GFLOP/s", title="Roofline")
        figure.savefig(path)


def _head(summary: OpSummary) -> tuple[str, ...]:
    """The cells that ops and functions have: name, location, calls, microseconds."""
    microseconds = f"{summary.seconds * 1e6:.1f}"
    return summary.site.name, _place(summary.site), str(summary.calls), microseconds


def _place(site: Site) -> str:
    """File and line, without directories."""
    name, _, rest = site.location.rpartition("/")[2].partition(":")
    return f"{name}:{rest.partition(':')[0]}" if rest else name


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _rate(amount: int | None, seconds: float) -> float | None:
    return amount / seconds if amount and seconds > 0 else None


def _shown(rate: float | None, limit: float) -> tuple[str, str]:
    return ("-", "-") if rate is None else (f"{rate * 1e-9:.1f}", f"{100 * rate / limit:.0f}")


# Start and stop the recording of calls, and decode the records.


_LOCK = process_lock(Order.PROFILES)


@contextlib.contextmanager
def recording(
    address: int | None, sites: Sequence[Site], capacity: int, keep: Callable[[np.ndarray[Any, Any]], None]
) -> Iterator[Profile]:
    """A profile that is filled when the context is left; see `Executable.profile`.

    `address`: the location from which compiled code reads the buffer address; `keep`: gets the buffer, which must live
    as long as the code.
    """
    if not sites:
        raise ArgumentError("profile: the executable writes no records; build it with rx.build(mod, profile=True)")
    if not isinstance(capacity, int) or capacity < 1:
        raise ArgumentError(f"profile: 'capacity' must be a positive number of words, not {capacity!r}")
    if address is None:
        raise ArgumentError("profile: the executable has no place for the address of records")
    place = ctypes.c_void_p.from_address(address)
    buffer = np.zeros(HEADER + capacity, np.int64)
    buffer[:HEADER] = HEADER, HEADER + capacity
    with _LOCK:
        if place.value:
            raise ArgumentError("profile: the executable is being profiled already")
        place.value = buffer.ctypes.data
    profile = Profile(tuple(sites))
    # A call on another thread may still be writing when the context is left, so the buffer lives as long as the code.
    keep(buffer)
    try:
        yield profile
    finally:
        place.value = None
        profile.events = tuple(_read(buffer, sites))
        profile.truncated = bool(buffer[0] > buffer[1])


def _read(words: np.ndarray[Any, Any], sites: Sequence[Site]) -> Iterator[Event]:
    at, end = HEADER, int(min(words[0], words[1]))
    while at < end and words[at]:
        site = sites[int(words[at]) - 1]
        length = FIXED + len(site.sizes)
        thread, start, stop, *sizes = (int(word) for word in words[at + 1 : at + length])
        yield Event(site, thread, start, stop, dict(zip(site.sizes, sizes, strict=True)))
        at += length
