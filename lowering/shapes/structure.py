"""Constants, tuples, shapes, views, `match_shape`, checks, conditionals and loops at level T."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.control import counts_upwards, lower_bound, surely_ends
from relax_mlir.dialects.effects import message_pieces
from relax_mlir.dialects.structure import INTEGER_OPS, TUPLE, integer_of
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
from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Handle,
    Lowered,
    Origin,
    ShapeValue,
    cast,
    flatten,
    handle_types,
    handles,
    is_handle,
    memory_of,
    object_sizes,
    place,
    refine,
    require_tensor,
    shape_entries,
    tensor_shape,
    unflatten,
    view,
)
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, linalg, scf, tensor
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
            origin = Origin(f"{body.symbols.function}: match_shape at {site}: the tensor", f"expected {result}")
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
    static = [source_type.get_dim_size(i) for i in range(source_type.rank) if not source_type.is_dynamic_dim(i)]
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
        left, right = (body.symbols.value(dim) for dim in dims_from_attr(op.attributes["values"]) if dim is not None)
        condition = arith.cmpi(PREDICATES[ir.StringAttr(op.attributes["relation"]).value], left, right)
    else:
        condition = tensor.extract(shown.pop(0)[0], [])
    pieces = message_pieces("assert_op", ir.StringAttr(op.attributes["message"]).value, len(shown))
    numbers = [_number(op, value, what) for value, what in shown]
    text = "".join(f"{{{piece}{numbers[piece][1]}}}" if isinstance(piece, int) else verbatim(piece) for piece in pieces)
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


# Conditionals and loops at level T, and the integers that they depend on.


# Integer values, which are ``index`` values at level T.


def as_index(value: ir.Value) -> ir.Value:
    """An integer as ``index``."""
    index = ir.IndexType.get()
    return value if value.type == index else arith.index_cast(index, value)


def match_integer(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower `match_shape` of an integer: its symbol gets a value, which is checked to be non-negative."""
    (dim,) = dims_from_attr(op.attributes["pattern"])
    assert dim is not None
    value = as_index(body.tensor(op.operands[0]))
    name = symbolic.linear_definition(dim)
    site = place(op)
    if name is None or name in body.symbols.values:
        expected = body.symbols.value(dim)
        text, values = body.symbols.explain(dim, 1) if not isinstance(dim, int) else (str(dim), [])
        message = f"{body.symbols.function}: match_shape at {site}: the integer is {{0}}, but {text}"
        equal = arith.cmpi(arith.CmpIPredicate.eq, value, expected)
        body.declarations.check(equal, "ShapeError", message, [value, *values])
        return [value]
    size, lowest = value, lower_bound(op.operands[0])
    if lowest is None or not symbolic.prove_less_equal(0, lowest):
        message = f"{body.symbols.function}: {site}: the integer {name} is {{0}}; a symbol stands for zero or more"
        positive = arith.cmpi(arith.CmpIPredicate.sge, value, index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [value])
        size = arith.maxsi(value, index_constant(0))  # memory may be allocated by formulas of it before the check
    body.symbols.define(name, size, f"the integer of match_shape at {site}")
    return [value]


@handles(*INTEGER_OPS)
def _arithmetic(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    operands = [as_index(body.tensor(operand)) for operand in op.operands]
    if op.name == "arith.floordivsi":
        message = f"{body.symbols.function}: {place(op)}: division by {{0}}; divisors of integers are positive"
        positive = arith.cmpi(arith.CmpIPredicate.sgt, operands[1], index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [operands[1]])
    is_comparison = op.name == "arith.cmpi"
    attributes = {"predicate": op.attributes["predicate"]} if is_comparison else {}
    type_ = op.results[0].type if is_comparison else ir.IndexType.get()
    new = ir.Operation.create(op.name, results=[type_], operands=operands, attributes=attributes)
    return [new.results[0]]


@handles("tensor.from_elements")
def _from_elements(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    type_ = ir.RankedTensorType(op.results[0].type)
    values = [body.tensor(operand) for operand in op.operands]
    values = [arith.index_cast(type_.element_type, v) if isinstance(v.type, ir.IndexType) else v for v in values]
    return [tensor.from_elements(type_, values)]


# Conditionals.


@handles("scf.if")
def _if(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    condition = body.tensor(op.operands[0])
    probe = [t for info in infos for t in leaf_types(op, info)]
    new = scf.IfOp(condition, probe, has_else=True)
    for old_region, block in zip(op.regions, (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            inner = body.nested()
            blocks = list(old_region.blocks)
            yielded = [leaf for item in (inner.lower_block(blocks[0]) if blocks else []) for leaf in flatten(item)]
            values = [
                _own(cast(v, t)) if isinstance(t, ir.RankedTensorType) else v
                for v, t in zip(yielded, probe, strict=True)
            ]
            scf.YieldOp(values)
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat) for info in infos]


@handles("arith.select")
def _select(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower a conditional that canonicalisation has replaced by a select, because its branches are empty."""
    info = struct_info(op.results[0].type)
    new = scf.IfOp(body.tensor(op.operands[0]), leaf_types(op, info), has_else=True)
    for value, block in zip(list(op.operands)[1:], (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            leaves = body.flat(value)
            scf.YieldOp([_own(v) if isinstance(v.type, ir.RankedTensorType) else v for v in leaves])
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat)]


@handles("arith.index_cast")
def _index_cast(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """An ``i64`` is an ``index`` at level T; raise `VerifyError` for integers that are not Relax values."""
    for value in (op.operands[0], op.results[0]):
        struct_info(value.type)
    return [body.values[op.operands[0]]]


def _own(value: ir.Value) -> ir.Value:
    """Return `value`, or a copy of it if a loop carries it: the same iteration writes its memory.

    Bufferisation uses one memory for all values that a conditional may yield.
    """
    base = memory_of(value)
    if isinstance(base, ir.BlockArgument) and base.owner.owner.operation.name in ("scf.for", "scf.while"):
        return bufferization.alloc_tensor(value.type, [], copy=value)
    return value


def leaf_types(op: ir.Operation, info: StructInfo) -> list[ir.Type]:
    """The types at level T of a control-flow result that `info` describes."""
    if isinstance(info, Tuple):
        return [t for item in info.fields for t in leaf_types(op, item)]
    if is_handle(info):
        return handle_types()
    if isinstance(info, Tensor):
        return [info.storage_type()]
    if isinstance(info, Shape) and info.values is not None:
        return [ir.IndexType.get()] * len(info.values)
    if isinstance(info, Prim):
        return [ir.IndexType.get()]
    raise UnsupportedError(f"{where(op)}: {op.name}: its result is {info}, which native code cannot yield")


# Loops: each carried tensor of constant size has one buffer, which every iteration writes.


INT64_MAX = 2**63 - 1


@handles("scf.for")
def _for(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    bounds = [as_index(body.tensor(value)) for value in list(op.operands)[:3]]
    _check_end(body, op, bounds[1], bounds[2])
    types = [t for info in infos for t in leaf_types(op, info)]
    known = [k for info in infos for k in _sizes_stay(info)]
    init = _of_any_size(_flat(body, list(op.operands)[3:], types), known)
    new = ir.Operation.create("scf.for", results=types, operands=[*bounds, *init], regions=1)
    index = ir.IndexType.get()
    block = new.regions[0].blocks.append(index, *types, arg_locs=[op.location] * (len(types) + 1))
    variable, *carried = block.arguments
    old = entry_block(op)
    with ir.InsertionPoint(block):
        inner = _inner(body, old, [variable, *carried])
        yielded = [leaf for item in inner.lower_block(old) for leaf in flatten(item)]
        targets = [a if k else None for a, k in zip(carried, known, strict=True)]
        _end("scf.yield", [], yielded, types, targets)
    return _results(body, new, infos)


def _check_end(body: BodyLowering, op: ir.Operation, upper: ir.Value, step: ir.Value) -> None:
    """Check the step and upper bound unless they are proved: a variable that never advances or wraps never ends."""
    if surely_ends(op):
        return
    where = f"{body.symbols.function}: {place(op)}: the loop"
    if not counts_upwards(op):
        positive = arith.cmpi(arith.CmpIPredicate.sgt, step, index_constant(0))
        body.declarations.check(positive, "ShapeError", f"{where} has the step {{0}}; loops count upwards", [step])
    last = arith.subi(index_constant(INT64_MAX), arith.subi(step, index_constant(1)))
    message = f"{where} ends at {{0}}: in steps of {{1}} its variable would pass 64 bits"
    body.declarations.check(arith.cmpi(arith.CmpIPredicate.sle, upper, last), "ShapeError", message, [upper, step])


@handles("scf.while")
def _while(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    old_before, old_after = (region.blocks[0] for region in op.regions)
    first = [struct_info(argument.type) for argument in old_before.arguments]
    infos = [struct_info(result.type) for result in op.results]
    first_types = [t for info in first for t in leaf_types(op, info)]
    types = [t for info in infos for t in leaf_types(op, info)]
    init = _flat(body, list(op.operands), first_types)
    new = ir.Operation.create("scf.while", results=types, operands=init, regions=2)
    before = new.regions[0].blocks.append(*first_types, arg_locs=[op.location] * len(first_types))
    after = new.regions[1].blocks.append(*types, arg_locs=[op.location] * len(types))
    with ir.InsertionPoint(before):
        inner = _inner(body, old_before, list(before.arguments))
        flag, *passed = inner.lower_block(old_before)
        assert isinstance(flag, ir.Value)
        forwarded = [leaf for item in passed for leaf in flatten(item)]
        _end("scf.condition", [flag], forwarded, types, [None] * len(types))
    with ir.InsertionPoint(after):
        inner = _inner(body, old_after, list(after.arguments))
        yielded = [leaf for item in inner.lower_block(old_after) for leaf in flatten(item)]
        known = [k for info in first for k in _sizes_stay(info)]
        places = [forwarded.index(a) if a in forwarded else None for a in before.arguments]
        targets = [after.arguments[p] if k and p is not None else None for p, k in zip(places, known, strict=True)]
        _end("scf.yield", [], yielded, first_types, targets)
    return _results(body, new, infos)


def _inner(body: BodyLowering, old: ir.Block, arguments: Sequence[ir.Value]) -> BodyLowering:
    """Lower the ops of a region whose arguments are flattened."""
    inner = body.nested()
    remaining = list(arguments)
    for argument in old.arguments:
        inner.values[argument] = lowered = unflatten(struct_info(argument.type), remaining)
        for leaf in flatten(lowered):
            ir.BlockArgument(leaf).set_location(argument.location)
    return inner


def _flat(body: BodyLowering, values: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
    leaves = [leaf for value in values for leaf in body.flat(value)]
    return [_fitted(leaf, type_) for leaf, type_ in zip(leaves, types, strict=True)]


def _fitted(value: ir.Value, type_: ir.Type) -> ir.Value:
    if isinstance(type_, ir.RankedTensorType):
        return cast(value, type_)
    return as_index(value) if isinstance(type_, ir.IndexType) else value


def _of_any_size(init: Sequence[ir.Value], known: Sequence[bool]) -> list[ir.Value]:
    """Return `init`, with copies of the tensors that may change their size.

    Upstream's canonicalisation gives a carried value the static type from before a cast, as if its size were constant.
    """
    return [
        value
        if k or not isinstance(value.type, ir.RankedTensorType)
        else bufferization.alloc_tensor(value.type, [], copy=value)
        for value, k in zip(init, known, strict=True)
    ]


def _sizes_stay(info: StructInfo) -> list[bool]:
    """Per leaf of a carried value, True if it is a tensor of the same size in every iteration."""
    fields = getattr(info, "fields", None)
    if fields is not None:
        return [known for field in fields for known in _sizes_stay(field)]
    if is_handle(info):
        return [False] * len(handle_types())
    if isinstance(info, Tensor):
        return [info.known_shape is not None]
    return [False] * len(getattr(info, "values", None) or (0,))


def _end(
    name: str,
    leading: Sequence[ir.Value],
    values: Sequence[ir.Value],
    types: Sequence[ir.Type],
    targets: Sequence[ir.Value | None],
) -> None:
    """End a region; a value with a target is written into the target's buffer (see `protect-carried`)."""
    given = [_fitted(value, type_) for value, type_ in zip(values, types, strict=True)]
    ended = [
        value
        if target is None or value == target
        else bufferization.materialize_in_destination(target.type, value, target)
        for value, target in zip(given, targets, strict=True)
    ]
    ir.Operation.create(name, operands=[*leading, *ended])


def _results(body: BodyLowering, new: ir.Operation, infos: Sequence[StructInfo]) -> Sequence[Lowered]:
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat) for info in infos]
