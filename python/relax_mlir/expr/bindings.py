"""`Binding`: one op of a function, as passes see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects import constants, dtypes, types
from relax_mlir.dialects.structure import TUPLE, ConstantOp, MatchShapeOp
from relax_mlir.dialects.types import DimLike, StructInfo, dims_from_attr
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, DTypeError, expect
from relax_mlir.expr.program import Program
from relax_mlir.ir_queries import defining_op, enclosing_function
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim

NAMES = {TUPLE: "tuple", "scf.if": "if", "scf.while": "while"}
"""The names of structural ops; other ops keep theirs, for instance ``arith.constant``."""


class Binding:
    """One op with its operands, attributes and result: ``lv = R.add(x, y)`` in the script.

    Bindings of the same op compare equal. A view is valid until the visitor or mutator that returned it finishes.
    A new binding (`VarBinding` or `MatchCast`) belongs to a `BindingBlock` and has no op yet.
    """

    def __init__(self, operation: ir.Operation, program: Program | None = None) -> None:
        self._operation: ir.Operation | None = operation
        self._program = program

    @property
    def operation(self) -> ir.Operation:
        """The MLIR op, for anything that this class does not offer."""
        if self._operation is None:
            raise ArgumentError(f"{self!r} has no op yet: it is no part of a program")
        if self._program is not None:
            self._program.check(self)
        return self._operation

    @property
    def is_view(self) -> bool:
        """True if the binding is a view of an op, false if it is new."""
        return self._operation is not None

    @property
    def program(self) -> Program:
        """The `Program` that creates the expressions of the function."""
        if self._program is None:
            self._program = Program(self.operation)
        return self._program

    @property
    def var(self) -> Var:
        """The bound variable; for an op without results, a variable called ``_``."""
        bound = self.vars
        return bound[0] if bound else Var("_", types.Tuple())

    @property
    def vars(self) -> tuple[Var, ...]:
        """The bound variables: a conditional or a loop may bind several."""
        return tuple(map(self.program.variable, self.operation.results))

    @property
    def value(self) -> Value:
        """The expression to which the variable is bound."""
        return self.program.node(self.operation)

    @property
    def op(self) -> str:
        """Name of the op: ``add``, ``nn_relu``, ``call_tir``, ``tuple``, ``if``, ``dataflow``."""
        name: str = self.operation.name
        return NAMES.get(name, name.removeprefix("relax."))

    @property
    def operands(self) -> tuple[Value, ...]:
        """The operands; ops that take a list of values (calls, ``concat``) have one, a tuple."""
        return tuple(map(Value, self.operation.operands))

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes as Python values: numbers, strings, lists, NumPy arrays, None for ``unit``."""
        attributes = self.operation.attributes
        named = [attributes[index] for index in range(len(attributes))]
        return {item.name: python_value(item.attr) for item in named}

    @property
    def result(self) -> Value:
        """The value that the binding defines (the first one, for an ``if`` with several).

        Raises:
            ArgumentError: the op has no result (`print`, `assert_op`).
        """
        if not len(self.operation.results):
            raise ArgumentError(f"{self!r} has no result")
        return Value(self.operation.results[0])

    @property
    def name(self) -> str | None:
        """The name of the value in the program, if it has one."""
        location = self.operation.location
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        return exact.name_str if isinstance(exact, ir.NameLoc) else None

    @property
    def location(self) -> str:
        """The source location of the op: ``file:line:column``."""
        return location_text(self.operation.location)

    @property
    def in_dataflow(self) -> bool:
        """True if the binding is in a dataflow block."""
        parent = self.operation.parent
        return parent is not None and parent.operation.name == "relax.dataflow"

    @property
    def function(self) -> str:
        """The name of the enclosing function."""
        function = enclosing_function(self.operation)
        return "" if function is None else str(ir.StringAttr(function.attributes["sym_name"]).value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Binding) or self._operation is None or other._operation is None:
            return self is other
        return bool(self._operation == other._operation)

    def __hash__(self) -> int:
        if self._operation is None:
            return object.__hash__(self)
        return hash(self._operation.results[0]) if len(self._operation.results) else 0

    def __repr__(self) -> str:
        if self._operation is None:
            return f"<{type(self).__name__} of {self.var!r}>"
        if self._program is not None and not self._program.is_current():
            return "<Binding of a program that has changed>"
        return f"<Binding {self.name or '_'} = {self.op} at {self.location}>"


class VarBinding(Binding):
    """A variable bound to an expression: ``VarBinding(var, value)``."""

    def __init__(self, var: Var, value: Value) -> None:
        expect("VarBinding: 'var'", var, Var, "a Var")
        expect("VarBinding: 'value'", value, Value, "an expression")
        self._operation = None
        self._program = None
        self._var, self._value = var, value

    @property
    def vars(self) -> tuple[Var, ...]:
        return super().vars if self.is_view else (self._var,)

    @property
    def value(self) -> Value:
        return super().value if self.is_view else self._value


class MatchCast(Binding):
    """A variable bound to a value whose shape is checked, or binds symbols: ``MatchCast(var, value, struct_info)``.

    `struct_info` is a `Tensor` or `Shape`, or only the dimensions. ``MatchShape(value, pattern, var)`` is the name in
    the original Relax design.
    """

    def __init__(self, var: Var, value: Value, struct_info: StructInfo | Sequence[DimLike]) -> None:
        hint = "; the order is var, value, struct_info"
        expect("MatchCast: 'var'", var, Var, f"a Var{hint}")
        expect("MatchCast: 'value'", value, Value, f"an expression{hint}")
        if not isinstance(struct_info, StructInfo):
            struct_info = types.Shape(struct_info)
        if not isinstance(struct_info, types.Tensor | types.Shape) or pattern_of(struct_info) is None:
            raise ArgumentError(f"MatchCast: {struct_info} is no shape of known rank")
        self._operation = None
        self._program = None
        self._var, self._value, self._info = var, value, struct_info

    @property
    def vars(self) -> tuple[Var, ...]:
        return super().vars if self.is_view else (self._var,)

    @property
    def value(self) -> Value:
        """The value that is matched."""
        return self.program.expression(self.operation.operands[0]) if self.is_view else self._value

    @property
    def struct_info(self) -> StructInfo:
        """The struct info of the value after the match."""
        return self.var.struct_info if self.is_view else self._info

    def asserted_dtype(self, known: StructInfo) -> str | None:
        """The dtype that the match checks for a value of struct info `known`; None if it checks none."""
        if self.is_view:
            given = self.operation.attributes["result_dtype"]
            is_given = isinstance(given, ir.TypeAttr)
            return dtypes.from_element_type(given.value).name if is_given else None
        dtype = self._info.dtype if isinstance(self._info, types.Tensor) else None
        is_known = isinstance(known, types.Tensor) and known.dtype == dtype
        return None if dtype is None or is_known else dtype.name

    @property
    def pattern(self) -> tuple[Dim | None, ...]:
        """The dimensions."""
        if self.is_view:
            return dims_from_attr(self.operation.attributes["pattern"])
        found = pattern_of(self._info)
        assert found is not None
        return found


MatchShape = MatchCast


def pattern_of(info: StructInfo) -> tuple[Dim | None, ...] | None:
    """The dimensions of a tensor or of a shape value; None if unknown."""
    if isinstance(info, types.Tensor):
        return info.shape
    return info.values if isinstance(info, types.Shape) else None


def binding_of(op: ir.Operation, program: Program | None = None) -> Binding:
    """The binding of an op."""
    cls = MatchCast if op.name == MatchShapeOp.OPERATION_NAME else VarBinding
    found = cls.__new__(cls)
    Binding.__init__(found, op, program)
    return found


def definition(value: Value) -> Binding | None:
    """The binding that defines `value`; None for a parameter."""
    defining = defining_op(value.ssa)
    return None if defining is None else binding_of(defining)


def constant_value(value: Value) -> np.ndarray[Any, Any] | None:
    """The elements of a constant; None if `value` is no constant."""
    defining = defining_op(value.ssa)
    if defining is None or defining.name != ConstantOp.OPERATION_NAME:
        return None
    return constants.to_numpy(defining.attributes["value"])


def same(first: Value, second: Value) -> bool:
    """True if both are the same SSA value (``==`` of values compares the Python objects)."""
    return bool(first.ssa == second.ssa)


def python_value(attribute: ir.Attribute) -> Any:  # noqa: ANN401 - any attribute value
    """An attribute as a Python value; unchanged if its kind has no Python equivalent."""
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.ArrayAttr):
        return [python_value(item) for item in attribute]
    if isinstance(attribute, ir.DictAttr):
        items = [attribute[index] for index in range(len(attribute))]
        return {item.name: python_value(item.attr) for item in items}
    if isinstance(attribute, ir.DenseElementsAttr):
        return constants.to_numpy(attribute)
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
        return attribute.value
    if isinstance(attribute, ir.TypeAttr):
        return _dtype_name(attribute.value)
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    return attribute


def _dtype_name(type_: ir.Type) -> str | ir.Type:
    """The dtype of an element type; other types are returned unchanged."""
    try:
        return dtypes.from_element_type(type_).name
    except DTypeError:
        return type_
