"""Epilogues of GEMMs: elementwise operations on each tile of C, directly after its accumulation.

GEMM kernels are independent of the epilogue. They receive it as a function and its parameter block, and call it for
each tile just stored, while the tile is in L1. An epilogue reads C and other matrices, rows, columns or scalars, and
writes C or a matrix of another element type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from relax_mlir.ir_queries import defining_op, entry_block, is_a
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.emit import item_bytes, memref_at
from relax_mlir.mlir import arith, func, ir, linalg, memref

# Match the operation after a GEMM that is its epilogue.


PURE = ("arith.", "index.", "memref.dim", "memref.subview", "memref.reinterpret_cast", "memref.cast")
"""Name prefixes of operations that neither read nor write memory."""


def match_epilogue(operation: ir.Operation, c: e.Value) -> ir.Operation | None:
    """The elementwise `linalg.generic` directly after an operation that writes `c`, if it can be its epilogue."""
    following = [op.operation for op in operation.block.operations]
    for op in following[following.index(operation) + 1 :]:
        if op.name == "linalg.generic":
            return op if _is_elementwise_on(op, c) else None
        if not op.name.startswith(PURE):
            return None
    return None


def scalars_of(body: ir.Operation) -> list[e.Value]:
    """The scalars that a generic reads, without constants: inputs, and values captured by its region."""
    return [value for value in _scalars(body) if not _is_constant(value)]


def constants_of(body: ir.Operation) -> list[e.Value]:
    """The constants that a generic reads."""
    return [value for value in _scalars(body) if _is_constant(value)]


def _scalars(body: ir.Operation) -> list[e.Value]:
    region = entry_block(body)
    inside = {*region.arguments, *(result for op in region.operations for result in op.results)}
    given = [x for x in body.operands if not isinstance(x.type, ir.MemRefType)]
    captured = [x for op in region.operations for x in op.operands if x not in inside]
    return list(dict.fromkeys([*given, *captured]))


def _is_constant(value: e.Value) -> bool:
    return is_a(defining_op(value), arith.ConstantOp)


def _is_elementwise_on(op: ir.Operation, c: e.Value) -> bool:
    """True if a generic is elementwise in `c` and its output, has only `arith` and `math` ops, and no alias of `c`."""
    generic = op.opview
    rank = ir.MemRefType(c.type).rank
    if list(op.results) or len(generic.outputs) != 1 or c not in list(op.operands):
        return False
    if any("parallel" not in str(kind) for kind in op.attributes["iterator_types"]):
        return False
    identity = ir.AffineMap.get_identity(rank)
    maps = [attribute.value for attribute in linalg.get_indexing_maps(op)]
    for operand, map_ in zip(op.operands, maps, strict=True):
        if operand in (c, generic.outputs[0]) and map_ != identity:
            return False
    if any(root(x) == root(c) for x in op.operands if x != c and isinstance(x.type, ir.MemRefType)):
        return False
    inside = [view.operation for view in entry_block(op).operations]
    plain = all(x.name.startswith(("arith.", "math.", "linalg.yield")) for x in inside)
    return plain and all(_is_scalar(x.type) for x in _scalars(op))


def root(buffer: e.Value) -> e.Value:
    """The buffer that a chain of views refers to."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.name.startswith("memref."):
        if buffer.owner.name in ("memref.alloc", "memref.alloca"):
            break
        buffer = buffer.owner.operands[0]
    return buffer


def writes(fill: ir.Operation, value: float) -> bool:
    """True if a fill writes this constant."""
    number = defining_op(fill.operands[0])
    return number is not None and is_a(number, arith.ConstantOp) and bool(number.opview.literal_value == value)


def _is_scalar(type_: e.Type) -> bool:
    return isinstance(type_, (ir.IndexType, ir.FloatType, ir.IntegerType))


NOTHING = "relax.gemm.nothing"
"""The name of the empty epilogue."""

VECTORS_PER_BODY = "relax.vectors_per_body"
"""Attribute of a generic: the usual number of vectors in its rows."""

WORDS = 3
"""Index values per matrix in the parameter block: address, row stride, column stride (both in elements)."""


def types() -> list[e.Type]:
    """The types of the arguments that carry an epilogue (`Epilogue.arguments`)."""
    return [_function_type(), words_type(), ir.IntegerType.get_signless(1)]


def words_type() -> e.Type:
    """The type of a parameter block as an argument."""
    return e.flat_memref(ir.IndexType.get())


def _function_type() -> e.Type:
    return ir.FunctionType.get([words_type(), *[ir.IndexType.get()] * 4], [])


@dataclass(frozen=True)
class Epilogue:
    """The kernel arguments that carry an epilogue.

    `rounds`: tiles round their accumulators and store them to C, whose memory then has the operands' element type,
    whatever the type of C says (see `gemm_micro`). The epilogue is empty in that case.
    """

    function: e.Value
    words: e.Value
    rounds: e.Value

    @property
    def arguments(self) -> list[e.Value]:
        return [self.function, self.words, self.rounds]

    def when(self, condition: e.Value) -> e.Value:
        """True if the condition holds and the epilogue is not empty: the empty one has no parameters."""
        return e.all_of(condition, e.compare("ne", e.dim(self.words, 0), 0))

    def run(self, row: e.Index, rows: e.Index, column: e.Index, columns: e.Index) -> None:
        """Apply the epilogue to `rows` x `columns` elements of C from a position."""
        place = [e.index(x) for x in (row, rows, column, columns)]
        func.CallIndirectOp([], self.function, [self.words, *place])


def nothing(block: e.Block, rounds: bool = False) -> Epilogue:
    """The empty epilogue; with `rounds`, tiles still round.

    Its function is defined at the end of a module's body on first use.
    """
    if not e.is_defined(block, NOTHING):
        with function(block, NOTHING):
            pass
    empty = memref.alloca(ir.MemRefType.get([0], ir.IndexType.get()), [], [])
    return Epilogue(reference(NOTHING), memref.cast(words_type(), empty), e.flag(rounds))


def reference(name: str) -> e.Value:
    """The function of an epilogue as a value."""
    return func.ConstantOp(_function_type(), ir.FlatSymbolRefAttr.get(name)).result


@dataclass(frozen=True)
class Matrix:
    """An operand of an epilogue: its element type, the loops that move it, and whether its columns are contiguous."""

    element: e.Type
    by_row: bool
    by_column: bool
    unit_inner: bool


def reserve_words(matrices: int, scalars: int) -> e.Value:
    """Allocate the parameter block of an epilogue on the stack (outside of loops)."""
    return memref.alloca(ir.MemRefType.get([matrices * WORDS + scalars], ir.IndexType.get()), [], [])


def write_words(words: e.Value, matrices: Sequence[Sequence[e.Index]], scalars: Sequence[e.Value]) -> e.Value:
    """Write the parameter block: address and strides per matrix, then the scalars; return the kernel argument."""
    values = [*(word for matrix in matrices for word in matrix), *map(_as_word, scalars)]
    for position, value in enumerate(values):
        e.store(e.index(value), words, position)
    return memref.cast(words_type(), words)


def function(block: e.Block, name: str) -> AbstractContextManager[list[e.Value]]:
    """Define an epilogue's function; yields its parameter block, row, rows, column and columns."""
    return e.function(block, name, _function_type().inputs)


def emit_epilogue(block: e.Block, name: str, body: ir.Operation, matrices: Sequence[Matrix], vectors: int) -> None:
    """Emit an epilogue's function at the end of a module's body.

    `body` is the `linalg.generic` that the epilogue executes; `matrices` are its memref operands in order, the output
    last. The parameter block has the matrices, then the scalars of the body. Tiles are usually `vectors` vectors wide.
    """
    scalars = scalars_of(body)
    with function(block, name) as (words, *place):
        buffers = [part(matrix, words, number, *place) for number, matrix in enumerate(matrices)]
        loaded = [e.load(words, len(matrices) * WORDS + i) for i in range(len(scalars))]
        given = zip(loaded, scalars, strict=True)
        known = {scalar: _from_word(word, scalar.type) for word, scalar in given}
        known |= {value: value.owner.clone().results[0] for value in constants_of(body)}
        generic = _clone_on(body, iter(buffers), iter(matrices), known)
        generic.attributes[VECTORS_PER_BODY] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), vectors)


def _clone_on(
    body: ir.Operation, buffers: Iterator[e.Value], matrices: Iterator[Matrix], known: dict[e.Value, e.Value]
) -> ir.Operation:
    """Clone a generic over two parallel loops: rows and columns."""
    generic: ir.Operation = body.clone().operation
    maps = []
    for position, operand in enumerate(body.operands):
        moved: list[bool] = []
        if isinstance(operand.type, ir.MemRefType):
            matrix = next(matrices)
            generic.operands[position] = next(buffers)
            moved = [matrix.by_row, matrix.by_column]
        else:
            generic.operands[position] = known[operand]
        dims = [ir.AffineDimExpr.get(d) for d, moves in enumerate(moved) if moves]
        maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(2, 0, dims)))
    generic.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic.attributes["iterator_types"] = ir.ArrayAttr.get([parallel, parallel])
    for op in entry_block(generic).operations:
        for position, operand in enumerate(op.operands):
            if operand in known:
                op.operation.operands[position] = known[operand]
    return generic


def part(
    matrix: Matrix,
    words: e.Value,
    number: int,
    row: e.Value,
    rows: e.Value,
    column: e.Value,
    columns: e.Value,
) -> e.Value:
    """The block of a matrix at the given rows and columns, of rank 2, 1 or 0; `number` is its parameter index."""
    start, row_stride, column_stride = (e.load(words, number * WORDS + i) for i in range(WORDS))
    offset: e.Index = 0
    sizes, strides = [], []
    for moves, (first, count), stride in (
        (matrix.by_row, (row, rows), row_stride),
        (matrix.by_column, (column, columns), 1 if matrix.unit_inner else column_stride),
    ):
        if moves:
            offset = e.add(offset, e.mul(first, stride))
            sizes.append(count)
            strides.append(stride)
    at = arith.addi(start, e.index(e.mul(offset, item_bytes(matrix.element))))
    return memref_at(at, matrix.element, strides, matrix.unit_inner, sizes)


def _as_word(value: e.Value) -> e.Value:
    """The bits of a scalar as an index."""
    if isinstance(value.type, ir.IndexType):
        return value
    bits = value
    if isinstance(value.type, ir.FloatType):
        bits = arith.bitcast(ir.IntegerType.get_signless(value.type.width), value)
    return arith.index_castui(ir.IndexType.get(), bits)


def _from_word(word: e.Value, type_: e.Type) -> e.Value:
    """The scalar that `_as_word` encoded."""
    if isinstance(type_, ir.IndexType):
        return word
    bits = arith.index_castui(ir.IntegerType.get_signless(type_.width), word)
    return arith.bitcast(type_, bits) if isinstance(type_, ir.FloatType) else bits
