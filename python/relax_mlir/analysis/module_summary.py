"""A summary of a module: ops, weights, dynamic dimensions, and arithmetic and memory as expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.memory import bytes_of, shape_dims
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.types import StructInfo, Tensor, remembered_types, struct_info
from relax_mlir.error import RelaxError, UnknownNameError, UnsupportedError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Bounds, Dim
from relax_mlir.terminal import lines_of, width, wrapped

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform import PassContext


# The memory that the tensors of a function need, as expressions of its symbols.

ALLOC_STORAGE, ALLOC_TENSOR = "relax.memory_alloc_storage", "relax.memory_alloc_tensor"
PASSES = ("to-non-dataflow", "call-tir-rewrite", "static-plan-block-memory")


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
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        head = f"{self.function}: {self.tensors} tensors in {self.storages} storages"
        return "\n".join([head, *lines])


def estimate_memory(
    mod: IRModule,
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
    from relax_mlir.passes.memory.static_plan_block_memory import symbol_bounds
    from relax_mlir.transform import create_pass, relax_functions
    from relax_mlir.transform.run import verify_input

    work, ctx = mod.clone(), planning_context()
    with work.context, ir.Location.unknown(), remembered_types():
        verify_input(work.mlir)
        functions = {f.name.value: f for f in relax_functions(work.mlir)}
        if function is not None and function not in functions:
            raise UnknownNameError("function", function, functions)
        names = {op.name for f in functions.values() for op in _ops(entry_block(f))}
        if any(name.startswith("relax.vm_alloc") for name in names):
            raise UnsupportedError(
                "estimate_memory: the module calls builtins; estimate it before vm-memory-lower"
            )
        if ALLOC_STORAGE not in names:
            for name in PASSES:
                work.apply_(create_pass(name), ctx)
        found = []
        for each in relax_functions(work.mlir):
            public = "sym_visibility" not in each.attributes
            if each.name.value == function or (function is None and public):
                known = {**symbol_bounds(each), **(bounds or {})}
                known.update({name: (value, value) for name, value in (values or {}).items()})
                found.append(_Estimator(each, known).estimate())
    return found


def planning_context() -> PassContext:
    """The current context, for passes on a temporary copy: without verification unless its config enables it."""
    from relax_mlir.transform import PassContext
    from relax_mlir.transform.context import VERIFY_EACH

    current = PassContext.current()
    return current.derived(config={VERIFY_EACH: False, **current.config})


def _ops(block: ir.Block) -> list[ir.Operation]:
    found = []
    for view in block.operations:
        found.append(view.operation)
        for region in view.operation.regions:
            for inner in region.blocks:
                found += _ops(inner)
    return found


class _Estimator:
    def __init__(self, function: func.FuncOp, bounds: Bounds) -> None:
        self.function, self.bounds = function, bounds
        self.fixed: dict[str, Dim] = {name: low for name, (low, high) in bounds.items() if low == high}

    def estimate(self) -> MemoryEstimate:
        block = entry_block(self.function)
        ops = _ops(block)
        tensors = [struct_info(op.results[0].type) for op in ops if op.name == ALLOC_TENSOR]
        storages = [self._size(op) for op in ops if op.name == ALLOC_STORAGE]
        _, peak = self._walk(block, 0, 0)
        known = tuple((name, low, high) for name, (low, high) in sorted(self.bounds.items()))
        return MemoryEstimate(
            str(self.function.name.value),
            len(tensors),
            len(storages),
            self._put(_sum([bytes_of(info) for info in tensors if isinstance(info, Tensor)])),
            _sum(storages),
            peak,
            known,
        )

    def _put(self, dim: Dim) -> Dim:
        return symbolic.substitute(dim, self.fixed)

    def _size(self, alloc: ir.Operation) -> Dim:
        dims = shape_dims(struct_info(alloc.operands[0].type))
        assert dims is not None and dims[0] is not None
        return self._put(dims[0])

    def _walk(self, block: ir.Block, live: Dim, peak: Dim) -> tuple[Dim, Dim]:
        """Live bytes at the end of `block`, and the peak so far."""
        for view in block.operations:
            op = view.operation
            if op.name == ALLOC_STORAGE:
                live = live + self._size(op)
                peak = self._larger(peak, live)
            elif op.name == "relax.memory_kill_storage":
                live = live - self._size(op.operands[0].owner.operation)
            ends = []
            for region in op.regions:
                for inner in region.blocks:
                    end, peak = self._walk(inner, live, peak)
                    ends.append(end)
            for index, end in enumerate(ends):
                live = end if index == 0 else self._larger(live, end)
        return live, peak

    def _larger(self, a: Dim, b: Dim) -> Dim:
        if symbolic.prove_less_equal(a, b, self.bounds):
            return b
        return a if symbolic.prove_less_equal(b, a, self.bounds) else symbolic.maximum(a, b)


def _sum(dims: Sequence[Dim]) -> Dim:
    total: Dim = 0
    for dim in dims:
        total = total + dim
    return total


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
            adds[op.name] = _sum_if_known([adds.get(op.name, 0), _multiply_adds(op)])
    total = _sum_if_known(list(adds.values()))
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


def _sum_if_known(dims: Sequence[Dim | None]) -> Dim | None:
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
