"""Expressions of a prim func: from Python syntax to scalars; the intrinsics of the T language."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.loops import values
from relax_mlir.loops.values import (
    ALIASES,
    INDEX,
    INTRINSICS,
    Buffer,
    Scalar,
    Term,
    as_condition,
    as_index,
    as_scalar,
    example,
    shown,
)
from relax_mlir.mlir import arith, ir
from relax_mlir.scalars.arithmetic import const
from relax_mlir.script.scope import POISON, Scope
from relax_mlir.script.source import Poisoned, Problem

P = ParamSpec("P")
R = TypeVar("R")


def at(node: ast.AST, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call `function`; an error that it raises is one of `node`."""
    try:
        return function(*args, **kwargs)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def three(node: ast.Call) -> list[ast.expr]:
    if len(node.args) != 3:
        raise Problem(node, f"{ast.unparse(node.func)} takes a condition and two values", "ArgumentError")
    return node.args


def may_load(node: ast.AST) -> bool:
    """True if computing an expression reads memory."""
    return any(isinstance(part, ast.Subscript) for part in ast.walk(node))


OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.Pow: "pow",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
EFFECTS = (ast.Subscript, ast.Call)


@dataclass
class Expressions:
    """Evaluates the expressions of one prim func; `scope.values` has its terms and buffers by name."""

    scope: Scope
    lazy: bool = True
    """True to evaluate loads only under their guard; false in linalg bodies, where loads are block arguments."""

    def term(self, node: ast.expr) -> Term:
        """The term of an expression; raises `Problem`, `Poisoned`."""
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise Problem(node, f"the expression `{ast.unparse(node)[:40]}` is not part of a prim func")
        found = method(node)
        if isinstance(found, Buffer):
            raise Problem(node, f"'{found.name}' is a buffer; read an element, as in {example(found)}")
        if not isinstance(found, Scalar | bool | int | float):
            raise Problem(node, f"`{ast.unparse(node)[:40]}` is {type(found).__name__}, not a number")
        return found

    def scalar(self, node: ast.expr, wanted: DType | None = None) -> Scalar:
        return at(node, as_scalar, self.term(node), wanted)

    def index(self, node: ast.expr, what: str = "the index") -> ir.Value:
        """An integer expression as ``index``."""
        return at(node, as_index, self.term(node), what)

    def size(self, node: ast.expr) -> ir.Value:
        """A size as ``index``; 0 if it is negative."""
        return arith.maxsi(self.index(node, "the size"), as_scalar(0, INDEX).ssa)

    def condition(self, node: ast.expr) -> Scalar:
        """A bool condition; raises `Problem` for another dtype."""
        return at(node, as_condition, self.term(node))

    def stored(self, node: ast.expr, term: Term, buffer: Buffer) -> ir.Value:
        """A term converted to the element type of `buffer`."""
        return at(node, values.stored, term, buffer)

    # -- leaves

    def visit_Constant(self, node: ast.Constant) -> Any:  # noqa: ANN401 - checked by `term`
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: ANN401 - checked by `term`
        name = node.id
        if name in self.scope.values:
            if self.scope.values[name] is POISON:
                raise Poisoned(name)
            return self.scope.values[name]
        captured = self.scope.captured.get(name)
        if isinstance(captured, bool | int | float):
            return captured
        known = [
            *self.scope.values,
            *(n for n, v in self.scope.captured.items() if isinstance(v, int | float)),
        ]
        raise Problem.of(node, UnknownNameError("name", name, known))

    def visit_Attribute(self, node: ast.Attribute) -> Any:  # noqa: ANN401 - checked by `term`
        if self.scope.path(node) is not None:
            raise Problem(node, f"`{ast.unparse(node)}` is not a value; call it")
        if isinstance(node.value, ast.Name) and node.value.id not in self.scope.values:
            found = getattr(self.scope.captured.get(node.value.id), node.attr, None)
            if isinstance(found, bool | int | float):
                return found
        raise Problem(node, f"`{ast.unparse(node)[:40]}` is not part of a prim func")

    # -- elements

    def buffer(self, node: ast.expr) -> Buffer:
        """The buffer that a name refers to."""
        found = self.visit_Name(node) if isinstance(node, ast.Name) else None
        if not isinstance(found, Buffer):
            raise Problem(node, f"`{ast.unparse(node)[:40]}` is no buffer")
        return found

    def indices(self, node: ast.Subscript, buffer: Buffer) -> list[ast.expr]:
        """The index expressions of an access, one per dimension of the buffer."""
        given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(item, ast.Slice) for item in given):
            raise Problem(node.slice, "slices have no meaning here: read one element at a time")
        at(node, buffer.check_rank, len(given))
        return given

    def visit_Subscript(self, node: ast.Subscript) -> Scalar:
        buffer = self.buffer(node.value)
        return buffer.load([self.index(item) for item in self.indices(node, buffer)])

    # -- operators

    def visit_BinOp(self, node: ast.BinOp) -> Term:
        name = OPERATORS.get(type(node.op))
        if name is None:
            raise Problem(node, "a prim func has no matrix product; write the loops")
        return self.apply(node, name, [self.term(node.left), self.term(node.right)])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Term:
        operand = self.term(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(node.op, ast.Not):
            name = "logical_not"
        else:
            name = "negative" if isinstance(node.op, ast.USub) else "bitwise_not"
        return self.apply(node, name, [operand])

    def visit_Compare(self, node: ast.Compare) -> Term:
        sides = [self.term(side) for side in (node.left, *node.comparators)]
        result: Term = True
        for number, kind in enumerate(node.ops):
            name = OPERATORS.get(type(kind))
            if name is None:
                raise Problem(node, "`in` and `is` have no meaning in a prim func")
            part = self.apply(node, name, sides[number : number + 2])
            result = part if number == 0 else self.both(result, part)
        return result

    @staticmethod
    def both(left: Term, right: Term) -> Term:
        a, b = as_scalar(left), as_scalar(right)
        return Scalar(arith.andi(a.ssa, b.ssa), a.dtype)

    def visit_BoolOp(self, node: ast.BoolOp) -> Term:
        """``and``, ``or``: an operand that may load is only evaluated if the previous ones do not decide the result."""
        conjunction = isinstance(node.op, ast.And)
        result = self.condition(node.values[0])
        for item in node.values[1:]:
            if self.lazy and may_load(item):
                taken: list[Callable[[], Term]] = [
                    functools.partial(self.condition, item),
                    functools.partial(bool, not conjunction),
                ]
                first, second = taken if conjunction else taken[::-1]
                result = at(node, values.choose, result, first, second)
                continue
            other = self.condition(item)
            combine = arith.andi if conjunction else arith.ori
            result = Scalar(combine(result.ssa, other.ssa), result.dtype)
        return result

    def visit_IfExp(self, node: ast.IfExp) -> Scalar:
        return self.select(node, node.test, node.body, node.orelse, lazy=self.lazy)

    def select(self, node: ast.AST, test: ast.expr, then: ast.expr, other: ast.expr, *, lazy: bool) -> Scalar:
        """One of two values; `lazy`: only evaluate the chosen one if evaluation may load."""
        condition = self.condition(test)
        if not lazy or not (may_load(then) or may_load(other)):
            return at(node, values.select, condition, self.term(then), self.term(other))
        return at(node, values.choose, condition, lambda: self.term(then), lambda: self.term(other))

    # -- functions

    @staticmethod
    def apply(node: ast.AST, name: str, terms: Sequence[Term]) -> Term:
        """A function of scalars of one dtype; folded if all operands are literals."""
        return at(node, values.apply, name, terms)

    def visit_Call(self, node: ast.Call) -> Any:  # noqa: ANN401 - checked by `term`
        path = self.scope.path(node.func)
        if path is None:
            return self.python_call(node)
        root, name = path
        if root != "T":
            raise Problem(node.func, f"{root}.{name} is not part of a prim func")
        if [keyword.arg for keyword in node.keywords] == ["dtype"]:
            return self.of_dtype(node)
        for keyword in node.keywords:
            raise Problem(keyword, f"T.{name} takes no argument '{keyword.arg}'")
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        name = ALIASES.get(name, name)
        if name in dtypes.DTYPES:
            return self.cast(node, name, node.args)
        if name not in INTRINSICS:
            known = [f"T.{k}" for k in (*INTRINSICS, *ALIASES, *SPECIAL, *dtypes.DTYPES)]
            raise Problem.of(node.func, UnknownNameError("function", f"T.{name}", known))
        return self.function(node, name)

    def of_dtype(self, node: ast.Call) -> Term:
        """``T.exp(x, dtype="float32")``: check that the dtype is that of the result."""
        wanted = self.dtype_name(node.keywords[0].value)
        found = self.term(ast.copy_location(ast.Call(node.func, node.args, []), node))
        if isinstance(found, Scalar) and found.dtype.name != wanted:
            message = f'the result is {shown(found.dtype)}, not {wanted}; convert it: T.cast(…, "{wanted}")'
            raise Problem(node.keywords[0], message, "DTypeError")
        return found

    def function(self, node: ast.Call, name: str) -> Term:
        arity = INTRINSICS[name].arity
        if len(node.args) != arity:
            raise Problem(node, f"{name} takes {arity} arguments, {len(node.args)} given", "ArgumentError")
        return at(node, values.call, name, [self.term(a) for a in node.args])

    def python_call(self, node: ast.Call) -> Term:
        """Python's ``min``, ``max``, ``abs``, ``float``, ``int`` and ``bool``."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max") and len(node.args) >= 2 and not node.keywords:
            result = self.term(node.args[0])
            for item in node.args[1:]:
                result = self.apply(node, name, [result, self.term(item)])
            return result
        if name in ("abs", "pow", "round") and not node.keywords:
            return self.function(node, name)
        if name == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            try:
                return float(node.args[0].value)  # type: ignore[arg-type]  # errors are caught
            except (TypeError, ValueError) as error:
                raise Problem(node, str(error), "ArgumentError") from None
        raise Problem(
            node.func, f"`{ast.unparse(node.func)}` is no function of a prim func; those are T.exp, T.cast, …"
        )

    def cast(self, node: ast.Call, name: str, args: Sequence[ast.expr]) -> Term:
        """``T.float32(x)``, ``T.cast(x, "float32")``."""
        if len(args) != 1:
            raise Problem(node, f"T.{name} takes one argument", "ArgumentError")
        text = args[0].value if isinstance(args[0], ast.Constant) else None
        wanted = dtypes.dtype(name)
        if isinstance(text, str):
            try:
                return Scalar(const(wanted, float(text)), wanted)
            except ValueError as error:
                raise Problem(node, str(error), "ArgumentError") from None
        return at(node, values.cast, self.term(args[0]), wanted)

    def cast_to(self, node: ast.Call) -> Term:
        """``T.cast(x, "float32")`` and ``T.Cast("float32", x)``: the string gives the dtype."""
        texts = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        values = [a for a in node.args if a not in texts]
        if len(texts) != 1 or len(values) != 1:
            raise Problem(node, 'write T.cast(x, "float32")', "ArgumentError")
        return self.cast(node, self.dtype_name(texts[0]), values)

    def reinterpret(self, node: ast.Call) -> Scalar:
        """``T.reinterpret("int32", x)``: the bits of a value as another dtype of the same width."""
        texts = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        operands = [a for a in node.args if a not in texts]
        if len(texts) != 1 or len(operands) != 1:
            raise Problem(node, "T.reinterpret takes a dtype, as text, and a value", "ArgumentError")
        wanted, found = dtypes.dtype(self.dtype_name(texts[0])), self.scalar(operands[0])
        return at(node, values.reinterpret, found, wanted)

    @staticmethod
    def dtype_name(node: ast.expr) -> str:
        text = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(text, str):
            raise Problem(node, 'expected a dtype such as "float32"', "DTypeError")
        try:
            return dtypes.dtype(text).name
        except RelaxError as error:
            raise Problem.of(node, error) from None

    def lazy_select(self, node: ast.Call) -> Scalar:
        """``T.if_then_else(c, a, b)``: only the chosen value is evaluated."""
        test, then, other = three(node)
        return self.select(node, test, then, other, lazy=self.lazy)

    def eager_select(self, node: ast.Call) -> Scalar:
        """``T.Select(c, a, b)``: both values are evaluated."""
        test, then, other = three(node)
        return self.select(node, test, then, other, lazy=False)

    def limit(self, node: ast.Call) -> Scalar:
        """``T.max_value("int8")``, ``T.min_value``, ``T.infinity``."""
        if len(node.args) != 1:
            raise Problem(node, "the one argument is a dtype", "ArgumentError")
        wanted = dtypes.dtype(self.dtype_name(node.args[0]))
        path = self.scope.path(node.func)
        name = path[1] if path is not None else ""
        return at(node, values.limit, name, wanted)

    def logical(self, node: ast.Call) -> Term:
        """``T.And(a, b)``, ``T.Or``, ``T.logical_and``."""
        path = self.scope.path(node.func)
        name = path[1] if path is not None else ""
        op: ast.boolop = ast.And() if name.lower().endswith("and") else ast.Or()
        return self.visit_BoolOp(ast.copy_location(ast.BoolOp(op, list(node.args)), node))

    def likely(self, node: ast.Call) -> Term:
        """``T.likely(c)`` is ``c``."""
        if len(node.args) != 1:
            raise Problem(node, "T.likely takes one argument", "ArgumentError")
        return self.term(node.args[0])

    def as_index(self, node: ast.Call) -> Scalar:
        """``T.index(x)``: an integer as ``index``, the type of loop variables."""
        if len(node.args) != 1:
            raise Problem(node, "T.index takes one argument", "ArgumentError")
        return Scalar(self.index(node.args[0], "the argument"), INDEX)


SPECIAL: dict[str, Callable[[Expressions, ast.Call], Any]] = {
    "cast": Expressions.cast_to,
    "Cast": Expressions.cast_to,
    "reinterpret": Expressions.reinterpret,
    "if_then_else": Expressions.lazy_select,
    "Select": Expressions.eager_select,
    "max_value": Expressions.limit,
    "min_value": Expressions.limit,
    "infinity": Expressions.limit,
    "And": Expressions.logical,
    "Or": Expressions.logical,
    "logical_and": Expressions.logical,
    "logical_or": Expressions.logical,
    "likely": Expressions.likely,
    "index": Expressions.as_index,
}
