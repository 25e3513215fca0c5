"""Merging of a producer and a consumer prim func: two loops, a kernel and a loop, slices, epilogues, transpositions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from relax_mlir.dialects.attributes import (
    EPILOGUE,
    FROM_PROLOGUE,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    PARAMS,
    PATTERN,
    PRIM_FUNC,
    PROLOGUE,
)
from relax_mlir.dialects.prim_funcs import inherit_seal, on_memory
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import arith, func, ir, linalg, memref, tensor
from relax_mlir.mlir_text import functions
from relax_mlir.passes.fusion.prim_loops import (
    AROUND,
    LOOPS,
    RANKS,
    Read,
    is_parallel,
    kind_of,
    loops_of,
    maps_of,
    pieces_of,
    reads_of,
)
from relax_mlir.transform.pipeline import run_native

Size: TypeAlias = "int | ir.Value"


@dataclass(frozen=True)
class Cut:
    """A range of an axis or loop: offset, size and stride."""

    offset: Size
    size: Size
    stride: Size


def separate_slices(function: func.FuncOp) -> None:
    """Move slices of loop results to the loop inputs, and split loops over concatenations by part.

    A loop with several reading loops is cloned for each of them. Other ops are unchanged.
    """
    for loop in loops_of(function):
        _over_parts(loop)
    for op in _ops(function, "tensor.extract_slice"):
        source = defining_op(op.operands[0])
        if source is not None and source.name in LOOPS and _is_plain(source):
            _move_slice(op, source)
    for copy in _ops(function, "linalg.copy"):
        _fold_copy(copy)
    for loop in loops_of(function):
        _clone_for_users(loop)


def write_into(function: func.FuncOp, out: ir.Value) -> None:
    """Redirect loops to write into `out` or slices of it; MLIR's fusion gives them new tensors."""
    returned = entry_block(function).operations[-1].operation.operands[0]
    loop = defining_op(returned)
    if loop is not None and loop.name in LOOPS and is_parallel(loop) and not _updates(loop):
        loop.operands[len(loop.operands) - 1] = out
    pieces = pieces_of(returned)
    if pieces and (base := defining_op(pieces[0].operands[1])) is not None and base.name == "tensor.empty":
        pieces[0].operands[1] = out
    for piece in pieces:
        loop = defining_op(piece.operands[0])
        assert loop is not None
        if len(list(loop.results[0].uses)) > 1:  # equal parts that CSE merged
            with ir.InsertionPoint(piece):
                loop = loop.clone().operation
            piece.operands[0] = loop.results[0]
        loop.move_before(piece)
        with ir.InsertionPoint(loop), loop.location:
            part = _slice(piece.operands[1], _cuts_of(piece), piece.operands[0].type)
        loop.operands[len(loop.operands) - 1] = part


def _updates(loop: ir.Operation) -> bool:
    """True if a loop reads the initial contents of its output."""
    inside = entry_block(loop).arguments
    return loop.name != "linalg.copy" and any(True for _ in inside[len(inside) - 1].uses)


def _ops(function: func.FuncOp, name: str) -> list[ir.Operation]:
    return [op.operation for op in function.entry_block.operations if op.operation.name == name]


def _is_plain(loop: ir.Operation) -> bool:
    """True if a loop is parallel with an identity output map and does not use its iteration indices."""
    inside = [op.operation.name for op in entry_block(loop).operations]
    maps = maps_of(loop)
    return (
        is_parallel(loop)
        and len(loop.results) == 1
        and maps[-1] == ir.AffineMap.get_identity(maps[-1].n_dims)
        and not any(name in ("linalg.index", "tensor.extract") for name in inside)
    )


def _over_parts(loop: ir.Operation) -> None:
    """Replace a loop over a concatenation by a concatenation of loops."""
    if not _is_plain(loop):
        return
    maps = maps_of(loop)
    for number, value in enumerate(list(loop.operands)[:-1]):
        pieces = pieces_of(value)
        axes = _cut_axes(pieces)
        exprs = [maps[number].results[axis] for axis in axes]
        dims = [expr for expr in exprs if isinstance(expr, ir.AffineDimExpr)]
        if not axes or len(dims) < len(exprs):
            continue
        result = loop.operands[len(loop.operands) - 1]
        for piece in pieces:
            cuts = _cuts_of(piece)
            with ir.InsertionPoint(loop), loop.location:
                window = {dim.position: cuts[axis] for dim, axis in zip(dims, axes, strict=True)}
                inputs = [_part(x, m, window) for x, m in zip(list(loop.operands)[:-1], maps, strict=False)]
                inputs[number] = piece.operands[0]
                out = _all_cuts(result, window)
                part = _rebuilt(loop, inputs, _slice(result, out))
                result = _insert(part, result, out)
        loop.results[0].replace_all_uses_with(result)
        loop.erase()
        return


def _cut_axes(pieces: Sequence[ir.Operation]) -> list[int]:
    """The axes along which the pieces are concatenated."""
    found = set()
    for piece in pieces:
        found |= {axis for axis, cut in enumerate(_cuts_of(piece)) if not _is(cut.offset, 0)}
    return sorted(found)


def _move_slice(op: ir.Operation, loop: ir.Operation) -> None:
    """Replace a slice of a loop's result by a loop over slices."""
    type_ = ir.RankedTensorType(op.results[0].type)
    whole = ir.RankedTensorType(loop.results[0].type)
    cuts = _cuts_of(op)
    if type_.rank != whole.rank:
        return
    window = {
        axis: cut
        for axis, cut in enumerate(cuts)
        if not (_is(cut.offset, 0) and _is(cut.stride, 1) and _is(cut.size, _static(whole, axis)))
    }
    with ir.InsertionPoint(op), op.location:
        inputs = [_part(x, m, window) for x, m in zip(list(loop.operands)[:-1], maps_of(loop), strict=False)]
        out = tensor.empty([cut.size for cut in cuts], type_.element_type)
        result = _rebuilt(loop, inputs, out)
        op.results[0].replace_all_uses_with(result)
    op.erase()


def _fold_copy(copy: ir.Operation) -> None:
    """Remove a copy whose operand a loop computes, or whose result a loop reads."""
    source = defining_op(copy.operands[0])
    made = source is not None and source.name in LOOPS
    if made or any(use.owner.operation.name in LOOPS for use in copy.results[0].uses):
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()


def _clone_for_users(loop: ir.Operation) -> None:
    """Clone a loop for each loop that reads it: MLIR fuses only producers with one use."""
    users = [use.owner.operation for use in loop.results[0].uses]
    readers = list(dict.fromkeys(user for user in users if user.name in LOOPS))
    for reader in readers[1:]:
        with ir.InsertionPoint(reader):
            copy = loop.clone()
        for number, value in enumerate(reader.operands):
            if value == loop.results[0]:
                reader.operands[number] = copy.operation.results[0]


def _part(value: ir.Value, map_: ir.AffineMap, window: Mapping[int, Cut]) -> ir.Value:
    """The slice of a loop's input that a window of the iteration space reads."""
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    cut = {
        axis: window[x.position]
        for axis, x in enumerate(map_.results)
        if isinstance(x, ir.AffineDimExpr) and x.position in window
    }
    return _slice(value, _all_cuts(value, cut)) if cut else value


def _all_cuts(value: ir.Value, known: Mapping[int, Cut]) -> list[Cut]:
    """The cuts of all axes of a tensor; axes not in `known` are whole."""
    type_ = ir.RankedTensorType(value.type)
    return [known.get(axis) or Cut(0, _size(value, axis), 1) for axis in range(type_.rank)]


def _size(value: ir.Value, axis: int) -> Size:
    type_ = ir.RankedTensorType(value.type)
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    return tensor.dim(value, arith.constant(ir.IndexType.get(), axis))


def _static(type_: ir.RankedTensorType, axis: int) -> int | None:
    return None if type_.is_dynamic_dim(axis) else int(type_.get_dim_size(axis))


def _is(size: Size, number: int | None) -> bool:
    return isinstance(size, int) and size == number


def _cuts_of(op: ir.Operation) -> list[Cut]:
    """The offsets, sizes and strides of a ``tensor.extract_slice`` or ``tensor.insert_slice``."""
    marker = ir.ShapedType.get_dynamic_size()
    values = list(op.operands)[1 if op.name == "tensor.extract_slice" else 2 :]
    columns: list[list[Size]] = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        static = [int(x) for x in ir.DenseI64ArrayAttr(op.attributes[name])]
        columns.append([values.pop(0) if x == marker else x for x in static])
    return [Cut(*cut) for cut in zip(*columns, strict=True)]


def _mixed(values: Sequence[Size]) -> tuple[list[ir.Value], list[int]]:
    marker = ir.ShapedType.get_dynamic_size()
    return [x for x in values if not isinstance(x, int)], [x if isinstance(x, int) else marker for x in values]


class _Operands(NamedTuple):
    """The arguments that the builders of ``tensor.extract_slice`` and ``tensor.insert_slice`` take for cuts."""

    offsets: list[ir.Value]
    sizes: list[ir.Value]
    strides: list[ir.Value]
    static_offsets: list[int]
    static_sizes: list[int]
    static_strides: list[int]


def _operands(cuts: Sequence[Cut]) -> _Operands:
    offsets, static_offsets = _mixed([cut.offset for cut in cuts])
    sizes, static_sizes = _mixed([cut.size for cut in cuts])
    strides, static_strides = _mixed([cut.stride for cut in cuts])
    return _Operands(offsets, sizes, strides, static_offsets, static_sizes, static_strides)


def _slice(value: ir.Value, cuts: Sequence[Cut], type_: ir.Type | None = None) -> ir.Value:
    marker = ir.ShapedType.get_dynamic_size()
    shape = [cut.size if isinstance(cut.size, int) else marker for cut in cuts]
    element = ir.RankedTensorType(value.type).element_type
    return tensor.extract_slice(type_ or ir.RankedTensorType.get(shape, element), value, *_operands(cuts))


def _insert(part: ir.Value, into: ir.Value, cuts: Sequence[Cut]) -> ir.Value:
    return tensor.insert_slice(part, into, *_operands(cuts))


def _rebuilt(loop: ir.Operation, inputs: Sequence[ir.Value], out: ir.Value) -> ir.Value:
    """The result of the same loop with other inputs and output."""
    if loop.name == "linalg.copy":
        copied: ir.Value = linalg.copy(inputs[0], outs=[out])
        return copied
    copy = loop.clone()
    new = linalg.GenericOp(
        result_tensors=[out.type],
        inputs=list(inputs),
        outputs=[out],
        indexing_maps=loop.attributes["indexing_maps"],
        iterator_types=loop.attributes["iterator_types"],
    )
    entry_block(copy).append_to(new.regions[0])
    copy.operation.erase()
    return new.results[0]


_FUSE = (
    "builtin.module(resolve-ranked-shaped-type-result-dims,canonicalize,cse,"
    "func.func(linalg-fuse-elementwise-ops),canonicalize,cse)"
)
_INLINE = "builtin.module(inline{default-pipeline=},canonicalize,cse,symbol-dce)"
CLEAN = "builtin.module(canonicalize,cse)"
"""The pipeline that removes ops left unused by merging."""


@dataclass(frozen=True)
class Wiring:
    """The mapping of the arguments of two prim funcs to those of the merged prim func.

    For each input of producer and consumer, the position of the merged input (None: the producer's result); the same
    for their ``index`` arguments. `sizes` lists axes of the producer's result, each with the position of the ``index``
    argument that holds its size, for those of `unsized_axes`.
    """

    producer: tuple[int, ...]
    consumer: tuple[int | None, ...]
    producer_index: tuple[int, ...]
    consumer_index: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def inputs(self) -> int:
        """Number of inputs of the merged prim func."""
        return 1 + max((i for i in (*self.producer, *self.consumer) if i is not None), default=-1)


Merge: TypeAlias = Callable[[ir.Module, func.FuncOp, func.FuncOp, Wiring, str], "func.FuncOp | None"]
"""Creates the prim func that does the work of a producer and then of a consumer; None if that is impossible."""


def declares_result(producer: func.FuncOp, consumer: func.FuncOp, numbers: Sequence[int]) -> bool:
    """True if the inputs `numbers` of a prim func on tensors have the type of another one's result.

    A prim func of a user may declare symbols where its calls have numbers.
    """
    inputs = [consumer.type.inputs[number] for number in numbers]
    results = producer.type.results
    return not results or all(type_ == results[0] for type_ in inputs if isinstance(type_, ir.RankedTensorType))


def is_contraction(function: func.FuncOp) -> bool:
    """True if a prim func accumulates into a zeroed output by one linalg op, and does nothing else."""
    attributes = function.attributes
    if PRIM_FUNC not in attributes or PATTERN not in attributes or KERNEL in attributes or function.is_external:
        return False
    if ir.StringAttr(attributes[PATTERN]).value != "out_fusable" or len(function.type.results) != 1:
        return False
    ops = [op.operation for op in entry_block(function).operations if op.operation.name not in AROUND]
    while len(ops) > 2 and _makes_padding(ops[0], function):
        ops = ops[1:]
    if [op.name for op in ops[:1]] != ["linalg.fill"] or len(ops) != 2 or len(ops[1].results) != 1:
        return False
    total, returned = ops[1], entry_block(function).operations[-1].operation.operands[0]
    return bool(returned.owner == total and total.operands[len(total.operands) - 1].owner == ops[0])


def _makes_padding(op: ir.Operation, function: func.FuncOp) -> bool:
    """True if an op belongs to copying an input into a tensor of zeros."""
    if op.name == "linalg.fill":
        used = [use.owner.operation for use in op.results[0].uses]
        return [user.name for user in used] == ["tensor.insert_slice"]
    if op.name == "tensor.insert_slice":
        return op.operands[0] in list(function.arguments) and _is_filled(op.operands[1])
    return op.name == "arith.addi"


def _is_filled(value: ir.Value) -> bool:
    made = defining_op(value)
    return made is not None and made.name == "linalg.fill"


def merge_epilogue(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: the contraction `producer`, then the loop `consumer` over its result.

    Both results have the same shape. If their dtypes are equal, the loop works in place; otherwise the accumulators get
    a separate tensor. None if the loop reads the result in another order.
    """
    reads = _reads_in_place(consumer, wiring)
    if not reads:
        return None
    same = producer.type.results[0] == consumer.type.results[0]
    scratch = inlined(producer, consumer, wiring, symbol, None if same else reads)
    merged = named(scratch, symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    merged.attributes[PATTERN] = producer.attributes[PATTERN]
    return put_before(consumer, merged)


def merge_row_epilogue(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: `producer`, which a row kernel replaces, then the loop `consumer`.

    Both results have the same type; the loop works in place. None if it reads the result in another order.
    """
    if not _reads_in_place(consumer, wiring) or producer.type.results[0] != consumer.type.results[0]:
        return None
    scratch = inlined(producer, consumer, wiring, symbol, mark=EPILOGUE)
    merged = named(scratch, symbol)
    if not any(EPILOGUE in loop.attributes for loop in loops_of(merged)):
        return None  # the result has no elements
    for name in (PRIM_FUNC, PATTERN, KERNEL, KERNEL_ATTRS):
        merged.attributes[name] = producer.attributes[name]
    given: Iterable[int] = range(len(wiring.producer))
    if KERNEL_INPUTS in producer.attributes:
        given = ir.DenseI64ArrayAttr(producer.attributes[KERNEL_INPUTS])
    numbers = [FROM_PROLOGUE if number == FROM_PROLOGUE else wiring.producer[number] for number in given]
    merged.attributes[KERNEL_INPUTS] = ir.DenseI64ArrayAttr.get(numbers)
    placed = put_before(consumer, merged)
    inherit_seal(placed, producer)
    return placed


def _reads_in_place(consumer: func.FuncOp, wiring: Wiring) -> list[Read]:
    """The reads of the producer's result by a loop; empty unless it reads each element where it writes."""
    reads = reads_of(consumer, [i for i, number in enumerate(wiring.consumer) if number is None])
    if kind_of(consumer) != "loop" or not reads:
        return []
    in_place = ir.AffineMap.get_identity(ir.RankedTensorType(consumer.type.results[0]).rank)
    maps = [*(read.map for read in reads), maps_of(reads[0].loop)[-1]]
    return reads if all(map_ == in_place for map_ in maps) and not any(read.part for read in reads) else []


def merge_prologue(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: the loop `producer`, then `consumer`, which a row kernel replaces.

    The kernel's first input is the result of the loop, stored in the memory of the final result. None if another input
    is the loop's result, too, or if the loop folds away as a pure copy.
    """
    first, *others = wiring.consumer
    numbers = [number for number in others if number is not None]
    if first is not None or len(numbers) != len(others):
        return None
    scratch = inlined(producer, consumer, wiring, symbol)
    merged = named(scratch, symbol)
    prologue = loops_of(merged)[0]
    if prologue.operands[len(prologue.operands) - 1] != merged.arguments[wiring.inputs]:
        return None
    prologue.attributes[PROLOGUE] = ir.UnitAttr.get()
    for name in (PRIM_FUNC, PATTERN, KERNEL, KERNEL_ATTRS):
        merged.attributes[name] = consumer.attributes[name]
    merged.attributes[KERNEL_INPUTS] = ir.DenseI64ArrayAttr.get([FROM_PROLOGUE, *numbers])
    placed = put_before(consumer, merged)
    inherit_seal(placed, consumer)
    return placed


def merge(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module` that does the work of `producer`, then of `consumer`.

    None if MLIR's linalg fusion does not merge their loops.
    """
    reads = reads_of(consumer, [i for i, number in enumerate(wiring.consumer) if number is None])
    if not reads:
        return None
    scratch = inlined(producer, consumer, wiring, symbol, reads)
    merged = named(scratch, symbol)
    separate_slices(merged)
    run_native(_FUSE, scratch)
    merged = named(scratch, symbol)
    write_into(merged, merged.arguments[wiring.inputs])
    run_native(CLEAN, scratch)
    merged = named(scratch, symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    patterns = [ir.StringAttr(f.attributes[PATTERN]).value for f in (producer, consumer)]
    rank = patterns[1] if patterns[1] not in RANKS else max(patterns, key=RANKS.index)
    merged.attributes[PATTERN] = ir.StringAttr.get(rank)
    if kind_of(merged) is None or len(loops_of(merged)) > max(map(len, map(loops_of, (producer, consumer)))):
        return None
    return put_before(consumer, merged)


def inlined(
    producer: func.FuncOp,
    consumer: func.FuncOp,
    wiring: Wiring,
    symbol: str,
    reads: Sequence[Read] | None = None,
    mark: str | None = None,
) -> ir.Module:
    """A separate module with a function `symbol` that does the work of both.

    `reads` is as for `_caller`; the loop of `consumer` gets the attribute `mark`.
    """
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        for function in (producer, consumer):
            function.operation.clone()
        _caller(producer, consumer, wiring, symbol, reads)
    if mark:
        (loop,) = loops_of(named(scratch, consumer.name.value))
        loop.attributes[mark] = ir.UnitAttr.get()
    run_native(_INLINE, scratch)
    return scratch


def put_before(consumer: func.FuncOp, merged: func.FuncOp) -> func.FuncOp:
    """Copy a function as private into the module of `consumer`, in front of it."""
    merged.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(consumer):
        copy: func.FuncOp = merged.operation.clone().opview
    return copy


def named(module: ir.Module, symbol: str) -> func.FuncOp:
    """The function of a module with this symbol."""
    return functions(module)[symbol]


def _caller(
    producer: func.FuncOp,
    consumer: func.FuncOp,
    wiring: Wiring,
    symbol: str,
    reads: Sequence[Read] | None = None,
) -> None:
    """Create a function that calls `producer`, then `consumer`, to be inlined.

    `reads`: the reads of the result of `producer` by `consumer`; if None, both write the same tensor.
    """
    ins: dict[int, ir.Type] = {}
    for function, numbers in ((producer, wiring.producer), (consumer, wiring.consumer)):
        for number, type_ in zip(numbers, function.type.inputs, strict=False):
            if number is not None:
                ins[number] = type_
    given = dict(wiring.sizes)
    count = 1 + max((*wiring.producer_index, *wiring.consumer_index, *given.values()), default=-1)
    result = consumer.type.results[0]
    types = [*(ins[i] for i in range(len(ins))), result, *[ir.IndexType.get()] * count]
    caller = func.FuncOp(symbol, ir.FunctionType.get(types, [result]))
    arguments = list(caller.add_entry_block().arguments)
    inputs, out, index = arguments[: len(ins)], arguments[len(ins)], arguments[len(ins) + 1 :]
    with ir.InsertionPoint(caller.entry_block):
        arguments = [inputs[i] for i in wiring.producer]
        known = {axis: index[number] for axis, number in given.items()}
        scratch = out if reads is None else _scratch(producer, consumer, arguments, out, reads, known)
        first = _call(producer, [*arguments, scratch, *(index[i] for i in wiring.producer_index)])
        arguments = [first if i is None else inputs[i] for i in wiring.consumer]
        last = first if reads is None else out
        func.ReturnOp([_call(consumer, [*arguments, last, *(index[i] for i in wiring.consumer_index)])])


def _scratch(
    producer: func.FuncOp,
    consumer: func.FuncOp,
    inputs: Sequence[ir.Value],
    out: ir.Value,
    reads: Sequence[Read],
    known: Mapping[int, ir.Value],
) -> ir.Value:
    """An uninitialised tensor for the result of `producer`, sized by the way `consumer` reads it."""
    type_ = ir.RankedTensorType(producer.type.results[0])

    def size(axis: int) -> int | ir.Value:
        if not type_.is_dynamic_dim(axis):
            return int(type_.get_dim_size(axis))
        if axis in known:
            return known[axis]
        source, at = _size_of(producer, consumer, reads, axis) or (None, 0)
        value = out if source is None else inputs[source]
        return tensor.dim(value, arith.constant(ir.IndexType.get(), at))

    return tensor.empty([size(axis) for axis in range(type_.rank)], type_.element_type)


def unsized_axes(producer: func.FuncOp, consumer: func.FuncOp, numbers: Sequence[int]) -> list[int]:
    """The axes of the result of `producer` whose sizes no tensor argument of the merged prim func has.

    `numbers`: the inputs of `consumer` that are that result.
    """
    type_ = ir.RankedTensorType(producer.type.results[0])
    reads = reads_of(consumer, numbers) or []
    return [
        axis
        for axis in range(type_.rank)
        if type_.is_dynamic_dim(axis) and _size_of(producer, consumer, reads, axis) is None
    ]


def _size_of(
    producer: func.FuncOp, consumer: func.FuncOp, reads: Sequence[Read], axis: int
) -> tuple[int | None, int] | None:
    """The source of the size of an axis of `producer`'s result: an input's position (None: the result) and its axis."""
    for read in reads:
        expr = read.map.results[axis]
        own = maps_of(read.loop)[-1]
        whole = kind_of(consumer) == "loop" and own == ir.AffineMap.get_identity(own.n_dims)
        if read.part is None and whole and isinstance(expr, ir.AffineDimExpr):
            return None, expr.position
    loops = loops_of(producer)
    if len(loops) != 1:
        return None
    for value, map_ in zip(list(loops[0].operands)[:-1], maps_of(loops[0]), strict=False):
        if isinstance(value.owner, ir.Block):
            for at, expr in enumerate(map_.results):
                if isinstance(expr, ir.AffineDimExpr) and expr.position == axis:
                    return ir.BlockArgument(value).arg_number, at
    return None


def _call(function: func.FuncOp, arguments: Sequence[ir.Value]) -> ir.Value:
    return func.CallOp(function.type.results, function.name.value, list(arguments)).results[0]


ELEMENTWISE = ("arith.", "math.")


def on_buffers(function: func.FuncOp) -> bool:
    """True if a prim func works on buffers, as schedules and user-written prim funcs do."""
    return PRIM_FUNC in function.attributes and not function.type.results and not function.is_external


def against_stored_epilogue(producer: func.FuncOp, result: int, consumer: func.FuncOp, reads: Sequence[int]) -> str:
    """The reason against applying the loop `consumer` at the stores of `producer` to its argument `result`; else "".

    The loop must see final elements, so `producer` may only store to the result. `reads`: the inputs of `consumer` that
    are the result.
    """
    if not on_buffers(producer):
        return f"{producer.name.value} does not work on memory"
    uses = list(producer.arguments[result].uses)
    if any(use.owner.operation.name not in ("memref.store", "memref.dim") for use in uses):
        return f"{producer.name.value} reads its result, or passes it on"
    if not any(use.owner.operation.name == "memref.store" for use in uses):
        return f"{producer.name.value} stores nothing"
    return _against_loop(consumer, reads)


def _against_loop(consumer: func.FuncOp, numbers: Sequence[int]) -> str:
    """The reason why a loop cannot be computed element by element; "" if it can."""
    found = reads_of(consumer, numbers)
    if kind_of(consumer) != "loop" or not found:
        return "not one loop over the result"
    (loop,) = loops_of(consumer)
    if loop.name != "linalg.generic":
        return "it copies"
    *maps, output = maps_of(loop)
    in_place = ir.AffineMap.get_identity(output.n_dims)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if output != in_place or any(read.part is not None or read.map != in_place for read in found):
        return "read in another order"
    if not all(isinstance(expr, plain) for map_ in maps for expr in map_.results):
        return "read in a computed order"
    block = entry_block(loop)
    inputs = list(loop.operands)[:-1]
    if not all(isinstance(value.owner, ir.Block) or not _is_tensor(value) for value in inputs):
        return "a slice of a tensor is read"
    if list(list(block.arguments)[-1].uses):
        return "it needs what its result was before"
    for view in list(block.operations)[:-1]:
        op = view.operation
        if len(op.regions) or not (op.name.startswith(ELEMENTWISE) or op.name == "linalg.index"):
            return f"it holds {op.name}"
        if not all(map(_can_copy, op.operands)):
            return "it uses what is computed before it"
    return ""


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _can_copy(value: ir.Value) -> bool:
    """True if a value is a scalar argument, or scalar arithmetic on such values, and can be cloned."""
    op = defining_op(value)
    if op is None:
        return not _is_tensor(value)
    if op.name == "tensor.dim":
        return isinstance(op.operands[0].owner, ir.Block)
    known = op.name.startswith(ELEMENTWISE) or op.name == "linalg.index"
    return known and not len(op.regions) and all(map(_can_copy, op.operands))


def merge_into_stores(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: `producer`, which applies the loop `consumer` to elements at the store.

    The result works on buffers. Requires that `against_stored_epilogue` returns "".
    """
    merged: func.FuncOp = producer.operation.clone().opview
    merged.operation.attributes["sym_name"] = ir.StringAttr.get(symbol)
    placed = put_before(consumer, merged)
    merged.operation.erase()
    for name in ("arg_attrs", PARAMS):
        if name in placed.attributes:
            del placed.attributes[name]
    block, old = entry_block(placed), list(placed.arguments)
    inputs = len(wiring.producer)
    types: dict[int, ir.Type] = {}
    for number, type_ in zip(wiring.consumer, consumer.type.inputs, strict=False):
        if number is not None:
            types[number] = on_memory(type_)
    types |= dict(zip(wiring.producer, producer.type.inputs, strict=False))
    before = ir.MemRefType(producer.type.inputs[inputs])
    element = ir.MemRefType(on_memory(consumer.type.results[0])).element_type
    out_type = ir.MemRefType.get(before.shape, element)
    count = 1 + max((*wiring.producer_index, *wiring.consumer_index), default=-1)
    given = [types[number] for number in range(len(types))]
    all_types = [*given, out_type, *[ir.IndexType.get()] * count]
    where = placed.operation.location
    new = [block.add_argument(type_, where) for type_ in all_types]
    ins, out, index = new[: len(given)], new[len(given)], new[len(given) + 1 :]
    kept = [*(ins[number] for number in wiring.producer), out, *(index[n] for n in wiring.producer_index)]
    stores = [use.owner.operation for use in old[inputs].uses if use.owner.operation.name == "memref.store"]
    for value, other in zip(old, kept, strict=True):
        value.replace_all_uses_with(other)
    for _ in old:
        block.erase_argument(0)
    placed.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(all_types, []))
    for store in stores:
        values = [None if number is None else ins[number] for number in wiring.consumer]
        _Element(consumer, store, values, out, [index[n] for n in wiring.consumer_index]).emit()
    return placed


@dataclass
class _Element:
    """One element of a loop, computed where its input is stored.

    `inputs`: the buffers of the loop's inputs, None for the stored value; `out`: the buffer of its result; `index`: the
    ``index`` arguments of its prim func.
    """

    function: func.FuncOp
    store: ir.Operation
    inputs: Sequence[ir.Value | None]
    out: ir.Value
    index: Sequence[ir.Value]
    known: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def emit(self) -> None:
        """Store the computed element in place of the original store."""
        (loop,) = loops_of(self.function)
        indices = list(self.store.operands)[2:]
        block = entry_block(loop)
        with ir.InsertionPoint(self.store), self.store.location:
            for argument, value, map_ in zip(block.arguments, loop.operands, maps_of(loop), strict=True):
                if value != loop.operands[len(loop.operands) - 1]:
                    self.known[argument] = self._input(value, map_, indices)
            *body, last = [view.operation for view in block.operations]
            for op in body:
                if op.name == "linalg.index":
                    self.known[op.results[0]] = indices[ir.IntegerAttr(op.attributes["dim"]).value]
                else:
                    self._clone(op)
            memref.store(self._copied(last.operands[0]), self.out, indices)
        self.store.erase()

    def _input(self, value: ir.Value, map_: ir.AffineMap, indices: Sequence[ir.Value]) -> ir.Value:
        if not _is_tensor(value):
            return self._copied(value)
        buffer = self.inputs[ir.BlockArgument(value).arg_number]
        if buffer is None:
            return self.store.operands[0]
        place = [
            indices[expr.position]
            if isinstance(expr, ir.AffineDimExpr)
            else arith.constant(ir.IndexType.get(), ir.AffineConstantExpr(expr).value)
            for expr in map_.results
        ]
        return memref.load(buffer, place)

    def _copied(self, value: ir.Value) -> ir.Value:
        """Clone a value of the loop's function to the store."""
        if value in self.known:
            return self.known[value]
        op = defining_op(value)
        if op is None:
            self.known[value] = self.index[ir.BlockArgument(value).arg_number - len(self.inputs) - 1]
        elif op.name == "tensor.dim":
            number = ir.BlockArgument(op.operands[0]).arg_number
            buffer = self.inputs[number] if number < len(self.inputs) else None
            self.known[value] = memref.dim(self.out if buffer is None else buffer, self._copied(op.operands[1]))
        else:
            self._clone(op)
        return self.known[value]

    def _clone(self, op: ir.Operation) -> None:
        operands = [self._copied(operand) for operand in op.operands]
        copy = op.clone()
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        self.known.update(zip(op.results, copy.results, strict=True))


def against_transpose(producer: func.FuncOp, consumer: func.FuncOp, numbers: Sequence[int]) -> str:
    """The reason why a contraction cannot read its inputs `numbers` without the permuted copy; "" if it can.

    Contraction kernels take matrices with any strides, under two conditions. Axes that are merged (the rows of several
    batches, say) must be adjacent in memory in the same order, and a batch axis must not be the contiguous one.
    """
    order = permutation_of(producer)
    if order is None or not is_contraction(consumer):
        return "no permutation of an operand of a contraction"
    if not isinstance(ir.RankedTensorType(producer.type.results[0]).element_type, ir.FloatType):
        return "no kernel for contractions of integers"
    _, total = _fill_and_sums(consumer)
    maps = [_dims(attribute.value) for attribute in linalg.get_indexing_maps(total) or []]
    if len(maps) != 3 or None in maps:
        return "not a contraction of two operands"
    given = [consumer.arguments[number] for number in numbers]
    places = [i for i, value in enumerate(list(total.operands)[:2]) if value in given]
    if len(places) != len(given):
        return "also used for something else than the contraction"
    left, right, out = (set(dims or ()) for dims in maps)
    for place in places:
        own, other = maps[place] or (), right if place == 0 else left
        before = [own[axis] for axis in order]
        if own and before[-1] in other & out:
            return "its last axis counts matrices"
        for kind in (other - out, out - other):  # depth; rows, or columns
            some = [dim for dim in own if dim in kind]
            first = before.index(some[0]) if some else 0
            if before[first : first + len(some)] != some:
                return "axes that are one for the contraction would lie apart"
    return ""


def merge_transpose(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: the contraction `consumer` on the unpermuted input of `producer`."""
    scratch = inlined(producer, consumer, wiring, symbol, [])
    merged = named(scratch, symbol)
    copies, total = loops_of(merged), _fill_and_sums(merged)[1]
    order = permutation_of(producer)
    assert order is not None
    operands, maps = list(total.operands), [attribute.value for attribute in linalg.get_indexing_maps(total)]
    for place, value in enumerate(operands):
        if copies and value == copies[0].results[0]:  # an identity permutation leaves no copy
            results = [maps[place].results[axis] for axis in order]
            operands[place] = copies[0].operands[0]
            maps[place] = ir.AffineMap.get(maps[place].n_dims, 0, results)
    _replace(total, operands, maps)
    run_native(CLEAN, scratch)
    merged = named(scratch, symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    merged.attributes[PATTERN] = consumer.attributes[PATTERN]
    return put_before(consumer, merged) if is_contraction(merged) else None


def permutation_of(function: func.FuncOp) -> list[int] | None:
    """The result axis of each input axis, if a prim func only copies one permuted tensor; else None."""
    loops = loops_of(function)
    if kind_of(function) != "loop" or len(loops[0].operands) != 2 or loops[0].name != "linalg.generic":
        return None
    read, written = map(_dims, maps_of(loops[0]))
    body = entry_block(loops[0])
    if [op.name for op in body.operations] != ["linalg.yield"] or body.operations[0].operands[0] != body.arguments[0]:
        return None
    if read is None or written is None or sorted(read) != sorted(written) or len(set(read)) != len(read):
        return None
    return [written.index(dim) for dim in read]


def _dims(map_: ir.AffineMap) -> list[int] | None:
    """The loop dimension that indexes each axis; None if an index is computed."""
    exprs = list(map_.results)
    dims = [x.position for x in exprs if isinstance(x, ir.AffineDimExpr)]
    return dims if len(dims) == len(exprs) else None


def _fill_and_sums(function: func.FuncOp) -> tuple[ir.Operation, ir.Operation]:
    """The last two linalg ops of a contraction: the fill and the accumulation."""
    ops = [op.operation for op in function.entry_block.operations if op.operation.name.startswith("linalg.")]
    return ops[-2], ops[-1]


def _replace(total: ir.Operation, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap]) -> None:
    """Replace a contraction by a ``linalg.generic`` with the same body."""
    out = _dims(maps[-1]) or ()
    kinds = ["parallel" if dim in out else "reduction" for dim in range(maps[0].n_dims)]
    body = entry_block(total)
    with ir.InsertionPoint(total), total.location:
        generic = linalg.GenericOp(
            [total.results[0].type],
            list(operands[:-1]),
            [operands[-1]],
            ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
            ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]),
        )
        block = generic.regions[0].blocks.append(*(argument.type for argument in body.arguments))
    known: dict[ir.Value, ir.Value] = dict(zip(body.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in body.operations:
            new = op.operation.clone()
            for position, value in enumerate(op.operands):
                new.operands[position] = known.get(value, value)
            known.update(zip(op.results, new.results, strict=True))
    total.results[0].replace_all_uses_with(generic.results[0])
    total.erase()
