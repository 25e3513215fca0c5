"""`Value`, a typed handle of an SSA value with Python operators; `create`, which builds every Relax op.

`Value.checked_type` is a type of the original Relax design: rank and dtype of a value, without its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from relax_mlir.dialects import construction, types
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence
from relax_mlir.dialects.constants import from_torch, is_torch
from relax_mlir.dialects.dtypes import require_held
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.types import DimLike, Prim, Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import (
    ArgumentError,
    BoundsError,
    DTypeError,
    ShapeError,
    UnknownAttributeError,
    UnknownNameError,
    expect,
)
from relax_mlir.lazy import Hook
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Expr

OTHER_NAMES = {
    "T": "op.permute_dims(x)",
    "mT": "op.permute_dims(x, axes)",
    "transpose": "op.permute_dims(x, axes)",
    "view": "op.reshape(x, shape)",
    "to": "op.astype(x, dtype)",
    "float": 'op.astype(x, "float32")',
    "int": 'op.astype(x, "int32")',
    **dict.fromkeys(("item", "numpy", "tolist"), "return the value from the function: it has no elements before"),
}
"""Attributes of NumPy and PyTorch tensors, each with the alternative to write."""


# The ops that methods of values emit are in modules that import this one.
_function: Hook[[str], Callable[..., Value] | None] = Hook("Value.op")
_apply: Hook[[str, Any, Any], Value] = Hook("Value.binary")
_constant: Hook[[np.ndarray[Any, Any]], Value] = Hook("Value.constant")
_elements: Hook[[Value, tuple[Any, ...]], Value] = Hook("Value.elements")
_shape_field: Hook[[StructInfo], Any] = Hook("Value.shape_")


class PythonProtocols:
    """A base of `Value`: conversions to Python and NumPy objects, which raise errors."""

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the truth of a Relax value is known at run time only; use op.if_then_else, and op.logical_and, "
            "op.logical_or and op.logical_not of conditions"
        )

    def __float__(self) -> float:
        self._is_no_number("op.astype(x, dtype) converts it")

    __int__ = __complex__ = __float__

    def __index__(self) -> int:
        self._is_no_number("op.for_loop counts to it, op.take takes the elements that it says")

    def __round__(self, digits: int | None = None) -> Any:  # noqa: ANN401 - a value
        if digits is None:
            return self._op("round")
        self._is_no_number(f"op.round rounds to integers, so write op.round(x * c) / c with c = 10.0**{digits}")

    def __trunc__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("trunc")

    def __floor__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("floor")

    def __ceil__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("ceil")

    def __contains__(self, item: object) -> bool:
        raise ArgumentError(
            f"what {self!r} contains is known at run time only: op.max(op.equal(x, item)) is a condition"
        )

    def __format__(self, specification: str) -> str:
        if specification:
            self._is_no_number(f"op.print shows it when the program runs; {specification!r} formats numbers")
        return str(self)

    def __setitem__(self, index: object, value: object) -> None:
        raise ArgumentError("values do not change; op.where and op.concat make new ones")

    def __delitem__(self, index: object) -> None:
        raise ArgumentError("values do not change; op.strided_slice and op.concat make new ones")

    def __array__(self, *arguments: object, **named: object) -> np.ndarray[Any, Any]:
        raise ArgumentError(f"{self!r} has no elements before it is run: use the functions of op, not NumPy's")

    def __dlpack__(self, *arguments: object, **named: object) -> object:
        raise ArgumentError(f"{self!r} has no elements before it is run: return it from the function")

    def __dlpack_device__(self) -> tuple[int, int]:
        raise ArgumentError(f"{self!r} is on no device before it is run: return it from the function")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ArgumentError(
            f"{self!r} belongs to the function that is built: it cannot be copied or pickled; IRModule.save "
            "writes modules"
        )

    def _op(self, name: str) -> Any:  # noqa: ANN401 - a value
        return builder(name)(self)

    def _is_no_number(self, advice: str) -> NoReturn:
        raise ArgumentError(f"{self!r} is known at run time only: it is no Python number; {advice}")


class Dims(tuple[Any, ...]):
    """The dimensions of a value, as in its `shape`: a tuple with a descriptive error for a wrong index."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - an int or a slice
        try:
            return super().__getitem__(index)
        except IndexError:
            raise BoundsError(f"no dimension {index}: the rank is {len(self)}") from None
        except TypeError:
            raise ArgumentError(f"a dimension has a number, not {index!r}") from None


class CheckedType:
    """The type of a value without its shape. Immutable, with structural ``==`` and ``hash``."""


@dataclass(frozen=True)
class DynTensorType(CheckedType):
    """A tensor; `ndim` is -1 if the rank is unknown, `dtype` None if the dtype is."""

    ndim: int = -1
    dtype: str | None = "float32"


@dataclass(frozen=True)
class ShapeType(CheckedType):
    """A shape value; `ndim` is -1 if its rank is unknown."""

    ndim: int = -1


@dataclass(frozen=True)
class PrimType(CheckedType):
    """A symbolic integer."""

    dtype: str = "int64"


@dataclass(frozen=True)
class TupleType(CheckedType):
    """A tuple."""

    fields: tuple[CheckedType, ...] = ()


@dataclass(frozen=True)
class FuncType(CheckedType):
    """A function as a value; both fields are None if they are unknown."""

    arg_types: tuple[CheckedType, ...] | None = None
    ret_type: CheckedType | None = None


@dataclass(frozen=True)
class ObjectType(CheckedType):
    """An opaque object."""


def checked_type(info: StructInfo) -> CheckedType:
    """The type of a value with the struct info `info`."""
    if isinstance(info, types.Tensor):
        dtype = None if info.dtype is None else info.dtype.name
        return DynTensorType(-1 if info.ndim is None else info.ndim, dtype)
    if isinstance(info, types.Shape):
        return ShapeType(-1 if info.ndim is None else info.ndim)
    if isinstance(info, types.Prim):
        return PrimType(info.dtype)
    if isinstance(info, types.Tuple):
        return TupleType(tuple(map(checked_type, info.fields)))
    if isinstance(info, types.Callable):
        if info.params is None or info.result is None:
            return FuncType()
        return FuncType(tuple(map(checked_type, info.params)), checked_type(info.result))
    if isinstance(info, types.Object):
        return ObjectType()
    raise ArgumentError(f"{info} has no type")


Scalar = bool | int | float


def _operator(name: str) -> Callable[[Value, ValueLike], Value]:
    """The method of a binary operator that calls the op `name`."""
    return lambda self, other: _binary(name, self, other)


def _reflected(name: str) -> Callable[[Value, ValueLike], Value]:
    """The method of a binary operator whose left operand is no value."""
    return lambda self, other: _binary(name, other, self)


class Value(PythonProtocols):
    """A value of the program under construction: an SSA value and its struct info.

    Operators (``x + y``, ``x @ y``, ``-x``, ``x > 0``, ``t[0]``) emit the corresponding ops; numbers become constants
    of the other operand's dtype. While a function is being built, ``==`` and ``!=`` emit ops; otherwise, and with other
    objects, they compare handles. Dictionaries use the identity of a value. Views of a finished program are equal if
    they denote the same value.
    """

    _identity: ir.Value | None = None
    """For a view of a finished program (`relax_mlir.expr`): the SSA value that identifies it."""

    def __hash__(self) -> int:
        return object.__hash__(self) if self._identity is None else hash(self._identity)

    def __init__(self, ssa: ir.Value) -> None:
        self._ssa: ir.Value | None = ssa
        self._frame: construction.Guard | None = construction.current()
        # Read immediately while a function is being built: a pass may erase the op before the value is printed.
        self._info: StructInfo | None = None if self._frame is None else struct_info(ssa.type)

    def bind(self, ssa: ir.Value) -> None:
        """Bind the value to `ssa`."""
        self._ssa = ssa
        self._frame = construction.current()

    @property
    def ssa(self) -> ir.Value:
        """The SSA value; raises `ArgumentError` if the function being built may not use it."""
        if self._ssa is None:
            raise ArgumentError(f"{self!r} is not bound yet: use it inside the function that has it as a parameter")
        if self._frame is not None:
            self._frame.check(self)
        return self._ssa

    @property
    def struct_info(self) -> StructInfo:
        """The struct info of the value."""
        if self._info is None:
            if self._ssa is None:
                raise ArgumentError(f"nothing is known of {self!r} before it is bound")
            self._info = struct_info(self._ssa.type)
        return self._info

    @property
    def checked_type(self) -> CheckedType:
        """Rank and dtype of a tensor, or the kind of another value, without shapes."""
        return checked_type(self.struct_info)

    checked_type_ = checked_type

    @property
    def shape_(self) -> Any:  # noqa: ANN401 - a ShapeExpr, or a Tuple of such
        """The dimensions of a tensor as a `ShapeExpr`; for a tuple, the tuple of those of its fields; else None.

        Also None if a dimension is unknown. A dimension that an expression determines at run time is a symbol, which a
        `match_shape` of that expression defines.
        """
        return _shape_field(self.struct_info)

    def same_as(self, other: object) -> bool:
        """True if both are the same value of a program; unlike ``==``, this never emits an op."""
        if self is other or not isinstance(other, Value):
            return self is other
        mine, theirs = self._identity or self._ssa, other._identity or other._ssa
        return mine is not None and theirs is not None and bool(mine == theirs)

    @property
    def tensor_info(self) -> Tensor:
        """`struct_info` of a tensor; raises `ArgumentError` for another kind of value."""
        info = self.struct_info
        if not isinstance(info, Tensor):
            raise ArgumentError(f"expected a tensor, got {info}")
        return info

    @property
    def shape(self) -> Dims:
        """Dimensions of a tensor or a shape value; raises `ShapeError` if the rank is unknown."""
        info = self.struct_info
        dims = info.values if isinstance(info, Shape) else self.tensor_info.shape
        if dims is None:
            raise ShapeError(f"the rank of {info} is unknown; match_shape it first")
        return Dims(dims)

    @property
    def dtype(self) -> str | None:
        """Name of a tensor's dtype, or None if unknown."""
        dtype = self.tensor_info.dtype
        return None if dtype is None else dtype.name

    @property
    def ndim(self) -> int | None:
        """Rank of a tensor, or None if unknown."""
        return self.tensor_info.ndim

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.struct_info}>"

    def __iter__(self) -> Any:  # noqa: ANN401 - a generator of Value
        info = self.struct_info
        if not isinstance(info, Tuple):
            raise ArgumentError(f"cannot iterate over {info}; only tuples can be unpacked")
        return (self[i] for i in range(len(info.fields)))

    def __len__(self) -> int:
        info = self.struct_info
        if isinstance(info, Tuple):
            return len(info.fields)
        size = self.shape[0] if isinstance(info, Tensor) and self.shape else None
        if not isinstance(size, int):
            raise ArgumentError(f"the length of {info} is no number that is known now; see its `shape`")
        return size

    def __getitem__(self, index: Any) -> Value:  # noqa: ANN401 - an int, or an index of a tensor
        if not isinstance(self.struct_info, Tensor):
            return builder("tuple_get_item")(self, index)
        return _elements(self, index if isinstance(index, tuple) else (index,))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: object) -> Value:  # noqa: ANN401 - arrays and values
        """Handle an operator with an array on its left; other NumPy functions compute eagerly, which a value cannot."""
        name = {"remainder": "floor_mod"}.get(ufunc.__name__, ufunc.__name__)
        if method == "__call__" and not named and name in OPERATORS and len(inputs) == 2:
            return _binary(name, *inputs)
        raise ArgumentError(
            f"numpy.{ufunc.__name__} computes now, {self!r} is known at run time only: use the ops of op"
        )

    @classmethod
    def __torch_function__(cls, function: Any, types: object, args: Any = (), kwargs: object = None) -> Any:  # noqa: ANN401 - PyTorch's
        """Handle an operator with a PyTorch tensor on its left; other PyTorch functions do not accept values."""
        if len(args) == 2 and is_torch(args[0]):
            return NotImplemented
        name = getattr(function, "__name__", "")
        raise ArgumentError(f"torch.{name} computes now, a Relax value is known at run time only: use the ops of op")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - it raises
        if name.startswith("_"):
            raise AttributeError(name)
        known = [item for item in dir(type(self)) if not item.startswith("_")]
        hint = f"the ops are functions: op.{name}(x, …)" if _function(name) is not None else ""
        if name in OTHER_NAMES and not hint:
            hint = f"write {OTHER_NAMES[name]}" if "(" in OTHER_NAMES[name] else OTHER_NAMES[name]
        message = str(UnknownNameError(f"attribute of a {type(self).__name__}", name, known, hint))
        raise UnknownAttributeError(message)

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")

    def __divmod__(self, other: ValueLike) -> tuple[Value, Value]:
        return _binary("floor_divide", self, other), _binary("floor_mod", self, other)

    def __rdivmod__(self, other: ValueLike) -> tuple[Value, Value]:
        return _binary("floor_divide", other, self), _binary("floor_mod", other, self)

    __mod__, __rmod__ = _operator("floor_mod"), _reflected("floor_mod")

    def __pow__(self, other: ValueLike, modulus: object = None) -> Value:
        if modulus is not None:
            raise ArgumentError("power: there is no power modulo a number; write x ** y % z")
        return _binary("power", self, other)

    def __rpow__(self, other: ValueLike) -> Value:
        return _binary("power", other, self)

    __matmul__, __rmatmul__ = _operator("matmul"), _reflected("matmul")

    def __pos__(self) -> Value:
        return self

    def __neg__(self) -> Value:
        return 0 - self if isinstance(self.struct_info, Prim) else builder("negative")(self)

    def __abs__(self) -> Value:
        return builder("abs")(self)

    __lshift__ = _operator("left_shift")
    __rshift__ = _operator("right_shift")

    def __invert__(self) -> Value:
        return builder("bitwise_not")(self)

    __and__ = _operator("bitwise_and")
    __or__ = _operator("bitwise_or")
    __xor__ = _operator("bitwise_xor")

    def __eq__(self, other: object) -> Any:  # noqa: ANN401 - a Value, or a bool
        if self._identity is not None and isinstance(other, Value) and not is_building():
            return self.same_as(other)
        return _binary("equal", self, other) if _are_compared(self, other) else NotImplemented

    def __ne__(self, other: object) -> Any:  # noqa: ANN401 - a Value, or a bool
        if self._identity is not None and isinstance(other, Value) and not is_building():
            return not self.same_as(other)
        return _binary("not_equal", self, other) if _are_compared(self, other) else NotImplemented

    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")


class Var(Value):
    """A named parameter, created before its function and bound to an SSA value when the function is opened.

    A `Var` without struct info is the left side of a `VarBinding`, and has the struct info of the bound value.
    """

    def __init__(self, name: str, struct_info: StructInfo | None = None) -> None:
        expect("Var: 'name'", name, str, "a string")
        expect(
            f"Var '{name}': 'struct_info'",
            struct_info,
            StructInfo | None,
            'a StructInfo such as Tensor(("n",), dtype)',
        )
        self.name = name
        self._ssa = None
        self._frame = None
        self._info = struct_info

    @property
    def name_hint(self) -> str:
        """The name, under TVM's name for it."""
        return self.name

    vid = name_hint

    def __repr__(self) -> str:
        known = "" if self._info is None and self._ssa is None else f": {self.struct_info}"
        return f"<{type(self).__name__} {self.name}{known}>"


def var(name: str, shape: Sequence[DimLike] | None = None, dtype: str | None = "float32") -> Var:
    """A tensor parameter; ``var("x", shape=["n", 4])`` is ``Var("x", Tensor(("n", 4), "float32"))``.

    Args:
        shape: the dimensions; None means unknown rank.
        dtype: the dtype; None means unknown.
    """
    return Var(name, Tensor(shape, dtype))


ValueLike = Value | Scalar | np.ndarray | np.generic
OPERANDS = (Value, bool, int, float, np.ndarray, np.generic, Expr, list, tuple)
"""Types of operands of operators; lists and tuples are included so that errors can suggest alternatives."""
OPERATORS = {
    *("add", "subtract", "multiply", "divide", "floor_divide", "floor_mod", "power", "matmul"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
}
"""The ops of binary operators; their names are those of NumPy's functions."""


def _are_compared(value: Value, other: object) -> bool:
    """True if ``==`` emits an op: a function is being built, and both can be operands."""
    if value is other and not isinstance(value.struct_info, Tensor | Prim):
        return False
    return (isinstance(other, OPERANDS) or is_torch(other)) and is_building()


def _binary(name: str, left: Any, right: Any) -> Value:  # noqa: ANN401 - values, numbers, expressions
    """Apply a binary operator to tensors or integers."""
    _require_function(name, left, right)
    return _apply(name, left, right)


def _require_function(name: str, *operands: object) -> None:
    """Raise `ArgumentError` if no function is being built; the message explains how parameters become values."""
    params = [operand.name for operand in operands if isinstance(operand, Var)]
    if params and not is_building():
        raise ArgumentError(
            f"{name}: no function is being built, and parameters are values inside theirs: "
            f'with bb.function("main", [{", ".join(dict.fromkeys(params))}])'
        )


def builder(name: str) -> Callable[..., Value]:
    """The function `name` of `relax_mlir.op`."""
    function = _function(name)
    assert function is not None, name
    return function


def is_building() -> bool:
    """True if ops can be emitted: there is an insertion point."""
    try:
        return ir.InsertionPoint.current is not None
    except ValueError:
        return False


def require_insertion_point(what: str) -> ir.InsertionPoint:
    """The current insertion point; raises `ArgumentError` if no function is being built."""
    try:
        return ir.InsertionPoint.current
    except ValueError:
        raise ArgumentError(f"{what}: no function is being built; call it inside `with bb.function(...)`") from None


def as_value(value: ValueLike, like: StructInfo | None = None, what: str = "the constant") -> Value:
    """`value` as a Value: a number becomes a rank-0 constant of the dtype of `like`, an array a constant.

    `what`: the description for messages, such as "add: 'x2'".
    """
    if isinstance(value, Value):
        return value
    if is_torch(value):
        value = from_torch(value)
    if isinstance(value, np.ndarray | np.generic):
        return _constant(np.asarray(value))
    if not isinstance(value, bool | int | float):
        hint = "; op.const(numpy.array(...)) makes a constant of numbers" if isinstance(value, list | tuple) else ""
        raise ArgumentError(f"cannot make a Relax value of {value!r:.60} ({type(value).__name__}){hint}")
    if not isinstance(like, Tensor) or like.dtype is None:
        raise DTypeError(f"the dtype of the constant {value!r} is unclear; write op.const({value!r}, dtype)")
    return _constant(_checked_scalar(value, like, what))


def _checked_scalar(value: Scalar, like: Tensor, what: str) -> np.ndarray:
    assert like.dtype is not None
    if isinstance(value, bool) and like.dtype.kind != "bool":
        raise DTypeError(
            f'the bool {value} beside a tensor of dtype {like.dtype}: write a number, or op.const({value}, "bool")'
        )
    if like.dtype.is_integer and (isinstance(value, float) and not value.is_integer()):
        raise DTypeError(f"the constant {value!r} does not fit dtype {like.dtype}; astype the tensor first")
    require_held(what, value, like.dtype)
    return np.asarray(value, dtype=like.dtype.numpy)


def as_values(*values: ValueLike, of: type[RelaxOp] | None = None, names: Sequence[str] | None = None) -> list[Value]:
    """Operands of one dtype: numbers take the dtype of the first tensor among `values`.

    Messages name the op `of` and its operands, or `names`.
    """
    like = next((v.struct_info for v in values if isinstance(v, Value)), None)
    if like is None:
        values = tuple(from_torch(v) if is_torch(v) else v for v in values)
        array = next((v for v in values if isinstance(v, np.ndarray | np.generic)), None)
        like = None if array is None else Tensor(array.shape, array.dtype)  # type: ignore[arg-type]  # np.dtype is one
    if of is None:
        return [as_value(v, like) for v in values]
    op = of.OPERATION_NAME.removeprefix("relax.")
    names = names or of.operand_names()
    return [
        v if isinstance(v, Value) else as_value(v, like, f"{op}: '{name}'")
        for v, name in zip(values, names, strict=True)
    ]


def create(
    cls: type[RelaxOp],
    operands: Sequence[Value],
    attributes: Mapping[str, ir.Attribute] | None = None,
    results: Sequence[StructInfo] | None = None,
) -> list[Value]:
    """Emit an op at the current insertion point; its results are deduced by the op's shape rule if not given.

    Raises the errors of the shape rule before anything is emitted.
    """
    op_name, names = cls.OPERATION_NAME, cls.operand_names()
    what = op_name.removeprefix("relax.")
    require_insertion_point(what)
    for name, operand in zip(names, operands, strict=False):
        if not isinstance(operand, Value):
            expect(f"{what}: operand '{name}'", operand, Value, "a Relax value")
    for info in results or ():
        expect(f"{what}: the result's info", info, StructInfo, "a StructInfo")
    attributes = dict(attributes or {})
    args = OpArgs(what, names, tuple(v.struct_info for v in operands), attributes)
    if results is None:
        results = as_sequence(cls.infer(args))
    else:
        cls.check(args, results)
    op = ir.Operation.create(
        op_name,
        results=[info.to_type() for info in results],
        operands=[v.ssa for v in operands],
        attributes=attributes,
        loc=user_location(),
    )
    return [Value(result) for result in op.results]


def create_one(
    cls: type[RelaxOp], operands: Sequence[Value], attributes: Mapping[str, ir.Attribute] | None = None
) -> Value:
    """`create` of an op with one result."""
    return create(cls, operands, attributes)[0]
