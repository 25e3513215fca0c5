"""A `linalg.generic` on memrefs as a loop nest: loop sizes, and per operand its stride along each loop.

Loops of static size 1 are removed, and loops that are contiguous with their neighbour in all operands are fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir.dialects.attributes import DESTINATIONS
from relax_mlir.ir_queries import entry_block, function_of
from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import DYNAMIC_STRIDE, Index, Type, Value
from relax_mlir.mlir import ir

Operation: TypeAlias = ir.Operation

LONG = 2**16
"""The minimum size of loops that are skipped if a loop inside of them is empty; shorter ones take little time."""


@dataclass(frozen=True)
class Access:
    """An operand of a nest.

    `axes` gives the axis of the buffer that each loop runs along (None: the loop does not move the operand),
    `strides` the stride of each axis. A scalar operand (no memref) has neither.
    """

    value: Value
    axes: tuple[int | None, ...]
    strides: tuple[Index, ...]

    @property
    def is_buffer(self) -> bool:
        return isinstance(self.value.type, ir.MemRefType)

    @property
    def element(self) -> Type:
        return emit.element_of(self.value.type)

    @property
    def bits(self) -> int:
        """Width of an element in memory: a boolean takes a byte, an index 64 bits."""
        return 64 if isinstance(self.element, ir.IndexType) else max(int(self.element.width), 8)

    def moves(self, loop: int) -> bool:
        """True if the loop moves the operand."""
        return self.axes[loop] is not None

    def is_unit(self, loop: int) -> bool:
        """True if the loop runs along consecutive elements, according to the type."""
        axis = self.axes[loop]
        return axis is not None and isinstance(self.strides[axis], int) and self.strides[axis] == 1

    def stride(self, loop: int) -> Index:
        """Elements from one iteration to the next."""
        axis = self.axes[loop]
        return 0 if axis is None else self.strides[axis]

    def joins(self, outer: int, inner: int) -> bool:
        """True if two loops can be fused for this operand."""
        first, last = self.axes[outer], self.axes[inner]
        if first is None or last is None:
            return first is last
        return (
            first < last and all(self._dense(axis) for axis in range(first, last)) and self._unit(first, last)
        )

    def _unit(self, first: int, last: int) -> bool:
        shape = ir.MemRefType(self.value.type).shape
        return all(shape[axis] == 1 for axis in range(first + 1, last))

    def _dense(self, axis: int) -> bool:
        """True if the axis's stride is the next one's size times its stride, according to the type."""
        type_ = ir.MemRefType(self.value.type)
        if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
            return True
        known = [s for s in self.strides[axis : axis + 2] if isinstance(s, int)]
        if len(known) < 2 or type_.is_dynamic_dim(axis + 1):
            return False
        return bool(known[0] == known[1] * type_.shape[axis + 1])


@dataclass(frozen=True)
class Nest:
    """Loops around a scalar body: `inputs` and `outputs` in the order of the body's arguments.

    `origin` maps each loop of the operation to its loop in the nest, or to None if it has one iteration. Fused loops
    have the same index (only without `linalg.index`).
    """

    sizes: tuple[Index, ...]
    parallel: tuple[bool, ...]
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    body: Any
    origin: tuple[int | None, ...]


def nest_of(operation: Operation) -> Nest | None:
    """The nest of a `linalg.generic` on memrefs; None if an indexing map is not a selection of loops."""
    generic = operation.opview
    maps = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    parallel = ["parallel" in str(kind) for kind in operation.attributes["iterator_types"]]
    operands = [*generic.inputs, *generic.outputs]
    choices = [loops_of(map_) for map_ in maps]
    if any(choice is None for choice in choices):
        return None
    accesses = [_access(v, c or (), len(parallel)) for v, c in zip(operands, choices, strict=True)]
    sizes = [_size(accesses, loop) for loop in range(len(parallel))]
    body = entry_block(operation)
    uses_index = any(op.operation.name == "linalg.index" for op in body.operations)
    groups = _groups(sizes, parallel, accesses, join=not uses_index)
    kept = [_join(access, groups) for access in accesses]
    joined = [_product([sizes[loop] for loop in group]) for group in groups]
    kinds = tuple(parallel[group[0]] for group in groups)
    prim = DESTINATIONS in function_of(operation).attributes
    return Nest(
        tuple(_none_if_empty(joined, [not (prim and kind) for kind in kinds])),
        kinds,
        tuple(kept[: len(generic.inputs)]),
        tuple(kept[len(generic.inputs) :]),
        body,
        tuple(_number(groups, loop) for loop in range(len(parallel))),
    )


def loops_of(map_: ir.AffineMap) -> tuple[int | None, ...] | None:
    """Per result of an indexing map its loop (None: the constant 0), each loop once; None for any other map."""
    loops: list[int | None] = []
    for expression in map_.results:
        if isinstance(expression, ir.AffineDimExpr):
            loops.append(int(expression.position))
        elif isinstance(expression, ir.AffineConstantExpr) and expression.value == 0:
            loops.append(None)
        else:
            return None
    chosen = [loop for loop in loops if loop is not None]
    return tuple(loops) if len(set(chosen)) == len(chosen) else None


def _access(value: Value, loops: Sequence[int | None], count: int) -> Access:
    axes: list[int | None] = [None] * count
    for axis, loop in enumerate(loops):
        if loop is not None:
            axes[loop] = axis
    if not isinstance(value.type, ir.MemRefType):
        return Access(value, tuple(axes), ())
    static, _ = ir.MemRefType(value.type).get_strides_and_offset()
    if DYNAMIC_STRIDE in static:
        found = emit.metadata(value).strides
        return Access(
            value, tuple(axes), tuple(found[i] if s == DYNAMIC_STRIDE else s for i, s in enumerate(static))
        )
    return Access(value, tuple(axes), tuple(static))


def _size(accesses: Sequence[Access], loop: int) -> Index:
    """The loop's size: of a static axis if there is one, else of the first operand that it moves."""
    places = [(access.value, axis) for access in accesses if (axis := access.axes[loop]) is not None]
    static = [(value, axis) for value, axis in places if not ir.MemRefType(value.type).is_dynamic_dim(axis)]
    value, axis = (static or places)[0]
    return emit.dim(value, axis)


def _groups(
    sizes: Sequence[Index], parallel: Sequence[bool], accesses: Sequence[Access], join: bool
) -> list[list[int]]:
    """The remaining loops, each as the list of the loops that are fused into it."""
    groups: list[list[int]] = []
    for loop, size in enumerate(sizes):
        if isinstance(size, int) and size == 1:
            continue
        previous = groups[-1][-1] if groups else None
        if (
            join
            and previous is not None
            and parallel[previous] == parallel[loop]
            and all(access.joins(previous, loop) for access in accesses)
        ):
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


def _none_if_empty(sizes: Sequence[Index], chosen: Sequence[bool]) -> list[Index]:
    """The sizes; if one of the `chosen` is 0, all long ones of them become 0, so that no loop around an empty one runs.

    Parallel loops of prim funcs need not be chosen: prim funcs return early if their results have no elements.
    """
    numbers = [number for number, is_chosen in enumerate(chosen) if is_chosen]
    long = [n for n in numbers if not isinstance(size := sizes[n], int) or size >= LONG]
    may_be_empty = [sizes[n] for n in numbers if not isinstance(size := sizes[n], int) or size == 0]
    if not may_be_empty or not long or len(numbers) < 2:
        return list(sizes)
    is_empty = emit.any_of(*(emit.compare("eq", size, 0) for size in may_be_empty))
    return [emit.select(is_empty, 0, size) if n in long else size for n, size in enumerate(sizes)]


def _join(access: Access, groups: Sequence[Sequence[int]]) -> Access:
    """The operand in terms of the fused loops: a fused loop has the stride of its innermost one."""
    return Access(access.value, tuple(access.axes[group[-1]] for group in groups), access.strides)


def _number(groups: Sequence[Sequence[int]], loop: int) -> int | None:
    return next((number for number, group in enumerate(groups) if loop in group), None)


def _product(sizes: Sequence[Index]) -> Index:
    result: Index = 1
    for size in sizes:
        result = emit.mul(result, size)
    return result
