"""`Call`, `If`, `Loop` and `LocalFunction`: the compound expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects import structure
from relax_mlir.dialects.base import RelaxOp, op_class
from relax_mlir.dialects.extern_func import ExternFunc
from relax_mlir.dialects.nodes import Node, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.traits import CallsFunction, InvokesClosure, ListsArguments, has_trait
from relax_mlir.dialects.types import Callable, StructInfo, dims_from_attr
from relax_mlir.dialects.types import Tuple as TupleInfo
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import expect
from relax_mlir.expr.attrs import Attrs
from relax_mlir.expr.program import Program
from relax_mlir.expr.sequences import SeqExpr
from relax_mlir.ir_queries import callee_of, entry_block
from relax_mlir.mlir import ir
from relax_mlir.module_functions import GlobalVar
from relax_mlir.op.op_registry import PREFIX, Op, written_name

CALL = "relax.call"
CALL_PACKED = "relax.call_packed"


class Call(Node):
    """A call: ``Call(Op.get("relax.add"), [x, y])``.

    Args:
        op: an `Op` or its name; a `GlobalVar`: a Relax function of the module; an `ExternFunc`: a packed function; a
            function value.
        args: expressions; for packed functions also literals.
        attrs: the attributes of the op, as its builder takes them, or the `Attrs` of another call.
        sinfo_args: the struct info of the result, for calls whose op does not infer it (prim and packed functions).
    """

    def __init__(
        self,
        op: Op | str | Value,
        args: Sequence[Any],
        attrs: Mapping[str, Any] | None = None,
        sinfo_args: Sequence[StructInfo] | None = None,
    ) -> None:
        super().__init__()
        expect("Call: 'op'", op, Op | str | Value, "an Op, a GlobalVar, an ExternFunc or a function value")
        expect("Call: 'args'", args, list | tuple, "a list of expressions")
        expect("Call: 'attrs'", attrs, Mapping | None, "a dictionary, the Attrs of a call, or None")
        expect("Call: 'sinfo_args'", sinfo_args, list | tuple | None, "a list of struct infos, or None")
        for info in sinfo_args or ():
            expect("Call: an entry of 'sinfo_args'", info, StructInfo, "a struct info")
        if isinstance(op, str) and not isinstance(op, GlobalVar):
            op = Op.get(op)
        self._called: Any = op
        self._args, self._attrs = tuple(args), {} if attrs is None else attrs
        self._sinfo_args = tuple(sinfo_args or ())

    @property
    def op(self) -> Any:  # noqa: ANN401 - an Op, GlobalVar, ExternFunc or Value
        """The callee."""
        if not self.is_view:
            return self._called
        op = self.operation
        if op.name == CALL:
            return GlobalVar(callee_of(op))
        if op.name == CALL_PACKED:
            return ExternFunc(ir.StringAttr(op.attributes["func"]).value)
        if _calls_value(op):
            return self.operand(0)
        return Op(PREFIX + written_name(op.name) if op.name.startswith(PREFIX) else op.name)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments; if the op takes a function of the module or a packed function, that is the first one."""
        if not self.is_view:
            return self._args
        op = self.operation
        if op.name == CALL:
            return self._fields(0)
        if _calls_value(op):
            return self._fields(1)
        if has_trait(op, ListsArguments):
            return self._listed(op)
        operands = [self.operand(index) for index in range(len(op.operands))]
        if not has_trait(op, CallsFunction):
            return tuple(operands)
        extra = dims_from_attr(op.attributes["tir_vars"]) if "tir_vars" in op.attributes else ()
        return (GlobalVar(callee_of(op)), *operands, *([ShapeExpr(extra)] if extra else []))

    def _listed(self, op: ir.Operation) -> tuple[Any, ...]:
        """The fields of the tuple operand, with the literals at their positions."""
        fields = list(self._fields(0))
        if "arg_spec" in op.attributes:
            spec = ir.ArrayAttr(op.attributes["arg_spec"])
            fields = [fields.pop(0) if isinstance(item, ir.UnitAttr) else item.value for item in spec]
        if "func" not in op.attributes or op.name == CALL_PACKED:
            return tuple(fields)
        callee = ExternFunc(ir.StringAttr(op.attributes["func"]).value)
        return (callee, Tuple(fields)) if op.name == "relax.call_dps_packed" else (callee, *fields)

    def _fields(self, index: int) -> tuple[Any, ...]:
        """The fields of operand `index`, which is a tuple."""
        whole = self.operand(index)
        if isinstance(whole, Tuple):
            return whole.fields
        info = whole.struct_info
        assert isinstance(info, TupleInfo), f"operand {index} of {self!r} is a tuple"
        return tuple(TupleGetItem(whole, number) for number in range(len(info.fields)))

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes; an `Attrs` if the call is a view."""
        return Attrs.of(self.operation) if self.is_view else self._attrs

    @property
    def sinfo_args(self) -> tuple[StructInfo, ...]:
        """The struct info of the result, if neither the op nor the callee determines it."""
        if not self.is_view:
            return self._sinfo_args
        cls = op_class(self.operation)
        ruled = cls is not None and cls.infer.__func__ is not RelaxOp.infer.__func__  # type: ignore[attr-defined]  # classmethods
        return () if ruled or self.operation.name == CALL else (self.struct_info,)

    def deduced(self) -> StructInfo:
        return self._sinfo_args[0] if len(self._sinfo_args) == 1 else super().deduced()

    def emit(self) -> Value:
        from relax_mlir.expr.emitter import Emitter

        found = Emitter().call(self)
        return structure.make_tuple() if found is None else found

    def described(self) -> str:
        return f"<Call of {self.op} on {len(self.args)} arguments>"


def _calls_value(op: ir.Operation) -> bool:
    """True if the op is the form that ``f(x)`` has for a function value `f`."""
    if not has_trait(op, InvokesClosure):
        return False
    info = Value(op.operands[0]).struct_info
    return op.name == invocation_of(info)


def invocation_of(info: StructInfo) -> str:
    """The name of the op that calls a function value of struct info `info`."""
    pure = isinstance(info, Callable) and info.pure
    return "relax.invoke_pure_closure" if pure else "relax.invoke_closure"


class If(Node):
    """A conditional: ``If(cond, true_branch, false_branch)``; its branches are expressions, such as a `SeqExpr`."""

    def __init__(self, cond: Value, true_branch: Value, false_branch: Value) -> None:
        super().__init__()
        for name, given in (("cond", cond), ("true_branch", true_branch), ("false_branch", false_branch)):
            expect(f"If: '{name}'", given, Value, "an expression")
        self._parts = cond, true_branch, false_branch

    @property
    def cond(self) -> Value:
        """The condition, a bool tensor of rank 0."""
        return self.operand(0) if self.is_view else self._parts[0]

    @property
    def true_branch(self) -> Value:
        """The value if the condition is true."""
        return self._branch(0) if self.is_view else self._parts[1]

    @property
    def false_branch(self) -> Value:
        """The value if the condition is false; an empty tuple if the program has none."""
        return self._branch(1) if self.is_view else self._parts[2]

    def _branch(self, index: int) -> Value:
        assert isinstance(self.resolver, Program)
        blocks = list(self.operation.regions[index].blocks)
        return SeqExpr.of(blocks[0], self.resolver) if blocks else SeqExpr([], Tuple([]))

    def emit(self) -> Value:
        from relax_mlir.expr.emitter import Emitter

        return Emitter().conditional(self)


class Loop(Node):
    """A loop of a program, as a view only: scripts, `for_loop` and `while_loop` of the builders create it."""

    def __init__(self) -> None:
        from relax_mlir.error import ArgumentError

        raise ArgumentError("Loop: loops are made by op.for_loop and op.while_loop")

    @property
    def operands(self) -> tuple[Any, ...]:
        """The bounds of a ``for``, and the initial values of the loop-carried variables."""
        return tuple(self.operand(index) for index in range(len(self.operation.operands)))

    @property
    def params(self) -> list[Var]:
        """The induction variable of a ``for``, and the loop-carried variables."""
        assert isinstance(self.resolver, Program)
        return [self.resolver.variable(argument) for argument in entry_block(self.operation).arguments]

    @property
    def bodies(self) -> list[SeqExpr]:
        """The body of a ``for``; the condition and the body of a ``while``."""
        assert isinstance(self.resolver, Program)
        return [SeqExpr.of(region.blocks[0], self.resolver) for region in self.operation.regions]


class LocalFunction(Node):
    """A function inside a function: ``LocalFunction(params, body)``. Functions of modules are `Function`s."""

    def __init__(
        self, params: Sequence[Var], body: Value, name: str = "f", is_pure: bool | None = None
    ) -> None:
        super().__init__()
        expect("LocalFunction: 'params'", params, list | tuple, "a list of Vars")
        expect("LocalFunction: 'body'", body, Value, "an expression")
        self._params, self._body, self.name, self._pure = list(params), body, name, is_pure

    @property
    def params(self) -> list[Var]:
        """The parameters."""
        if not self.is_view:
            return list(self._params)
        assert isinstance(self.resolver, Program)
        return [self.resolver.variable(argument) for argument in entry_block(self.operation).arguments]

    @property
    def body(self) -> Value:
        """The returned value."""
        if not self.is_view:
            return self._body
        assert isinstance(self.resolver, Program)
        return SeqExpr.of(entry_block(self.operation), self.resolver)

    @property
    def is_pure(self) -> bool | None:
        """True if the function has no effects; None: inferred from the body."""
        info = self.struct_info if self.is_view else None
        return info.pure if isinstance(info, Callable) else self._pure

    @property
    def ret_struct_info(self) -> StructInfo:
        """The struct info of the result."""
        return self.body.struct_info

    def emit(self) -> Value:
        from relax_mlir.expr.emitter import Emitter

        return Emitter().local_function(self)
