"""`Binding`: one op of a program as passes see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects import constants
from relax_mlir.dialects.structure import TUPLE, ConstantOp
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import defining_op, enclosing_function
from relax_mlir.mlir import ir

NAMES = {TUPLE: "tuple", "scf.if": "if", "scf.while": "while"}
"""What ops of other dialects are called; the rest keep their names, ``arith.constant`` for instance."""


class Binding:
    """One op with its operands, attributes and result: what ``lv = R.add(x, y)`` is in the script form.

    Bindings of the same op compare equal. They are views: valid until the visitor or mutator that gave them is done.
    """

    def __init__(self, operation: ir.Operation) -> None:
        self.operation: ir.Operation = operation
        """The op of the bindings of MLIR, for what this class does not offer."""

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
        return isinstance(other, Binding) and bool(self.operation == other.operation)

    def __hash__(self) -> int:
        return hash(self.operation.results[0]) if len(self.operation.results) else 0

    def __repr__(self) -> str:
        return f"<Binding {self.name or '_'} = {self.op} at {self.location}>"


def definition(value: Value) -> Binding | None:
    """The binding that defines `value`; None for a parameter."""
    defining = defining_op(value.ssa)
    return None if defining is None else Binding(defining)


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
    if isinstance(attribute, ir.FlatSymbolRefAttr | ir.TypeAttr):
        return attribute.value
    return attribute
