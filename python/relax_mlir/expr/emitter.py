"""Emit expressions at the insertion point: new ones, or clones of another function's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.analysis.call_graph import is_pure as has_no_effects
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import calls, structure
from relax_mlir.dialects.attributes import FUNCTION_ATTRS
from relax_mlir.dialects.base import RelaxOp, ir_fields
from relax_mlir.dialects.closures import ExternFunc, MakeClosureOp, invocation_result
from relax_mlir.dialects.control import if_then_else
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.nodes import Constant, Node, Tuple, TupleGetItem
from relax_mlir.dialects.number_attributes import literal_attr
from relax_mlir.dialects.types import Callable, Object, Shape, StructInfo, dims_attr
from relax_mlir.dialects.types import Tuple as TupleInfo
from relax_mlir.dialects.value import Value, Var, as_value, create
from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.expr.bindings import Attrs, Binding, MatchCast
from relax_mlir.expr.compound import (
    BindingBlock,
    Call,
    DataflowBlock,
    If,
    LocalFunction,
    Loop,
    SeqExpr,
    invocation_of,
)
from relax_mlir.ir_module import GlobalVar
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import attribute_in
from relax_mlir.op.op_registry import Op, builder_of, op_class_of

LITERALS = (str, bool, int, float)
UNNAMED = ("_", "lv", "gv")
"""The names of variables that have no name in the program."""


class Emitter:
    """Emits expressions at the insertion point.

    Args:
        builder: builds the function; needed for blocks and for functions inside functions.
        anew: clone the views of a program, using the variables bound so far; otherwise use the values of views.
    """

    def __init__(self, builder: BlockBuilder | None = None, *, anew: bool = False) -> None:
        self.builder, self.anew = builder, anew
        self.known: dict[ir.Value, Value] = {}
        """The clones of the values of a program."""
        self._made: dict[int, tuple[Value, Value]] = {}
        """The emitted values of new expressions, by the identity of the expression."""

    # -- expressions

    def value(self, given: Any) -> Value:  # noqa: ANN401 - an expression or a number
        """The value of an expression."""
        if not isinstance(given, Value):
            return as_value(given)
        if isinstance(given, Var):
            return self.variable(given)
        if not isinstance(given, Node) or (given.is_view and not self.anew):
            return given
        found = self._found(given)
        if found is None:
            made = self.emitted(given)
            found = structure.make_tuple() if made is None else made
            self.bind(given, found)
        return found

    def variable(self, var: Var) -> Value:
        """The value of a variable."""
        found = self._found(var)
        if found is not None:
            return found
        if self.anew and (var._identity is not None or var._ssa is None):
            raise ArgumentError(f"{var!r} is used, but no parameter and no binding in front of its use is it")
        return var

    def bind(self, given: Value, value: Value) -> None:
        """Map an expression, mostly a variable, to `value` from here on."""
        if given._identity is not None:
            self.known[given._identity] = value
        else:
            self._made[id(given)] = given, value

    def _found(self, given: Value) -> Value | None:
        if given._identity is not None:
            return self.known.get(given._identity)
        return self._made.get(id(given), (None, None))[1]

    def emitted(self, given: Node) -> Value | None:
        """The value of a newly emitted expression; None for a call without results."""
        if isinstance(given, Call):
            return self.call(given)
        if isinstance(given, Tuple):
            return structure.make_tuple(*map(self.value, given.fields))
        if isinstance(given, TupleGetItem):
            return TupleGetItem(self.value(given.tuple_value), given.index).emit()
        if isinstance(given, If):
            return self.conditional(given)
        if isinstance(given, SeqExpr):
            return self.sequence(given)
        if isinstance(given, LocalFunction):
            return self.local_function(given)
        if isinstance(given, Constant) and given.is_view:
            value = adopted(given.operation.attributes["value"])
            return create(structure.ConstantOp, [], {"value": value})[0]
        if isinstance(given, Loop):
            raise ArgumentError(
                "a loop cannot be made anew from its parts; use op.for_loop, op.while_loop, or "
                "BlockBuilder.add_func for the whole function"
            )
        return given.emit()

    # -- calls

    def call(self, call: Call) -> Value | None:
        """Emit a call; None if it has no results."""
        op, args, infos = call.op, call.args, call.sinfo_args
        if isinstance(op, GlobalVar):
            return self._function_call(op, args, infos or ((call.struct_info,) if call.is_view else ()))
        if isinstance(op, ExternFunc):
            return self._packed("relax.call_packed", op, args, infos[0] if infos else None)
        if isinstance(op, Op):
            return self._op_call(call, op, args, infos)
        closure = self.value(op)
        return self._invoke(invocation_of(closure.struct_info), closure, self._tuple(args), infos)

    def _tuple(self, args: Sequence[Any]) -> Value:
        """A tuple of the arguments; if they are exactly the fields of one tuple, in order, that tuple."""
        first = args[0] if args else None
        if isinstance(first, TupleGetItem) and not first.is_view:
            whole = first.tuple_value
            info = self.value(whole).struct_info
            fields = [a.index for a in args if isinstance(a, TupleGetItem) and a.tuple_value is whole]
            if isinstance(info, TupleInfo) and fields == list(range(len(args))) and len(args) == len(info.fields):
                return self.value(whole)
        return structure.make_tuple(*map(self.value, args))

    def _listed(self, name: str, args: Sequence[Any]) -> tuple[Value, ir.Attribute]:
        """The tuple of the non-literal arguments, and the ``arg_spec`` that holds the literals and their positions."""
        spec = [
            calls.arg_spec_of(name, [item])[1][0] if isinstance(item, LITERALS) else ir.UnitAttr.get() for item in args
        ]
        return self._tuple([item for item in args if not isinstance(item, LITERALS)]), ir.ArrayAttr.get(spec)

    def _function_call(self, name: str, args: Sequence[Any], infos: Sequence[StructInfo]) -> Value:
        packed = self._tuple(args)
        given = packed.struct_info
        assert isinstance(given, TupleInfo)
        result = infos[0] if infos else infer_call(name, _function(name), given.fields)
        attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
        return create(calls.CallOp, [packed], attributes, [result])[0]

    def _packed(self, name: str, callee: Any, args: Sequence[Any], info: StructInfo | None) -> Value:  # noqa: ANN401
        """A call of a packed function; without `info` its shape rule infers the result, else the result is opaque."""
        if not isinstance(callee, ExternFunc | str):
            raise ArgumentError(f"Call: {name} takes an ExternFunc first, not {callee!r}")
        symbol = callee if isinstance(callee, str) else callee.global_symbol
        packed, spec = self._listed(name, args)
        attributes = {"func": ir.StringAttr.get(symbol), "arg_spec": spec}
        cls = op_class_of(name)
        assert cls is not None
        return create(cls, [packed], attributes, [info or calls.ruled(name, packed, attributes) or Object()])[0]

    def _invoke(self, name: str, closure: Value, args: Value, infos: Sequence[StructInfo]) -> Value:
        cls, info, given = op_class_of(name), closure.struct_info, args.struct_info
        assert cls is not None and isinstance(given, TupleInfo)
        if not isinstance(info, Callable):
            raise ArgumentError(f"Call: {info} is no function value")
        result = infos[0] if infos else invocation_result(name, info, given.fields)
        return create(cls, [closure, args], {}, [result or Object()])[0]

    def _op_call(self, call: Call, op: Op, args: Sequence[Any], infos: Sequence[StructInfo]) -> Value | None:
        cls = op_class_of(op.name)
        if cls is None:
            return self._foreign(call, op, args)
        name = cls.OPERATION_NAME
        if name == "relax.call_dps_packed":
            fields = args[1].fields if len(args) > 1 and isinstance(args[1], Tuple) else args[1:]
            return self._packed(name, args[0] if args else None, fields, infos[0] if infos else None)
        if name in ("relax.call_pure_packed", "relax.call_packed"):
            return self._packed(name, args[0] if args else None, args[1:], infos[0] if infos else None)
        if args and isinstance(args[0], GlobalVar):
            if name == calls.CallOp.OPERATION_NAME:
                return self._function_call(args[0], args[1:], infos)
            return self._prim_call(call, cls, args, infos)
        attrs = call.attrs
        if not isinstance(attrs, Attrs):
            builder = builder_of(op.name)
            if builder is None:
                raise ArgumentError(f"Call: {op.name} {_why_not(name)}")
            return _one(builder(*map(self._argument, args), **attrs))
        raw = {key: adopted(value) for key, value in attrs.raw.items()}
        if call.is_view and not infos and name != "relax.match_shape" and len(call.operation.results) == 1:
            infos = (call.struct_info,)  # may be less precise than what the op's rule infers
        if "arg_spec" in raw:
            packed, raw["arg_spec"] = self._listed(op.name, args)
            return self._created(cls, [packed], raw, infos)
        if name == "relax.assert_op":
            return self._created(cls, [self._tuple(args)], raw, infos)
        return self._created(cls, list(map(self.value, args)), raw, infos)

    def _argument(self, given: Any) -> Any:  # noqa: ANN401 - what a builder takes
        """An argument of a builder: a `Tuple` becomes the list of its fields."""
        if isinstance(given, Tuple):
            return list(map(self.value, given.fields))
        return self.value(given) if isinstance(given, Value) else given

    def _created(
        self,
        cls: type[RelaxOp],
        operands: Sequence[Value],
        raw: Mapping[str, ir.Attribute],
        infos: Sequence[StructInfo],
    ) -> Value | None:
        results = list(infos) if ir_fields(cls)[2] else []
        found = create(cls, operands, raw, results or None)
        return found[0] if found else None

    def _prim_call(self, call: Call, cls: type[RelaxOp], args: Sequence[Any], infos: Sequence[StructInfo]) -> Value:
        """`call_tir` and similar ops, and `make_closure`: the callee, the operands, and ``tir_vars``."""
        raw = {key: adopted(v) for key, v in call.attrs.raw.items()} if isinstance(call.attrs, Attrs) else {}
        callee, *operands = args
        raw["callee"] = ir.FlatSymbolRefAttr.get(callee)
        if "tir_vars" in raw or cls.OPERATION_NAME == "relax.call_tir":
            count = len(cls.operand_names())
            info = operands[count].struct_info if len(operands) > count else Shape(())
            operands = operands[:count]
            if not isinstance(info, Shape) or info.values is None:
                raise ArgumentError(f"Call: the tir_vars of {callee} are a ShapeExpr, not {info}")
            raw["tir_vars"] = dims_attr(info.values)
        results = list(infos)
        if len(results) > 1:
            results = [TupleInfo(results)]
        if not results:
            raise ArgumentError(f"Call: {cls.OPERATION_NAME} needs sinfo_args: what it gives")
        return create(cls, list(map(self.value, operands)), raw, results)[0]

    def _foreign(self, call: Call, op: Op, args: Sequence[Any]) -> Value | None:
        """A custom op, which is a packed function, or an op of an upstream dialect."""
        attrs = call.attrs
        if isinstance(attrs, Attrs):
            made = self._upstream(call, attrs)
            return Value(made.results[0]) if len(made.results) else None
        pure = Op.get(op.name).get_attr("FPurity") is True
        name = "relax.call_pure_packed" if pure else "relax.call_packed"
        return self._packed(name, op.name, args, call.sinfo_args[0] if call.sinfo_args else None)

    def _upstream(self, call: Call, attrs: Attrs) -> ir.Operation:
        """An op of an upstream dialect; its result types are the cloned view's, inferred, or those of `sinfo_args`."""

        def create_with(**results: Any) -> ir.Operation:  # noqa: ANN401 - as the bindings take them
            return ir.Operation.create(
                call.op.name,
                operands=[self.value(arg).ssa for arg in call.args],
                attributes={key: adopted(value) for key, value in attrs.raw.items()},
                loc=user_location(),
                **results,
            )

        if call.is_view:
            return create_with(results=[adopted_type(result.type) for result in call.operation.results])
        try:
            return create_with(infer_type=True)
        except ir.MLIRError as error:
            if not call.sinfo_args:
                raise ArgumentError(f"Call: {call.op} needs sinfo_args: what it gives ({error})") from None
            return create_with(results=[info.to_type() for info in call.sinfo_args])

    # -- control flow

    def conditional(self, given: If) -> Value:
        """A conditional."""
        condition = self.value(given.cond)
        return if_then_else(condition, lambda: self.value(given.true_branch), lambda: self.value(given.false_branch))

    def sequence(self, given: SeqExpr) -> Value:
        """The bindings of a sequence, and its result."""
        for block in given.blocks:
            self.block(block)
        return self.value(given.body)

    def block(self, block: BindingBlock) -> None:
        """Emit the bindings of a block, and the outputs of a dataflow block."""
        if not isinstance(block, DataflowBlock):
            for binding in block.bindings:
                self.binding(binding)
            return
        if self.builder is None:
            raise ArgumentError("a dataflow block is emitted by `Function` only, or written `with bb.dataflow():`")
        leaving: list[tuple[Value, Value]] = []
        with self.builder.dataflow():
            for binding in block.bindings:
                self.binding(binding)
            for given in block.outputs:
                leaving.append((given, self.builder.emit_output(self.value(given))))
        for given, value in leaving:
            self.bind(given, value)

    def binding(self, binding: Binding) -> None:
        """A binding."""
        bound = binding.vars
        value: Value | None
        if isinstance(binding, MatchCast):
            matched = self.value(binding.value)
            dtype = binding.asserted_dtype(matched.struct_info)
            value = structure.match_shape(matched, binding.pattern, dtype)
        elif isinstance(binding.value, Call) and self._found(binding.value) is None:
            value = self.call(binding.value)
        else:
            value = self.value(binding.value)
        if not bound or (value is None and bound[0].name == "_"):
            return
        value = structure.make_tuple() if value is None else value
        owner = defining_op(value.ssa)
        if owner is not None and bound[0].name not in UNNAMED:
            owner.location = ir.Location.name(bound[0].name, user_location())
        if len(bound) == 1:
            self.bind(bound[0], value)
            return
        for number, var in enumerate(bound):
            self.bind(var, structure.tuple_get_item(value, number))

    def local_function(self, given: LocalFunction) -> Value:
        """A function nested in the function."""
        if self.builder is None:
            raise ArgumentError("a function inside a function is emitted by `Function` only, or by lambda_function")
        fresh = [Var(param.name, param.struct_info) for param in given.params]
        name = given.name if not given.is_view else "f"
        with self.builder.lambda_function(name, fresh, pure=given.is_pure) as handle:
            for param, var in zip(given.params, fresh, strict=True):
                self.bind(param, var)
            self.builder.emit_func_output(self.value(given.body))
        if given.is_view and FUNCTION_ATTRS in given.operation.attributes:
            owner = defining_op(handle.ssa)
            assert owner is not None, "a lambda defines it"
            owner.attributes[FUNCTION_ATTRS] = adopted(given.operation.attributes[FUNCTION_ATTRS])
        return handle


def _one(found: Any) -> Value | None:  # noqa: ANN401 - what builders return
    """The result of a builder as one value."""
    value: Value | None = structure.make_tuple(*found) if isinstance(found, list | tuple) else found
    return value


def _function(name: str) -> func.FuncOp:
    """The function `name` of the module under construction."""
    op = ir.InsertionPoint.current.block.owner.operation
    while op.parent is not None:
        op = op.parent.operation
    tops = list(entry_block(op).operations) if op.name == "builtin.module" else []
    found = {view.name.value: view for view in tops if isinstance(view, func.FuncOp)}
    if name not in found:
        raise UnknownNameError("function", name, found, "sinfo_args=[…] says what a call of it gives")
    return found[name]


def adopted(attribute: ir.Attribute) -> ir.Attribute:
    """The attribute in the current context."""
    context = ir.Context.current
    assert context is not None
    return attribute_in(attribute, context)


def adopted_type(type_: ir.Type) -> ir.Type:
    """The type in the current context."""
    return type_ if type_.context is ir.Context.current else ir.Type.parse(str(type_))


def _why_not(name: str) -> str:
    """The reason that an op without a builder cannot be called."""
    if name in (calls.CallOp.OPERATION_NAME, MakeClosureOp.OPERATION_NAME):
        return "takes the GlobalVar of a function first"
    return "is no call of a program: blocks, functions and passes make it"


# Build a function from its parameters, body and result.


def build_function(
    name: str,
    params: Sequence[Var],
    body: Value,
    result: StructInfo | None,
    is_pure: bool | None,
    attrs: Mapping[str, Any] | None,
) -> tuple[ir.Module, ir.Operation]:
    """Build the function in a new module; see `Function`."""
    expect("Function: 'params'", params, list | tuple, "a list of Vars")
    for param in params:
        expect("Function: a parameter", param, Var, "a Var")
    expect("Function: 'body'", body, Value, "an expression, such as a SeqExpr")
    expect("Function: 'is_pure'", is_pure, bool | None, "a bool, or None")
    expect("Function: 'attrs'", attrs, Mapping | None, "a dictionary, or None")
    builder = BlockBuilder()
    emitter = Emitter(builder, anew=True)
    fresh = [Var(param.name, param.struct_info) for param in params]
    with builder.function(name, fresh, result=result):
        for param, var in zip(params, fresh, strict=True):
            emitter.bind(param, var)
        builder.emit_func_output(emitter.value(body))
    module = builder.mod.mlir
    (view,) = module.body.operations
    assert isinstance(view, func.FuncOp)
    if is_pure and not has_no_effects(view):
        raise ArgumentError(f"Function: '{name}' has effects, but is_pure=True")
    with module.context:
        for key, value in _attributes(attrs).items():
            view.attributes[key] = value
    return module, view.operation


def _attributes(attrs: Mapping[str, Any] | None) -> dict[str, ir.Attribute]:
    if isinstance(attrs, Attrs):
        return {key: adopted(value) for key, value in attrs.raw.items()}
    given = {} if attrs is None else attrs
    return {key: literal_attr(key, value) for key, value in given.items() if key != "global_symbol"}
