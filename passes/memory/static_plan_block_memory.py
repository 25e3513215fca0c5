"""Pass ``static-plan-block-memory``: share storages between tensors with disjoint lifetimes."""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import defining_symbols
from relax_mlir.dialects.memory import (
    MemoryAllocStorageOp,
    MemoryAllocTensorOp,
    MemoryKillStorageOp,
    MemoryKillTensorOp,
    shape_dims,
)
from relax_mlir.dialects.structure import MatchShapeOp, ShapeExprOp
from relax_mlir.dialects.types import dims_from_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.passes.memory.call_tir_rewrite import shape_value
from relax_mlir.passes.memory.lifetimes import InsertionPoints, Lifetimes, Place
from relax_mlir.symbolic import Bounds, Dim
from relax_mlir.transform import FunctionPass, PassContext

SYMBOL_BOUNDS = "relax.symbol_bounds"

MAX_SIZES = 64
"""Maximum number of free sizes that a storage is compared with: a proof takes microseconds, and programs are long."""

_Where: TypeAlias = tuple[str, str]
"""Device and scope of a storage."""
_Known: TypeAlias = ChainMap[str, int]
"""Symbols, each with the number of storages that are allocated before its definition."""


class StaticPlanBlockMemory(FunctionPass):
    """Reuse storages of dead tensors for later ones, if the sizes are provably ordered.

    Proofs are symbolic, under the function's symbol bounds. A storage may grow to the larger of two sizes if all
    symbols of that size are defined before its allocation. The branches of a conditional share storages. Each iteration
    of a loop reuses storages that are free before the loop. A tensor without a kill (a result, say) keeps its storage.

    Requires the form that ``call-tir-rewrite`` produces.
    """

    name: ClassVar[str] = "static-plan-block-memory"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        planner = _Planner(function, symbol_bounds(function))
        symbols = ChainMap({s: 0 for t in function.type.inputs for s in _symbols_of(t)})
        planner.walk(entry_block(function), _Pool(), symbols)
        planner.merge()


def symbol_bounds(function: func.FuncOp) -> Bounds:
    """The bounds of the function's symbols, from its attribute `relax.symbol_bounds`."""
    if SYMBOL_BOUNDS not in function.attributes:
        return {}
    given = ir.DictAttr(function.attributes[SYMBOL_BOUNDS])
    bounds: dict[str, tuple[int, int | None]] = {}
    for item in (given[i] for i in range(len(given))):
        low, high = ir.ArrayAttr(item.attr)
        limit = int(ir.IntegerAttr(high).value) if isinstance(high, ir.IntegerAttr) else None
        bounds[item.name] = (int(ir.IntegerAttr(low).value), limit)
    return bounds


def _symbols_of(type_: ir.Type) -> set[str]:
    try:
        return set(defining_symbols(struct_info(type_)))
    except RelaxError:
        return set()  # a value of an upstream op


@dataclass(eq=False)
class _Storage:
    """A storage and those merged into it; `number` counts the storages allocated before it."""

    alloc: ir.Operation
    size: Dim
    number: int
    merged: list[ir.Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place: _Where = (
            str(self.alloc.attributes["device"]),
            str(self.alloc.attributes["storage_scope"]),
        )

    def ends(self, lifetimes: Lifetimes) -> list[Place]:
        """The places after the end of the last tensor of the storage, one per path."""
        uses = [use for member in (self.alloc, *self.merged) for use in _tensor_uses(member)]
        return lifetimes.places(self.alloc.block, uses)

    def merge(self) -> None:
        """Move all tensors into this storage, and erase its kills."""
        kills = [kill for member in (self.alloc, *self.merged) for kill in _kills(member)]
        _resize(self)
        for member in self.merged:
            member.results[0].replace_all_uses_with(self.alloc.results[0])
            _erase_with_size(member)
        for kill in kills:
            kill.erase()


class _Pool:
    """Free storages by place (device and scope) and size, each group in the order in which its members became free."""

    def __init__(self, storages: Iterable[_Storage] = ()) -> None:
        self._groups: dict[tuple[_Where, Dim], dict[_Storage, None]] = {}
        for storage in storages:
            self.add(storage)

    def __iter__(self) -> Iterator[_Storage]:
        for group in self._groups.values():
            yield from group

    def regroup(self) -> None:
        """Note that storages in the pool may have grown."""
        self._groups = _Pool(self)._groups

    def add(self, storage: _Storage) -> None:
        self._groups.setdefault((storage.place, storage.size), {})[storage] = None

    def remove(self, storage: _Storage) -> None:
        key = storage.place, storage.size
        del self._groups[key][storage]
        if not self._groups[key]:
            del self._groups[key]

    def equal(self, wanted: _Storage) -> _Storage | None:
        """A free storage with exactly the size of `wanted`, or None."""
        return next(iter(self._groups.get((wanted.place, wanted.size), ())), None)

    def candidates(self, wanted: _Storage) -> list[_Storage]:
        """One storage for each of the last `MAX_SIZES` sizes with the device and scope of `wanted`."""
        found = (group for (place, _), group in reversed(self._groups.items()) if place == wanted.place)
        return [next(iter(group)) for group in itertools.islice(found, MAX_SIZES)][::-1]


class _Planner:
    """Assigns storages to tensors in program order, from a pool of free storages."""

    def __init__(self, function: func.FuncOp, bounds: Bounds) -> None:
        self._function, self._bounds = function, bounds
        self._root: dict[ir.Operation, _Storage] = {}

    def walk(self, block: ir.Block, pool: _Pool, symbols: _Known) -> None:
        """Plan the storages of `block`; updates `pool`, the free storages, in place."""
        for view in block.operations:
            op = view.operation
            if op.name == MatchShapeOp.OPERATION_NAME:
                pattern = [d for d in dims_from_attr(op.attributes["pattern"]) if d is not None]
                names = (symbolic.linear_definition(d) for d in pattern)
                symbols.update({n: len(self._root) for n in names if n is not None and n not in symbols})
            elif op.name == MemoryAllocStorageOp.OPERATION_NAME:
                self._allocate(op, pool, symbols)
            elif op.name == MemoryKillStorageOp.OPERATION_NAME:
                root = self._root.get(op.operands[0].owner.operation)
                if root is not None:
                    pool.add(root)
            elif len(op.regions):
                self._regions(op, pool, symbols)

    def _regions(self, op: ir.Operation, pool: _Pool, symbols: _Known) -> None:
        pools = []
        for region in op.regions:
            inner = _Pool(pool)
            for block in region.blocks:
                self.walk(block, inner, symbols.new_child())
            pools.append(inner)
        pool.regroup()
        if op.name == "scf.if":
            free = set(pools[1])
            for storage in pools[0]:
                if storage in free:
                    pool.add(storage)

    def _allocate(self, op: ir.Operation, pool: _Pool, symbols: _Known) -> None:
        if not _kills(op):
            return
        dims = shape_dims(struct_info(op.operands[0].type))
        if dims is None or dims[0] is None:
            return
        wanted = _Storage(op, dims[0], len(self._root))
        chosen = pool.equal(wanted) or self._choose(wanted, pool.candidates(wanted), symbols)
        if chosen is None:
            self._root[op] = wanted
            return
        pool.remove(chosen)
        chosen.merged.append(op)
        self._root[op] = chosen
        if not symbolic.prove_less_equal(wanted.size, chosen.size, self._bounds):
            chosen.size = wanted.size

    def _choose(self, wanted: _Storage, free: Sequence[_Storage], symbols: _Known) -> _Storage | None:
        """A free storage of equal size, else the smallest that is large enough, else one that may grow."""
        best: _Storage | None = None
        for storage in free:
            if symbolic.prove_equal(storage.size, wanted.size, self._bounds):
                return storage
            fits = symbolic.prove_less_equal(wanted.size, storage.size, self._bounds)
            tighter = best is None or symbolic.prove_less_equal(storage.size, best.size, self._bounds)
            if fits and tighter:
                best = storage
        return best or next((s for s in free if self._may_grow(s, wanted.size, symbols)), None)

    def _may_grow(self, storage: _Storage, size: Dim, symbols: _Known) -> bool:
        known = all(symbols.get(name, math.inf) <= storage.number for name in symbolic.symbols(size))
        return known and symbolic.prove_less_equal(storage.size, size, self._bounds)

    def merge(self) -> None:
        """Rewrite the function according to the plan."""
        lifetimes = Lifetimes(self._function)
        shared = [storage for op, storage in self._root.items() if storage.merged and op == storage.alloc]
        planned = [(s, s.ends(lifetimes)) for s in shared]
        for storage in shared:
            storage.merge()
        points = InsertionPoints()
        for storage, places in planned:
            for place in places:
                with points[place], storage.alloc.location:
                    ir.Operation.create(MemoryKillStorageOp.OPERATION_NAME, operands=storage.alloc.results)


def _users(value: ir.Value, name: str) -> list[ir.Operation]:
    return [op for use in value.uses if (op := use.owner.operation).name == name]


def _kills(alloc: ir.Operation) -> list[ir.Operation]:
    return _users(alloc.results[0], MemoryKillStorageOp.OPERATION_NAME)


def _tensor_uses(alloc: ir.Operation) -> list[ir.Operation]:
    """The allocations and kills of the tensors of a storage."""
    tensors = _users(alloc.results[0], MemoryAllocTensorOp.OPERATION_NAME)
    ends = [kill for t in tensors for kill in _users(t.results[0], MemoryKillTensorOp.OPERATION_NAME)]
    return [*tensors, *ends]


def _resize(storage: _Storage) -> None:
    old = defining_op(storage.alloc.operands[0])
    if shape_dims(struct_info(storage.alloc.operands[0].type)) == (storage.size,):
        return
    with ir.InsertionPoint(storage.alloc), storage.alloc.location:
        storage.alloc.operands[0] = shape_value([storage.size])
    _erase_unused(old)


def _erase_with_size(alloc: ir.Operation) -> None:
    size = defining_op(alloc.operands[0])
    alloc.erase()
    _erase_unused(size)


def _erase_unused(size: ir.Operation | None) -> None:
    if size is not None and size.name == ShapeExprOp.OPERATION_NAME and not is_used(size.results[0]):
        size.erase()
