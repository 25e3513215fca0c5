"""Merging of a producer and a consumer prim func: two loops, or a kernel and a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.dialects.attributes import (
    EPILOGUE,
    FROM_PROLOGUE,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    PATTERN,
    PRIM_FUNC,
    PROLOGUE,
)
from relax_mlir.dialects.kernel_seals import inherit_seal
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import arith, func, ir, tensor
from relax_mlir.mlir_text import functions
from relax_mlir.passes.fusion.prim_loops import AROUND, RANKS, Read, kind_of, loops_of, maps_of, reads_of
from relax_mlir.passes.fusion.prim_slices import separate_slices, write_into
from relax_mlir.transform.pipeline import run_native

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


def is_contraction(function: func.FuncOp) -> bool:
    """True if a prim func accumulates into a zeroed output by one linalg op, and does nothing else."""
    attributes = function.attributes
    if (
        PRIM_FUNC not in attributes
        or PATTERN not in attributes
        or KERNEL in attributes
        or function.is_external
    ):
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
