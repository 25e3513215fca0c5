"""Results of a function: tensors written into destinations, and returned values."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.shapes.body import BodyLowering, Handle, Lowered, cast, flatten, unflatten
from relax_mlir.lowering.shapes.headers import Header, Result
from relax_mlir.lowering.shapes.objects import box, new_tensor, own, retain, view, write
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import bufferization, func, ir, tensor


def give_results(body: BodyLowering, header: Header, result: Lowered, outs: Sequence[ir.Value]) -> None:
    """Write each result into its destination or return it.

    A tensor that is returned twice is computed in only one destination. All copies come before the first write of a
    destination, because destinations may hold their sources. Results in the memory of parameters are written last.
    """
    items = _leaves(result)
    destinations = iter(outs)
    placed = [wanted for wanted in header.results if not wanted.returned]
    donated = [out for out, wanted in zip(outs, placed, strict=True) if wanted.donated is not None]
    sources: list[tuple[ir.Value, ir.Value]] = []
    taken: set[ir.Value] = set()
    returned: dict[int, list[ir.Value]] = {}
    for number, (item, wanted) in enumerate(zip(items, header.results, strict=True)):
        if wanted.returned:
            returned[number] = flatten(_returned(body, item, wanted.leaf.info))
            continue
        assert isinstance(item, ir.Value)
        out, value, base = next(destinations), item, _memory_of(item)
        if value in body.checked or base in taken or (base in donated and base != out):
            value = bufferization.alloc_tensor(value.type, [], copy=value)
        taken.add(base)
        sources.append((value if value.type == out.type else tensor.cast(out.type, value), out))
    found = {
        number: source if source == out else bufferization.materialize_in_destination(out.type, source, out)
        for number, (source, out) in sorted(enumerate(sources), key=lambda item: item[1][1] in donated)
    }
    written = iter([found[number] for number in range(len(sources))])
    for number, words in returned.items():
        if _is_handle(header.results[number]):
            retain(body, Handle(*words))
    func.ReturnOp(
        [
            value
            for number in range(len(items))
            for value in (returned[number] if number in returned else [next(written)])
        ]
    )


def _returned(body: BodyLowering, item: Lowered, info: StructInfo) -> Lowered:
    """A result in the form that the function returns; a tensor object returned by a callee is passed on."""
    if not isinstance(info, Tensor) or not isinstance(item, ir.Value):
        return item
    base = _without_casts(item)
    return body.received.pop(base, None) or _place(body, base, info) or box(body, item, info)


def _place(body: BodyLowering, value: ir.Value, info: Tensor) -> Handle | None:
    """Make the call that computes a tensor write it into a new tensor object, if it fills an uninitialised tensor.

    Like `place-results` for destinations of the caller, but here the size is known at the call.
    """
    defining = defining_op(value)
    if defining is None or defining.name != "func.call" or defining.block != ir.InsertionPoint.current.block:
        return None
    tensors: list[ir.Value] = [
        result for result in defining.results if isinstance(result.type, ir.RankedTensorType)
    ]
    empties = [i for i, operand in enumerate(defining.operands) if _is_empty(operand)]
    if len(tensors) != len(empties):
        return None
    position = empties[tensors.index(value)]
    old = defining.operands[position]
    type_ = ir.RankedTensorType(old.type)
    dynamic = iter(old.owner.operands)
    shape = [None if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    with ir.InsertionPoint(defining), defining.location:
        sizes = [next(dynamic) if dim is None else index_constant(dim) for dim in shape]
        handle, buffer = new_tensor(body, sizes, Tensor(shape, info.dtype))
        defining.operands[position] = bufferization.to_tensor(old.type, buffer, restrict=True, writable=True)
    write(cast(value, old.type), buffer)
    return handle


def _is_empty(value: ir.Value) -> bool:
    defining = defining_op(value)
    return defining is not None and defining.name == "tensor.empty"


def receive(body: BodyLowering, header: Header, info: StructInfo, values: Sequence[ir.Value]) -> Lowered:
    """Convert the returned values of a call to the result described by `info`; the frame takes its objects."""
    remaining = list(values)
    views: list[Lowered] = []
    for leaf, result in zip(leaf_infos(info), header.results, strict=True):
        words = [remaining.pop(0) for _ in result.types]
        if not _is_handle(result):
            views.append(words[0] if isinstance(leaf, Tensor) else unflatten(leaf, words))
            continue
        handle = Handle(*words)
        own(body, handle)
        value = view(body, handle, leaf) if isinstance(leaf, Tensor) else handle
        if isinstance(value, ir.Value):
            body.received[value] = handle
        views.append(value)
    return _nested(info, views)


def _is_handle(result: Result) -> bool:
    return (
        result.returned
        and all(isinstance(type_, ir.IntegerType) for type_ in result.types)
        and bool(result.types)
    )


def _leaves(value: Lowered) -> list[Lowered]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, tuple) else [value]


def leaf_infos(info: StructInfo) -> list[StructInfo]:
    """`info`, or the infos of its fields in order."""
    return [leaf for item in info.fields for leaf in leaf_infos(item)] if isinstance(info, Tuple) else [info]


def _nested(info: StructInfo, items: list[Lowered]) -> Lowered:
    """Assemble the value that `info` describes from leaves; takes them off the front of `items`."""
    return tuple(_nested(field, items) for field in info.fields) if isinstance(info, Tuple) else items.pop(0)


def _without_casts(value: ir.Value) -> ir.Value:
    while (defining := defining_op(value)) is not None and defining.name == "tensor.cast":
        value = defining.operands[0]
    return value


def _memory_of(value: ir.Value) -> ir.Value:
    """The tensor that `value` is a view of."""
    while not isinstance(value.owner, ir.Block) and has_trait(value.owner.operation, IsView):
        value = value.owner.operation.operands[0]
    return value
