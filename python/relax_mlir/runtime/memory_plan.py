"""Memory plans: the temporaries of a compiled function, known before it runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from relax_mlir import symbolic, terminal
from relax_mlir.error import ArgumentError
from relax_mlir.symbolic import Dim


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
        from relax_mlir import notebook  # only needed here

        return notebook.preformatted(str(self))

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
