"""The memory that the tensors of a function need, as expressions of its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects.memory import bytes_of, shape_dims
from relax_mlir.dialects.types import Tensor, remembered_types, struct_info
from relax_mlir.error import UnknownNameError, UnsupportedError
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Bounds, Dim

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform import PassContext

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
    from relax_mlir.transform.config import VERIFY_EACH

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
