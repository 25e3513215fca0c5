"""A summary of a module: ops, weights, dynamic dimensions, and arithmetic and memory as expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.analysis.memory_estimate import (
    ALLOC_STORAGE,
    MemoryEstimate,
    estimate_memory,
    planning_context,
)
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.bounds import bounds_around
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.memory import bytes_of
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.types import StructInfo, Tensor, remembered_types, struct_info
from relax_mlir.error import RelaxError, UnknownNameError, UnsupportedError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim
from relax_mlir.terminal import lines_of, width, wrapped

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule

SHOWN = 5
"""The maximum number of weights in a summary."""
STRUCTURE = frozenset(
    f"relax.{name}"
    for name in ("constant", "dataflow", "output", "shape_expr", "prim_value", "tuple_get_item", "yield")
)
"""Ops that only express the structure of a program, and are not listed."""


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


def summarize(mod: IRModule, *, memory: bool = True) -> ModuleSummary:
    """Summarise each public Relax function of `mod`; called by `IRModule.summary`.

    Args:
        mod: a module of Relax ops, which is not changed.
        memory: also plan the memory of a call, for which a copy of the module is legalised.
    """
    from relax_mlir.transform import relax_functions

    estimates = _estimates(mod) if memory else "not asked for"
    with mod.context, remembered_types():
        found = [
            _summary(function, estimates)
            for function in relax_functions(mod.mlir)
            if "sym_visibility" not in function.attributes
        ]
    return ModuleSummary(tuple(found))


def _estimates(mod: IRModule) -> dict[str, MemoryEstimate] | str:
    from relax_mlir.transform import create_pass
    from relax_mlir.transform.run import verify_input

    work = mod.clone()
    try:
        with work.context, ir.Location.unknown(), remembered_types():
            if not any(
                op.name == ALLOC_STORAGE for f in work.mlir.body.operations for op in _inside(f.operation)
            ):
                verify_input(work.mlir)
                work.apply_(create_pass("legalize-ops"), planning_context())
            return {each.function: each for each in estimate_memory(work)}
    except UnsupportedError as error:
        return str(error).splitlines()[0]


def _summary(function: func.FuncOp, estimates: dict[str, MemoryEstimate] | str) -> FunctionSummary:
    from relax_mlir.passes.memory.static_plan_block_memory import symbol_bounds

    name = str(function.name.value)
    ops = list(_inside(function.operation))
    weights = [weight for op in ops if (weight := _weight(op)) is not None]
    calls: Counter[str] = Counter()
    adds: dict[str, Dim | None] = {}
    with symbolic.assuming(bounds_around(entry_block(function).operations[0].operation)):
        for op in ops:
            if not op.name.startswith("relax.") or op.name in STRUCTURE:
                continue
            calls[op.name] += 1
            adds[op.name] = _sum([adds.get(op.name, 0), _multiply_adds(op)])
    total = _sum(list(adds.values()))
    params = [struct_info(argument.type) for argument in entry_block(function).arguments]
    bounds = symbol_bounds(function)
    return FunctionSummary(
        name,
        _signature(function, params),
        tuple((symbol, *bounds.get(symbol, (0, None))) for symbol in _symbols(params)),
        (len(weights), sum(_elements(w.info) for w in weights), sum(w.size for w in weights)),
        tuple(sorted(weights, key=lambda weight: -weight.size)),
        tuple(OpCount(op, count, adds[op]) for op, count in calls.most_common()),
        None if total is None else 2 * total,
        estimates if isinstance(estimates, str) else estimates.get(name, "the function is planned elsewhere"),
    )


def _weight(op: ir.Operation) -> Weight | None:
    """The constant that an op defines; None for other ops."""
    if op.name != ConstantOp.OPERATION_NAME:
        return None
    info = struct_info(op.results[0].type)
    return Weight(name_of(op.location) or "", info, _bytes(info)) if isinstance(info, Tensor) else None


def _weight_text(weight: Weight) -> str:
    return f"{weight.name} ({_count(weight.size, 'byte')})"


def _inside(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _inside(view.operation)


def _multiply_adds(op: ir.Operation) -> Dim | None:
    cls = op_class(op)
    try:
        return 0 if cls is None else cls.multiply_adds(cls.args_of(op))
    except RelaxError:
        return None


def _sum(dims: Sequence[Dim | None]) -> Dim | None:
    total: Dim = 0
    for dim in dims:
        if dim is None:
            return None
        total = total + dim
    return total


def _elements(info: Tensor) -> int:
    count = symbolic.product(info.known_shape or ())
    return count if isinstance(count, int) else 0


def _bytes(info: Tensor) -> int:
    size = bytes_of(info)
    return size if isinstance(size, int) else 0


def _symbols(params: Sequence[StructInfo]) -> list[str]:
    return list(dict.fromkeys(name for info in params for name in info.symbols()))


def _signature(function: func.FuncOp, params: Sequence[StructInfo]) -> str:
    results = [struct_info(type_) for type_ in function.type.results]
    names = parameter_names(function)
    given = ", ".join(f"{name}: {info}" for name, info in zip(names, params, strict=True))
    return f"({given}) -> {', '.join(map(str, results)) or 'None'}"


def _bounded(symbol: str, low: int, high: int | None) -> str:
    if high is None:
        return f"{symbol}" if low == 0 else f"{symbol} >= {low}"
    return f"{symbol} in {low} to {high}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _dim_text(dim: Dim) -> str:
    return f"{dim:,}" if isinstance(dim, int) else str(dim)
