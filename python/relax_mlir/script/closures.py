"""Functions as values in a script: nested functions, ``cls.f`` as a value, and calls of function values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import FUNCTION_ATTRS
from relax_mlir.dialects.base import RelaxOp, implies
from relax_mlir.dialects.closures import (
    InvokeClosureOp,
    InvokePureClosureOp,
    MakeClosureOp,
    invoke_with,
    make_closure,
)
from relax_mlir.dialects.types import Callable, Object, StructInfo, Tuple
from relax_mlir.dialects.value import Value, Var, create
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.mlir import ir
from relax_mlir.script.annotations import read_annotation
from relax_mlir.script.decorator_options import options
from relax_mlir.script.scope import POISON, is_path
from relax_mlir.script.source import Poisoned, Problem

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions
    from relax_mlir.script.statements import Block


def define_function(block: Block, node: ast.FunctionDef) -> None:
    """``def f(z: R.Tensor(...)): …`` inside a function: a function value that captures the enclosing values."""
    try:
        value = _function(block, node)
    except (Problem, Poisoned):
        block.define(node.name, POISON)
        raise
    block.define(node.name, value)


def _function(block: Block, node: ast.FunctionDef) -> Value:
    from relax_mlir.script.expressions import Expressions

    pure = _purity(block, node)
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise Problem(node, "a function takes parameters without defaults, * or **")
    outer = block.expressions
    scope = outer.scope.function()
    params = []
    for parameter in given.args:
        if parameter.annotation is None:
            raise Problem(
                parameter,
                f"parameter '{parameter.arg}' needs an annotation, such as R.Tensor((n,), \"float32\")",
            )
        info = read_annotation(parameter.annotation, scope)
        scope.add_symbols(info.symbols())
        params.append(Var(parameter.arg, info))
    wanted = None if node.returns is None else read_annotation(node.returns, scope)
    scope.values.update({p.name: p for p in params})
    inner = type(block)(
        block.builder,
        Expressions(outer.source, scope, outer.calls),
        frozenset(),
        is_body=True,
        returning=True,
        annotated=wanted,
    )
    count = outer.source.mistakes
    try:
        with outer.at(node), block.builder.lambda_function(node.name, params, pure=pure) as value:
            inner.run(node.body)
            if outer.source.mistakes > count:
                raise Poisoned(node)
            _check_result(node, inner.result, wanted)
    except RelaxError as error:
        raise Problem.of(node, error) from None
    if inner.attributes:
        value.ssa.owner.attributes[FUNCTION_ATTRS] = ir.DictAttr.get(inner.attributes)
    return value


def _purity(block: Block, node: ast.FunctionDef) -> bool | None:
    """``@R.function(pure=False)``. Without `pure`, purity is inferred from the body."""
    found: bool | None = None
    for decorator in node.decorator_list:
        head = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not is_path(block.path(head), "R", "function"):
            raise Problem(decorator, "a function inside a function has no decorator but @R.function")
        given = options(decorator, "function")
        if "private" in given:
            raise Problem(decorator, "a function inside a function is private always: leave `private` out")
        found = given.get("pure", found)
    return found


def _check_result(node: ast.FunctionDef, result: Value | None, wanted: StructInfo | None) -> None:
    if result is None:
        raise Problem(node, f"function '{node.name}' has no `return`")
    if isinstance(wanted, Object):
        return  # R.Any accepts any result
    if wanted is not None and not implies(result.struct_info, wanted):
        message = f"'{node.name}' is annotated to return {wanted}, but returns {result.struct_info}"
        raise Problem(node.returns or node, message, "ShapeError")


def function_value(expressions: Expressions, node: ast.expr) -> Value | None:
    """Return the function value called by ``f(...)``, ``t[0](...)`` or ``cls.make(x)(...)``; None for other callees."""
    if isinstance(node, ast.Name):
        found = expressions.scope.values.get(node.id)
        if found is POISON:
            raise Poisoned(node)
    elif isinstance(node, ast.Subscript | ast.Call):
        found = expressions.evaluate(node)
    else:
        return None
    is_function = isinstance(found, Value) and isinstance(found.struct_info, Callable)
    return found if is_function else None


def invoke(calls: Calls, expressions: Expressions, node: ast.Call, closure: Value) -> Value:
    """Emit ``f(x, y)`` for a function value ``f``."""
    from relax_mlir.script.packed_calls import call_of_extern, extern_name

    name = extern_name(closure)
    if name is not None:
        return call_of_extern(expressions, node, closure, name)
    if node.keywords:
        raise Problem(node.keywords[0], "function values take their arguments by position")
    operands = calls.tuple_of(expressions, node, node.args)
    info = closure.struct_info
    cls = InvokePureClosureOp if isinstance(info, Callable) and info.pure else InvokeClosureOp
    return expressions.apply(node, invoke_with, cls, closure, operands, None)


def invocation(cls: type[RelaxOp]) -> Any:  # noqa: ANN401 - a reader of calls
    """Return the reader of ``R.invoke_closure(f, (x,), R.Tensor(...))``."""

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        from relax_mlir.script.call_arguments import OUT, named_arguments

        parts = named_arguments(node, ("closure", "args", "out"), 2, OUT)
        closure, operands = expressions.value(parts["closure"]), expressions.value(parts["args"])
        if not isinstance(operands.struct_info, Tuple):
            raise Problem(parts["args"], "the arguments are a tuple: write (x,) for one")
        out = read_annotation(parts["out"], expressions.scope) if "out" in parts else None
        return expressions.apply(node, invoke_with, cls, closure, operands, out)

    return read


def closure_of(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.make_closure(cls.f, (y,), R.Callable(...))``: binds the last parameters of a function."""
    from relax_mlir.script.call_arguments import OUT, named_arguments

    parts = named_arguments(
        node, ("callee", "captured", "out"), 2, {**OUT, "func": "callee", "args": "captured"}
    )
    callee = calls.callee(parts["callee"])
    if callee is None:
        raise Problem(parts["callee"], "make_closure takes a function of the module: write cls.f")
    captured = expressions.value(parts["captured"])
    out = read_annotation(parts["out"], expressions.scope) if "out" in parts else None
    return module_function(calls, expressions, node, callee, captured, out)


def module_function(
    calls: Calls,
    expressions: Expressions,
    node: ast.expr,
    callee: str,
    captured: Value | None = None,
    out: StructInfo | None = None,
) -> Value:
    """The function ``cls.f`` as a value, with its last parameters bound to the fields of `captured`."""
    try:
        target = calls.signatures.signature(callee)
    except UnknownNameError as error:
        raise Problem.of(node, error) from None
    if captured is None:
        captured = expressions.relax_value(node, ())
    if out is not None:
        attributes = {"callee": ir.FlatSymbolRefAttr.get(callee)}
        return expressions.apply(node, lambda: create(MakeClosureOp, [captured], attributes, [out])[0])
    if target is None:
        raise Problem(
            node,
            f"the result of '{callee}' is not known here: annotate it (`-> R.Tensor(...)`), or define it first",
        )
    if "relax.prim_func" in target.attributes:
        raise Problem(node, f"'{callee}' is a prim func, which is no value: call it by R.call_tir")
    pure = calls.signatures.is_pure(callee)
    return expressions.apply(node, make_closure, callee, target, captured, pure)
