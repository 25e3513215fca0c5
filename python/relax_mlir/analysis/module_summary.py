"""A summary of a module: ops, weights, dynamic dimensions, and arithmetic and memory as expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import UnknownNameError
from relax_mlir.ir_queries import HasModule
from relax_mlir.lazy import Hook
from relax_mlir.symbolic import Bounds, Dim
from relax_mlir.terminal import lines_of, width, wrapped

# The memory that the tensors of a function need, as expressions of its symbols.


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes that one call of a function allocates, without arguments and constants.

    The expressions hold for the form after ``call-tir-rewrite`` and ``static-plan-block-memory``. Ops in a loop count
    once. Allocations by packed functions and by other Relax functions are not included.
    """

    function: str
    tensors: int
    """Number of tensors that the function allocates."""
    storages: int
    """Number of storages that the tensors share."""
    total: Dim
    """Bytes of all tensors, without sharing."""
    planned: Dim
    """Bytes of all storages."""
    peak: Dim
    """Maximum number of bytes of storages that are live at the same time."""
    bounds: tuple[tuple[str, int, int | None], ...] = ()

    def at(self, **values: int) -> dict[str, int]:
        """The three sizes for the given values of the symbols."""
        return {
            name: symbolic.evaluate(dim, values) if not isinstance(dim, int) else dim
            for name, dim in self._sizes().items()
        }

    def limits(self) -> dict[str, tuple[int | None, int | None]]:
        """Minimum and maximum of the three sizes within the bounds of the symbols; None: no limit."""
        bounds = {name: (low, high) for name, low, high in self.bounds}
        return {name: symbolic.bounds(dim, bounds) for name, dim in self._sizes().items()}

    def _sizes(self) -> dict[str, Dim]:
        return {"total": self.total, "planned": self.planned, "peak": self.peak}

    def __str__(self) -> str:
        """A table: a row per size, with its limits if the bounds make them finite."""
        titles = {"total": "without reuse", "planned": "with reuse", "peak": "live at once"}
        rows = [("", "bytes", "at most")]
        for name, dim in self._sizes().items():
            high = self.limits()[name][1]
            rows.append((titles[name], str(dim), "" if high is None or isinstance(dim, int) else f"{high}"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = f"{self.function}: {self.tensors} tensors in {self.storages} storages"
        return "\n".join([head, *lines])


SHOWN = 5
"""The maximum number of weights in a summary."""


@dataclass(frozen=True)
class OpCount:
    """The number of occurrences of an op, and their multiply-adds (None: unknown); ops in loops count once."""

    op: str
    calls: int
    multiply_adds: Dim | None


@dataclass(frozen=True)
class Weight:
    """A constant and its name (of a PyTorch parameter or an ONNX initializer; "" if it has none)."""

    name: str
    info: Tensor
    size: int
    """Size in bytes."""


@dataclass(frozen=True)
class FunctionSummary:
    """One Relax function. Ops in loops count once, and so do those of both branches of a conditional.

    Attributes:
        name: its name.
        signature: parameters and result, in script syntax.
        symbols: its dynamic dimensions with their bounds; None: no limit.
        weights: number of constants, of their elements, and of their bytes.
        largest: the constants, the largest first.
        ops: the ops, the most frequent first.
        flops: floating-point operations of contractions as an expression, two per multiply-add; None: unknown.
        memory: the memory that a call allocates, or a string with the reason why it is unknown.
    """

    name: str
    signature: str
    symbols: tuple[tuple[str, int, int | None], ...]
    weights: tuple[int, int, int]
    largest: tuple[Weight, ...]
    ops: tuple[OpCount, ...]
    flops: Dim | None
    memory: MemoryEstimate | str

    def __str__(self) -> str:
        """The facts, one per line, and a table of ops."""
        tensors, elements, size = self.weights
        named = [weight for weight in self.largest if weight.name]
        facts = [
            ("dynamic", ", ".join(_bounded(*symbol) for symbol in self.symbols) or "nothing"),
            (
                "weights",
                f"{_count(tensors, 'tensor')}, {_count(elements, 'element')}, {_count(size, 'byte')}",
            ),
            *([("largest", ", ".join(map(_weight_text, named[:SHOWN])))] if named else []),
            ("FLOPs", "not known" if self.flops is None else _dim_text(self.flops)),
            ("memory", self._memory_text()),
        ]
        rows = [("op", "calls", "multiply-adds")]
        for count in self.ops:
            adds = "not known" if count.multiply_adds is None else _dim_text(count.multiply_adds)
            rows.append((count.op, str(count.calls), "" if adds == "0" else adds))
        lines = [f"{self.name}{self.signature}"]
        for name, text in facts:
            lines += wrapped(f"  {name:<8} ", text, width(), 11)
        return "\n".join([*lines, *(f"  {line}" for line in lines_of(rows, width() - 2, 2))])

    def _memory_text(self) -> str:
        if isinstance(self.memory, str):
            return f"not known: {self.memory}"
        return f"{_dim_text(self.memory.peak)} bytes at once, {_count(self.memory.tensors, 'tensor')}"


@dataclass(frozen=True)
class ModuleSummary:
    """The Relax functions of a module; see `summarize`."""

    functions: tuple[FunctionSummary, ...]

    def __getitem__(self, name: str) -> FunctionSummary:
        """The summary of one function; raises UnknownNameError."""
        for each in self.functions:
            if each.name == name:
                return each
        raise UnknownNameError("function", name, [each.name for each in self.functions])

    def __str__(self) -> str:
        return "\n".join(map(str, self.functions)) or "no Relax functions"


def _weight_text(weight: Weight) -> str:
    return f"{weight.name} ({_count(weight.size, 'byte')})"


def _bounded(symbol: str, low: int, high: int | None) -> str:
    if high is None:
        return f"{symbol}" if low == 0 else f"{symbol} >= {low}"
    return f"{symbol} in {low} to {high}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _dim_text(dim: Dim) -> str:
    return f"{dim:,}" if isinstance(dim, int) else str(dim)


_estimate: Hook[..., list[MemoryEstimate]] = Hook("analysis.estimate_memory")
_summarize: Hook[[HasModule, bool], ModuleSummary] = Hook("analysis.summarize")


def estimate_memory(
    mod: HasModule,
    function: str | None = None,
    *,
    values: Mapping[str, int] | None = None,
    bounds: Bounds | None = None,
) -> list[MemoryEstimate]:
    """Estimate the memory of functions of a module at level R1 (after ``legalize-ops``) or with explicit memory.

    Args:
        mod: the module, which is not changed.
        function: the name of one function; by default all public ones.
        values: values of symbols, substituted into the expressions.
        bounds: bounds of symbols for proofs and limits, in addition to those that functions declare.

    Raises:
        UnknownNameError: no such function.
        UnsupportedError: the module has ops that are not legalised, or sizes that are no longer expressions.
    """
    return _estimate(mod, function, values, bounds)


def summarize(mod: HasModule, *, memory: bool = True) -> ModuleSummary:
    """Summarise each public Relax function of `mod`; called by `IRModule.summary`.

    Args:
        mod: a module of Relax ops, which is not changed.
        memory: also plan the memory of a call, for which a copy of the module is legalised.
    """
    return _summarize(mod, memory)
