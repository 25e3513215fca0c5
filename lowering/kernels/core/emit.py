"""A thin layer over the builders of the MLIR bindings, for kernel generators.

All functions emit at the current insertion point and location. An index operand may be a Python ``int``: arithmetic on
two of them is folded in Python, so static sizes emit no IR. The layer is independent of kernels and targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir.dialects.attributes import AS_GENERATED
from relax_mlir.mlir import arith, func, ir, llvm, memref, scf

Value: TypeAlias = ir.Value[Any]
"""An SSA value."""

Type: TypeAlias = Any
"""A type of MLIR. It is `Any`, because element types, vectors and memrefs have different fields."""
Block: TypeAlias = ir.Block
Index: TypeAlias = ir.Value[Any] | int
"""A value of type ``index``, or a Python ``int``."""

DYNAMIC: int = ir.ShapedType.get_dynamic_size()
DYNAMIC_STRIDE: int = ir.ShapedType.get_dynamic_stride_or_offset()


# Types


def vector_type(lanes: int, element: Type) -> Type:
    """``vector<lanes x element>``."""
    return ir.VectorType.get([lanes], element)


def strided_memref(element: Type, rank: int, unit_inner: bool = False) -> Type:
    """A memref of dynamic shape, strides and offset; `unit_inner` fixes the last stride to 1."""
    strides = [DYNAMIC_STRIDE] * rank
    if unit_inner:
        strides[-1] = 1
    layout = ir.StridedLayoutAttr.get(DYNAMIC_STRIDE, strides)
    return ir.MemRefType.get([DYNAMIC] * rank, element, layout=layout)


def flat_memref(element: Type) -> Type:
    """``memref<? x element>``: contiguous scratch memory."""
    return ir.MemRefType.get([DYNAMIC], element)


def is_vector(type_: Type) -> bool:
    """True if the type is a vector type."""
    return isinstance(type_, ir.VectorType)


def element_of(type_: Type) -> Type:
    """The element type of a vector or memref type; a scalar type itself."""
    return type_.element_type if isinstance(type_, ir.ShapedType) else type_


def result_of(name: str, type_: Type, operands: Sequence[Value]) -> Value:
    """The result of an op without attributes; twice as fast as the builders of the bindings, since ops are many."""
    return ir.Operation.create(name, results=[type_], operands=operands).result


# Constants


_MAX_INDEX = 2**63 - 1


def is_bool(type_: Type) -> bool:
    """True for ``i1``."""
    return isinstance(type_, ir.IntegerType) and type_.width == 1


def index(value: Index) -> Value:
    """An ``index`` value: a constant for an ``int``; values are returned unchanged.

    A product of static sizes may exceed 64 bits. No such array can exist, so the constant is clamped to ±(2^63 - 1).
    """
    if not isinstance(value, int):
        return value
    type_ = ir.IndexType.get()
    attributes = {"value": ir.IntegerAttr.get(type_, max(-_MAX_INDEX, min(value, _MAX_INDEX)))}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).result


def _index_op(name: str, a: Index, b: Index) -> Value:
    return result_of(name, ir.IndexType.get(), [index(a), index(b)])


def constant(type_: Type, value: float) -> Value:
    """A scalar, or a vector with that value in each lane."""
    element = element_of(type_)
    is_float = isinstance(element, ir.FloatType)
    attribute: ir.Attribute = (
        ir.FloatAttr.get(element, float(value)) if is_float else ir.IntegerAttr.get(element, int(value))
    )
    if is_vector(type_):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return arith.ConstantOp(type_, attribute).result


def flag(value: bool) -> Value:
    """An ``i1`` constant."""
    return constant(ir.IntegerType.get_signless(1), int(value))


# Index arithmetic (values are sizes and offsets: non-negative, without overflow)


def add(a: Index, b: Index) -> Index:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return _index_op("arith.addi", a, b)


def sub(a: Index, b: Index) -> Index:
    """a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return _index_op("arith.subi", a, b)


def mul(a: Index, b: Index) -> Index:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    return _index_op("arith.muli", a, b)


def product(sizes: Sequence[Index]) -> Index:
    """The product of sizes; 1 if there are none."""
    result: Index = 1
    for size in sizes:
        result = mul(result, size)
    return result


def div(a: Index, b: Index) -> Index:
    """a // b."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if isinstance(b, int) and b == 1 else _index_op("arith.divui", a, b)


def ceildiv(a: Index, b: Index) -> Index:
    """a / b, rounded up."""
    return div(add(a, sub(b, 1)), b)


def round_up(a: Index, multiple: Index) -> Index:
    """The smallest multiple of `multiple` that is not below a."""
    return mul(ceildiv(a, multiple), multiple)


def round_down(a: Index, multiple: Index) -> Index:
    """The largest multiple of `multiple` that is not above a."""
    return mul(div(a, multiple), multiple)


def minimum(a: Index, b: Index) -> Index:
    """The smaller index."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else arith.minui(index(a), index(b))


def maximum(a: Index, b: Index) -> Index:
    """The larger index."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else arith.maxui(index(a), index(b))


_PREDICATES = {
    "eq": arith.CmpIPredicate.eq,
    "ne": arith.CmpIPredicate.ne,
    "lt": arith.CmpIPredicate.ult,
    "le": arith.CmpIPredicate.ule,
    "gt": arith.CmpIPredicate.ugt,
    "ge": arith.CmpIPredicate.uge,
}


def compare(relation: str, a: Index, b: Index) -> Value:
    """An ``i1``: compare two unsigned indices; the relation is eq, ne, lt, le, gt or ge."""
    return arith.cmpi(_PREDICATES[relation], index(a), index(b))


def select(condition: Value, a: Index, b: Index) -> Value:
    """``a if condition else b``; both are evaluated."""
    return arith.select(condition, index(a), index(b))


def all_of(*conditions: Value) -> Value:
    """The conjunction of ``i1`` values."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = arith.andi(result, condition)
    return result


def any_of(*conditions: Value) -> Value:
    """The disjunction of ``i1`` values."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = arith.ori(result, condition)
    return result


def negate(condition: Value) -> Value:
    """The negation of an ``i1``."""
    return arith.xori(condition, flag(True))


# Control flow

AS_WRITTEN = "#llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>"
"""Disables LLVM's vectoriser and unroller: generators vectorise and unroll kernels themselves. LLVM's attempts at
scalar edge loops only add code and compile time."""

TO_UNROLL = "#llvm.loop_annotation<vectorize = <disable = true>>"
"""For main loops, where unrolling saves loop overhead."""

_ANNOTATION = "loop_annotation"
"""The attribute name on LLVM's branches; the conversion to LLVM copies attributes of loops under their names."""


def is_as_written(loop: ir.Operation) -> bool:
    """True if LLVM must not vectorise or unroll a loop (`AS_WRITTEN`)."""
    attributes = loop.attributes
    return _ANNOTATION in attributes and attributes[_ANNOTATION] == ir.Attribute.parse(AS_WRITTEN)


def opaque(i: Index) -> Value:
    """A loop counter that LLVM's loop strength reduction cannot analyse.

    Loop strength reduction tries many ways to step from one address to the next. For a loop with many addresses that
    gains nothing from it (the rows of a square tile, for example), it takes half of LLVM's compile time.
    """
    word = ir.IntegerType.get_signless(64)
    value = arith.index_cast(word, index(i))
    return arith.index_cast(ir.IndexType.get(), llvm.intr_expect(value, constant(word, 0)))


@contextmanager
def loop(lower: Index, upper: Index, step: Index = 1, unroll: bool = False, free: bool = False) -> Iterator[Value]:
    """``for i in range(lower, upper, step)``, yielding i; LLVM may unroll it (`unroll`), or has no limits (`free`)."""
    op = scf.ForOp(index(lower), index(upper), index(step))
    if not free:
        op.attributes[_ANNOTATION] = ir.Attribute.parse(TO_UNROLL if unroll else AS_WRITTEN)
    with ir.InsertionPoint(op.body):
        yield op.induction_variable
        scf.yield_([])


@dataclass
class Carried:
    """A loop that carries values: its induction variable, the iteration arguments, and the final `results`."""

    index: Value
    values: list[Value]
    results: list[Value]

    def give(self, values: Sequence[Index]) -> None:
        """Yield the values of the next iteration (once, last in the body)."""
        scf.yield_([index(value) for value in values])


@contextmanager
def carrying_loop(
    lower: Index, upper: Index, step: Index, initial: Sequence[Index], unroll: bool = True
) -> Iterator[Carried]:
    """A loop whose body must end in ``.give(values)``; after the loop, ``.results`` are the values given last.

    With `unroll` LLVM may unroll it: accumulation over the depth of a GEMM then takes up to a tenth less time.
    """
    op = scf.ForOp(index(lower), index(upper), index(step), [index(value) for value in initial])
    op.attributes[_ANNOTATION] = ir.Attribute.parse(TO_UNROLL if unroll else AS_WRITTEN)
    with ir.InsertionPoint(op.body):
        yield Carried(op.induction_variable, list(op.inner_iter_args), list(op.results))


@contextmanager
def when(condition: Value) -> Iterator[None]:
    """``if condition:`` without results."""
    op = scf.IfOp(condition)
    with ir.InsertionPoint(op.then_block):
        yield
        scf.yield_([])


def branch(condition: Value, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
    """``if condition: then() else: otherwise()``, without results."""
    op = scf.IfOp(condition, has_else=True)
    for block, emit in ((op.then_block, then), (op.else_block, otherwise)):
        with ir.InsertionPoint(block):
            emit()
            scf.yield_([])


def choose(
    condition: Value,
    types: Sequence[Type],
    then: Callable[[], Sequence[Value]],
    otherwise: Callable[[], Sequence[Value]],
) -> list[Value]:
    """``then() if condition else otherwise()`` with results of these types; only one branch runs."""
    op = scf.IfOp(condition, list(types), has_else=True)
    for block, emit in ((op.then_block, then), (op.else_block, otherwise)):
        with ir.InsertionPoint(block):
            scf.yield_(list(emit()))
    return list(op.results)


def switch(value: Index, cases: Sequence[int], emit: Callable[[int], None]) -> None:
    """``emit(case)`` for the case that equals the value; other values do nothing."""
    op = scf.IndexSwitchOp([], index(value), list(cases))
    for block, case in zip((op.default_block, *op.case_blocks), (None, *cases), strict=True):
        with ir.InsertionPoint(block):
            if case is not None:
                emit(case)
            scf.yield_([])


@contextmanager
def function(
    block: Block, name: str, types: Sequence[Type], marks: Sequence[str] = (AS_GENERATED,)
) -> Iterator[list[Value]]:
    """Define a private function without results at the end of `block` (a module's body), and yield its arguments.

    `marks`: its unit attributes.
    """
    with ir.InsertionPoint(block):
        op = func.FuncOp(name, (list(types), []), visibility="private")
        op.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")
        for mark in marks:
            op.attributes[mark] = ir.UnitAttr.get()
        with ir.InsertionPoint(op.add_entry_block()):
            yield list(op.arguments)
            func.return_([])


def is_defined(block: Block, name: str) -> bool:
    """True if `block` (a module's body) has a function of this name."""
    return name in ir.SymbolTable(block.owner.operation)


def call(name: str, arguments: Sequence[Index]) -> None:
    """Call a function without results."""
    func.call([], name, [index(a) for a in arguments])


# Memory


def dim(buffer: Value, axis: int) -> Index:
    """The size of a buffer along an axis; an ``int`` if the type has a static size."""
    type_ = ir.MemRefType(buffer.type)
    return memref.dim(buffer, index(axis)) if type_.is_dynamic_dim(axis) else int(type_.shape[axis])


@dataclass(frozen=True)
class Strided:
    """The strided metadata of a memref: base (rank 0), offset, sizes and strides."""

    base: Value
    offset: Value
    sizes: tuple[Value, ...]
    strides: tuple[Value, ...]


def metadata(buffer: Value) -> Strided:
    """Extract the strided metadata of a memref."""
    rank = ir.MemRefType(buffer.type).rank
    results = list(memref.ExtractStridedMetadataOp(buffer).results)
    return Strided(results[0], results[1], tuple(results[2 : 2 + rank]), tuple(results[2 + rank :]))


def view(
    source: Strided,
    sizes: Sequence[Index],
    strides: Sequence[Index],
    offset: Index = 0,
    unit_inner: bool = False,
) -> Value:
    """A memref of dynamic type over the same memory, `offset` elements further (see `strided_memref`).

    With `unit_inner` the last stride is 1, and the given one is ignored.
    """
    type_ = strided_memref(ir.MemRefType(source.base.type).element_type, len(sizes), unit_inner)
    dynamic_strides = strides[:-1] if unit_inner else strides
    rank = len(sizes)
    return memref.reinterpret_cast(
        type_,
        source.base,
        [index(add(source.offset, offset))],
        [index(s) for s in sizes],
        [index(s) for s in dynamic_strides],
        [DYNAMIC_STRIDE],
        [DYNAMIC] * rank,
        [DYNAMIC_STRIDE] * len(dynamic_strides) + [1] * (rank - len(dynamic_strides)),
    )


def load(buffer: Value, *position: Index) -> Value:
    """One element."""
    return memref.load(buffer, [index(p) for p in position])


def load_if(condition: Value, buffer: Value, *position: Index) -> Value:
    """Load one element if the condition holds; else give 0 without touching memory."""
    type_ = element_of(buffer.type)
    return choose(condition, [type_], lambda: [load(buffer, *position)], lambda: [constant(type_, 0)])[0]


def store(value: Value, buffer: Value, *position: Index) -> None:
    """Write one element."""
    memref.store(value, buffer, [index(p) for p in position])


AHEAD_BYTES = 2048
"""Prefetch distance of loops over long inputs (see `prefetch_ahead`)."""


def prefetch(buffer: Value, *position: Index, write: bool = False) -> None:
    """Prefetch the cache line of an element into L1; a position out of bounds is harmless."""
    memref.prefetch(buffer, [index(p) for p in position], write, 3, True)


def prefetch_ahead(buffer: Value, *position: Index) -> None:
    """Prefetch the cache line of an element into L2.

    L2 is near enough, and hardware prefetchers do not cross pages. A prefetch into L1 would compete for the few misses
    that L1 can have outstanding. (Softmax of 16384 x 1024 takes a quarter less time than with prefetches into L1.)
    """
    memref.prefetch(buffer, [index(p) for p in position], False, 2, True)


@contextmanager
def scratch(element: Type, size: Index, alignment: int = 64) -> Iterator[Value]:
    """Allocate `size` elements (``memref<?xelement>``) on the heap for the duration of the block."""
    buffer = memref.alloc(flat_memref(element), [index(size)], [], alignment=alignment)
    yield buffer
    memref.dealloc(buffer)


def stack(element: Type, *sizes: int) -> Value:
    """A small buffer of fixed size on the stack; allocate it at the beginning of a function."""
    return memref.alloca(ir.MemRefType.get(list(sizes), element), [], [], alignment=64)


# Memory passed to functions as an address: one argument instead of the seven of a memref of rank 2.


def item_bytes(type_: Type) -> int:
    """Bytes of an element in memory."""
    element = element_of(type_)
    return 8 if isinstance(element, ir.IndexType) else max(1, element.width // 8)


def address(parts: Strided, offset: Index) -> Value:
    """The address of the element at index `offset` of a memref, counted from its first element."""
    start = memref.extract_aligned_pointer_as_index(parts.base)
    return arith.addi(start, index(mul(add(parts.offset, offset), item_bytes(parts.base.type))))


def memref_at(
    at: Index,
    element: Type,
    strides: Sequence[Index],
    unit_inner: bool = False,
    sizes: Sequence[Index] = (),
) -> Value:
    """A memref of the given strides whose first element is at an address.

    With `unit_inner` the type fixes the last stride to 1, and the given one is ignored. Without `sizes` the size fields
    are undefined and must not be read.
    """
    word = ir.IntegerType.get_signless(64)
    rank = len(strides)
    shape = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    struct = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{shape})>")
    pointer = llvm.IntToPtrOp(ir.Type.parse("!llvm.ptr"), arith.index_cast(word, index(at))).result
    value = llvm.PoisonOp(struct).result

    def put(item: Value, *position: int) -> None:
        nonlocal value
        place = ir.DenseI64ArrayAttr.get(position)
        value = llvm.InsertValueOp(value, item, place).result

    put(pointer, 0)
    put(pointer, 1)
    put(arith.constant(word, 0), 2)
    for axis, size in enumerate(sizes):
        put(arith.index_cast(word, index(size)), 3, axis)
    for axis, stride in enumerate(strides[:-1] if unit_inner else strides):
        put(arith.index_cast(word, index(stride)), 4, axis)
    cast, type_ = "builtin.unrealized_conversion_cast", strided_memref(element, rank, unit_inner)
    return ir.Operation.create(cast, results=[type_], operands=[value]).result


# Blocked summation: each block has separate accumulators, so that long sums stay accurate.


BLOCK_STEPS = 128
"""Steps of a block; the accumulators of a block are merged into the totals at its end."""


def in_blocks(
    begin: Index,
    end: Index,
    step: int,
    totals: Sequence[Value],
    reduce: Callable[[Index, Index], Sequence[Value]],
    merge: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """Reduce from `begin` to `end` block by block, and merge each result into `totals`.

    `reduce` emits the loop over a block, from its begin to its end in steps of `step`, with accumulators that start at
    neutral elements. `merge` adds its results to the totals.
    """
    size = step * BLOCK_STEPS
    with carrying_loop(begin, end, size, totals) as blocks:
        stop = minimum(add(blocks.index, size), end)
        blocks.give(merge(blocks.values, reduce(blocks.index, stop)))
    return list(blocks.results)


def is_one_block(size: Index, step: int) -> bool:
    """True if `size` is static and at most one block."""
    return isinstance(size, int) and size <= step * BLOCK_STEPS
