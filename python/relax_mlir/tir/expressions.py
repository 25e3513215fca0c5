"""Expressions of a prim func: from Python syntax to scalars; the intrinsics of the T language."""

from __future__ import annotations

import ast
import functools
import math as pymath
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import arith, ir, math, memref, scf
from relax_mlir.scalars import arithmetic, rules
from relax_mlir.scalars.arithmetic import ScalarRule, compare, const, widened, widened_test
from relax_mlir.script.scope import POISON, Scope
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.tir.values import (
    INDEX,
    Buffer,
    Literal,
    Scalar,
    Term,
    as_index,
    as_scalar,
    common_dtype,
    convert,
    shown,
    type_name,
    unify,
)


def divided(node: ast.AST, name: str, value: Scalar, divisor: int) -> Scalar | None:
    """Division by a positive literal, which needs no guard."""
    kind = value.dtype
    if not kind.is_integer or divisor <= 0:
        return None
    by = as_scalar(node, divisor, kind).ssa
    if kind.kind == "uint":
        function = arith.divui if name == "floordiv" else arith.remui
        return Scalar(function(value.ssa, by), kind)
    quotient = arith.floordivsi(value.ssa, by)
    if name == "floordiv":
        return Scalar(quotient, kind)
    return Scalar(arith.subi(value.ssa, arith.muli(quotient, by)), kind)


def is_size(value: ir.Value) -> bool:
    """True if an index is an expression of buffer sizes that is not negative."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == "arith.constant":
        return isinstance(op.attributes["value"], ir.IntegerAttr) and int(op.attributes["value"].value) >= 0
    if op.name == "memref.dim":
        return defining_op(op.operands[0]) is None
    if op.name == "arith.floordivsi":  # not by 0, since it is only emitted for guarded sizes and constants
        return all(map(is_size, op.operands))
    return op.name in ("arith.addi", "arith.muli", "arith.minsi", "arith.maxsi") and all(
        map(is_size, op.operands)
    )


def floordiv_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The quotient by a size; 0 if the size is 0."""
    zero = arith.constant(ir.IndexType.get(), 0)
    quotient = arith.floordivsi(value, _positive(size))
    return arith.select(arith.cmpi(arith.CmpIPredicate.eq, size, zero), zero, quotient)


def floormod_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The remainder by a size; 0 if the size is 0."""
    divisor = _positive(size)
    return arith.subi(value, arith.muli(arith.floordivsi(value, divisor), divisor))


def _positive(size: ir.Value) -> ir.Value:
    return arith.maxsi(size, arith.constant(ir.IndexType.get(), 1))


BY_SIZE = {"floordiv": floordiv_by_size, "floormod": floormod_by_size}
"""Function name → division by a size."""


def greatest(wanted: DType) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(wanted.numpy).max)


def three(node: ast.Call) -> list[ast.expr]:
    if len(node.args) != 3:
        raise Problem(node, f"{ast.unparse(node.func)} takes a condition and two values", "ArgumentError")
    return node.args


def may_load(node: ast.AST) -> bool:
    """True if computing an expression reads memory."""
    return any(isinstance(part, ast.Subscript) for part in ast.walk(node))


def example(buffer: Buffer) -> str:
    names = ", ".join("ijklmnopq"[:9][axis % 9] for axis in range(buffer.rank))
    return f"{buffer.name}[{names or '()'}]"


@dataclass(frozen=True)
class Intrinsic:
    """A function of scalars of one dtype: its rule, its arity, the dtype kinds that it takes, and its result."""

    rule: ScalarRule
    arity: int
    kinds: tuple[str, ...] = ("float",)
    test: bool = False
    """True if the result is bool instead of the operand dtype."""


NUMBERS = ("float", "int", "uint")
INTEGERS = ("int", "uint")
ANY = (*NUMBERS, "bool")


def _trunc_divide(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    """Truncating division; 0 for a division by zero."""
    zero = const(dtype, 0)
    divisor = rules.safe_divisor(dtype, a, b)
    quotient = arith.divui(a, divisor) if dtype.kind == "uint" else arith.divsi(a, divisor)
    return arith.select(compare(dtype, "eq", b, zero), zero, quotient)


def _trunc_mod(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    divisor = rules.safe_divisor(dtype, a, b)
    return arith.remui(a, divisor) if dtype.kind == "uint" else arith.remsi(a, divisor)


def _ceil_divide(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    negated = arith.subi(const(dtype, 0), a)
    return arith.subi(const(dtype, 0), rules.BINARY_RULES["floor_divide"](dtype, negated, b))


def _rounding(name: str) -> ScalarRule:
    function = rules.ROUNDING[name]
    return widened(lambda dtype, x: function(x))


BINARY: dict[str, Intrinsic] = {
    "add": Intrinsic(rules.BINARY_RULES["add"], 2, NUMBERS),
    "subtract": Intrinsic(rules.BINARY_RULES["subtract"], 2, NUMBERS),
    "multiply": Intrinsic(rules.BINARY_RULES["multiply"], 2, NUMBERS),
    "truediv": Intrinsic(rules.BINARY_RULES["divide"], 2),
    "floordiv": Intrinsic(rules.BINARY_RULES["floor_divide"], 2, NUMBERS),
    "floormod": Intrinsic(rules.BINARY_RULES["floor_mod"], 2, NUMBERS),
    "truncdiv": Intrinsic(_trunc_divide, 2, INTEGERS),
    "truncmod": Intrinsic(_trunc_mod, 2, INTEGERS),
    "ceildiv": Intrinsic(_ceil_divide, 2, ("int",)),
    "pow": Intrinsic(rules.BINARY_RULES["power"], 2, NUMBERS),
    "max": Intrinsic(rules.BINARY_RULES["maximum"], 2, ANY),
    "min": Intrinsic(rules.BINARY_RULES["minimum"], 2, ANY),
    "fmod": Intrinsic(widened(lambda dtype, a, b: arith.remf(a, b)), 2),
    "atan2": Intrinsic(rules.BINARY_RULES["atan2"], 2),
    "bitwise_and": Intrinsic(rules.BITWISE_RULES["bitwise_and"], 2, (*INTEGERS, "bool")),
    "bitwise_or": Intrinsic(rules.BITWISE_RULES["bitwise_or"], 2, (*INTEGERS, "bool")),
    "bitwise_xor": Intrinsic(rules.BITWISE_RULES["bitwise_xor"], 2, (*INTEGERS, "bool")),
    "shift_left": Intrinsic(rules.BITWISE_RULES["left_shift"], 2, INTEGERS),
    "shift_right": Intrinsic(rules.BITWISE_RULES["right_shift"], 2, INTEGERS),
    **{
        name: Intrinsic(rules.COMPARISON_RULES[name], 2, ANY, test=True)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
}

_FLOAT_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "rsqrt"),
    *("sigmoid", "sin", "sinh", "sqrt", "tan", "tanh"),
)

UNARY: dict[str, Intrinsic] = {
    **{name: Intrinsic(rules.UNARY_RULES[name], 1) for name in _FLOAT_UNARY},
    **{name: Intrinsic(_rounding(name), 1) for name in rules.ROUNDING},
    **{
        name: Intrinsic(widened(lambda dtype, x, function=function: function(x)), 1)
        for name, function in (
            ("exp2", math.exp2),
            ("expm1", math.expm1),
            ("log2", math.log2),
            ("log10", math.log10),
            ("log1p", math.log1p),
        )
    },
    "abs": Intrinsic(rules.UNARY_RULES["abs"], 1, NUMBERS),
    "negative": Intrinsic(rules.UNARY_RULES["negative"], 1, NUMBERS),
    "bitwise_not": Intrinsic(rules.UNARY_RULES["bitwise_not"], 1, (*INTEGERS, "bool")),
    "popcount": Intrinsic(lambda dtype, x: math.ctpop(x), 1, INTEGERS),
    "clz": Intrinsic(lambda dtype, x: math.ctlz(x), 1, INTEGERS),
    "logical_not": Intrinsic(rules.UNARY_RULES["logical_not"], 1, ("bool",)),
    **{name: Intrinsic(widened_test(rules.FLOAT_TESTS[name][0]), 1, test=True) for name in rules.FLOAT_TESTS},
}

INTRINSICS: dict[str, Intrinsic] = {
    **BINARY,
    **UNARY,
    "fma": Intrinsic(rules.BINARY_RULES["ewise_fma"], 3, NUMBERS),
}

ALIASES = {
    "power": "pow",
    "fabs": "abs",
    "nearbyint": "round",
    "div": "truncdiv",
    "Div": "truncdiv",
    "floor_div": "floordiv",
    "floor_mod": "floormod",
    "left_shift": "shift_left",
    "right_shift": "shift_right",
    "Not": "logical_not",
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Max": "max",
    "Min": "min",
}


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
ON_LITERALS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "bitwise_not": operator.invert,
    "logical_not": operator.not_,
    "max": max,
    "min": min,
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
        return as_scalar(node, self.term(node), wanted)

    def index(self, node: ast.expr, what: str = "the index") -> ir.Value:
        """An integer expression as ``index``."""
        return as_index(node, self.term(node), what)

    def condition(self, node: ast.expr) -> Scalar:
        """A bool condition; raises `Problem` for another dtype."""
        found = self.term(node)
        if isinstance(found, bool):
            return as_scalar(node, found)
        if not isinstance(found, Scalar) or found.dtype.kind != "bool":
            raise Problem(
                node, f"the condition is {type_name(found)}, expected bool: write a comparison", "DTypeError"
            )
        return found

    def stored(self, node: ast.expr, term: Term, buffer: Buffer) -> ir.Value:
        """A term converted to the element type of `buffer`."""
        value = as_scalar(node, term, buffer.dtype)
        if value.dtype is INDEX and buffer.dtype.name == "int64":
            value = convert(value, buffer.dtype)
        if value.dtype != buffer.dtype:
            raise Problem(
                node,
                f"the value is {shown(value.dtype)}, but '{buffer.name}' holds {buffer.dtype}; "
                f'convert it: T.cast(..., "{buffer.dtype}")',
                "DTypeError",
            )
        return value.ssa

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
        if len(given) != buffer.rank:
            raise Problem(
                node,
                f"'{buffer.name}' has {buffer.rank} dimensions, {len(given)} indices given: "
                f"write {example(buffer)}",
                "ShapeError",
            )
        return given

    def visit_Subscript(self, node: ast.Subscript) -> Scalar:
        buffer = self.buffer(node.value)
        places = [self.index(item) for item in self.indices(node, buffer)]
        return Scalar(memref.load(buffer.ssa, places), buffer.dtype)

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
            result = part if number == 0 else self.both(node, result, part)
        return result

    def both(self, node: ast.AST, left: Term, right: Term) -> Term:
        a, b = as_scalar(node, left), as_scalar(node, right)
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
                result = self.choose(node, result, first, second)
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
            a, b = unify(node, "a choice", [self.term(then), self.term(other)])
            return Scalar(arithmetic.select(a.dtype, condition.ssa, a.ssa, b.ssa), a.dtype)
        return self.choose(node, condition, lambda: self.term(then), lambda: self.term(other))

    def choose(
        self, node: ast.AST, condition: Scalar, then: Callable[[], Term], other: Callable[[], Term]
    ) -> Scalar:
        """An ``scf.if`` with one result, of the common dtype of both values."""
        scratch = scf.IfOp(condition.ssa, [], has_else=True)
        blocks = (scratch.then_block, scratch.else_block)
        terms: list[Term] = []
        for block, branch in zip(blocks, (then, other), strict=True):
            with ir.InsertionPoint(block):
                terms.append(branch())
        common = common_dtype(node, "a choice", terms)
        for block, term in zip(blocks, terms, strict=True):
            with ir.InsertionPoint(block):
                scf.YieldOp([convert(as_scalar(node, term, common), common).ssa])
        final = ir.Operation.create(
            "scf.if", results=[common.storage_type()], operands=[condition.ssa], regions=2
        )
        for number, block in enumerate(blocks):
            block.append_to(final.regions[number])
        scratch.operation.erase()
        return Scalar(final.results[0], common)

    # -- functions

    def apply(self, node: ast.AST, name: str, terms: Sequence[Term]) -> Term:
        """A function of scalars of one dtype; folded if all operands are literals."""
        if not any(isinstance(term, Scalar) for term in terms) and name in ON_LITERALS:
            try:
                found: Literal = ON_LITERALS[name](*terms)
            except (ArithmeticError, TypeError, ValueError) as error:
                raise Problem(node, str(error), "ArgumentError") from None
            return found
        intrinsic = INTRINSICS[name]
        divisor = terms[1] if name in ("floordiv", "floormod") and len(terms) == 2 else None
        if isinstance(divisor, int) and not isinstance(divisor, bool) and isinstance(terms[0], Scalar):
            short = divided(node, name, terms[0], divisor)
            if short is not None:
                return short
        wanted = unify(node, name, terms)
        kind = wanted[0].dtype
        self.check_kind(node, name, intrinsic, kind)
        if divisor is not None and kind is INDEX and is_size(wanted[1].ssa):
            return Scalar(BY_SIZE[name](wanted[0].ssa, wanted[1].ssa), kind)
        result = intrinsic.rule(kind, *(item.ssa for item in wanted))
        return Scalar(result, dtypes.dtype("bool") if intrinsic.test else kind)

    @staticmethod
    def check_kind(node: ast.AST, name: str, intrinsic: Intrinsic, kind: DType) -> None:
        if kind.kind in intrinsic.kinds:
            return
        hint = ""
        if name == "truediv":
            hint = "; integers divide by // (or T.truncdiv)"
        elif kind.is_integer and "float" in intrinsic.kinds:
            hint = "; convert to a float first, as in T.float32(x)"
        raise Problem(node, f"{name} has no meaning for {shown(kind)}{hint}", "DTypeError")

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
        terms = [self.term(a) for a in node.args]
        if name not in ON_LITERALS and all(isinstance(t, int) and not isinstance(t, bool) for t in terms):
            terms = [
                float(t) if isinstance(t, int) and INTRINSICS[name].kinds[0] == "float" else t for t in terms
            ]
        return self.apply(node, name, terms)

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
                return Scalar(arithmetic.const(wanted, float(text)), wanted)
            except ValueError as error:
                raise Problem(node, str(error), "ArgumentError") from None
        term = self.term(args[0])
        if isinstance(term, Scalar):
            return convert(term, wanted)
        if isinstance(term, float) and wanted.is_integer and pymath.isfinite(term):
            term = int(term)
        return as_scalar(node, term, wanted)

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
        values = [a for a in node.args if a not in texts]
        if len(texts) != 1 or len(values) != 1:
            raise Problem(node, "T.reinterpret takes a dtype, as text, and a value", "ArgumentError")
        wanted, found = dtypes.dtype(self.dtype_name(texts[0])), self.scalar(values[0])
        if (
            found.dtype is INDEX
            or found.dtype.bits != wanted.bits
            or "bool" in (wanted.kind, found.dtype.kind)
        ):
            raise Problem(node, f"{shown(found.dtype)} does not have as many bits as {wanted}", "DTypeError")
        if found.dtype.is_float == wanted.is_float and not (found.dtype.is_float and found.dtype != wanted):
            return Scalar(found.ssa, wanted)
        return Scalar(arith.bitcast(wanted.storage_type(), found.ssa), wanted)

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
        if name == "infinity" or wanted.is_float:
            if not wanted.is_float:
                raise Problem(node, f"{wanted} has no infinity", "DTypeError")
            finite = name != "infinity"
            value = greatest(wanted) if finite else float("inf")
            return Scalar(arithmetic.const(wanted, -value if name == "min_value" else value), wanted)
        limits = (0, 1) if wanted.kind == "bool" else arithmetic.bounds(wanted)
        return Scalar(arithmetic.const(wanted, limits[name == "max_value"]), wanted)

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
