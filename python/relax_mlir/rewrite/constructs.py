"""The common base of visitors and mutators by construct: dispatch to the method of an expression, binding or block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.nodes import Node
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.expr import (
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    LocalFunction,
    Loop,
    MatchCast,
    Op,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relax_mlir.expr.bindings import Binding

KINDS: tuple[tuple[type, str], ...] = (
    (DataflowVar, "dataflow_var"),
    (Var, "var"),
    (Constant, "constant"),
    (ShapeExpr, "shape_expr"),
    (PrimValue, "prim_value"),
    (Tuple, "tuple"),
    (TupleGetItem, "tuple_getitem"),
    (Call, "call"),
    (If, "if"),
    (Loop, "loop"),
    (SeqExpr, "seq"),
    (Function, "function"),
    (LocalFunction, "function"),
    (ExternFunc, "extern_func"),
    (GlobalVar, "global_var"),
    (Op, "op"),
)
"""The name of the method for each class of expressions."""


class Constructs:
    """Base of visitors and mutators with a method per construct.

    A method is called ``visit_call`` (the older name) or ``visit_call_`` (as in TVM). Unless it is overridden, the
    former calls the latter, which by default visits the nested constructs; `super` calls the default of either.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        super().__init_subclass__(**kwargs)
        if Constructs in cls.__bases__:
            return  # visitors and mutators themselves
        known = {name for base in cls.__mro__[1:] for name in vars(base) if name.startswith("visit_")}
        for name in vars(cls):
            if name.startswith("visit_") and name not in known:
                hint = "ExprVisitor and ExprMutator of relax_mlir.rewrite have a method per op"
                raise UnknownNameError(f"method of class {cls.__name__}:", name, known, hint)

    def _dispatch(self, given: Any) -> Any:  # noqa: ANN401 - any expression; its method's result
        """Call the method of an expression.

        Raises:
            ArgumentError: it is no expression, or its method calls `visit_expr` on it again.
        """
        kind = next((name for cls, name in KINDS if isinstance(given, cls)), None)
        if kind is None:
            raise ArgumentError(
                f"{type(self).__name__}.visit_expr: {given!r} ({type(given).__name__}) is no expression"
            )
        with self._entered(given, kind):
            return getattr(self, f"visit_{kind}")(given)

    @contextlib.contextmanager
    def _entered(self, given: object, kind: str) -> Iterator[None]:
        """In the context, visiting the same expression is an error, as it would not terminate."""
        active: list[object] = vars(self).setdefault("_active", [])
        key = _key(given)
        if key is not None and key in active:
            raise ArgumentError(
                f"{type(self).__name__}.visit_{kind} visits its own expression {given!r} again, which never ends; "
                f"super().visit_{kind}_(…) visits what is inside"
            )
        active.append(key)
        try:
            yield
        finally:
            active.pop()

    # -- bindings and blocks

    def visit_binding_block(self, block: BindingBlock) -> Any:  # noqa: ANN401
        """A block of either kind."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block(block)
        return self.visit_binding_block_(block)

    def visit_binding_block_(self, block: BindingBlock) -> Any:  # noqa: ANN401
        """A `BindingBlock`; by default its bindings, in order."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block(self, block: DataflowBlock) -> Any:  # noqa: ANN401
        """A `DataflowBlock`."""
        return self.visit_dataflow_block_(block)

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:  # noqa: ANN401
        """A `DataflowBlock`; by default its bindings, in order."""
        return Constructs.visit_binding_block_(self, block)

    def visit_binding(self, binding: Binding) -> Any:  # noqa: ANN401
        """A binding of either kind."""
        if isinstance(binding, MatchCast):
            return self.visit_match_cast(binding)
        return self.visit_var_binding(binding)

    def visit_var_binding(self, binding: Binding) -> Any:  # noqa: ANN401
        """A `VarBinding`."""
        return self.visit_var_binding_(binding)

    def visit_match_cast(self, binding: MatchCast) -> Any:  # noqa: ANN401
        """A `MatchCast`."""
        return self.visit_match_cast_(binding)

    def visit_match_shape(self, binding: MatchCast) -> Any:  # noqa: ANN401
        """A `MatchCast`, under its older name."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_var_binding_(self, binding: Binding) -> Any:  # noqa: ANN401
        """A `VarBinding`; by default its value, then its variable."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_match_cast_(self, binding: MatchCast) -> Any:  # noqa: ANN401
        """A `MatchCast`; by default its value, then its variable."""
        return self.visit_match_shape(binding)

    def visit_var_def(self, var: Var) -> Any:  # noqa: ANN401
        """A variable of either kind at its binding, or a parameter."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_def_(self, var: Var) -> Any:  # noqa: ANN401
        """A variable at its binding, or a parameter."""

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Any:  # noqa: ANN401
        """A variable of a dataflow block at its binding."""

    # -- expressions: leaves

    def visit_var(self, var: Var) -> Any:  # noqa: ANN401
        """The use of a variable."""
        return self.visit_var_(var)

    def visit_var_(self, var: Var) -> Any:  # noqa: ANN401
        """The use of a variable."""
        return var

    def visit_dataflow_var(self, var: DataflowVar) -> Any:  # noqa: ANN401
        """The use of a dataflow variable in its block; by default like any other variable."""
        return self.visit_dataflow_var_(var)

    def visit_dataflow_var_(self, var: DataflowVar) -> Any:  # noqa: ANN401
        """The use of a dataflow variable in its block; by default like any other variable."""
        return self.visit_var(var)

    def visit_constant(self, constant: Constant) -> Any:  # noqa: ANN401
        """A constant."""
        return self.visit_constant_(constant)

    def visit_constant_(self, constant: Constant) -> Any:  # noqa: ANN401
        """A constant."""
        return constant

    def visit_shape_expr(self, shape: ShapeExpr) -> Any:  # noqa: ANN401
        """A literal shape."""
        return self.visit_shape_expr_(shape)

    def visit_shape_expr_(self, shape: ShapeExpr) -> Any:  # noqa: ANN401
        """A literal shape."""
        return shape

    def visit_prim_value(self, value: PrimValue) -> Any:  # noqa: ANN401
        """A symbolic integer."""
        return self.visit_prim_value_(value)

    def visit_prim_value_(self, value: PrimValue) -> Any:  # noqa: ANN401
        """A symbolic integer."""
        return value

    def visit_extern_func(self, function: ExternFunc) -> Any:  # noqa: ANN401
        """A reference to a packed function by name."""
        return self.visit_extern_func_(function)

    def visit_extern_func_(self, function: ExternFunc) -> Any:  # noqa: ANN401
        """A reference to a packed function by name."""
        return function

    def visit_global_var(self, name: GlobalVar) -> Any:  # noqa: ANN401
        """A reference to a function of the module by name."""
        return self.visit_global_var_(name)

    def visit_global_var_(self, name: GlobalVar) -> Any:  # noqa: ANN401
        """A reference to a function of the module by name."""
        return name

    def visit_op(self, op: Op) -> Any:  # noqa: ANN401
        """The op of a call."""
        return self.visit_op_(op)

    def visit_op_(self, op: Op) -> Any:  # noqa: ANN401
        """The op of a call."""
        return op

    # -- expressions that hold others

    def visit_tuple(self, value: Tuple) -> Any:  # noqa: ANN401
        """A tuple."""
        return self.visit_tuple_(value)

    def visit_tuple_getitem(self, value: TupleGetItem) -> Any:  # noqa: ANN401
        """A field of a tuple."""
        return self.visit_tuple_getitem_(value)

    def visit_call(self, call: Call) -> Any:  # noqa: ANN401
        """A call."""
        return self.visit_call_(call)

    def visit_if(self, conditional: If) -> Any:  # noqa: ANN401
        """A conditional."""
        return self.visit_if_(conditional)

    def visit_loop(self, loop: Loop) -> Any:  # noqa: ANN401
        """A loop."""
        return self.visit_loop_(loop)

    def visit_seq(self, seq: SeqExpr) -> Any:  # noqa: ANN401
        """A sequence of blocks."""
        return self.visit_seq_expr_(seq)

    def visit_function(self, function: Function | LocalFunction) -> Any:  # noqa: ANN401
        """A function, of a module or nested in another one."""
        return self.visit_function_(function)

    def visit_tuple_(self, value: Tuple) -> Any:  # noqa: ANN401
        """A tuple; by default its fields."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_tuple_getitem_(self, value: TupleGetItem) -> Any:  # noqa: ANN401
        """A field of a tuple; by default the tuple."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_call_(self, call: Call) -> Any:  # noqa: ANN401
        """A call; by default the callee, then the arguments except literals."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_if_(self, conditional: If) -> Any:  # noqa: ANN401
        """A conditional; by default the condition, then the branches."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_loop_(self, loop: Loop) -> Any:  # noqa: ANN401
        """A loop; by default the bounds and carried values, then the parameters and bodies."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_seq_expr_(self, seq: SeqExpr) -> Any:  # noqa: ANN401
        """A sequence of blocks; by default the blocks, then the value."""
        raise NotImplementedError  # visitors and mutators override this

    def visit_function_(self, function: Function | LocalFunction) -> Any:  # noqa: ANN401
        """A function; by default its parameters, then the body."""
        raise NotImplementedError  # visitors and mutators override this


def _key(given: object) -> Any:  # noqa: ANN401 - what two views of one expression share; None for leaves
    if isinstance(given, SeqExpr):
        return ("sequence", id(given)) if given.block is None else ("sequence", given.block)
    if isinstance(given, Function):
        return ("function", given.operation)
    if isinstance(given, Node):
        return ("node", given.operation if given.is_view else id(given))
    return None
