"""The memory that functions need, and the summaries of modules: what `relax_mlir.analysis` asks of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from relax_mlir import symbolic
from relax_mlir.analysis.module_summary import FunctionSummary, MemoryEstimate, ModuleSummary, OpCount, Weight
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.memory import bytes_of, shape_dims
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.types import StructInfo, Tensor, remembered_types, struct_info
from relax_mlir.error import RelaxError, UnknownNameError, UnsupportedError
from relax_mlir.ir_module import IRModule, relax_functions
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.passes.memory import symbol_bounds
from relax_mlir.symbolic import Bounds, Dim
from relax_mlir.transform import PassContext, create_pass
from relax_mlir.transform.context import VERIFY_EACH
from relax_mlir.transform.run import verify_input

ALLOC_STORAGE, ALLOC_TENSOR = "relax.memory_alloc_storage", "relax.memory_alloc_tensor"
PASSES = ("to-non-dataflow", "call-tir-rewrite", "static-plan-block-memory")


def estimate_memory(
    mod: IRModule, function: str | None, values: Mapping[str, int] | None, bounds: Bounds | None
) -> list[MemoryEstimate]:
    """See `relax_mlir.analysis.estimate_memory`."""
    work, ctx = mod.clone(), planning_context()
    with work.context, ir.Location.unknown(), remembered_types():
        verify_input(work.mlir)
        functions = {f.name.value: f for f in relax_functions(work.mlir)}
        if function is not None and function not in functions:
            raise UnknownNameError("function", function, functions)
        names = {op.name for f in functions.values() for op in _ops(entry_block(f))}
        if any(name.startswith("relax.vm_alloc") for name in names):
            raise UnsupportedError("estimate_memory: the module calls builtins; estimate it before vm-memory-lower")
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


STRUCTURE = frozenset(
    f"relax.{name}"
    for name in ("constant", "dataflow", "output", "shape_expr", "prim_value", "tuple_get_item", "yield")
)
"""Ops that only express the structure of a program, and are not listed."""


def summarize(mod: IRModule, memory: bool) -> ModuleSummary:
    """See `relax_mlir.analysis.summarize`."""
    estimates = _estimates(mod) if memory else "not asked for"
    with mod.context, remembered_types():
        found = [
            _summary(function, estimates)
            for function in relax_functions(mod.mlir)
            if "sym_visibility" not in function.attributes
        ]
    return ModuleSummary(tuple(found))


def _estimates(mod: IRModule) -> dict[str, MemoryEstimate] | str:
    work = mod.clone()
    try:
        with work.context, ir.Location.unknown(), remembered_types():
            if not any(op.name == ALLOC_STORAGE for f in work.mlir.body.operations for op in _inside(f.operation)):
                verify_input(work.mlir)
                work.apply_(create_pass("legalize-ops"), planning_context())
            return {each.function: each for each in estimate_memory(work, None, None, None)}
    except UnsupportedError as error:
        return str(error).splitlines()[0]


def _summary(function: func.FuncOp, estimates: dict[str, MemoryEstimate] | str) -> FunctionSummary:
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


def _signature(function: func.FuncOp, params: Sequence[StructInfo]) -> str:
    results = [struct_info(type_) for type_ in function.type.results]
    names = parameter_names(function)
    given = ", ".join(f"{name}: {info}" for name, info in zip(names, params, strict=True))
    return f"({given}) -> {', '.join(map(str, results)) or 'None'}"


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
