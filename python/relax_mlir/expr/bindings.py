"""Bindings and values of a finished function as expressions, with their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.capi import Version, version
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects import constants, dtypes, types
from relax_mlir.dialects.closures import ExternFunc, ExternFuncOp
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.nodes import Constant, Node, PrimValue, Resolver, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.structure import (
    TUPLE,
    ConstantOp,
    MatchShapeOp,
    PrimValueOp,
    ShapeExprOp,
    TupleGetItemOp,
)
from relax_mlir.dialects.traits import IsLoop, WrittenInside, has_trait
from relax_mlir.dialects.types import DimLike, StructInfo, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    RelaxError,
    UnknownAttributeError,
    UnknownNameError,
    expect,
)
from relax_mlir.ir_queries import defining_op, enclosing_function, entry_block, has_one_use
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

# View the values of a finished function as expressions: variables, or nested expressions.

DATAFLOW, OUTPUT, EXTRACT = "relax.dataflow", "relax.output", "tensor.extract"

LEAVES: dict[str, type[Node]] = {
    ConstantOp.OPERATION_NAME: Constant,
    ExternFuncOp.OPERATION_NAME: ExternFunc,
    PrimValueOp.OPERATION_NAME: PrimValue,
    ShapeExprOp.OPERATION_NAME: ShapeExpr,
    TUPLE: Tuple,
    TupleGetItemOp.OPERATION_NAME: TupleGetItem,
}
"""The ops without regions that have a dedicated expression class."""


class DataflowVar(Var):
    """A variable that is visible only in its dataflow block."""


class Program(Resolver):
    """Creates the expressions of one function, and keeps its module alive."""

    def __init__(self, keep: ir.Operation | ir.OpView) -> None:
        self.keep = keep
        self._version = version(keep)

    def is_current(self) -> bool:
        """True if the module has not changed since."""
        return self._version.is_current

    def retire(self) -> None:
        """Invalidate the views of this program: `check` raises from now on."""
        self._version = Version()

    def check(self, value: object) -> None:
        """Raise `ArgumentError` if a pass has run since, because the viewed op may be gone."""
        if not self.is_current():
            raise ArgumentError(
                f"this {type(value).__name__} is part of a program that has been changed since: take the "
                'function again, mod["main"]'
            )

    def expression(self, ssa: ir.Value) -> Value:
        """The expression of an operand: a variable, or a nested expression."""
        self.check(self)
        identity = visible_source(ssa)
        op = defining_op(identity)
        if op is None or not is_inside(op):
            return self.variable(ssa)
        return self.expression(op.operands[0]) if op.name == EXTRACT else self.node(op, ssa)

    def node(self, op: ir.Operation, ssa: ir.Value | None = None) -> Node:
        """The expression that an op computes; `ssa`: its value as the user of the expression sees it."""
        from relax_mlir.expr.compound import Call, If, LocalFunction, Loop

        if op.name in LEAVES:
            return LEAVES[op.name].view(op, self, ssa)
        if op.name == "scf.if":
            return If.view(op, self, ssa)
        if op.name == "relax.lambda":
            return LocalFunction.view(op, self, ssa)
        if has_trait(op, IsLoop):
            return Loop.view(op, self, ssa)
        return Call.view(op, self, ssa)

    def variable(self, ssa: ir.Value) -> Var:
        """The variable of a value: a `DataflowVar` if a dataflow block binds it and does not output it."""
        identity = visible_source(ssa)
        op = defining_op(identity)
        local = op is not None and _is_local(op, identity)
        kind = DataflowVar if local else Var
        var = kind.__new__(kind)
        var.name = _name(identity, op, "lv" if local else "gv")
        var._ssa, var._identity, var._frame = ssa, identity, self
        var._info = _info(ssa)
        return var


def _info(ssa: ir.Value) -> StructInfo | None:
    """The struct info of a value, computed eagerly; None for upstream ops, whose types carry none."""
    try:
        return struct_info(ssa.type)
    except RelaxError:
        return None


def visible_source(ssa: ir.Value) -> ir.Value:
    """The value inside a dataflow block that leaves it as `ssa`; other values are returned unchanged."""
    while True:
        op = defining_op(ssa)
        if op is None:
            return ssa
        if op.name == DATAFLOW:
            leaving = outputs_of(op)
            if len(leaving) != 1 or _is_unpacked(op):
                return ssa
            ssa = leaving[0]
        elif is_unpacking(op):
            block = defining_op(op.operands[0])
            assert block is not None
            ssa = outputs_of(block)[ir.IntegerAttr(op.attributes["index"]).value]
        else:
            return ssa


def outputs_of(dataflow: ir.Operation) -> list[ir.Value]:
    """The values that leave a dataflow block."""
    leaving = entry_block(dataflow).operations[-1].operation.operands[0]
    if not _is_unpacked(dataflow):
        return [leaving]
    packing = defining_op(leaving)
    assert packing is not None
    return list(packing.operands)


def _is_unpacked(dataflow: ir.Operation) -> bool:
    """True if the block yields several values as one tuple, which ops after the block unpack."""
    packing = defining_op(entry_block(dataflow).operations[-1].operation.operands[0])
    if packing is None or packing.name != TUPLE or packing.block != entry_block(dataflow):
        return False
    users = [use.owner.operation for use in dataflow.results[0].uses]
    taken = all(user.name == TupleGetItemOp.OPERATION_NAME for user in users)
    return name_of(packing.location) is None and taken and has_one_use(packing.results[0])


def is_unpacking(op: ir.Operation) -> bool:
    """True if the op takes one field of the tuple that a dataflow block yields."""
    if op.name != TupleGetItemOp.OPERATION_NAME:
        return False
    source = defining_op(op.operands[0])
    return source is not None and source.name == DATAFLOW and _is_unpacked(source)


def is_inside(op: ir.Operation) -> bool:
    """True if the op is nested in the expressions that use it: it has no name and is not a binding."""
    if not has_trait(op, WrittenInside) or (op.name != EXTRACT and name_of(op.location) is not None):
        return False
    users = [use.owner.operation for use in op.results[0].uses]
    return bool(users) and not any(user.name == OUTPUT for user in users)


def is_hidden(op: ir.Operation) -> bool:
    """True if the op is no binding: it is nested in expressions, or (un)packs the outputs of a dataflow block."""
    if is_inside(op) or is_unpacking(op):
        return True
    block = op.parent
    if op.name != TUPLE or block is None or block.operation.name != DATAFLOW:
        return False
    leaving = entry_block(block.operation).operations[-1].operation.operands[0]
    return bool(leaving == op.results[0]) and _is_unpacked(block.operation)


def _is_local(op: ir.Operation, value: ir.Value) -> bool:
    block = op.parent
    return (
        block is not None
        and block.operation.name == DATAFLOW
        and all(value != leaving for leaving in outputs_of(block.operation))
    )


def _name(value: ir.Value, op: ir.Operation | None, default: str) -> str:
    if op is not None:
        return name_of(op.location) or default
    owner = ir.BlockArgument(value).owner.owner.operation
    number: int = ir.BlockArgument(value).arg_number
    view = owner.opview
    if isinstance(view, func.FuncOp):
        return parameter_names(view)[number]
    if owner.name == "relax.lambda":
        return str(ir.StringAttr(ir.ArrayAttr(owner.attributes["names"])[number]).value)
    return name_of(value.location) or default


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


# `Attrs`: the attributes of a call, as Python values and as MLIR attributes.


class Attrs(Mapping[str, Any]):
    """Attributes of an op, by ``attrs.axis`` or ``attrs["axis"]``: numbers, strings, lists, or None if not given.

    Dtypes are given by name: ``"float32"``.
    """

    def __init__(self, attributes: Mapping[str, ir.Attribute]) -> None:
        self._raw = dict(attributes)

    @classmethod
    def of(cls, op: ir.Operation) -> Attrs:
        """The attributes of `op`."""
        named = map(op.attributes.__getitem__, range(len(op.attributes)))
        return cls({item.name: item.attr for item in named})

    @property
    def raw(self) -> Mapping[str, ir.Attribute]:
        """The MLIR attributes."""
        return self._raw

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - any attribute value

        if name not in self._raw:
            raise UnknownNameError("attribute of the op", name, self._raw)
        return python_value(self._raw[name])

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as `__getitem__`
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except UnknownNameError as error:
            raise UnknownAttributeError(str(error)) from None

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as `__getitem__`
        """The attribute `name`, or `default` if the op does not have it."""
        return self[name] if name in self._raw else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"Attrs({', '.join(f'{name}={self[name]!r}' for name in self)})"
