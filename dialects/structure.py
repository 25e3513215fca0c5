"""Structure of a Relax program: constants, shapes, integers, tuples, `match_shape`, and dataflow blocks."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, implies
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.location import unnamed, user_location
from relax_mlir.dialects.number_attributes import dimension, int_attr, integer
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.traits import (
    EVERY_FORM,
    CopiedIntoFunctions,
    EndsBlock,
    HasEffect,
    HoldsFunctionValues,
    IsInstant,
    IsStatement,
    IsTransparent,
    KeptAtR1,
    OutsideDataflow,
    PassesOn,
    ReadsTensors,
    WrittenInside,
    has_trait,
)
from relax_mlir.dialects.types import (
    UNKNOWN,
    DimLike,
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    as_dim,
    dims_attr,
    dims_from_attr,
    shape_text,
    struct_info,
)
from relax_mlir.dialects.value import (
    Scalar,
    Value,
    ValueLike,
    as_value,
    builder,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError, ParseError, RelaxError, ShapeError, expect
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import arith, ext, ir, tensor
from relax_mlir.symbolic import Expr


class ConstantOp(
    RelaxOp,
    name="constant",
    traits=[ext.Pure, *EVERY_FORM, CopiedIntoFunctions, IsInstant, IsTransparent, WrittenInside],
):
    """A tensor known at compile time.

    Example: ``"relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>``.
    """

    value: Any
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        value = args.attrs["value"]
        if not isinstance(value, ir.DenseElementsAttr) and not constants.is_resource(value):
            raise ArgumentError(f"{args.op}: value {str(value)[:60]} is neither a dense nor a resource attribute")
        return struct_info(value.type)


class ShapeExprOp(RelaxOp, name="shape_expr", traits=[ext.Pure, *EVERY_FORM, IsTransparent, WrittenInside]):
    """A shape value written as expressions of the symbols in scope.

    Example: ``"relax.shape_expr"() {values = ["n*m"]} : () -> !relax.shape_value<["n*m"]>``.
    """

    values: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("values",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        values = dims_from_attr(args.attrs["values"])
        if None in values:
            raise ShapeError(f"{args.op}: an unknown dimension has no value: {shape_text(values)}")
        return Shape(values)


class PrimValueOp(RelaxOp, name="prim_value", traits=[ext.Pure, *EVERY_FORM, IsTransparent, WrittenInside]):
    """A symbolic integer as a value. Example: ``"relax.prim_value"() {value = "2*n"} : () -> i64``."""

    value: ir.StringAttr | ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("value",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        integer_of(args.attrs["value"])
        return Prim("int64")


def integer_of(value: ir.Attribute) -> symbolic.Dim:
    """The value in the attribute of a `relax.prim_value`; unlike a dimension, the integer may be negative."""
    if isinstance(value, ir.IntegerAttr):
        return int(value.value)
    dim = dims_from_attr(ir.ArrayAttr.get([value], context=value.context))[0]
    if dim is None:
        raise ParseError("prim_value: an unknown integer has no value")
    return dim


class ShapeOfOp(RelaxOp, name="shape_of", traits=[ext.Pure, *EVERY_FORM, IsTransparent, ReadsTensors]):
    """The shape of a tensor, as a shape value."""

    input: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Shape(args.tensor(0).shape)


class MatchShapeOp(RelaxOp, name="match_shape", traits=[*EVERY_FORM, IsTransparent, PassesOn]):
    """Bind the symbols of `pattern` that occur for the first time to the dimensions of `input`, and assert the others.

    `input` is a tensor, a shape value, an integer (whose pattern has one entry), or an object, which must be a tensor
    at run time. The result is the same value, with that shape. At run time a rank or dimension that does not match
    raises `ShapeError`, and so does a negative integer for a symbol. `result_dtype` gives a tensor of unknown dtype a
    dtype, which is checked at run time; ``unit`` keeps it unknown. The op may be in a dataflow block, but is not
    removed if its result is unused: it asserts, and defines symbols.
    """

    input: ext.Operand[Any]
    pattern: ir.ArrayAttr
    result_dtype: ir.TypeAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("pattern",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        pattern = dims_from_attr(args.attrs["pattern"])
        info = args.infos[0]
        if isinstance(info, Shape):
            _check_match(args.op, info.values, pattern)
            return Shape(pattern)
        if isinstance(info, Prim):
            return _matched_integer(args, pattern)
        tensor = Tensor(None, None) if isinstance(info, Object) else args.tensor(0)
        _check_match(args.op, tensor.shape, pattern)
        dtype = tensor.dtype
        if not args.is_unit("result_dtype"):
            wanted = dtypes.from_element_type(ir.TypeAttr(args.attrs["result_dtype"]).value)
            if dtype is not None and dtype != wanted:
                raise DTypeError(f"{args.op}: the tensor has dtype {dtype}, not {wanted}")
            dtype = wanted
        return Tensor(pattern, dtype)


def _matched_integer(args: OpArgs, pattern: tuple[symbolic.Dim | None, ...]) -> Prim:
    if len(pattern) != 1 or pattern[0] is None:
        raise ShapeError(
            f"{args.op}: the pattern of an integer is one symbol or expression, such as (n,), not {shape_text(pattern)}"
        )
    if not args.is_unit("result_dtype"):
        raise DTypeError(f"{args.op}: an integer has no dtype to match")
    return Prim("int64")


def _check_match(
    op: str, shape: tuple[symbolic.Dim | None, ...] | None, pattern: tuple[symbolic.Dim | None, ...]
) -> None:
    if shape is None:
        return
    if len(shape) != len(pattern):
        raise ShapeError(
            f"{op}: pattern {shape_text(pattern)} has {len(pattern)} dimensions, "
            f"but the value has {len(shape)}: {shape_text(shape)}"
        )
    for axis, (dim, wanted) in enumerate(zip(shape, pattern, strict=True)):
        if isinstance(dim, int) and isinstance(wanted, int) and dim != wanted:
            raise ShapeError(f"{op}: dimension {axis} is {dim}, which is not {wanted}")


TUPLE = "builtin.unrealized_conversion_cast"
"""The op that creates a tuple. It is upstream's, since IRDL requires one type for all operands of a variadic group.

For the same reason, ops that take a list of values (calls, `concat`) take one tuple, as in Relax itself.
"""


class TupleGetItemOp(
    RelaxOp,
    name="tuple_get_item",
    traits=[ext.Pure, *EVERY_FORM, HoldsFunctionValues, IsInstant, IsTransparent, WrittenInside],
):
    """Field `index` of a tuple, from 0."""

    tuple_value: ext.Operand[Any]
    index: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        info, index = args.infos[0], args.int_attr("index")
        if not isinstance(info, Tuple):
            raise ArgumentError(f"{args.op}: operand 'tuple_value' is {info}, expected a tuple")
        if not 0 <= index < len(info.fields):
            raise ArgumentError(f"{args.op}: index {index} is out of range for a tuple of {len(info.fields)}")
        return info.fields[index]


class OutputOp(
    RelaxOp, name="output", traits=[ir.IsTerminatorTrait, EndsBlock, IsTransparent, KeptAtR1, OutsideDataflow]
):
    """Terminator of `relax.dataflow`: the value that leaves the block, a tuple for several."""

    value: ext.Operand[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return []


class DataflowOp(RelaxOp, name="dataflow", traits=[IsStatement, KeptAtR1, OutsideDataflow]):
    """A dataflow block: pure ops without control flow, ended by `relax.output`, whose operand is the result."""

    result: ext.Result[Any]
    body: ext.Region

    @classmethod
    def check(cls, args: OpArgs, results: Sequence[StructInfo]) -> None:
        """Accept any result; `verify_region_invariants` checks it against the terminator."""

    @staticmethod
    def verify_region_invariants(op: Any) -> bool:  # noqa: ANN401 - called by the bindings with the op's own view
        """Verify the op after the ops of its body; called by MLIR's verifier."""
        try:
            with symbolic.assuming(bounds_around(op.operation)):
                _check_dataflow(op.operation)
        except RelaxError as error:
            op.operation.location.emit_error(str(error))
            return False
        return True


def _check_dataflow(op: ir.Operation) -> None:
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1 or len(blocks[0].arguments) != 0:
        raise ArgumentError("dataflow: the body is one block without arguments")
    body = list(blocks[0].operations)
    if not body or body[-1].operation.name != OutputOp.OPERATION_NAME:
        raise ArgumentError("dataflow: the body must end in relax.output")
    given, declared = struct_info(body[-1].operation.operands[0].type), struct_info(op.results[0].type)
    if not implies(given, declared):
        raise ShapeError(f"dataflow: its result is {declared}, but relax.output gives {given}")
    for inner in body[:-1]:
        name = inner.operation.name
        if not is_pure(inner.operation):
            raise ArgumentError(
                f"dataflow: {name} is not pure; dataflow blocks hold pure ops without control flow [invariant 4]"
            )


INTEGER_OPS = frozenset({"arith.addi", "arith.subi", "arith.muli", "arith.floordivsi", "arith.cmpi"})
"""Upstream ops that compute integer values."""


def is_pure(op: ir.Operation) -> bool:
    """True for ops allowed in a dataflow block: Relax's pure ops, and constants of arith and index."""
    name = op.name
    if name.startswith("relax."):
        return not has_trait(op, HasEffect, OutsideDataflow)
    if name in INTEGER_OPS:
        return True
    return name in (TUPLE, "arith.constant", "index.constant", "tensor.extract", "tensor.from_elements")


@exported()
def constant(value: np.ndarray[Any, Any] | Scalar, dtype: str | None = None, name: str | None = None) -> Value:
    """Emit a constant. A C-contiguous array is referenced, not copied: do not change it afterwards.

    `dtype` converts the value; by default, Python floats become float32, ints int64 and bools bool. `name` is the name
    in printed modules.
    """
    require_insertion_point("constant")
    if isinstance(value, bool | int | float):
        default = "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"
        value = _converted(value, dtypes.dtype(dtype or default))
    elif not isinstance(value, np.ndarray | np.generic):
        raise ArgumentError(f"constant: {value!r:.60} ({type(value).__name__}) is neither a number nor an array")
    elif dtype is not None:
        value = _converted(value, dtypes.dtype(dtype))
    made = create_one(ConstantOp, [], {"value": constants.to_attribute(np.asarray(value), name)})
    if name:
        op = made.ssa.owner
        op.location = ir.Location.name(re.sub(r"\W", "_", name, flags=re.ASCII), op.location)
    return made


def _converted(value: np.ndarray[Any, Any] | Scalar, dtype: dtypes.DType) -> np.ndarray[Any, Any]:
    dtypes.require_held("constant: 'value'", value, dtype)
    try:
        if isinstance(value, bool | int | float):
            return np.asarray(value, dtype=dtype.numpy)
        return np.asarray(value).astype(dtype.numpy, copy=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise DTypeError(f"constant: {str(value)[:60]} is no value of dtype {dtype}: {error}") from None


@exported()
def shape_expr(values: Sequence[DimLike]) -> Value:
    """Emit a shape value of the given dimensions: ints, expression texts or `symbolic.Expr`."""
    require_insertion_point("shape_expr")
    expect("shape_expr: 'values'", values, list | tuple, "a list or tuple of dimensions")
    dims = [
        as_dim(v if v is None or isinstance(v, str) else dimension(v, f"shape_expr: 'values'[{i}]"))
        for i, v in enumerate(values)
    ]
    return create_one(ShapeExprOp, [], {"values": dims_attr(dims)})


@exported()
def prim_value(value: DimLike) -> Value:
    """Emit a symbolic integer as a value."""
    require_insertion_point("prim_value")
    if value is None or value in (UNKNOWN, "_"):
        raise ParseError("prim_value: an unknown integer has no value")
    dim = dimension(value, "prim_value: 'value'")
    return create_one(PrimValueOp, [], {"value": dims_attr([dim])[0]})


@exported()
def shape_of(x: Value) -> Value:
    """The shape of tensor `x` as a shape value."""
    return create_one(ShapeOfOp, [x])


@exported()
def match_shape(value: Value, pattern: Sequence[DimLike], dtype: str | None = None) -> Value:
    """`value` (a tensor, shape or integer) with the shape `pattern` from here on; see `MatchShapeOp`."""
    require_insertion_point("match_shape")
    expect("match_shape: 'pattern'", pattern, list | tuple, "a list or tuple of dimensions")
    result_dtype = ir.UnitAttr.get() if dtype is None else ir.TypeAttr.get(dtypes.dtype(dtype).element_type())
    attributes = {"pattern": dims_attr([as_dim(p) for p in pattern]), "result_dtype": result_dtype}
    return create_one(MatchShapeOp, [value], attributes)


@exported()
def make_tuple(*fields: Value) -> Value:
    """A tuple of `fields`."""
    require_insertion_point("make_tuple")
    for index, item in enumerate(fields):
        expect(f"make_tuple: field {index}", item, Value, "a Relax value")
    return Value(pack([field.ssa for field in fields], user_location()))


def pack(fields: Sequence[ir.Value], location: ir.Location) -> ir.Value:
    """An unnamed tuple of SSA values, created at the current insertion point."""
    tuple_type = ir.TupleType.get_tuple([field.type for field in fields])
    packed = ir.Operation.create(TUPLE, results=[tuple_type], operands=list(fields), loc=unnamed(location))
    return packed.results[0]


def unpack(value: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The fields of a tuple, of the given types: the operands of a `tuple` op, otherwise extracted fields."""
    defining = defining_op(value)
    if defining is not None and defining.name == TUPLE:
        return list(defining.operands)
    i64 = ir.IntegerType.get_signless(64)
    return [
        ir.Operation.create(
            TupleGetItemOp.OPERATION_NAME,
            results=[type_],
            operands=[value],
            attributes={"index": ir.IntegerAttr.get(i64, index)},
        ).results[0]
        for index, type_ in enumerate(types)
    ]


@exported()
def tuple_get_item(tuple_value: Value, index: int) -> Value:
    """Field `index` of a tuple; negative indices count from the end."""
    expect("tuple_get_item: 'tuple_value'", tuple_value, Value, "a Relax value")
    index = integer(index, "tuple_get_item: 'index'")
    info = tuple_value.struct_info
    if index < 0 and isinstance(info, Tuple):
        index += len(info.fields)
    require_insertion_point("tuple_get_item")
    return create_one(TupleGetItemOp, [tuple_value], {"index": int_attr(index, "tuple_get_item: 'index'")})


def tuple_of(name: str, tensors: Value | Sequence[ValueLike], what: str) -> Value:
    """A sequence of tensors, a tuple value, or one tensor, as a tuple value."""
    if isinstance(tensors, Value):
        return tensors if isinstance(tensors.struct_info, Tuple) else make_tuple(tensors)
    if not isinstance(tensors, list | tuple):
        raise ArgumentError(f"{name}: '{what}' is {tensors!r:.60}, expected tensors or a tuple of them")
    return make_tuple(*map(as_value, tensors))


def is_convertible(have: StructInfo, want: StructInfo) -> bool:
    """True if `converted` can convert a value of struct info `have` to `want`.

    It cannot forget a rank or a dtype, nor change a function type: `match_shape` cannot express these.
    """
    if have == want:
        return True
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        return len(have.fields) == len(want.fields) and all(map(is_convertible, have.fields, want.fields))
    if isinstance(have, Shape) and isinstance(want, Shape):
        return want.values is not None and (have.values is None or len(have.values) == len(want.values))
    if isinstance(have, Tensor) and isinstance(want, Tensor):
        has_rank = want.shape is not None and (have.shape is None or len(have.shape) == len(want.shape))
        return has_rank and want.dtype == have.dtype
    return False


def leaves(value: ir.Value, want: StructInfo) -> list[tuple[ir.Value, StructInfo]]:
    """The fields of a value as far as types differ, each with the corresponding part of the wanted type.

    Fields are extracted at the insertion point.
    """
    have = struct_info(value.type)
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        fields = unpack(value, [item.to_type() for item in have.fields])
        pairs = zip(fields, want.fields, strict=True)
        return [leaf for item, info in pairs for leaf in leaves(item, info)]
    return [(value, want)]


def rebuilt(have: StructInfo, want: StructInfo, parts: Iterator[ir.Value]) -> ir.Value:
    """The inverse of `leaves`: rebuild a value from its converted leaves, in order."""
    if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
        pairs = zip(have.fields, want.fields, strict=True)
        return pack([rebuilt(item, info, parts) for item, info in pairs], ir.Location.current)
    return next(parts)


def converted(value: ir.Value, want: StructInfo) -> ir.Value:
    """`value` with the struct info `want`, created at the insertion point and the current location.

    Information in `want` that the type of `value` lacks is checked at run time. The two must be convertible.
    """
    have = struct_info(value.type)
    if have == want:
        return value
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        fields = unpack(value, [item.to_type() for item in have.fields])
        items = [converted(item, info) for item, info in zip(fields, want.fields, strict=True)]
        return pack(items, ir.Location.current)
    dims = want.values if isinstance(want, Shape) else want.shape if isinstance(want, Tensor) else None
    assert dims is not None, f"{have} is not convertible to {want}"
    return ir.Operation.create(
        MatchShapeOp.OPERATION_NAME,
        results=[want.to_type()],
        operands=[value],
        attributes={"pattern": dims_attr(dims), "result_dtype": ir.UnitAttr.get()},
    ).results[0]


ARITHMETIC = {
    "add": "arith.addi",
    "subtract": "arith.subi",
    "multiply": "arith.muli",
    "floor_divide": "arith.floordivsi",
}
"""Builder of a tensor op → the corresponding op on integers."""

COMPARISONS = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "slt",
    "less_equal": "sle",
    "greater": "sgt",
    "greater_equal": "sge",
}
"""Builder of a tensor comparison → the predicate on integers."""

Integer = Value | Expr | int


def is_integer(item: object) -> bool:
    """True if `item` is an integer value."""
    return isinstance(item, Value) and isinstance(item.struct_info, Prim)


def as_integer(what: str, item: object) -> Value:
    """`item`, an integer value, a symbolic expression or an int, as a value; raises `ArgumentError`."""
    if is_integer(item):
        assert isinstance(item, Value)
        return item
    if isinstance(item, np.integer):
        item = int(item)
    if isinstance(item, Expr) or (isinstance(item, int) and not isinstance(item, bool)):
        return prim_value(item)
    shown = item.struct_info if isinstance(item, Value) else repr(item)
    raise ArgumentError(f"{what}: {shown} is no integer, but the other operand is one")


def arithmetic(name: str, left: object, right: object) -> Value:
    """Arithmetic such as ``left + right`` on integers, wrapping around at 64 bits.

    `name` is the name of the tensor op. ``%`` is Python's; a divisor that is not positive is an error at run time.

    Raises:
        ArgumentError: an operand is not an integer, or integers do not have the op.
    """
    require_insertion_point(name)
    if name == "floor_mod":
        right = as_integer(name, right)
        quotient = arithmetic("floor_divide", left, right)
        return arithmetic("subtract", left, arithmetic("multiply", quotient, right))
    if name not in ARITHMETIC:
        cast = ', op.astype(tensor, "float64") one that is divided' if name == "divide" else ""
        raise ArgumentError(
            f"{name}: integers take +, -, *, //, % and comparisons; op.prim_to_tensor makes a tensor of one{cast}"
        )
    operands = [as_integer(name, left).ssa, as_integer(name, right).ssa]
    i64 = ir.IntegerType.get_signless(64)
    op = ir.Operation.create(ARITHMETIC[name], results=[i64], operands=operands, loc=user_location())
    return Value(op.results[0])


def comparison(name: str, left: object, right: object) -> ir.Value:
    """A comparison such as ``left < right`` on integers, as an ``i1``."""
    require_insertion_point(name)
    predicate = getattr(arith.CmpIPredicate, COMPARISONS[name])
    operands = [as_integer(name, left).ssa, as_integer(name, right).ssa]
    with user_location():
        found: ir.Value = arith.cmpi(predicate, *operands)
    return found


@exported()
def prim_to_tensor(value: Integer) -> Value:
    """An integer as an int64 tensor of rank 0.

    Raises:
        ArgumentError: `value` is no integer.
    """
    require_insertion_point("prim_to_tensor")
    return as_tensor(as_integer("prim_to_tensor", value).ssa)


def as_elements(item: object, other: object) -> object:
    """Convert an integer used together with a tensor to a rank-0 tensor of its dtype; other items are unchanged."""
    if not isinstance(other, Value) or not isinstance(other.struct_info, Tensor):
        return item
    if not is_integer(item) and not isinstance(item, Expr):
        return item
    number = prim_to_tensor(item)  # type: ignore[arg-type]  # as has been checked
    dtype = other.struct_info.dtype
    return number if dtype is None or dtype.name == "int64" else builder("astype")(number, dtype.name)


def binary(name: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - values, numbers, expressions
    """Apply a binary operator to tensors or integers."""
    left, right = as_elements(left, right), as_elements(right, left)
    if not is_integer(left) and not is_integer(right):
        return builder(name)(left, right)
    if name in COMPARISONS:
        return compare(name, left, right)
    return arithmetic(name, left, right)


def as_tensor(scalar: ir.Value) -> Value:
    """An ``i1`` or ``i64`` as a rank-0 tensor of dtype bool or int64."""
    with user_location():
        return Value(tensor.from_elements(ir.RankedTensorType.get([], scalar.type), [scalar]))


def compare(name: str, left: object, right: object) -> Value:
    """`comparison` as a bool tensor of rank 0."""
    return as_tensor(comparison(name, left, right))
