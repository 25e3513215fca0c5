"""Calls in a script: of ops, of functions of the module, of function values, and with side effects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from relax_mlir import op
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import FUNCTION_ATTRS, PRIM_FUNC
from relax_mlir.dialects.base import RelaxOp, implies, ir_fields, op_classes
from relax_mlir.dialects.builders import NAMESPACES, builders
from relax_mlir.dialects.calls import CallOp, inplace_call
from relax_mlir.dialects.closures import (
    InvokeClosureOp,
    InvokePureClosureOp,
    MakeClosureOp,
    invoke_with,
    make_closure,
)
from relax_mlir.dialects.effects import assert_op
from relax_mlir.dialects.effects import print as print_values
from relax_mlir.dialects.structure import (
    constant,
    make_tuple,
    match_shape,
    prim_value,
    shape_expr,
    tuple_get_item,
)
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import Object, Shape, StructInfo, Tensor, Tuple, as_dim
from relax_mlir.dialects.value import Value, Var, create, create_one
from relax_mlir.error import DTypeError, RelaxError, UnknownNameError, UnsupportedError
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import ELSEWHERE
from relax_mlir.script import function_calls
from relax_mlir.script.annotations import DIMENSIONS, KINDS, read_annotation, read_dim, read_dims, symbols_of
from relax_mlir.script.function_calls import (
    SPELLINGS,
    arguments,
    check_arguments,
    destinations,
    direct_call,
    has_dtype,
    is_shape_first,
    literal,
    literal_text,
    named_arguments,
    prim_arguments,
    prim_func,
    read_call_prim,
    read_call_tir,
    read_call_tir_dyn,
    read_dps_packed,
    read_extern,
    read_packed,
    read_pure_packed,
    shape_and_dtype,
    shape_first,
    tir_variables,
)
from relax_mlir.script.scope import (
    FLOATS,
    IMMEDIATE,
    INSTEAD,
    INTEGERS,
    NAMED,
    POISON,
    is_path,
    require_exact,
)
from relax_mlir.script.source import Poisoned, Problem, options
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions
    from relax_mlir.script.statements import Block


def read_match(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.match_shape(x, (n, 4))``; also ``R.match_cast(x, R.Tensor(("n", 4), "float32"))``."""
    parts = named_arguments(node, ("value", "pattern", "dtype"), 2)
    value = expressions.value(parts["value"])
    dtype = expressions.evaluate(parts["dtype"]) if "dtype" in parts else None
    if _is_shape(expressions, parts["pattern"]):
        pattern = read_dims(parts["pattern"], expressions.scope)
        return _matched(expressions, node, value, pattern, dtype)
    info = read_annotation(parts["pattern"], expressions.scope)
    return _cast(expressions, node, parts["pattern"], value, info, dtype)


def _is_shape(expressions: Expressions, pattern: ast.expr) -> bool:
    """True if a pattern is a shape (``(n, 4)``, ``R.shape([n, 4])``, ``x.shape``, or a name), not an annotation."""
    scope = expressions.scope
    path = scope.path(pattern.func if isinstance(pattern, ast.Call) else pattern)
    if path is not None:
        return path in (("R", "shape"), ("R", "ShapeExpr"))
    if isinstance(pattern, ast.Name):
        found = scope.values.get(pattern.id, scope.captured.get(pattern.id))
        return isinstance(found, Value | Expr | tuple | list | int)
    return isinstance(pattern, ast.Tuple | ast.List | ast.Attribute)


def _cast(
    expressions: Expressions,
    node: ast.Call,
    pattern: ast.expr,
    value: Value,
    info: StructInfo,
    dtype: Any,  # noqa: ANN401 - what the script says, checked by the builder
) -> Value:
    """Return `value`, checked against an annotation; a tuple is checked field by field."""
    if isinstance(info, Object):
        return value  # R.Any accepts any value
    if isinstance(info, Tuple):
        known = value.struct_info
        if not isinstance(known, Tuple) or len(known.fields) != len(info.fields):
            message = f"the value is {known}, which is no tuple of {len(info.fields)} fields"
            raise Problem(node, message, "ShapeError")
        fields = []
        for number, field in enumerate(info.fields):
            item = expressions.apply(node, tuple_get_item, value, number)
            fields.append(_cast(expressions, node, pattern, item, field, None))
        return expressions.apply(node, make_tuple, *fields)
    if isinstance(info, Tensor) and info.shape is not None:
        return _matched(expressions, node, value, info.shape, dtype or (info.dtype and info.dtype.name))
    if isinstance(info, Shape) and info.values is not None:
        return _matched(expressions, node, value, info.values, dtype)
    raise Problem(pattern, "the pattern is a shape of known rank, such as (n, 4)")


def _matched(
    expressions: Expressions,
    node: ast.Call,
    value: Value,
    pattern: Sequence[Any],
    dtype: Any,  # noqa: ANN401 - what the script says, checked by the builder
) -> Value:
    result = expressions.apply(node, match_shape, value, pattern, dtype)
    expressions.scope.add_symbols(symbols_of([as_dim(p) for p in pattern]))
    return result


HINT = "primfunc_name_hint"


def read_emit_te(calls: Calls, expressions: Expressions, node: ast.Call) -> Any:  # noqa: ANN401 - a value, or several
    """Emit the call of the generated prim func. Raises `Problem`."""
    if not calls.runs_python:
        raise Problem(
            node,
            "emit_te runs a Python function, which `parse` never does: use the decorators, or BlockBuilder.emit_te",
            "UnsupportedError",
        )
    if not node.args:
        raise Problem(node, "emit_te takes a function of tensor expressions, then its arguments")
    function = _te_function(expressions, node.args[0])
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    args, kwargs = arguments(expressions, rest)
    hint = kwargs.pop(HINT, None)
    return expressions.apply(node, calls.signatures.emit_te, function, args, kwargs, hint)


def _te_function(expressions: Expressions, node: ast.expr) -> Callable[..., Any]:
    """Return the Python function of a name or a lambda."""
    if isinstance(node, ast.Lambda):
        code = compile(ast.fix_missing_locations(ast.Expression(node)), expressions.source.filename, "eval")
        found = eval(code, dict(expressions.scope.captured))
    else:
        found = expressions.evaluate(node)
    if not callable(found):
        raise Problem(node, f"`{ast.unparse(node)[:40]}` is no Python function", "ArgumentError")
    return found  # type: ignore[no-any-return]  # callable, as has been checked


# Virtual machine builtins in the form of the first Relax design, as packed functions with named arguments.
#
# ``R.call_packed("vm.builtin.alloc_shape_heap", size=4)`` is read as ``R.vm.alloc_shape_heap(4)``, and so on. Calls in
# the form of bytecode, whose arguments are all values, remain calls of packed functions.

PREFIX = "vm.builtin."
OPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "alloc_shape_heap": ("vm.alloc_shape_heap", ("size",)),
    "store_shape": ("vm.store_shape", ("shape", "heap", "indices")),
    "load_shape": ("vm.load_shape", ("heap", "indices")),
    "alloc_storage": ("vm.alloc_storage", ("size", "device", "storage_scope", "dtype")),
    "alloc_tensor": ("vm.alloc_tensor", ("storage", "shape", "offset", "dtype")),
    "shape_of": ("shape_of", ("x",)),
    "call_tir_dyn": ("vm.call_tir_dyn", ("callee", "args", "tir_vars")),
    "free_shape_heap": ("vm.kill_object", ("value",)),
    "free_storage": ("vm.kill_object", ("value",)),
    "free_tensor": ("vm.kill_object", ("value",)),
}
"""Builtin → op and argument names."""
SHAPES = (ast.Tuple, ast.List)


def as_op(expressions: Expressions, node: ast.Call) -> ast.Call | None:
    """Rewrite a `call_packed` of a builtin as a call of its op; return None for any other call.

    The form with op arguments is recognised by keyword arguments, or by a tuple or list as the last argument, where
    bytecode has integers. The callee may also be a function of the module: ``R.call_packed(cls.f, x, out)`` is read as
    ``cls.f(x, out)``.
    """
    name = node.args[0] if node.args else None
    if name is not None and expressions.calls.named(expressions, name) is not None:
        return ast.copy_location(ast.Call(name, node.args[1:], node.keywords), node)
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    if not isinstance(node.func, ast.Attribute) or not name.value.startswith(PREFIX):
        return None
    builtin = name.value.removeprefix(PREFIX)
    if builtin not in OPS:
        return None
    op, names = OPS[builtin]
    given = node.args[1:]
    is_design = builtin == "shape_of" or builtin.startswith("free_")
    is_design = is_design or any(keyword.arg in names for keyword in node.keywords)
    is_design = is_design or any(isinstance(item, SHAPES) for item in given[-1:])
    if not is_design or any(keyword.arg not in names for keyword in node.keywords):
        return None
    if builtin == "call_tir_dyn":
        given = [given[0], ast.Tuple(given[1:], ast.Load())] if given else given
    keywords = [ast.keyword(str(k.arg), _argument(builtin, str(k.arg), k.value)) for k in node.keywords]
    positional = [_argument(builtin, key, item) for key, item in zip(names, given, strict=False)]
    function: ast.expr = node.func.value
    for part in op.split("."):
        function = ast.Attribute(function, part, ast.Load())
    call = ast.Call(function, [*positional, *given[len(names) :]], keywords)
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _argument(builtin: str, name: str, node: ast.expr) -> ast.expr:
    """Convert an argument to the form that the op takes: indices as a list, the size of a shape heap as an integer."""
    if name == "size" and builtin == "alloc_shape_heap" and isinstance(node, SHAPES) and len(node.elts) == 1:
        return node.elts[0]
    if name == "indices" and isinstance(node, ast.Tuple):
        return ast.copy_location(ast.List(node.elts, ast.Load()), node)
    return node


RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def inplace(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir_inplace(cls.prim, (x, y), [0], R.Tensor(...), tir_vars=[...])``."""
    parts = named_arguments(node, ("callee", "args", "inplace_indices", "out", "tir_vars"), 4, SPELLINGS)
    callee = prim_func(calls, expressions, "call_tir_inplace", parts["callee"])
    operands = _inplace_arguments(expressions, parts["args"])
    found = expressions.evaluate(parts["inplace_indices"])
    indices = [found] if isinstance(found, int) else found
    out = destinations(expressions, parts["out"])
    extra = tir_variables(expressions, parts.get("tir_vars"))
    return expressions.apply(node, inplace_call, callee, operands, indices, out, extra)


def _inplace_arguments(expressions: Expressions, node: ast.expr) -> Value:
    """Read the arguments of an in-place call. As in TVM, they are listed in the call, which shows what is written."""
    if isinstance(node, ast.Name) and _is_tuple(expressions.evaluate(node)):
        raise Problem(
            node,
            "call_tir_inplace takes its arguments in the call, so that it is seen which of them are written, "
            f"not as the tuple '{node.id}': write the values, (x, y), or (*{node.id},)",
        )
    if isinstance(node, ast.Tuple) and len(node.elts) == 1 and isinstance(node.elts[0], ast.Starred):
        given = expressions.evaluate(node.elts[0].value)
        if isinstance(given, Value) and _is_tuple(given):
            return given
    return prim_arguments(expressions, node)


def _is_tuple(given: object) -> bool:
    return isinstance(given.struct_info, Tuple) if isinstance(given, Value) else isinstance(given, tuple | list)


def assertion(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.assert_op(c, x, format="x is {}")``, ``R.assert_op(n % 4 == 0)``."""
    if not node.args:
        raise Problem(node, "assert_op takes a condition, then the values of the message")
    condition = _symbolic(expressions, node.args[0])
    if condition is None:
        condition = expressions.evaluate(node.args[0])
    values: list[Any] = []
    for item in node.args[1:]:
        found = expressions.evaluate(item)
        values += list(found) if isinstance(found, tuple | list) else [found]
    expressions.apply(node, assert_op, condition, *values, format=_format(expressions, node))


def assert_statement(calls: Calls, expressions: Expressions, node: ast.Assert) -> None:
    """``assert c, "message"``: `R.assert_op`."""
    message = node.msg
    if message is not None and not (isinstance(message, ast.Constant) and isinstance(message.value, str)):
        hint = 'the message of an assert is a string; R.assert_op(c, x, format="x is {}") shows values'
        raise Problem(message, hint)
    keywords = [] if message is None else [ast.keyword("format", message)]
    call = ast.Call(ast.Name("assert_op", ast.Load()), [node.test], keywords)
    assertion(calls, expressions, ast.fix_missing_locations(ast.copy_location(call, node)))


def _symbolic(expressions: Expressions, node: ast.expr) -> str | None:
    """Return a comparison of symbols and integers as text; None for another expression."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in RELATIONS:
        return None
    names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    scope = expressions.scope
    if (
        not names
        or any(isinstance(scope.values.get(name), Value) for name in names)
        or not names & scope.symbols.keys()
    ):
        return None
    left, right = read_dim(node.left, scope), read_dim(node.comparators[0], scope)
    return f"{left} {RELATIONS[type(node.ops[0])]} {right}"


def printing(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.print(x, "text", format="…")``."""
    values = expressions.elements(list(node.args))
    values = [expressions.relax_value(node, v) if isinstance(v, np.ndarray) else v for v in values]
    expressions.apply(node, print_values, *values, format=_format(expressions, node))


def _format(expressions: Expressions, node: ast.Call) -> str:
    text = ""
    for keyword in node.keywords:
        if keyword.arg != "format":
            raise Problem(
                keyword,
                f"{ast.unparse(node.func)} takes no argument '{keyword.arg}'; the message is `format`",
            )
        text = expressions.evaluate(keyword.value)
    return text


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
    is_function = isinstance(found, Value) and isinstance(found.struct_info, CallableInfo)
    return found if is_function else None


def invoke(calls: Calls, expressions: Expressions, node: ast.Call, closure: Value) -> Value:
    """Emit ``f(x, y)`` for a function value ``f``."""
    from relax_mlir.script.function_calls import call_of_extern, extern_name

    name = extern_name(closure)
    if name is not None:
        return call_of_extern(expressions, node, closure, name)
    if node.keywords:
        raise Problem(node.keywords[0], "function values take their arguments by position")
    operands = calls.tuple_of(expressions, node, node.args)
    info = closure.struct_info
    cls = InvokePureClosureOp if isinstance(info, CallableInfo) and info.pure else InvokeClosureOp
    return expressions.apply(node, invoke_with, cls, closure, operands, None)


def invocation(cls: type[RelaxOp]) -> Any:  # noqa: ANN401 - a reader of calls
    """Return the reader of ``R.invoke_closure(f, (x,), R.Tensor(...))``."""

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        from relax_mlir.script.function_calls import OUT, named_arguments

        parts = named_arguments(node, ("closure", "args", "out"), 2, OUT)
        closure, operands = expressions.value(parts["closure"]), expressions.value(parts["args"])
        if not isinstance(operands.struct_info, Tuple):
            raise Problem(parts["args"], "the arguments are a tuple: write (x,) for one")
        out = read_annotation(parts["out"], expressions.scope) if "out" in parts else None
        return expressions.apply(node, invoke_with, cls, closure, operands, out)

    return read


def closure_of(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.make_closure(cls.f, (y,), R.Callable(...))``: binds the last parameters of a function."""
    from relax_mlir.script.function_calls import OUT, named_arguments

    parts = named_arguments(node, ("callee", "captured", "out"), 2, {**OUT, "func": "callee", "args": "captured"})
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


MODULE_NAMES = ("cls",)
SPECIAL_NUMBERS = ("inf", "-inf", "nan", "-nan")
"""TVM's strings for floats that have no Python literal."""
ALIASES = {"TupleGetItem": "tuple_get_item"}
"""Script names of ops that differ from the builder's."""


class Signatures(Protocol):
    """The signatures of the module's functions, read or not yet read."""

    def signature(self, name: str) -> func.FuncOp | None:
        """Return the function or a declaration of it; None while its result is unknown. Raises `UnknownNameError`."""

    def require(self, name: str) -> None:
        """Raise `UnknownNameError` unless the module has a Relax function or prim func `name`."""

    def exported(self, name: str) -> str:
        """Return the module's symbol for ``cls.name``."""

    def is_pure(self, name: str) -> bool:
        """True if the function `name` is known to have no side effects."""

    def emit_te(self, function: Any, args: Any, kwargs: Any, hint: str | None) -> Any:  # noqa: ANN401 - as BlockBuilder.emit_te
        """Emit a call of the prim func that is generated from a tensor expression function."""


@dataclass
class Calls:
    """Reads the calls of one module. `class_name` is accepted in place of ``cls``."""

    signatures: Signatures
    class_name: str
    runs_python: bool = False
    """True if the script is part of a running Python program, whose functions may be called."""

    @staticmethod
    def op(path: str) -> Callable[..., Any]:
        """Return the op builder `path` ("add", "nn.softmax"). Raises `UnknownNameError` or `UnsupportedError`."""
        found: Any = op
        for part in ALIASES.get(path, path).split("."):
            found = getattr(found, part, None) if isinstance(found, ModuleType) else None
        if not callable(found) and path in ELSEWHERE:
            raise UnsupportedError(f"R.{path} is no op here: {ELSEWHERE[path]}")
        if not callable(found):
            raise UnknownNameError("op", f"R.{path}", [f"R.{name}" for name in op_names()])
        return found  # type: ignore[no-any-return]  # callable, as has been checked

    def call(self, expressions: Expressions, node: ast.Call) -> Any:  # noqa: ANN401 - a value or a constant
        """Evaluate a call."""
        callee = self.callee(node.func)
        if callee is not None:
            return self.module_call(expressions, node, callee)
        path = expressions.scope.path(node.func)
        if path is None and function_calls.is_view(expressions, node.func):
            return function_calls.view_of_runtime(expressions, node)
        if path is None:
            closure = function_value(expressions, node.func)
            if closure is not None:
                return invoke(self, expressions, node, closure)
            return self.python_call(expressions, node)
        root, name = path
        if root != "R":
            return self.ir_call(expressions, node, root, name)
        if name in ("call_tir", "call_tir_dyn"):
            if is_shape_first(self, expressions, node):
                return shape_first(self, expressions, node)
            if has_dtype(node):
                return shape_and_dtype(self, expressions, node)
        builtin = as_op(expressions, node) if name == "call_packed" else None
        if builtin is not None:
            return self.call(expressions, builtin)
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, expressions, node)
        if name in STATEMENTS:
            raise Problem(node, STATEMENTS[name])
        if name in KINDS:
            raise Problem(node, f"R.{name}(...) is an annotation, not a value")
        try:
            builder = self.op(name)
        except (UnknownNameError, UnsupportedError) as error:
            raise Problem.of(node.func, error) from None
        args, kwargs = arguments(expressions, node)
        check_arguments(node, f"R.{name}", builder, args, kwargs)
        return expressions.apply(node, builder, *args, **kwargs)

    def callee(self, node: ast.expr) -> str | None:
        """``f`` for ``cls.f`` and ``cls["f"]``."""
        if not isinstance(node, ast.Attribute | ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        if node.value.id not in (*MODULE_NAMES, self.class_name):
            return None
        if isinstance(node, ast.Attribute):
            return self.signatures.exported(node.attr)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return self.signatures.exported(node.slice.value)
        raise Problem(node, 'a function of the module is written cls.f or cls["f"]')

    def python_call(self, expressions: Expressions, node: ast.Call) -> Any:  # noqa: ANN401
        """Evaluate ``float("inf")`` or a call of a module function by its bare name; other Python calls are errors."""
        if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
            return expressions.apply(node, float, expressions.evaluate(node.args[0]))
        if isinstance(node.func, ast.Name) and self.names_function(expressions, node.func.id):
            return self.module_call(expressions, node, node.func.id)
        text = ast.unparse(node.func)
        hint = "a script calls the ops R.…, and the functions of its module as cls.…"
        if isinstance(node.func, ast.Name) and node.func.id not in expressions.scope.captured:
            known = {*op_names()}
            message = str(UnknownNameError("function", text, known, hint))
            if text in INSTEAD:
                message = f"unknown function '{text}'; {INSTEAD[text]} ({hint})"
            elif text in known:
                message = f"unknown function '{text}'; the op is R.{text} ({hint})"
            raise Problem(node.func, message, "UnknownNameError")
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "astype":
                value = expressions.value(node.func.value)
                dtype = function_calls.named_arguments(node, ("dtype",), 1)["dtype"]
                return expressions.apply(node, op.astype, value, expressions.evaluate(dtype))
            found = expressions.evaluate(node.func)
            if isinstance(found, tuple | str | int):
                raise Problem(node.func, f"'{text}' is no function; leave the parentheses out")
        raise Problem(node.func, f"'{text}' is a Python function, which is not run; {hint}")

    def named(self, expressions: Expressions, node: ast.expr) -> str | None:
        """Return the module function that an expression names: ``cls.f``, or ``f`` if nothing hides it."""
        callee = self.callee(node)
        if callee is None and isinstance(node, ast.Name) and self.names_function(expressions, node.id):
            return node.id
        return callee

    def names_function(self, expressions: Expressions, name: str) -> bool:
        """True if a bare name is that of a module function and nothing hides it."""
        if name in expressions.scope.values:
            return False
        try:
            self.signatures.require(name)
        except UnknownNameError:
            return False
        return True

    @staticmethod
    def ir_call(expressions: Expressions, node: ast.Call, root: str, name: str) -> Any:  # noqa: ANN401 - an attribute or a number
        """``I.attribute("…")``, ``T.int64(4)``."""
        if root == "T" and name in DIMENSIONS:
            return read_dim(node, expressions.scope)
        if root == "T" and name != "meta_var":
            return number(expressions, node, name)
        if name == "meta_var" and len(node.args) == 1:
            return expressions.evaluate(node.args[0])
        if name != "attribute":
            raise Problem(node, f"I.{name} is not an expression")
        return expressions.apply(node, ir.Attribute.parse, literal(node, str, "attribute text"))

    def module_call(self, expressions: Expressions, node: ast.Call, callee: str) -> Value | None:
        """``cls.f(x, y)``. Returns None for a prim func, which is called for its side effects."""
        try:
            target = self.signatures.signature(callee)
        except UnknownNameError as error:
            raise Problem.of(node.func, error) from None
        if target is None:
            raise Problem(
                node,
                f"the result of '{callee}' is not known here: annotate it (`-> R.Tensor(...)`), or define it first",
            )
        if node.keywords:
            raise Problem(node.keywords[0], "functions of the module take their arguments by position")
        if PRIM_FUNC in target.attributes:
            direct_call(expressions, node, target)
            return None
        operands = self.tuple_of(expressions, node, node.args)
        info = operands.struct_info
        assert isinstance(info, Tuple)

        def build() -> Value:
            result = infer_call(callee, target, info.fields)
            attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(callee)}
            return emit(CallOp, operands, attributes, result)

        return expressions.apply(node, build)

    def tuple_of(self, expressions: Expressions, node: ast.AST, args: Sequence[ast.expr]) -> Value:
        """Pack the arguments into one tuple; ``*t`` alone is the tuple ``t``."""
        if len(args) == 1 and isinstance(args[0], ast.Starred):
            value = expressions.value(args[0].value)
            if not isinstance(value.struct_info, Tuple):
                raise Problem(args[0], f"* of {value.struct_info}: only a tuple has fields")
            return value
        fields = expressions.elements(list(args))

        def build() -> Value:  # integers and symbols are separate arguments here, not a shape
            return make_tuple(*(prim_value(f) if type(f) is int else expressions.relax_value(node, f) for f in fields))

        return expressions.apply(node, build)

    def const(self, expressions: Expressions, node: ast.Call) -> Value:
        """``R.const([1.0, 2.0], "float32")``."""
        parts = named_arguments(node, ("value", "dtype"), 1)
        value = expressions.evaluate(parts["value"])
        dtype = expressions.evaluate(parts["dtype"]) if "dtype" in parts else None
        if isinstance(value, Value):
            raise Problem(node, "R.const makes a constant of numbers; this is a value already")

        if isinstance(value, str) and value in SPECIAL_NUMBERS:
            value = float(value)

        def build() -> Value:
            if isinstance(value, list | tuple):
                return constant(_array(value, dtype))
            return constant(value, dtype)

        return expressions.apply(node, build)

    def shape(self, expressions: Expressions, node: ast.Call) -> Value:
        """``R.shape([n, 4])``."""
        parts = named_arguments(node, ("values",), 1)
        return expressions.apply(node, shape_expr, read_dims(parts["values"], expressions.scope))

    def prim_value(self, expressions: Expressions, node: ast.Call) -> Value:
        """``R.prim_value(n * 2)``. A float becomes a tensor of rank 0, a comparison its bool."""
        given = named_arguments(node, ("value",), 1)["value"]
        path = expressions.scope.path(given.func) if isinstance(given, ast.Call) else None
        dtype = path[1] if path is not None and path[0] == "T" and path[1] in dtypes.DTYPES else None
        is_number = isinstance(given, ast.Constant | ast.UnaryOp | ast.Compare | ast.BoolOp)
        if not is_number and dtype in (None, "int64"):
            dim = read_dim(given, expressions.scope)
            return expressions.apply(node, prim_value, dim)
        found = expressions.evaluate(given)
        if isinstance(found, Value):
            return found
        if isinstance(found, bool | float) or dtype not in (None, "int64"):
            known = {bool: "bool", float: "float64", int: "int64"}
            return expressions.apply(node, constant, found, dtype or known[type(found)])
        return expressions.apply(node, prim_value, found)

    def tuple(self, expressions: Expressions, node: ast.Call) -> Value:
        """``R.tuple(x, y)``."""
        fields = expressions.elements(list(node.args))
        return expressions.apply(node, make_tuple, *(expressions.relax_value(node, f) for f in fields))

    def generic(self, expressions: Expressions, node: ast.Call) -> Value:
        """``R.op("relax.sum", x, attributes={"axis": I.attribute("[1]"), …})``: an op with its exact attributes."""
        if not node.args:
            raise Problem(node, "R.op takes the name of an op, then its operands")
        name = literal_text(node.args[0])
        operands = [expressions.value(a) for a in node.args[1:]]
        attributes: dict[str, ir.Attribute] = {}
        for keyword in node.keywords:
            if keyword.arg != "attributes":
                raise Problem(keyword, f"R.op takes no argument '{keyword.arg}'")
            attributes = expressions.evaluate(keyword.value)
        classes = op_classes()
        if name not in classes:
            raise Problem.of(node.args[0], UnknownNameError("op", name, classes))
        needed = ir_fields(classes[name])[1]
        if not isinstance(attributes, dict) or not set(needed) <= set(attributes):
            listed = ", ".join(f'"{item}": I.attribute("…")' for item in needed)
            raise Problem(node, f"R.op: {name} takes attributes={{{listed}}}", "ArgumentError")
        for key, value in attributes.items():
            if not isinstance(value, ir.Attribute):
                message = f"R.op: attribute '{key}' is {value!r}; write I.attribute(\"…\") with MLIR's text of it"
                raise Problem(node, message, "ArgumentError")

        def build() -> Value:
            return create_one(classes[name], operands, attributes)

        return expressions.apply(node, build)


def _array(value: Sequence[Any], dtype: str | None) -> np.ndarray[Any, Any]:
    """Convert nested lists to an array. Raises `DTypeError`."""
    wanted = None if dtype is None else dtypes.dtype(dtype)
    try:
        plain = np.array(value)
        found = plain if wanted is None else np.array(value, dtype=wanted.numpy)
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"R.const: {value!r:.60} is no array of numbers: {error}") from None
    if wanted is not None and plain.size and plain.dtype.kind in "iuf":
        for number in (plain.min(), plain.max()):
            dtypes.require_held("R.const: 'value'", number, wanted)
    if found.dtype.kind not in "biufV":
        raise DTypeError(f"R.const: {value!r:.60} holds something else than numbers")
    return found


def emit(cls: type[RelaxOp], operands: Value, attributes: dict[str, ir.Attribute], result: StructInfo) -> Value:
    """Emit an op on one tuple with the result type of its callee."""
    return create(cls, [operands], attributes, [result])[0]


def op_names() -> Iterator[str]:
    """Yield the names of all ops, as written after ``R.``."""
    yield from (name for name in builders() if name not in STATEMENTS)
    for namespace in NAMESPACES:
        yield from (f"{namespace}.{name}" for name in builders(namespace))
    yield from SPECIAL


SPECIAL: dict[str, Callable[[Calls, Expressions, ast.Call], Any]] = {
    "assert_op": assertion,
    "call_tir": read_call_tir,
    "call_prim": read_call_prim,
    "vm.call_tir_dyn": read_call_tir_dyn,
    "call_tir_dyn": read_call_tir,
    "call_tir_inplace": inplace,
    "call_dps_packed": read_dps_packed,
    "call_packed": read_packed,
    "call_pure_packed": read_pure_packed,
    "match_shape": read_match,
    "match_cast": read_match,
    "const": Calls.const,
    "constant": Calls.const,
    "shape": Calls.shape,
    "ShapeExpr": Calls.shape,
    "shape_expr": Calls.shape,
    "invoke_closure": invocation(InvokeClosureOp),
    "invoke_pure_closure": invocation(InvokePureClosureOp),
    "make_closure": closure_of,
    "prim_value": Calls.prim_value,
    "print": printing,
    "tuple": Calls.tuple,
    "make_tuple": Calls.tuple,
    "op": Calls.generic,
    "emit_te": read_emit_te,
    "ExternFunc": read_extern,
    "extern_func": read_extern,
    **function_calls.MEMORY_READERS,
    **function_calls.TVM_READERS,
}
"""Readers of calls whose arguments include annotations, shapes or functions instead of values."""

STATEMENTS = {
    "dataflow": "R.dataflow() opens a block: write `with R.dataflow():`",
    "output": "R.output(...) is the last statement of a dataflow block",
    "outputs": "R.output(...) is the last statement of a dataflow block",
    "func_attr": "R.func_attr({...}) is a statement of its own",
    "function": "R.function is a decorator",
    **{
        name: f"{name} is called in Python, not in a script"
        for name in (
            "Op",
            "infer_rule",
            "register_infer",
            "register_op_attr",
            "unregister_infer",
            "unregister_op",
        )
    },
    "if_then_else": "write `if c: … else: …`, or `a if c else b`",
}


def number(expressions: Expressions, node: ast.Call, kind: str) -> Any:  # noqa: ANN401 - a number or an expression
    """Return the number of ``T.int64(4)``, ``T.float32(1.5)`` or ``T.FloatImm("float32", 1.5)`` as an operand."""
    if kind in IMMEDIATE and len(node.args) == 2 and not node.keywords:
        dtype = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if dtype not in IMMEDIATE[kind]:
            raise Problem(node, f"the first argument of T.{kind} is one of {', '.join(IMMEDIATE[kind])}", "DTypeError")
        return number(expressions, ast.copy_location(ast.Call(node.func, node.args[1:], []), node), str(dtype))
    if kind not in (*INTEGERS, *FLOATS, "bool"):
        hint = "stands in the body of a function with @T.prim_func"
        raise Problem(node, f"T.{kind} {hint}" if kind not in NAMED else f"a symbol is declared by `m = T.{kind}(…)`")
    if len(node.args) != 1 or node.keywords:
        raise Problem(node, f"a symbol is declared on a line of its own: `m = T.{kind}()`")
    found = expressions.evaluate(node.args[0])
    if kind in INTEGERS and isinstance(found, int | Expr) and not isinstance(found, bool):
        require_exact(node, kind, found, str(found))
        return found
    if kind in FLOATS and isinstance(found, int | float) and not isinstance(found, bool):
        return float(found)
    if kind == "bool" and isinstance(found, bool | int):
        return bool(found)
    raise Problem(node, f"T.{kind} in a Relax function takes a number that is written out", "ArgumentError")
