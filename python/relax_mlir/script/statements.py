"""Statements of a script function: they bind names, open blocks, set attributes or end the function."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.attributes import FORCE_PURE, SYMBOL_BOUNDS
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.number_attributes import literal_attr
from relax_mlir.dialects.structure import constant, match_shape, shape_expr
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.traits import HasEffect, has_trait
from relax_mlir.dialects.types import Callable, Object, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir
from relax_mlir.script import control_flow, function_calls
from relax_mlir.script.annotations import parts_of, read_annotation, read_dims, shape_attribute
from relax_mlir.script.calls import MODULE_NAMES, as_op, assert_statement, define_function
from relax_mlir.script.control_flow import UNNAMED, Later, assigned, last_reads, returns
from relax_mlir.script.expressions import Expressions, bound, is_shape_value
from relax_mlir.script.function_calls import packed_statement
from relax_mlir.script.scope import POISON, Scope, declared, is_path
from relax_mlir.script.source import Poisoned, Problem

# Annotated assignments: an annotation refines or coarsens a value, and what it leaves out stays as inferred.
#
# ``y: R.Tensor((n, 4)) = x`` keeps the dtype of ``x``, ``s: R.Shape = shape_of(x)`` keeps the rank and values. What is
# written as unknown (``_``, None, "?") is unknown from there on.


def annotated_value(block: Block, node: ast.AnnAssign) -> tuple[Value | None, StructInfo]:
    """Return the value of ``y: annotation = x`` and its struct info from there on. Raises `Problem`.

    The value is None for a call that is evaluated for its side effects; its result is the empty tuple.
    """
    if node.value is None:
        raise Problem(node, "a declaration without a value")
    scope = block.expressions.scope
    problem: Problem | None = None
    info: StructInfo | None = None
    try:
        info = _of_the_call(block, node) or read_annotation(node.annotation, scope)
    except Problem as error:
        problem = error
    value = _value(block, node.value, info)
    if problem is not None or info is None:
        raise problem or Problem(node.annotation, "no annotation")
    known = Tuple() if value is None else value.struct_info
    wanted = refined(node.annotation, scope, info, known)
    if not implies(known, wanted):
        raise Problem(
            node.annotation,
            f"'{ast.unparse(node.target)}' is annotated as {info}, but its value is {known}; "
            "R.match_shape asserts at run time what is not known here",
            "ShapeError",
        )
    return value, wanted


def _of_the_call(block: Block, node: ast.AnnAssign) -> StructInfo | None:
    """The annotation of ``R.call_tir(s, ...)`` as ``R.Tensor[s, "f32"]``, without the shape if the rank is unknown."""
    scope, call = block.expressions.scope, node.value
    kind, _, named = parts_of(node.annotation, scope)
    shape = named.get("shape") if kind == "Tensor" else None
    if not isinstance(shape, ast.Name) or not isinstance(call, ast.Call):
        return None
    value = scope.values.get(shape.id)
    if not isinstance(value, Value) or value.struct_info != Shape():
        return None
    given = [ast.unparse(item) for item in (*call.args, *(k.value for k in call.keywords))]
    if not is_path(block.path(call.func), "R", "call_tir") or shape.id not in given:
        return None
    return read_annotation(_without_shape(node.annotation, named), scope)


def _without_shape(annotation: ast.expr, named: dict[str, ast.expr]) -> ast.expr:
    """Return the annotation of a tensor without its shape."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    keywords = [ast.keyword(name, part) for name, part in named.items() if name != "shape"]
    call = ast.Call(head.func if isinstance(head, ast.Call) else head, [], keywords)
    return ast.fix_missing_locations(ast.copy_location(call, annotation))


def _value(block: Block, node: ast.expr, info: StructInfo | None) -> Value | None:
    """Return the value of an expression annotated as `info`; None for a call without a result."""
    expressions = block.expressions
    if isinstance(info, Shape) and isinstance(node, ast.Tuple | ast.List):
        return expressions.apply(node, shape_expr, read_dims(node, expressions.scope))
    if info is not None and isinstance(node, ast.Call):
        path = block.path(node.func)
        if is_path(path, "R", "call_packed", "call_pure_packed") and as_op(expressions, node) is None:
            pure = is_path(path, "R", "call_pure_packed") or (block.in_dataflow and isinstance(info, Shape))
            return function_calls.annotated_call(expressions, node, info, pure=pure)
    found = expressions.evaluate(node)
    if found is None and not isinstance(node, ast.Constant):
        return None
    if isinstance(found, int | float) and isinstance(info, Tensor) and info.shape == ():
        dtype = None if info.dtype is None else info.dtype.name
        return expressions.apply(node, constant, found, dtype)
    value = expressions.relax_value(node, found)
    if isinstance(node, ast.Call) and is_path(block.path(node.func), "R", "match_shape", "match_cast"):
        return _with_dtype(block, node, value, info)
    return value


def _with_dtype(block: Block, node: ast.expr, value: Value, info: StructInfo | None) -> Value:
    """Return the result of a `match_shape`; one more `match_shape` asserts the annotated dtype if it is unknown."""
    known = value.struct_info
    if not isinstance(info, Tensor) or not isinstance(known, Tensor):
        return value
    if info.dtype is None or known.dtype is not None or known.shape is None:
        return value
    return block.expressions.apply(node, match_shape, value, known.shape, info.dtype.name)


def refined(node: ast.expr, scope: Scope, info: StructInfo, known: StructInfo) -> StructInfo:
    """Return `info`, which the annotation `node` gives, completed from the `known` struct info."""
    _, arguments, named = parts_of(node, scope)
    if isinstance(info, Object):
        return known
    if isinstance(info, Shape) and isinstance(known, Shape):
        return info if arguments or "values" in named else _of_rank(info, named, known)
    if isinstance(info, Callable) and isinstance(known, Callable):
        return info if arguments or named else known
    if isinstance(info, Tuple) and isinstance(known, Tuple) and len(info.fields) == len(known.fields):
        items = list(arguments)
        if len(items) == 1 and isinstance(items[0], ast.List | ast.Tuple):
            items = list(items[0].elts)
        pairs = zip(items, info.fields, known.fields, strict=False)
        return Tuple([refined(*(item, scope, field, other)) for item, field, other in pairs])
    if isinstance(info, Tuple) and isinstance(known, Tuple) and not arguments:
        return known
    if not isinstance(info, Tensor) or not isinstance(known, Tensor):
        return info
    dtype = info.dtype if "dtype" in named else known.dtype
    keeps_shape = "shape" not in named and ("ndim" not in named or info.ndim == known.ndim)
    return Tensor(known.shape if keeps_shape else info.shape, dtype)


def _of_rank(info: Shape, named: dict[str, ast.expr], known: Shape) -> Shape:
    """Complete the annotation of a shape that gives at most the rank."""
    return info if "ndim" in named and info.ndim is not None and info.ndim != known.ndim else known


def coarsened(value: Value, info: StructInfo) -> Value:
    """Give the result of a Relax op the struct info of its annotation."""
    defining = defining_op(value.ssa)
    if defining is None or not defining.name.startswith("relax.") or defining.name == "relax.dataflow":
        return value
    return retyped(value, info)


def retyped(value: Value, info: StructInfo) -> Value:
    """Give `value` another struct info, which its known one implies."""
    if str(value.struct_info) != str(info) or value.ssa.type != info.to_type():
        value.ssa.set_type(info.to_type())
    return Value(value.ssa)


NAME = "global_symbol"
"""TVM's attribute for the exported name of a function, which is the function's symbol here."""
LOWER, UPPER = "tir_var_lower_bound", "tir_var_upper_bound"
"""TVM's dictionaries of bounds of symbols."""
Bounds = dict[str, tuple[int, int | None]]


def function_attributes(block: Block, node: ast.Call) -> None:
    """Record the attributes of the function whose body is `block`. Raises `Problem`."""
    if not block.is_body:
        raise Problem(node, "R.func_attr stands at the beginning of a function")
    given = block.expressions.evaluate(node.args[0]) if len(node.args) == 1 else None
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise Problem(node, "R.func_attr takes a dictionary of names and values")
    bounds = _bounds(block, node, given)
    if bounds:
        block.expressions.apply(node, block.builder.bound_symbols, bounds)
    for name, value in given.items():
        if name == NAME:
            _check_name(block, node, value)
        elif name != FORCE_PURE or value:
            flag = True if name == FORCE_PURE and not isinstance(value, ir.Attribute) else value
            block.attributes[name] = block.expressions.apply(node, literal_attr, name, flag)


def exported_name(node: ast.FunctionDef, scope: Scope) -> str:
    """Return the exported name of a function: ``global_symbol`` if set, else its own name."""
    for statement in node.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not is_path(scope.path(call.func), "R", "func_attr"):
            continue
        given = call.args[0] if call.args else None
        for key, value in zip(given.keys, given.values, strict=True) if isinstance(given, ast.Dict) else ():
            if isinstance(key, ast.Constant) and key.value == NAME and isinstance(value, ast.Constant):
                is_name = isinstance(value.value, str) and value.value.isidentifier()
                return str(value.value) if is_name else node.name
    return node.name


def _bounds(block: Block, node: ast.Call, given: dict[str, Any]) -> Bounds:
    """Remove the bounds of the parameters' symbols from `given` and return them."""
    found: Bounds = {}
    if block.owner is None:
        return found  # a nested function keeps all its attributes
    for name in ("symbol_bounds", SYMBOL_BOUNDS):
        if name in given and not isinstance(given[name], ir.Attribute):
            found |= given.pop(name)
    defined = set(parameter_symbols(block.owner.params))
    for name in (LOWER, UPPER):
        entries = given.pop(name, {})
        if not isinstance(entries, Mapping) or not all(type(bound) is int for bound in entries.values()):
            raise Problem(node, f"'{name}' is a dictionary of symbols and integers", "ArgumentError")
        for symbol in sorted(defined & set(entries)):
            low, high = found.get(symbol, (0, None))
            found[symbol] = (entries[symbol], high) if name == LOWER else (low, entries[symbol])
        rest = {symbol: bound for symbol, bound in entries.items() if symbol not in defined}
        if rest:
            given[name] = rest
    return found


def _check_name(block: Block, node: ast.Call, value: object) -> None:
    """Raise `Problem` unless `value` is the exported name of a public function."""
    name = "the function" if block.owner is None else block.owner.name
    if block.owner is None or block.owner.private:
        message = f"'{name}' is private: it has no '{NAME}', by which it would be called from outside"
        raise Problem(node, message, "ArgumentError")
    if value != name:
        message = f"'{NAME}' is {value!r}, but the function is exported as '{name}': give it that name"
        raise Problem(node, message, "ArgumentError")


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
                        control_flow.returning(self, statement, statements[index + 1 :])
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
            control_flow.conditional(self, node, later)
        elif isinstance(node, ast.For):
            control_flow.for_statement(self, node, later)
        elif isinstance(node, ast.While):
            control_flow.while_statement(self, node, later)
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
                result = shape_attribute(source, result)
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
