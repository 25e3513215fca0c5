"""Calls in a script: of ops, of functions of the module, of prim funcs and of packed functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from relax_mlir import op
from relax_mlir.analysis.call_inference import infer_call
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import RelaxOp, ir_fields, op_classes
from relax_mlir.dialects.calls import CallOp
from relax_mlir.dialects.closures import InvokeClosureOp, InvokePureClosureOp
from relax_mlir.dialects.structure import constant, make_tuple, prim_value, shape_expr
from relax_mlir.dialects.types import StructInfo, Tuple
from relax_mlir.dialects.value import Value, create, create_one
from relax_mlir.error import DTypeError, UnknownNameError, UnsupportedError
from relax_mlir.mlir import func, ir
from relax_mlir.op.elsewhere import ELSEWHERE
from relax_mlir.script import memory_calls, tvm_spellings
from relax_mlir.script.annotations import KINDS
from relax_mlir.script.builtin_calls import as_op
from relax_mlir.script.call_arguments import (
    arguments,
    check_arguments,
    literal,
    literal_text,
    named_arguments,
)
from relax_mlir.script.closures import closure_of, function_value, invocation, invoke
from relax_mlir.script.dimensions import DIMENSIONS, read_dim, read_dims
from relax_mlir.script.effects import assertion, inplace, printing
from relax_mlir.script.matching import read_match
from relax_mlir.script.packed_calls import (
    read_dps_packed,
    read_extern,
    read_packed,
    read_pure_packed,
)
from relax_mlir.script.python_names import INSTEAD
from relax_mlir.script.shape_first import has_dtype, is_shape_first, shape_and_dtype, shape_first
from relax_mlir.script.source import Problem
from relax_mlir.script.symbols import number
from relax_mlir.script.te_calls import read_emit_te
from relax_mlir.script.tir_calls import direct_call, read_call_prim, read_call_tir, read_call_tir_dyn

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions

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
        if path is None and tvm_spellings.is_view(expressions, node.func):
            return tvm_spellings.view_of_runtime(expressions, node)
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
            return make_tuple(
                *(prim_value(f) if type(f) is int else expressions.relax_value(node, f) for f in fields)
            )

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
                message = (
                    f"R.op: attribute '{key}' is {value!r}; write I.attribute(\"…\") with MLIR's text of it"
                )
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


def emit(
    cls: type[RelaxOp], operands: Value, attributes: dict[str, ir.Attribute], result: StructInfo
) -> Value:
    """Emit an op on one tuple with the result type of its callee."""
    return create(cls, [operands], attributes, [result])[0]


def op_names() -> Iterator[str]:
    """Yield the names of all ops, as written after ``R.``."""
    for name in op.__all__:
        family = getattr(op, name)
        if isinstance(family, ModuleType):
            yield from (f"{name}.{inner}" for inner in family.__all__)
        elif name not in STATEMENTS:
            yield name
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
    **memory_calls.READERS,
    **tvm_spellings.READERS,
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
