"""Statements of a script function: they bind names, open blocks and end the function."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.structure import maker_of, shape_expr
from relax_mlir.dialects.types import Shape, StructInfo, Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir, scf, tensor
from relax_mlir.script.annotations import read_annotation, read_dims
from relax_mlir.script.closures import define_function
from relax_mlir.script.expressions import Expressions, bound
from relax_mlir.script.scope import POISON, is_path
from relax_mlir.script.source import Poisoned, Problem

UNSUPPORTED = {
    ast.For: "`for` loops are not supported in a script; unroll the loop, or call a packed function",
    ast.While: "`while` loops are not supported in a script; call a packed function",
    ast.Try: "exceptions have no meaning in a script",
    ast.Import: "imports belong outside of the script",
    ast.ImportFrom: "imports belong outside of the script",
}


@dataclass
class Block:
    """Reads the statements of one block; `later` are the names that are read after the block."""

    builder: BlockBuilder
    expressions: Expressions
    later: frozenset[str]
    in_dataflow: bool = False
    is_body: bool = False
    assigned: list[str] = field(default_factory=list)
    declared: dict[str, StructInfo] = field(default_factory=dict)
    outputs: list[str] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    result: Value | None = None
    ended: bool = False

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Read all statements; mistakes are noted, and what they define is poisoned."""
        for index, statement in enumerate(statements):
            if self.ended:
                self.note(Problem(statement, "nothing may follow the end of the block"))
                return
            later = self.later | reads(statements[index + 1 :])
            try:
                with self.expressions.at(statement):
                    self.statement(statement, later)
            except Problem as problem:
                self.note(problem)
                self.poison(statement)
            except Poisoned:
                self.poison(statement)

    def note(self, problem: Problem) -> None:
        self.expressions.source.report(problem)

    def poison(self, statement: ast.stmt) -> None:
        """Names that a mistaken statement would have defined; the end of a block has been reached all the same."""
        for name in targets(statement):
            self.define(name, POISON)
        if isinstance(statement, ast.Return):
            self.ended = True
        if isinstance(statement, ast.Expr) and self.in_dataflow:
            call = statement.value
            if isinstance(call, ast.Call) and is_path(self.path(call.func), "R", "output", "outputs"):
                self.outputs, self.ended = self.outputs or [], True

    def path(self, node: ast.expr) -> tuple[str, str] | None:
        return self.expressions.scope.path(node)

    def statement(self, node: ast.stmt, later: frozenset[str]) -> None:
        """Read one statement."""
        if isinstance(node, ast.Assign):
            if len(node.targets) > 1:
                raise Problem(node, "one assignment binds one target")
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign):
            self.annotated(node)
        elif isinstance(node, ast.Expr):
            self.expression(node)
        elif isinstance(node, ast.With):
            self.dataflow(node, later)
        elif isinstance(node, ast.If):
            self.conditional(node, later)
        elif isinstance(node, ast.Return):
            self.end(node)
        elif isinstance(node, ast.FunctionDef):
            define_function(self, node)
        elif isinstance(node, ast.AugAssign):
            raise Problem(node, "values do not change; bind the result to a name: `y = y + x`")
        elif not isinstance(node, ast.Pass):
            what = UNSUPPORTED.get(type(node), f"{type(node).__name__} is no statement of a script")
            raise Problem(node, what)

    # -- names

    def define(self, name: str, value: Any) -> None:  # noqa: ANN401 - a value or a constant
        self.expressions.scope.values[name] = value
        if name not in self.assigned:
            self.assigned.append(name)

    def assign(self, target: ast.expr, source: ast.expr) -> None:
        """``y = x``, ``a, b = t``."""
        result = self.expressions.evaluate(source)
        if isinstance(target, ast.Tuple | ast.List):
            fields = self.expressions.apply(source, list, result)
            if len(fields) != len(target.elts):
                raise Problem(target, f"{len(target.elts)} names for {len(fields)} values")
            for name, value in zip(target.elts, fields, strict=True):
                self.bind(name, source, value, fresh=False)
            return
        self.bind(target, source, result, fresh=not isinstance(source, ast.Name))

    def bind(self, target: ast.expr, source: ast.expr, result: Any, *, fresh: bool) -> Any:  # noqa: ANN401
        """Bind a result to a name; `fresh` ones get the name in their location."""
        if not isinstance(target, ast.Name):
            raise Problem(target, "only names can be bound")
        if result is None:
            raise Problem(
                source, "this has no value; say what it returns by out=R.Object() or another annotation"
            )
        if isinstance(result, tuple | list) and _holds_values(result):
            result = self.expressions.relax_value(source, result)
        result = self.expressions.apply(source, bound, result)
        if fresh and isinstance(result, Value):
            self.builder.emit(result, target.id)
        self.define(target.id, result)
        return result

    def annotated(self, node: ast.AnnAssign) -> None:
        """``y: R.Tensor((n, 4), "float32") = x``: what is annotated must follow from what is known."""
        if node.value is None:
            raise Problem(node, "a declaration without a value")
        problem: Problem | None = None
        info: StructInfo | None = None
        try:
            info = read_annotation(node.annotation, self.expressions.scope)
        except Problem as error:
            problem = error
        if isinstance(info, Shape) and isinstance(node.value, ast.Tuple | ast.List):
            dims = read_dims(node.value, self.expressions.scope)
            value = self.expressions.apply(node.value, shape_expr, dims)
            info = (
                value.struct_info if info.values is None else info
            )  # R.Shape alone says what kind of value it is
        else:
            value = self.expressions.value(node.value)
        if problem is not None or info is None:
            raise problem or Problem(node.annotation, "no annotation")
        assert isinstance(node.target, ast.expr)
        if not implies(value.struct_info, info):
            name = ast.unparse(node.target)
            raise Problem(
                node.annotation,
                f"'{name}' is annotated as {info}, but its value is {value.struct_info}; "
                "R.match_shape asserts at run time what is not known here",
                "ShapeError",
            )
        fresh = not isinstance(node.value, ast.Name)
        value = coarsened(value, info) if fresh else value
        self.bind(node.target, node.value, value, fresh=fresh)
        if isinstance(node.target, ast.Name):
            self.declared[node.target.id] = info

    # -- statements

    def expression(self, node: ast.Expr) -> None:
        """A call for its effect, ``R.output``, ``R.func_attr``, or a comment in form of a string."""
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
                self.function_attributes(node.value)
                return
        self.expressions.evaluate(node.value)

    def function_attributes(self, node: ast.Call) -> None:
        """``R.func_attr({"name": value})``."""
        if not self.is_body:
            raise Problem(node, "R.func_attr stands at the beginning of a function")
        given = self.expressions.evaluate(node.args[0]) if len(node.args) == 1 else None
        if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
            raise Problem(node, "R.func_attr takes a dictionary of names and values")
        for name, value in given.items():
            if name in ("symbol_bounds", SYMBOL_BOUNDS) and not isinstance(value, ir.Attribute):
                self.expressions.apply(node, self.builder.bound_symbols, value)
                continue
            self.attributes[name] = self.expressions.apply(node, attribute, name, value)

    def dataflow(self, node: ast.With, later: frozenset[str]) -> None:
        """``with R.dataflow():``; what `R.output` names is visible after it."""
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
        count = len(self.expressions.source.frames)
        try:
            with self.builder.dataflow():
                inner.run(node.body)
                for name in inner.outputs or []:
                    value = inner.expressions.scope.values[name]
                    handles[name] = POISON if value is POISON else self.builder.emit_output(value)
        except RelaxError as error:
            raise Problem.of(node, error) from None
        if inner.outputs is None and len(self.expressions.source.frames) == count:
            raise Problem(node, "the dataflow block has no R.output(...): it ends with what leaves it")
        for name, value in handles.items():
            self.define(name, self.left(inner, name, value, alone=len(handles) == 1))

    def left(self, inner: Block, name: str, value: Any, *, alone: bool) -> Any:  # noqa: ANN401
        """A value that has left a dataflow block, with the struct info that it was declared with."""
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
            if not isinstance(value, Value):
                raise Problem(item, f"'{item.id}' is no Relax value")
            self.outputs.append(item.id)
        if not node.args:
            raise Problem(node, "R.output names at least one value")

    def end(self, node: ast.Return) -> None:
        """``return x``."""
        self.ended = True
        if not self.is_body:
            raise Problem(
                node,
                "`return` stands at the end of the function; bind the value in both branches to one name",
            )
        if node.value is None:
            raise Problem(node, "a function returns a value; `return ()` returns the empty tuple")
        self.result = self.expressions.value(node.value)
        self.expressions.apply(node, self.builder.emit_func_output, self.result)

    def conditional(self, node: ast.If, later: frozenset[str]) -> None:
        """``if c: … else: …``: names that both branches bind have a value after it."""
        if self.in_dataflow:
            raise Problem(node, "a dataflow block has no control flow; close it before the `if`")
        condition = self.expressions.value(node.test)
        info = condition.struct_info
        if not isinstance(info, Tensor) or info.shape != () or str(info.dtype) != "bool":
            raise Problem(
                node.test, f"the condition is {info}, expected a bool tensor of rank 0", "ArgumentError"
            )
        with self.expressions.at(node.test):
            flag = _extract(condition)
        probe = scf.IfOp(flag, [], has_else=bool(node.orelse), loc=flag.owner.location)
        blocks = [probe.then_block, *([probe.else_block] if node.orelse else [])]
        branches = [
            self.branch(body, block, later)
            for body, block in zip((node.body, node.orelse), blocks, strict=False)
        ]
        names = merged(node, branches, later)
        values = [[branch.expressions.scope.values[name] for name in names] for branch in branches]
        if any(value is POISON for column in values for value in column):
            probe.operation.erase()
            raise Poisoned(node)
        columns = [self.yielded(column, block, node) for column, block in zip(values, blocks, strict=True)]
        for index, name in enumerate(names):
            check_branches(node, name, *(column[index].struct_info for column in columns))
        final = ir.Operation.create(
            "scf.if",
            results=[value.ssa.type for value in columns[0]],
            operands=[flag],
            regions=2,
            loc=probe.operation.location,
        )
        for index, (column, block) in enumerate(zip(columns, blocks, strict=True)):
            with ir.InsertionPoint(block), probe.operation.location:
                scf.YieldOp([value.ssa for value in column])
            block.append_to(final.regions[index])
        probe.operation.erase()
        for name, result in zip(names, final.results, strict=True):
            self.define(name, Value(result))

    def branch(self, body: Sequence[ast.stmt], block: ir.Block, later: frozenset[str]) -> Block:
        inner = Block(self.builder, self.expressions.inner(), later)
        with ir.InsertionPoint(block):
            inner.run(body)
        return inner

    def yielded(self, column: Sequence[Any], block: ir.Block, node: ast.If) -> list[Value]:
        """What a branch gives, as Relax values."""
        with ir.InsertionPoint(block):
            return [self.expressions.relax_value(node, value) for value in column]


def _extract(condition: Value) -> ir.Value:
    with user_location():
        return tensor.extract(condition.ssa, [])


def merged(node: ast.If, branches: Sequence[Block], later: frozenset[str]) -> list[str]:
    """The names that both branches bind, and that are read after the `if` or bound last in both."""
    if len(branches) < 2:
        return []
    first, second = branches
    common = [name for name in first.assigned if name in second.assigned]
    last = set(targets(node.body[-1])) & set(targets(node.orelse[-1]))
    return [name for name in common if name in later or name in last]


def check_branches(node: ast.If, name: str, taken: StructInfo, other: StructInfo) -> None:
    """Raise `Problem` unless the branches give `name` the same struct info."""
    if implies(taken, other) and implies(other, taken):
        return
    raise Problem(
        node.test,
        f"the branches give '{name}' different types: {taken} and {other}; match_shape or astype one of them",
        "ShapeError",
    )


def targets(node: ast.stmt) -> list[str]:
    """The names that a statement binds."""
    if isinstance(node, ast.If):
        inner = [set().union(*map(targets, body)) for body in (node.body, node.orelse)]
        return sorted(inner[0] & inner[1])
    if isinstance(node, ast.With):
        return sorted({name for statement in node.body for name in targets(statement)})
    roots: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        roots = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For):
        roots = [node.target]
    return [n.id for root in roots for n in ast.walk(root) if isinstance(n, ast.Name)]


def reads(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements read."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def _holds_values(item: Any) -> bool:  # noqa: ANN401 - what an expression gave
    if isinstance(item, tuple | list):
        return not item or any(map(_holds_values, item))
    return isinstance(item, Value)


def coarsened(value: Value, info: StructInfo) -> Value:
    """The result of a Relax op with the struct info that its annotation says."""
    maker = maker_of(value.ssa)
    if maker is None or not maker.name.startswith("relax.") or maker.name == "relax.dataflow":
        return value
    return retyped(value, info)


def retyped(value: Value, info: StructInfo) -> Value:
    """`value` with another struct info, which what is known of it implies."""
    if str(value.struct_info) != str(info) or value.ssa.type != info.to_type():
        value.ssa.set_type(info.to_type())
    return Value(value.ssa)


def attribute(name: str, value: Any) -> ir.Attribute:  # noqa: ANN401 - a Python literal or an attribute
    """A Python literal as an attribute of a function."""
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get([attribute(name, item) for item in value])
    raise ValueError(f"attribute '{name}': {value!r} is neither a literal nor an I.attribute")
