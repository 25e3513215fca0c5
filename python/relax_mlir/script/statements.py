"""Statements of a script function: they bind names, open blocks or end the function."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.structure import constant
from relax_mlir.dialects.traits import HasEffect, has_trait
from relax_mlir.dialects.types import Shape, StructInfo, Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op
from relax_mlir.script import conditionals, loops
from relax_mlir.script.attributes import shape
from relax_mlir.script.builtin_calls import as_op
from relax_mlir.script.calls import MODULE_NAMES
from relax_mlir.script.closures import define_function
from relax_mlir.script.effects import assert_statement
from relax_mlir.script.expressions import Expressions, bound, is_shape_value
from relax_mlir.script.flow import UNNAMED, Later, assigned, last_reads, returns
from relax_mlir.script.function_attributes import function_attributes
from relax_mlir.script.packed_calls import packed_statement
from relax_mlir.script.refinement import annotated_value, coarsened, retyped
from relax_mlir.script.scope import POISON, is_path
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.script.symbols import declared

INSTEAD: dict[type[ast.stmt], str] = {
    ast.AsyncFunctionDef: "a script has no coroutines: write `def`",
    ast.ClassDef: "classes have no meaning in a function of a script; write another module",
    ast.Try: "exceptions have no meaning in a script; R.match_shape checks shapes at run time",
    ast.Raise: "exceptions have no meaning in a script; R.match_shape checks shapes at run time",
    ast.Import: "imports belong outside of the script",
    ast.ImportFrom: "imports belong outside of the script",
    ast.Delete: "values do not end: leave the `del` out, memory is planned by the compiler",
    ast.Global: "a function has no global state; pass the value as a parameter and return it",
    ast.Nonlocal: "a function has no outer state; pass the value as a parameter and return it",
    ast.Break: "loops end by their condition only: write `while going and …:`, with a bool tensor `going`",
    ast.Continue: "a round has no early end; put the rest of it into an `if`",
    ast.Match: "write `if`, `elif` and `else`",
    ast.AsyncFor: "write `for i in R.range(...)`",
    ast.AsyncWith: "the only `with` of a script is `with R.dataflow():`",
}
"""Python statements that a script does not support, with their replacements."""


@dataclass(frozen=True)
class Owner:
    """The function of the module that contains a body."""

    name: str
    private: bool
    params: Sequence[StructInfo]


@dataclass
class Block:
    """Reads the statements of one block.

    `later`: the names that are read after the block. `is_body`: it is the body of the function. `returning`: it may
    contain a `return`. `annotated`: the annotated result of the function.
    """

    builder: BlockBuilder
    expressions: Expressions
    later: Container[str]
    in_dataflow: bool = False
    is_body: bool = False
    returning: bool = False
    annotated: StructInfo | None = None
    assigned: dict[str, None] = field(default_factory=dict)
    declared: dict[str, StructInfo] = field(default_factory=dict)
    outputs: list[str] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    result: Value | None = None
    ended: bool = False
    owner: Owner | None = None

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Read all statements. Errors are recorded, and the names that a faulty statement binds are poisoned."""
        last = last_reads(statements)
        for index, statement in enumerate(statements):
            if self.ended:
                self.note(Problem(statement, "nothing may follow the end of the block"))
                return
            ends = isinstance(statement, ast.If) and self.returning and returns(statement)
            try:
                with self.expressions.at(statement):
                    if isinstance(statement, ast.If) and ends:
                        self.ended = True
                        conditionals.returning(self, statement, statements[index + 1 :])
                    else:
                        self.statement(statement, Later(last, index, self.later))
            except Problem as problem:
                self.note(problem)
                self.poison(statement)
            except Poisoned:
                self.expressions.source.mistakes += 1
                self.poison(statement)
            if ends:
                return

    def child(self, later: Container[str], *, returning: bool = False) -> Block:
        """Return a block for a branch or a loop."""
        branch = self.expressions.branch()
        return Block(self.builder, branch, later, returning=returning, annotated=self.annotated)

    @property
    def mistakes(self) -> int:
        """The number of statements with errors so far."""
        return self.expressions.source.mistakes

    def note(self, problem: Problem) -> None:
        self.expressions.source.report(problem)

    def poison(self, statement: ast.stmt) -> None:
        """Poison the names that a faulty statement would have bound. A faulty `return` still ends the block."""
        for name in assigned([statement]):
            self.define(name, POISON)
        if isinstance(statement, ast.Return):
            self.ended = True
        if isinstance(statement, ast.Expr) and self.in_dataflow:
            call = statement.value
            if isinstance(call, ast.Call) and is_path(self.path(call.func), "R", "output", "outputs"):
                self.outputs, self.ended = self.outputs or [], True

    def path(self, node: ast.expr) -> tuple[str, str] | None:
        return self.expressions.scope.path(node)

    def statement(self, node: ast.stmt, later: Container[str]) -> None:
        """Read one statement."""
        if isinstance(node, ast.Assign):
            if len(node.targets) > 1:
                raise Problem(node, "one assignment binds one target")
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign):
            self.annotate(node)
        elif isinstance(node, ast.Expr):
            self.expression(node)
        elif isinstance(node, ast.With):
            self.dataflow(node, later)
        elif isinstance(node, ast.If):
            conditionals.conditional(self, node, later)
        elif isinstance(node, ast.For):
            loops.for_statement(self, node, later)
        elif isinstance(node, ast.While):
            loops.while_statement(self, node, later)
        elif isinstance(node, ast.Return):
            self.end(node)
        elif isinstance(node, ast.FunctionDef):
            define_function(self, node)
        elif isinstance(node, ast.AugAssign):
            self.augmented(node)
        elif isinstance(node, ast.Assert):
            assert_statement(self.expressions.calls, self.expressions, node)
        elif not isinstance(node, ast.Pass):
            raise Problem(node, INSTEAD.get(type(node), f"{type(node).__name__} is no statement of a script"))

    # -- names

    def define(self, name: str, value: Any) -> None:  # noqa: ANN401 - a value or a constant
        self.expressions.scope.values[name] = value
        self.expressions.scope.hidden.pop(name, None)
        self.assigned[name] = None

    def assign(self, target: ast.expr, source: ast.expr) -> None:
        """``y = x``, ``a, b = t``, ``m = T.int64()``."""
        if self.names_module(target, source) or self.declares(target, source):
            return
        if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple) and _declares_some(self, source):
            if len(target.elts) != len(source.elts):
                raise Problem(target, f"{len(target.elts)} names for {len(source.elts)} values")
            for pair in zip(target.elts, source.elts, strict=True):
                self.assign(*pair)
            return
        result = self.expressions.evaluate(source)
        if isinstance(target, ast.Tuple | ast.List):
            starred = next((item for item in target.elts if isinstance(item, ast.Starred)), None)
            if starred is not None:
                raise Problem(starred, "a starred name has no type; name every field, or take t[0], t[1], …")
            if isinstance(result, Value) and isinstance(result.struct_info, Shape):
                result = shape(source, result)
            fields = self.expressions.apply(source, list, result)
            if len(fields) != len(target.elts):
                raise Problem(target, f"{len(target.elts)} names for {len(fields)} values")
            for name, value in zip(target.elts, fields, strict=True):
                self.bind(name, source, value, fresh=False)
            return
        self.bind(target, source, result, fresh=not isinstance(source, ast.Name))

    def declares(self, target: ast.expr, source: ast.expr) -> bool:
        """``m = T.int64()``: a symbol, which a `match_shape` or a parameter defines."""
        symbols = declared(self.expressions.scope, target, source)
        for variable, symbol in (symbols or {}).items():
            self.define(variable, symbol)
            self.expressions.scope.add_symbols(symbolic.symbols(symbol))
        return symbols is not None

    def names_module(self, target: ast.expr, source: ast.expr) -> bool:
        """``cls = Module``: accepted without effect."""
        calls, values = self.expressions.calls, self.expressions.scope.values
        is_class = isinstance(source, ast.Name) and source.id == calls.class_name and source.id not in values
        return is_class and isinstance(target, ast.Name) and target.id in MODULE_NAMES

    def bind(self, target: ast.expr, source: ast.expr, result: Any, *, fresh: bool) -> Any:  # noqa: ANN401
        """Bind a result to a name; a `fresh` result gets the name in its location."""
        if not isinstance(target, ast.Name):
            raise Problem(target, _not_a_name(target))
        if result is None and not isinstance(source, ast.Constant):
            self.define(target.id, ())  # a call without a result gives the empty tuple
            return ()
        if isinstance(result, tuple | list) and _holds_values(result):
            result = self.expressions.relax_value(source, result)
        result = self.expressions.apply(source, bound, result)
        if target.id == UNNAMED:
            return result
        if fresh and isinstance(result, Value):
            self.builder.emit(result, target.id)
        self.define(target.id, result)
        return result

    def augmented(self, node: ast.AugAssign) -> None:
        """``y += x``: rebind the name to the sum."""
        if not isinstance(node.target, ast.Name):
            raise Problem(node.target, _not_a_name(node.target))
        old = self.expressions.scope.lookup(node.target)
        result = self.expressions.binary(node, node.op, old, self.expressions.evaluate(node.value))
        self.bind(node.target, node.value, result, fresh=True)

    def annotate(self, node: ast.AnnAssign) -> None:
        """``y: R.Tensor((n, 4), "float32") = x``: the annotation must follow from the inferred type."""
        if node.value is not None and self.declares(node.target, node.value):
            return
        value, info = annotated_value(self, node)
        assert node.value is not None, "as has been checked"
        if value is None:
            self.bind(node.target, node.value, None, fresh=False)
            return
        fresh = not isinstance(node.value, ast.Name)
        value = coarsened(value, info) if fresh else value
        self.bind(node.target, node.value, value, fresh=fresh)
        if isinstance(node.target, ast.Name):
            self.declared[node.target.id] = info

    # -- statements

    def expression(self, node: ast.Expr) -> None:
        """A call for its side effects, ``R.output``, ``R.func_attr``, or a string as a comment."""
        if isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                return
            raise Problem(node, "a constant alone does nothing")
        if isinstance(node.value, ast.Call):
            path = self.path(node.value.func)
            if is_path(path, "R", "output", "outputs"):
                self.output(node.value)
                return
            if is_path(path, "R", "func_attr"):
                function_attributes(self, node.value)
                return
            if is_path(path, "R", "call_packed") and as_op(self.expressions, node.value) is None:
                packed_statement(self.expressions, node.value)
                return
        result = self.expressions.evaluate(node.value)
        if isinstance(result, Value) and _is_pure(result):
            raise Problem(node, "nothing uses this value: bind it to a name, or leave it out")

    def dataflow(self, node: ast.With, later: Container[str]) -> None:
        """``with R.dataflow():``; the names in `R.output` are visible after it."""
        call = node.items[0].context_expr
        is_dataflow = isinstance(call, ast.Call) and is_path(self.path(call.func), "R", "dataflow")
        if len(node.items) != 1 or not is_dataflow:
            raise Problem(call, "the only `with` of a script is `with R.dataflow():`")
        if node.items[0].optional_vars is not None:
            raise Problem(call, "a dataflow block has no name; R.output says what leaves it")
        if self.in_dataflow:
            raise Problem(call, "dataflow blocks do not nest")
        inner = Block(self.builder, self.expressions.inner(), later, in_dataflow=True)
        handles: dict[str, Any] = {}
        count = self.mistakes
        try:
            with self.builder.dataflow():
                inner.run(node.body)
                for name in inner.outputs or []:
                    value = inner.expressions.scope.values[name]
                    handles[name] = POISON if value is POISON else self.builder.emit_output(value)
        except RelaxError as error:
            raise Problem.of(node, error) from None
        if inner.outputs is None and self.mistakes == count:
            raise Problem(node, "the dataflow block has no R.output(...): it ends with what leaves it")
        for name, value in handles.items():
            self.define(name, self.left(inner, name, value, alone=len(handles) == 1))

    def left(self, inner: Block, name: str, value: Any, *, alone: bool) -> Any:  # noqa: ANN401
        """Return a value that leaves a dataflow block, with its declared struct info if it is the only one."""
        if not isinstance(value, Value):
            return value
        if not alone:
            return value
        self.builder.emit(value, name)
        info = inner.declared.get(name)
        return value if info is None else retyped(value, info)

    def output(self, node: ast.Call) -> None:
        """``R.output(a, b)``."""
        if not self.in_dataflow:
            raise Problem(node, "R.output stands in a dataflow block; a function ends with `return`")
        self.ended, self.outputs = True, []
        if node.keywords:
            raise Problem(node.keywords[0], "R.output takes names")
        for item in node.args:
            if not isinstance(item, ast.Name):
                raise Problem(item, "R.output takes names; bind the value to one first")
            value = self.expressions.scope.lookup(item)
            if is_shape_value(value) or isinstance(value, symbolic.Expr):
                value = self.expressions.relax_value(item, value)
                self.expressions.scope.values[item.id] = value
            if not isinstance(value, Value):
                raise Problem(item, f"'{item.id}' is no Relax value")
            if item.id not in self.assigned:
                raise Problem(item, f"'{item.id}' is bound outside of the block, and seen after it anyway")
            self.outputs.append(item.id)

    def end(self, node: ast.Return) -> None:
        """``return x``."""
        self.ended = True
        if not self.returning:
            raise Problem(
                node,
                "a loop or a dataflow block has no `return`: bind the value, and return it after the block",
            )
        if node.value is None:
            raise Problem(node, "a function returns a value; `return ()` returns the empty tuple")
        self.result = self.returned(node.value)
        if self.is_body:
            self.expressions.apply(node, self.builder.emit_func_output, self.result)

    def returned(self, node: ast.expr) -> Value:
        """Evaluate the operand of `return`; a Python number becomes a tensor of the annotated dtype."""
        found, info = self.expressions.evaluate(node), self.annotated
        is_number = isinstance(found, int | float)
        if is_number and isinstance(info, Tensor) and info.shape == () and info.dtype is not None:
            return self.expressions.apply(node, constant, found, info.dtype.name)
        return self.expressions.relax_value(node, found)


def _not_a_name(target: ast.expr) -> str:
    text = ast.unparse(target)
    if isinstance(target, ast.Subscript):
        return f"values do not change: `{text} = …` makes no sense; R.where or R.concat make a new value"
    if isinstance(target, ast.Attribute):
        return f"values have no attributes to set: bind `{text}` to a name"
    return "only names can be bound"


def _declares_some(block: Block, source: ast.Tuple) -> bool:
    """True if an entry of a tuple is ``T.int64()``, which declares a symbol."""
    return any(
        isinstance(item, ast.Call) and not item.args and is_path(block.path(item.func), "T", "int64")
        for item in source.elts
    )


def _is_pure(value: Value) -> bool:
    """True if a value has no side effects and no run-time check."""
    defining = defining_op(value.ssa)
    if defining is None or defining.name in ("relax.call", "relax.match_shape"):
        return defining is None
    return not has_trait(defining, HasEffect)


def _holds_values(item: Any) -> bool:  # noqa: ANN401 - what an expression gave
    if isinstance(item, tuple | list):
        return not item or any(map(_holds_values, item))
    return isinstance(item, Value)
