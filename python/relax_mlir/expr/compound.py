"""Compound expressions: calls, conditionals, loops, blocks of bindings, functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from relax_mlir.analysis.call_graph import is_pure
from relax_mlir.dialects import structure
from relax_mlir.dialects.attributes import PRIM_FUNC, SIGNATURE
from relax_mlir.dialects.base import RelaxOp, op_class
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.nodes import Node, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.traits import CallsFunction, InvokesClosure, ListsArguments, has_trait
from relax_mlir.dialects.types import Callable, StructInfo, dims_from_attr, struct_info
from relax_mlir.dialects.types import Tuple as TupleInfo
from relax_mlir.dialects.value import CheckedType, Value, Var, checked_type
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.expr.bindings import (
    DATAFLOW,
    OUTPUT,
    Attrs,
    Binding,
    DataflowVar,
    Program,
    binding_of,
    is_hidden,
    outputs_of,
)
from relax_mlir.ir_module import GlobalVar
from relax_mlir.ir_queries import callee_of, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import PREFIX, Op, written_name

# `BindingBlock`, `DataflowBlock` and `SeqExpr`: blocks of bindings, and blocks followed by a result.

BlockT = TypeVar("BlockT", bound="BindingBlock")


class BindingBlock:
    """Bindings in order, possibly with effects and control flow: ``BindingBlock([binding, …])``."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        what = type(self).__name__
        expect(f"{what}: 'bindings'", bindings, list | tuple, "a list of bindings")
        for item in bindings:
            expect(f"{what}: a binding", item, Binding, "a VarBinding or a MatchCast")
        self._bindings: tuple[Binding, ...] | None = tuple(bindings)
        self._ops: Sequence[ir.Operation] = ()
        self._program: Program | None = None

    @classmethod
    def view(cls: type[BlockT], ops: Sequence[ir.Operation], program: Program) -> BlockT:
        """The block of the given ops."""
        block = cls.__new__(cls)
        block._bindings, block._ops, block._program = None, ops, program
        return block

    @property
    def is_view(self) -> bool:
        """True if the block is a view of ops, false if it is new."""
        return self._bindings is None

    @property
    def bindings(self) -> list[Binding]:
        """The bindings, in order."""
        if self._bindings is not None:
            return list(self._bindings)
        self._check()
        return [binding_of(op, self._program) for op in self.ops if not is_hidden(op)]

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops of a view, including those nested in expressions."""
        self._check()
        return [op for op in self._ops if op.name != OUTPUT]

    def __repr__(self) -> str:
        if self._program is not None and not self._program.is_current():
            return f"<{type(self).__name__} of a program that has changed>"
        return f"<{type(self).__name__} of {len(self.bindings)} bindings>"

    def _check(self) -> None:
        if self._program is not None:
            self._program.check(self)


class DataflowBlock(BindingBlock):
    """Pure bindings without control flow; bound variables that are not `DataflowVar`s are the outputs of the block."""

    @property
    def outputs(self) -> list[Value]:
        """The outputs of the block, in order."""
        if self._program is not None:
            self._check()
            block = self._ops[-1].parent
            assert block is not None, "the block's own op"
            return list(map(self._program.expression, outputs_of(block.operation)))
        return [var for b in self.bindings for var in b.vars if not isinstance(var, DataflowVar)]


class SeqExpr(Node):
    """Blocks in order, followed by the result: ``SeqExpr([block, …], body)``."""

    def __init__(self, blocks: Sequence[BindingBlock], body: Value) -> None:
        super().__init__()
        expect("SeqExpr: 'blocks'", blocks, list | tuple, "a list of blocks")
        for item in blocks:
            expect("SeqExpr: a block", item, BindingBlock, "a BindingBlock or a DataflowBlock")
        expect("SeqExpr: 'body'", body, Value, "an expression")
        self._blocks, self._body = tuple(blocks), body
        self._block: ir.Block | None = None
        self._program: Program | None = None

    @classmethod
    def of(cls, block: ir.Block, program: Program) -> SeqExpr:
        """The sequence of an MLIR block; its terminator gives the result."""
        found = cls.__new__(cls)
        Node.__init__(found)
        found._block, found._program, found._resolver = block, program, program
        return found

    @property
    def is_view(self) -> bool:
        return self._block is not None

    @property
    def block(self) -> ir.Block | None:
        """The MLIR block of a view."""
        if self._program is not None:
            self._program.check(self)
        return self._block

    @property
    def blocks(self) -> list[BindingBlock]:
        """The blocks, in order: dataflow blocks, and the runs of bindings between them."""
        if self._block is None or self._program is None:
            return list(self._blocks)
        self._program.check(self)
        found: list[BindingBlock] = []
        stretch: list[ir.Operation] = []
        for view in list(self._block.operations)[:-1]:
            op = view.operation
            if op.name != DATAFLOW:
                stretch.append(op)
                continue
            found += _stretch(stretch, self._program)
            stretch = []
            inside = [inner.operation for inner in entry_block(op).operations]
            found.append(DataflowBlock.view(inside, self._program))
        return [*found, *_stretch(stretch, self._program)]

    @property
    def body(self) -> Value:
        """The result: an expression, or the tuple of several."""
        if self._block is None or self._program is None:
            return self._body
        self._program.check(self)
        values = list(map(self._program.expression, self._block.operations[-1].operation.operands))
        return values[0] if len(values) == 1 else Tuple(values)

    @property
    def struct_info(self) -> StructInfo:
        return self.body.struct_info

    def emit(self) -> Value:
        from relax_mlir.expr.emitter import Emitter

        if self.is_view:
            raise ArgumentError("a sequence that is part of a program is emitted by `Function` only")
        return Emitter().sequence(self)

    def described(self) -> str:
        return f"<SeqExpr of {len(self.blocks)} blocks>"


def _stretch(ops: list[ir.Operation], program: Program) -> list[BindingBlock]:
    """A list with the block of the ops; empty if none of them is a binding."""
    return [BindingBlock.view(ops, program)] if any(not is_hidden(op) for op in ops) else []


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

    def __init__(self, params: Sequence[Var], body: Value, name: str = "f", is_pure: bool | None = None) -> None:
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


# `Function`: a Relax function as a view of its op, or built from expressions.

HEAD = ("sym_name", "function_type", "sym_visibility", "arg_attrs")


class Function(func.FuncOp):
    """A Relax function: ``mod["main"]``, or ``Function(params, body, ret_type)``.

    It is a ``func.func`` of the bindings. Its components are views, valid until the function is changed. A function
    that is built from expressions is in a separate module: `BlockBuilder.add_func` copies it into another one.
    """

    def __init__(
        self,
        params: Sequence[Var],
        body: Value,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool | None = None,
        attrs: Mapping[str, Any] | None = None,
        *,
        name: str = "main",
    ) -> None:
        """Build a function.

        Args:
            params: the parameters: `Var`s with struct info.
            body: the result: a `SeqExpr`, or another expression.
            ret_struct_info: the struct info of the result; None: inferred from the body.
            is_pure: True: effects are an error; None: inferred from the body.
            attrs: attributes: bools, numbers, strings, and lists of these.
            name: the name by which recursive calls in `body` refer to the function.

        Raises:
            ArgumentError: `body` uses an unbound variable; also the errors of the builders of its ops.
            ShapeError: the result does not match `ret_struct_info`.
        """
        from relax_mlir.expr.emitter import build_function

        module, op = build_function(name, params, body, ret_struct_info, is_pure, attrs)
        self._hold(op, module)

    def _hold(self, op: ir.Operation, keep: object) -> None:
        ir.OpView.__init__(self, op)
        vars(self)["relax_module"] = keep

    @classmethod
    def view(cls, op: func.FuncOp, keep: object) -> func.FuncOp:
        """`op` as a `Function` if it is a Relax function with a body, else `op` itself; `keep` owns it."""
        if not _has_parts(op):
            vars(op)["relax_module"] = keep
            return op
        found = cls.__new__(cls)
        found._hold(op.operation, keep)
        return found

    @property
    def program(self) -> Program:
        """The `Program` that creates the expressions of the function, until a pass changes it."""
        found = vars(self).get("relax_program")
        if found is None or not found.is_current():
            found = vars(self)["relax_program"] = Program(self)
        assert isinstance(found, Program)
        return found

    @property
    def params(self) -> list[Var]:
        """The parameters."""
        program = self.program
        return [program.variable(argument) for argument in entry_block(self).arguments]

    @property
    def body(self) -> SeqExpr:  # type: ignore[override]  # the bindings return the region: `regions[0]`
        """The blocks, and the value that the function returns."""
        return SeqExpr.of(entry_block(self), self.program)

    @property
    def ret_struct_info(self) -> StructInfo:
        """The struct info of the result."""
        return struct_info(self.type.results[0])

    ret_type = ret_struct_info

    @property
    def struct_info(self) -> Callable:
        """The struct info of the function: its parameters, result and purity."""
        params = [struct_info(type_) for type_ in self.type.inputs]
        return Callable(params, self.ret_struct_info, self.is_pure)

    @property
    def checked_type(self) -> CheckedType:
        """The types of parameters and result, without shapes."""
        return checked_type(self.struct_info)

    checked_type_ = checked_type

    @property
    def is_pure(self) -> bool:
        """True if the function has no effects."""
        return is_pure(self)

    @property
    def is_private(self) -> bool:
        """True if the function cannot be called from outside the module."""
        return "sym_visibility" in self.attributes

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes that are not part of the signature, as Python values."""
        from relax_mlir.expr.bindings import Attrs

        given = Attrs.of(self.operation).raw
        return Attrs({name: value for name, value in given.items() if name not in HEAD})


def _has_parts(op: func.FuncOp) -> bool:
    """True if `op` is a Relax function with a body, at a level where it returns one value."""
    if op.is_external or PRIM_FUNC in op.attributes or SIGNATURE in op.attributes:
        return False
    if len(op.regions[0].blocks) != 1 or len(op.type.results) != 1:
        return False
    try:
        for type_ in (*op.type.inputs, *op.type.results):
            struct_info(type_)
    except RelaxError:
        return False
    return True


def function_view(op: func.FuncOp, keep: object) -> func.FuncOp:
    """`op` as a `Function` if it is a Relax function with a body, else `op` itself; `keep` owns it."""
    return Function.view(op, keep)
