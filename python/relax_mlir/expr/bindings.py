"""`Binding`: one op of a program as passes see it."""

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
"""What ops of other dialects are called; the rest keep their names, ``arith.constant`` for instance."""


class Binding:
    """One op with its operands, attributes and result: what ``lv = R.add(x, y)`` is in the script form.

    Bindings of the same op compare equal. They are views: valid until the visitor or mutator that gave them is done.
    A new one, a `VarBinding` or `MatchCast`, is a part of a `BindingBlock` and has no op yet.
    """

    def __init__(self, operation: ir.Operation, program: Program | None = None) -> None:
        self._operation: ir.Operation | None = operation
        self._program = program

    @property
    def operation(self) -> ir.Operation:
        """The op of the bindings of MLIR, for what this class does not offer."""
        if self._operation is None:
            raise ArgumentError(f"{self!r} has no op yet: it is no part of a program")
        if self._program is not None:
            self._program.check(self)
        return self._operation

    @property
    def is_view(self) -> bool:
        """Whether it is part of a program, rather than new."""
        return self._operation is not None

    @property
    def program(self) -> Program:
        """What gives the expressions of the program."""
        if self._program is None:
            self._program = Program(self.operation)
        return self._program

    @property
    def var(self) -> Var:
        """The variable that is bound; of an op without a result one called ``_``."""
        bound = self.vars
        return bound[0] if bound else Var("_", types.Tuple())

    @property
    def vars(self) -> tuple[Var, ...]:
        """The variables that are bound: a conditional and a loop may give several."""
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
        """The value that the binding defines (the first, for an ``if`` with several).

        Raises:
            ArgumentError: the op has no result (`print`, `assert_op`).
        """
        if not len(self.operation.results):
            raise ArgumentError(f"{self!r} has no result")
        return Value(self.operation.results[0])

    @property
    def name(self) -> str | None:
        """The name that the program gives the value, if any."""
        location = self.operation.location
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        return exact.name_str if isinstance(exact, ir.NameLoc) else None

    @property
    def location(self) -> str:
        """Where the program makes it: ``file:line:column``."""
        return location_text(self.operation.location)

    @property
    def in_dataflow(self) -> bool:
        """Whether it stands in a dataflow block."""
        parent = self.operation.parent
        return parent is not None and parent.operation.name == "relax.dataflow"

    @property
    def function(self) -> str:
        """Name of the function that it stands in."""
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
    """A variable bound to a value whose shape is asserted, or defines symbols: ``MatchCast(var, value, struct_info)``.

    `struct_info` is a `Tensor` or `Shape`, or the dimensions alone. The first design calls it
    ``MatchShape(value, pattern, var)``.
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
        """What is known of the value from there on."""
        return self.var.struct_info if self.is_view else self._info

    def asserted_dtype(self, known: StructInfo) -> str | None:
        """The dtype that is asserted of a value of which `known` is known; None: it stays as it is."""
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
    """The dimensions of a tensor, or of a shape value."""
    if isinstance(info, types.Tensor):
        return info.shape
    return info.values if isinstance(info, types.Shape) else None


def binding_of(op: ir.Operation, program: Program | None = None) -> Binding:
    """The binding that an op is."""
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
    """Whether both are the same value of the program (``==`` of values compares the Python objects)."""
    return bool(first.ssa == second.ssa)


def python_value(attribute: ir.Attribute) -> Any:  # noqa: ANN401 - as many kinds as attributes have
    """An attribute as a Python value; kinds that have none stay attributes."""
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
    """The dtype of an element type; other types stay types."""
    try:
        return dtypes.from_element_type(type_).name
    except DTypeError:
        return type_
