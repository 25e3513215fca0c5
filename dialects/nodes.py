"""Expressions as objects: views of a program's expressions, and new ones, which are emitted at their first use.

`ShapeExpr`, `Constant`, `PrimValue`, `Tuple` and `TupleGetItem` are inline parts of other expressions; calls,
conditionals and functions are in `relax_mlir.expr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from relax_mlir.dialects import constants, structure, types
from relax_mlir.dialects.construction import Guard
from relax_mlir.dialects.number_attributes import int_attr
from relax_mlir.dialects.types import DimLike, StructInfo, as_dim, struct_info
from relax_mlir.dialects.value import Scalar, Value, as_value, create, is_building, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

NodeT = TypeVar("NodeT", bound="Node")


class Resolver(Guard):
    """Provides the expressions of a program; it also owns the program, for the views that hold it."""

    def expression(self, ssa: ir.Value) -> Value:
        """The expression of an operand."""
        raise NotImplementedError  # abstract

    def is_current(self) -> bool:
        """True if the program is unchanged since the views were created."""
        raise NotImplementedError  # abstract


class Node(Value):
    """An expression: a view of a program, or a new expression that is emitted at its first use in code being built."""

    _resolver: Resolver | None = None
    _operation: ir.Operation | None = None

    def __init__(self) -> None:
        self._ssa = None
        self._frame = None
        self._info = None

    @classmethod
    def view(cls: type[NodeT], op: ir.Operation, resolver: Resolver, ssa: ir.Value | None = None) -> NodeT:
        """A view of the expression that `op` computes; `ssa` is the value that is visible at the expression."""
        node = cls.__new__(cls)
        Node.__init__(node)
        node._operation, node._resolver, node._frame = op, resolver, resolver
        if len(op.results):
            node._identity = op.results[0]
            node._ssa = node._identity if ssa is None else ssa
        return node

    @property
    def is_view(self) -> bool:
        """True if the expression is part of a program, False if it is new."""
        return self._operation is not None

    @property
    def operation(self) -> ir.Operation:
        """The op of a view."""
        if self._operation is None:
            raise ArgumentError(f"{self!r} is no part of a program yet")
        self.resolver.check(self)
        return self._operation

    def operand(self, index: int) -> Any:  # noqa: ANN401 - any expression
        """Operand `index` of a view."""
        return self.resolver.expression(self.operation.operands[index])

    @property
    def resolver(self) -> Resolver:
        """The resolver of the program that a view belongs to."""
        assert self._resolver is not None, "views have one"
        return self._resolver

    @property
    def ssa(self) -> ir.Value:
        if self._ssa is None:
            require_insertion_point(type(self).__name__)
            self.bind(self.emit().ssa)
        return super().ssa

    @property
    def struct_info(self) -> StructInfo:
        if self._info is None:
            self._info = self.deduced() if self._operation is None else _info_of(self.operation)
        return self._info

    def emit(self) -> Value:
        """Emit the ops of a new expression at the insertion point."""
        raise ArgumentError(f"{self!r} cannot be emitted here")

    def deduced(self) -> StructInfo:
        """Struct info of a new expression; if a function is being built, the expression is emitted for that."""
        if self._ssa is not None or is_building():
            return struct_info(self.ssa.type)
        raise ArgumentError(f"what {self!r} gives is known once it is emitted: `bb.emit` does that")

    def same_as(self, other: object) -> bool:
        if self._operation is not None and isinstance(other, Node) and other._operation is not None:
            return bool(self._operation == other._operation)
        return super().same_as(other)

    def __repr__(self) -> str:
        if self._resolver is not None and not self._resolver.is_current():
            return f"<{type(self).__name__} of a program that has changed>"
        return self.described()

    def described(self) -> str:
        """The form in which messages show the expression."""
        return f"<{type(self).__name__}>"


def _info_of(op: ir.Operation) -> StructInfo:
    """Struct info of the results of an op: a tuple for several results; a rank-0 bool tensor for an ``i1``."""
    infos: list[StructInfo] = [
        types.Tensor((), "bool")
        if isinstance(result.type, ir.IntegerType) and result.type.width == 1
        else struct_info(result.type)
        for result in op.results
    ]
    return infos[0] if len(infos) == 1 else types.Tuple(infos)


class ShapeExpr(Node):
    """A shape value written as dimensions: ``ShapeExpr(["n", 4])``."""

    def __init__(self, values: Sequence[DimLike]) -> None:
        super().__init__()
        expect("ShapeExpr: 'values'", values, list | tuple, "a list or tuple of dimensions")
        dims = tuple(map(as_dim, values))
        if None in dims:
            raise ShapeError(f"ShapeExpr: an unknown dimension has no value: {types.shape_text(dims)}")
        self._info = types.Shape(dims)

    @property
    def values(self) -> tuple[Dim, ...]:
        """The dimensions."""
        info = self.struct_info
        assert isinstance(info, types.Shape) and info.values is not None
        return tuple(dim for dim in info.values if dim is not None)

    def emit(self) -> Value:
        return structure.shape_expr(self.values)

    def described(self) -> str:
        return f"<ShapeExpr {types.shape_text(self.values)}>"


class PrimValue(Node):
    """A symbolic integer as a value: ``PrimValue("n + 1")``."""

    def __init__(self, value: DimLike) -> None:
        super().__init__()
        if as_dim(value) is None and not isinstance(value, int):
            raise ShapeError("PrimValue: an unknown integer has no value")
        self._value = value
        self._info = types.Prim("int64")

    @property
    def value(self) -> Dim:
        """The integer, or the expression that gives it."""
        if self.is_view:
            return structure.integer_of(self.operation.attributes["value"])
        dim = as_dim(self._value)
        assert dim is not None
        return dim

    def emit(self) -> Value:
        return structure.prim_value(self.value)

    def described(self) -> str:
        return f"<PrimValue {self.value}>"


class Constant(Node):
    """A tensor known at compile time: ``Constant(numpy_array)``."""

    def __init__(self, data: np.ndarray[Any, Any] | Scalar) -> None:
        super().__init__()
        self._data = data if isinstance(data, np.ndarray) else None
        if self._data is None:
            self._data = np.asarray(data, "float32" if isinstance(data, float) else None)
        self._info = types.Tensor(self._data.shape, self._data.dtype.name)

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The elements; not to be changed."""
        if self.is_view:
            return constants.to_numpy(self.operation.attributes["value"])
        assert self._data is not None
        return self._data

    def emit(self) -> Value:
        return structure.constant(self.data)

    def described(self) -> str:
        return f"<Constant: {self.struct_info}>"


class Tuple(Node):
    """A tuple of values: ``Tuple([x, y])``. ``rx.Tuple`` of values creates one, too."""

    def __init__(self, fields: Sequence[Any]) -> None:
        super().__init__()
        expect("Tuple: 'fields'", fields, list | tuple, "a list or tuple of values")
        self._fields = tuple(fields)

    @property
    def fields(self) -> tuple[Any, ...]:
        """The fields: expressions, and literals in calls of packed functions."""
        if self.is_view:
            return tuple(self.operand(index) for index in range(len(self.operation.operands)))
        return self._fields

    def deduced(self) -> StructInfo:
        return types.Tuple([_field_info(field) for field in self._fields])

    def emit(self) -> Value:
        return structure.make_tuple(*map(as_value, self._fields))

    def __len__(self) -> int:
        return len(self.fields)

    def described(self) -> str:
        return f"<Tuple of {len(self.fields)}>"


class TupleGetItem(Node):
    """Field `index` of a tuple."""

    def __init__(self, tuple_value: Value, index: int) -> None:
        super().__init__()
        expect("TupleGetItem: 'tuple_value'", tuple_value, Value, "a Relax value")
        expect("TupleGetItem: 'index'", index, int, "a number")
        self._tuple, self._index = tuple_value, index

    @property
    def tuple_value(self) -> Any:  # noqa: ANN401 - any expression
        """The tuple."""
        return self.operand(0) if self.is_view else self._tuple

    @property
    def index(self) -> int:
        """The index of the field, from 0."""
        if self.is_view:
            return int(ir.IntegerAttr(self.operation.attributes["index"]).value)
        return self._index

    def deduced(self) -> StructInfo:
        info = self._tuple.struct_info
        if not isinstance(info, types.Tuple) or not 0 <= self._index < len(info.fields):
            raise ArgumentError(f"TupleGetItem: {info} has no field {self._index}")
        return info.fields[self._index]

    def emit(self) -> Value:
        attributes = {"index": int_attr(self._index, "TupleGetItem: 'index'")}
        return create(structure.TupleGetItemOp, [self._tuple], attributes)[0]

    def described(self) -> str:
        return f"<TupleGetItem {self.index}>"


def _field_info(field: object) -> StructInfo:
    if isinstance(field, Value):
        return field.struct_info
    return Constant(field).struct_info  # type: ignore[arg-type]  # it raises for anything but numbers


def shape_field(info: StructInfo) -> Node | None:
    """The shape of a value with the struct info `info`, in the form of `Value.shape_`."""
    if isinstance(info, types.Tensor):
        return None if info.known_shape is None else ShapeExpr(info.known_shape)
    if isinstance(info, types.Tuple):
        fields = [shape_field(field) for field in info.fields]
        return None if None in fields else Tuple(fields)
    return None
