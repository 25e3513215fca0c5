"""Views: ops that reshape a tensor without copying its elements."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.types import Tensor, shape_text, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, cast, handles, place
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir, tensor


@handles("relax.reshape", "relax.flatten", "relax.expand_dims", "relax.squeeze")
def _view(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    source, target = struct_info(op.operands[0].type), struct_info(op.results[0].type)
    assert isinstance(source, Tensor) and isinstance(target, Tensor)
    if source.shape is None or target.known_shape is None:
        raise UnsupportedError(
            f"{where(op)}: {op.name}: from {source} to {target}; native code needs the shapes: match_shape first"
        )
    lowered = body.tensor(op.operands[0])
    if source.shape == target.shape:
        return [lowered]
    if source.known_shape is None or not symbolic.prove_equal(
        symbolic.product(source.known_shape), symbolic.product(target.known_shape)
    ):
        _check_size(body, op, source, target)
        return [body.mark(reshape(body, lowered, target), checked=True, source=lowered)]
    return [body.mark(reshape(body, lowered, target), checked=False, source=lowered)]


def _check_size(body: BodyLowering, op: ir.Operation, source: Tensor, target: Tensor) -> None:
    shape = target.known_shape or ()
    have, want = body.dims(op.operands[0], source), body.symbols.all_sizes(shape)
    size, wanted = product(have), body.symbols.value(symbolic.product(shape))
    old = ", ".join(f"{{{2 + i}}}" for i in range(len(have)))
    new = ", ".join(f"{{{2 + len(have) + i}}}" for i in range(len(want)))
    message = (
        f"{body.symbols.function}: {op.name.removeprefix('relax.')} at {place(op)}: cannot make shape ({new}) = "
        f"{shape_text(target.shape)} of ({old}) = {shape_text(source.shape)}: {{0}} elements are not {{1}}"
    )
    equal = arith.cmpi(arith.CmpIPredicate.eq, size, wanted)
    body.declarations.check(equal, "ShapeError", message, [size, wanted, *have, *want])


def product(values: Sequence[ir.Value]) -> ir.Value:
    """The product of the sizes of a tensor, whose element count fits in 64 bits; 1 without sizes."""
    total = index_constant(1)
    for value in values:
        total = arith.muli(total, value)
    return total


def reshape(body: BodyLowering, source: ir.Value, target: Tensor) -> ir.Value:
    """Reshape a contiguous tensor: collapse it to one dimension, then expand it.

    An empty tensor is replaced by a new one: upstream's views do not join dimensions of size 0 with unknown ones.
    """
    target_type = target.storage_type()
    shape = target.known_shape
    assert shape is not None and target.dtype is not None
    if 0 in ir.RankedTensorType(source.type).shape:
        return tensor.empty(
            [d if isinstance(d, int) else body.symbols.size(d) for d in shape], target.dtype.storage_type()
        )
    flat = _collapse(source)
    if not shape:
        one = ir.RankedTensorType.get([1], target.dtype.storage_type())
        return tensor.collapse_shape(target_type, cast(flat, one), [])
    dynamic = [body.symbols.size(d) for d in shape if not isinstance(d, int)]
    size = [d if isinstance(d, int) else ir.ShapedType.get_dynamic_size() for d in shape]
    if len(shape) == 1:
        return cast(flat, target_type)
    total = 1
    for item in size:
        total = ir.ShapedType.get_dynamic_size() if dynamic else total * item
    flat = cast(flat, ir.RankedTensorType.get([total], target.dtype.storage_type()))
    return tensor.expand_shape(target_type, flat, [list(range(len(shape)))], dynamic, size)


def _collapse(source: ir.Value) -> ir.Value:
    source_type = ir.RankedTensorType(source.type)
    if source_type.rank == 1:
        return source
    static = [
        source_type.get_dim_size(i) for i in range(source_type.rank) if not source_type.is_dynamic_dim(i)
    ]
    total = 1
    for item in static:
        total *= item
    if len(static) < source_type.rank:
        total = ir.ShapedType.get_dynamic_size()
    flat_type = ir.RankedTensorType.get([total], source_type.element_type)
    if source_type.rank == 0:
        return tensor.expand_shape(flat_type, source, [], [], [1])
    return tensor.collapse_shape(flat_type, source, [list(range(source_type.rank))])
