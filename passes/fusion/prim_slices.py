"""Restriction of loops to slices, if their result is read in slices or their input is a concatenation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import arith, func, ir, linalg, tensor
from relax_mlir.passes.fusion.prim_loops import LOOPS, is_parallel, loops_of, maps_of, pieces_of

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
    return [x for x in values if not isinstance(x, int)], [
        x if isinstance(x, int) else marker for x in values
    ]


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
