"""Moves a `match_shape` from the result of an op to its operand, where that gives more information and is safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relax_mlir import symbolic
from relax_mlir.analysis.type_inference import Functions, retype_results
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import RelaxOp, op_class
from relax_mlir.dialects.create import FilledLikeOp, FullLikeOp, TriangleOp
from relax_mlir.dialects.elementwise import AstypeOp, BinaryOp, ClipOp, PredicateOp, UnaryOp
from relax_mlir.dialects.manipulate import PermuteDimsOp, permutation
from relax_mlir.dialects.nn import FloatUnaryOp, ReluOp, RowOp
from relax_mlir.dialects.structure import TUPLE, MatchShapeOp, TupleGetItemOp, is_pure
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.types import Tensor, dims_attr, dims_from_attr, struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op, entry_block, has_one_use
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

Pattern = Sequence[Dim | None]

KEEP_SHAPE: tuple[type[RelaxOp], ...] = (
    AstypeOp,
    ClipOp,
    FilledLikeOp,
    FloatUnaryOp,
    FullLikeOp,
    ReluOp,
    RowOp,
    TriangleOp,
    UnaryOp,
)
"""Ops whose result has the shape of the first operand."""
CHANGE_DTYPE = (AstypeOp, FilledLikeOp, FullLikeOp, PredicateOp)
"""Those of them whose result may have another dtype than the operand."""


def hoist_match(match: ir.Operation, functions: Functions) -> bool:
    """Move `match` above the op that defines its operand; false if that is impossible or gives no information."""
    producer = defining_op(match.operands[0])
    if producer is None or not _may_move(match, producer):
        return False
    pattern = dims_from_attr(match.attributes["pattern"])
    if producer.name == "relax.dataflow":
        return _into_dataflow(match, producer, None, functions)
    if producer.name == TupleGetItemOp.OPERATION_NAME:
        block = defining_op(producer.operands[0])
        if block is None or block.name != "relax.dataflow" or not _may_move(producer, block):
            return False
        return _into_dataflow(match, block, producer, functions)
    found = _operand(producer, pattern)
    if found is None:
        return False
    index, wanted = found
    operand = producer.operands[index]
    keeps_dtype = not issubclass(op_class(producer) or RelaxOp, (*CHANGE_DTYPE, BinaryOp))
    dtype = match.attributes["result_dtype"] if keeps_dtype else ir.UnitAttr.get()
    if not _tells_more(operand, wanted, dtype) or not _defined(operand, wanted, producer):
        return False
    if not _takes(producer, index, _matched(operand, wanted, dtype)):
        return False
    with match.location, ir.InsertionPoint(producer):
        producer.operands[index] = _match(operand, wanted, dtype)
    retype_results(producer, functions)
    _drop_if_proved(match)
    return True


def _into_dataflow(
    match: ir.Operation, dataflow: ir.Operation, field: ir.Operation | None, functions: Functions
) -> bool:
    """Move a `match_shape` of a dataflow block's result (or of field `field` of it) to the end of the block."""
    output = list(entry_block(dataflow).operations)[-1].operation
    holder, index = output, 0
    if field is not None:
        defining = defining_op(output.operands[0])
        if defining is None or defining.name != TUPLE or not has_one_use(defining.results[0]):
            return False
        holder, index = defining, ir.IntegerAttr(field.attributes["index"]).value
    pattern, dtype = dims_from_attr(match.attributes["pattern"]), match.attributes["result_dtype"]
    value = holder.operands[index]
    if not _tells_more(value, pattern, dtype) or not _defined(value, pattern, output):
        return False
    with match.location, ir.InsertionPoint(holder):
        holder.operands[index] = _match(value, pattern, dtype)
    for op in (holder, dataflow, field):
        if op is not None and op != output:
            retype_results(op, functions)
    _drop_if_proved(match)
    return True


def _may_move(match: ir.Operation, producer: ir.Operation) -> bool:
    """True if both ops are in one block, with only pure ops between them."""
    if producer.block != match.block:
        return False
    between = False
    for view in match.block.operations:
        op = view.operation
        if op == match:
            return True
        if between and not _is_passable(op):
            return False
        between = between or op == producer
    return False


def _is_passable(op: ir.Operation) -> bool:
    return op.name == "relax.dataflow" or (is_pure(op) and op.name != "relax.call")


def _operand(op: ir.Operation, pattern: Pattern) -> tuple[int, Pattern] | None:
    """The index of an operand of `op` whose shape follows from the result shape `pattern`, and that shape."""
    cls = op_class(op)
    if cls is None:
        return None
    if issubclass(cls, KEEP_SHAPE):
        return 0, pattern
    if issubclass(cls, PermuteDimsOp):
        try:
            axes = permutation(cls.args_of(op), len(pattern))
        except RelaxError:
            return None  # a pattern of another rank: the match_shape raises, and is not moved
        return 0, [pattern[axes.index(axis)] for axis in range(len(axes))]
    if issubclass(cls, BinaryOp):
        scalars = [_is_scalar(operand) for operand in op.operands]
        if scalars.count(True) == 1:
            return scalars.index(False), pattern
    return None


def _is_scalar(value: ir.Value) -> bool:
    info = struct_info(value.type)
    return isinstance(info, Tensor) and info.shape == ()


def _tells_more(value: ir.Value, pattern: Pattern, dtype: ir.Attribute) -> bool:
    info = struct_info(value.type)
    if not isinstance(info, Tensor):
        return False
    if info.shape is not None and len(info.shape) != len(pattern):
        return False  # it raises at its place
    if not isinstance(dtype, ir.UnitAttr) and info.dtype is None:
        return True
    known = info.shape or (None,) * len(pattern)
    return info.shape is None or any(k is None and p is not None for k, p in zip(known, pattern, strict=True))


def _match(value: ir.Value, pattern: Pattern, dtype: ir.Attribute) -> ir.Value:
    """A `match_shape` of `value` at the insertion point for the dimensions that are not known yet.

    If a dimension is known, the original `match_shape` still checks it against the pattern.
    """
    info = _matched(value, pattern, dtype)
    assert info.shape is not None
    return ir.Operation.create(
        MatchShapeOp.OPERATION_NAME,
        results=[info.to_type()],
        operands=[value],
        attributes={"pattern": dims_attr(info.shape), "result_dtype": dtype},
    ).results[0]


def _matched(value: ir.Value, pattern: Pattern, dtype: ir.Attribute) -> Tensor:
    info = struct_info(value.type)
    assert isinstance(info, Tensor)
    known = info.shape or (None,) * len(pattern)
    told = None if isinstance(dtype, ir.UnitAttr) else dtypes.from_element_type(ir.TypeAttr(dtype).value)
    return Tensor([p if k is None else k for p, k in zip(pattern, known, strict=True)], info.dtype or told)


def _takes(op: ir.Operation, index: int, info: Tensor) -> bool:
    """True if the shape rule of `op` accepts `info` for its operand `index`."""
    cls = op_class(op)
    assert cls is not None
    args = cls.args_of(op)
    infos = [info if i == index else old for i, old in enumerate(args.infos)]
    try:
        cls.infer(replace(args, infos=infos))
    except RelaxError:
        return False
    return True


def _defined(value: ir.Value, pattern: Pattern, place: ir.Operation) -> bool:
    """True if all symbols that a match of `value` uses but does not define are defined before `place`."""
    pattern = _matched(value, pattern, ir.UnitAttr.get()).shape or ()
    own = {name for dim in pattern if dim is not None and (name := symbolic.linear_definition(dim))}
    used = {name for dim in pattern if dim is not None for name in symbolic.symbols(dim)}
    return used - own <= set(_symbols_before(place))


def _symbols_before(place: ir.Operation) -> Iterator[str]:
    current = place
    while current.name != "func.func":
        for view in current.block.operations:
            if view.operation == current:
                break
            yield from _match_symbols(view.operation)
        current = current.parent.operation
    if isinstance(current.opview, func.FuncOp):
        yield from parameter_symbols([struct_info(t) for t in current.opview.type.inputs])


def _match_symbols(op: ir.Operation) -> Iterator[str]:
    if op.name == MatchShapeOp.OPERATION_NAME:
        for dim in dims_from_attr(op.attributes["pattern"]):
            name = None if dim is None else symbolic.linear_definition(dim)
            if name is not None:
                yield name
    elif op.name == "relax.dataflow":
        for view in entry_block(op).operations:
            yield from _match_symbols(view.operation)


def _drop_if_proved(match: ir.Operation) -> None:
    """Remove `match` if its operand has the same type now, unless both values must be kept.

    A packed function that changes the operand in place does not change the result of `match`.
    """
    value, result = match.operands[0], match.results[0]
    if value.type == result.type and has_one_use(value):
        result.replace_all_uses_with(value)
        match.erase()
