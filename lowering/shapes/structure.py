"""Constants, tuples, shapes, views, `match_shape`, comparisons of shapes, assertions, and upstream ops at level T."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.effects import message_pieces
from relax_mlir.dialects.structure import TUPLE, integer_of
from relax_mlir.dialects.types import (
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    shape_text,
    struct_info,
)
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    Origin,
    ShapeValue,
    cast,
    flatten,
    handles,
    object_sizes,
    place,
    refine,
    require_tensor,
    shape_entries,
    tensor_shape,
    view,
)
from relax_mlir.lowering.shapes.control import match_integer
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, linalg, tensor
from relax_mlir.symbolic import Dim

# Constants, shapes, tuples, and upstream ops that are unchanged.


@handles("relax.constant")
def _constant(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    value = op.attributes["value"]
    tensor_type = ir.RankedTensorType(value.type)
    if isinstance(value, ir.DenseElementsAttr):
        return [_dense_constant(value, tensor_type)]
    table_entry = body.declarations.constant(value)
    storage = struct_info(op.results[0].type)
    assert isinstance(storage, Tensor)
    return [bufferization.to_tensor(storage.storage_type(), table_entry, restrict=True)]


@handles("relax.shape_expr")
def _shape_expr(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    dims = [d for d in dims_from_attr(op.attributes["values"]) if d is not None]
    return [ShapeValue(tuple(body.symbols.all_sizes(dims)))]


@handles("relax.prim_value")
def _prim_value(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return [body.symbols.value(integer_of(op.attributes["value"]))]


@handles("relax.shape_of")
def _shape_of(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    assert isinstance(info, Tensor)
    value = body.values[op.operands[0]]
    if info.shape is None and isinstance(value, Handle):
        return [tensor_shape(body, value)]
    return [ShapeValue(tuple(body.dims(op.operands[0], info)))]


@handles(TUPLE)
def _tuple(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return [tuple(body.values[operand] for operand in op.operands)]


@handles("relax.tuple_get_item")
def _tuple_get_item(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    return [fields[int(ir.IntegerAttr(op.attributes["index"]).value)]]


@handles(
    "arith.constant",
    "index.constant",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "tensor.extract",
)
def _copy(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    clone = op.clone()
    for index, operand in enumerate(op.operands):
        lowered = body.values[operand]
        assert isinstance(lowered, ir.Value)
        clone.operands[index] = lowered
    return list(clone.results)


_MAX_SPLAT = 1 << 24
"""Maximum bytes of a constant with equal elements that is stored as data of the code."""


def _dense_constant(value: ir.DenseElementsAttr, tensor_type: ir.RankedTensorType) -> ir.Value:
    """A constant stored in the code, or filled at run time: LLVM would run out of memory on gigabytes of data."""
    element = dtypes.from_element_type(tensor_type.element_type)
    if value.is_splat and math.prod(tensor_type.shape) * element.itemsize > _MAX_SPLAT:
        scalar = ir.DenseElementsAttr.get_splat(
            ir.RankedTensorType.get([], tensor_type.element_type), value.get_splat_value()
        )
        number = tensor.extract(_dense_constant(scalar, ir.RankedTensorType(scalar.type)), [])
        empty = tensor.empty(tensor_type.shape, element.storage_type())
        filled: ir.Value = linalg.fill(number, outs=[empty])
        return filled
    if element.kind == "uint":
        storage = ir.RankedTensorType.get(tensor_type.shape, element.storage_type())
        value = ir.Attribute.parse(str(value).rsplit(":", 1)[0].strip() + f" : {storage}")
    return arith.constant(value.type, value)


# `match_shape`: bind symbols to values, and check at run time what the compiler cannot prove.


@handles("relax.match_shape")
def _match_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info, result = struct_info(op.operands[0].type), struct_info(op.results[0].type)
    if isinstance(info, Prim):
        return match_integer(body, op)
    pattern = dims_from_attr(op.attributes["pattern"])
    site = place(op)
    sizes, known = _sizes(body, op, info, result, site)
    for axis, (dim, size) in enumerate(zip(pattern, sizes, strict=True)):
        name = None if dim is None else symbolic.linear_definition(dim)
        if name is not None and name not in body.symbols.values:
            body.symbols.define(name, size, f"dimension {axis} of match_shape at {site}")
    proved = True
    for axis, (dim, have, size) in enumerate(zip(pattern, known, sizes, strict=True)):
        if dim is not None and not (have is not None and symbolic.prove_equal(dim, have)):
            proved = False
            _check_dim(body, site, axis, dim, size, pattern, sizes)
    if not isinstance(result, Tensor):
        return [ShapeValue(tuple(sizes))]
    value = body.values[op.operands[0]]
    if isinstance(value, Handle):
        return [view(body, value, result)]
    lowered = body.tensor(op.operands[0])
    return [body.mark(cast(lowered, result.storage_type()), checked=not proved, source=lowered)]


def _sizes(
    body: BodyLowering, op: ir.Operation, info: StructInfo, result: StructInfo, site: str
) -> tuple[list[ir.Value], Sequence[Dim | None]]:
    """Check the value's rank and dtype; return its dimensions, and the expressions known for them."""
    value = body.values[op.operands[0]]
    if isinstance(info, Object):
        assert isinstance(value, Handle)
        origin = Origin(f"{body.symbols.function}: match_shape at {site}: the object", f"expected {result}")
        require_tensor(body, value, origin)
        info = Tensor(None, None)
    if isinstance(info, Tensor):
        assert isinstance(result, Tensor) and result.shape is not None
        if isinstance(value, Handle):
            origin = Origin(
                f"{body.symbols.function}: match_shape at {site}: the tensor", f"expected {result}"
            )
            refine(body, value, info, result, origin)
            unknown = (None,) * len(result.shape)
            return object_sizes(body.declarations, value, len(result.shape)), info.shape or unknown
        assert isinstance(value, ir.Value) and info.shape is not None
        return [tensor.dim(value, index_constant(axis)) for axis in range(len(info.shape))], info.shape
    assert isinstance(info, Shape) and isinstance(result, Shape) and result.values is not None
    if isinstance(value, Handle):
        origin = Origin(f"{body.symbols.function}: match_shape at {site}: the shape", f"expected {result}")
        return shape_entries(body, value, len(result.values), origin), (None,) * len(result.values)
    assert isinstance(value, ShapeValue)
    return list(value.dims), info.values or ()


def _check_dim(
    body: BodyLowering,
    site: str,
    axis: int,
    dim: Dim,
    size: ir.Value,
    pattern: Sequence[Dim | None],
    sizes: Sequence[ir.Value],
) -> None:
    expected = body.symbols.value(dim)
    if expected == size:
        return
    text, values = ("expected " + str(dim), []) if isinstance(dim, int) else body.symbols.explain(dim, 1)
    text = text if isinstance(dim, int) else f"but {text}"
    first = 1 + len(values)
    got = ", ".join(f"{{{first + i}}}" for i in range(len(sizes)))
    message = (
        f"{body.symbols.function}: match_shape at {site}: dimension {axis} is {{0}}, {text} "
        f"(expected {shape_text(tuple(pattern))}, got ({got}))"
    )
    body.declarations.check(
        arith.cmpi(arith.CmpIPredicate.eq, size, expected), "ShapeError", message, [size, *values, *sizes]
    )


# Comparison of shape values.


@handles("relax.shape_equal")
def _shape_equal(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    a, b = (body.values[operand] for operand in op.operands)
    if not isinstance(a, ShapeValue) or not isinstance(b, ShapeValue):
        raise UnsupportedError(
            f"{where(op)}: shape_equal: the rank of an operand is unknown; match_shape it to one first"
        )
    flag = ir.IntegerType.get_signless(1)
    equal = arith.constant(flag, int(len(a.dims) == len(b.dims)))
    if len(a.dims) == len(b.dims):
        for x, y in zip(a.dims, b.dims, strict=True):
            equal = arith.andi(equal, arith.cmpi(arith.CmpIPredicate.eq, x, y))
    return [tensor.from_elements(ir.RankedTensorType.get([], flag), [equal])]


# Views: ops that reshape a tensor without copying its elements.


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


# Conversions between shapes of known rank and tensors of known length.


@handles("relax.shape_to_tensor")
def _shape_to_tensor(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    i64 = ir.IntegerType.get_signless(64)
    values = [arith.index_cast(i64, value) for value in flatten(body.values[op.operands[0]])]
    type_ = ir.RankedTensorType.get([len(values)], i64)
    return [tensor.from_elements(type_, values) if values else tensor.empty([0], i64)]


@handles("relax.tensor_to_shape")
def _tensor_to_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.results[0].type)
    assert isinstance(info, Shape)
    source = body.tensor(op.operands[0])
    sizes = []
    for position in range(info.ndim or 0):
        element = tensor.extract(source, [index_constant(position)])
        sizes.append(arith.index_cast(ir.IndexType.get(), element))
    for position, size in enumerate(sizes):
        is_size = arith.cmpi(arith.CmpIPredicate.sge, size, index_constant(0))
        where = f"{body.symbols.function}: tensor_to_shape at {place(op)}"
        message = f"{where}: element {position} is {{0}}, which is no size"
        body.declarations.check(is_size, "ShapeError", message, [size])
    return [ShapeValue(tuple(sizes))]


# Assertions: run-time checks that raise `CheckError`.


PREDICATES = {
    "==": arith.CmpIPredicate.eq,
    "!=": arith.CmpIPredicate.ne,
    "<": arith.CmpIPredicate.slt,
    "<=": arith.CmpIPredicate.sle,
    ">": arith.CmpIPredicate.sgt,
    ">=": arith.CmpIPredicate.sge,
}


@handles("relax.assert_op")
def _assert(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    assert isinstance(info, Tuple)
    shown = list(zip(body.flat(op.operands[0]), info.fields, strict=True))
    if isinstance(op.attributes["relation"], ir.StringAttr):
        left, right = (
            body.symbols.value(dim) for dim in dims_from_attr(op.attributes["values"]) if dim is not None
        )
        condition = arith.cmpi(PREDICATES[ir.StringAttr(op.attributes["relation"]).value], left, right)
    else:
        condition = tensor.extract(shown.pop(0)[0], [])
    pieces = message_pieces("assert_op", ir.StringAttr(op.attributes["message"]).value, len(shown))
    numbers = [_number(op, value, what) for value, what in shown]
    text = "".join(
        f"{{{piece}{numbers[piece][1]}}}" if isinstance(piece, int) else verbatim(piece) for piece in pieces
    )
    head = f"{body.symbols.function}: assertion failed at {place(op)}"
    body.declarations.check(
        condition, "CheckError", f"{head}: {text}" if text else head, [number for number, _ in numbers]
    )
    return []


def _number(op: ir.Operation, value: ir.Value, info: StructInfo) -> tuple[ir.Value, str]:
    """A value as the index that a check takes, and its placeholder in the message."""
    index, word = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    if not isinstance(info, Tensor):
        return value, ""
    assert info.dtype is not None
    element = tensor.extract(value, [])
    if info.dtype.kind == "float":
        double = ir.F64Type.get()
        if element.type != double:
            element = arith.extf(double, element)
        return arith.index_cast(index, arith.bitcast(word, element)), ":float"
    if info.dtype.kind == "bool":
        return arith.index_castui(index, element), ":bool"
    if info.dtype.kind == "int":
        return arith.index_cast(index, element), ""
    if info.dtype.name == "uint64":
        raise UnsupportedError(f"{where(op)}: assert_op shows no uint64 values; astype them to int64")
    return arith.index_castui(index, element), ""
