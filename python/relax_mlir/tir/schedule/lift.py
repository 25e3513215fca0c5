"""Prim funcs as tensor expressions: each loop nest that fills a buffer is a computation.

What is read is the printed form: nests around one block, and plain loops in which one element is stored. A reduction is
a block with `T.init`, or a nest that stores a constant and one that combines values with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.error import RelaxError, UnsupportedError
from relax_mlir.mlir import func
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.te import reductions
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import DATA_PARALLEL, REDUCTION, Cast, Expr, IterVar, Number, Range
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import Tensor, placeholder
from relax_mlir.tir.printer import print_prim
from relax_mlir.tir.schedule.lift_expressions import Elements

COMBINERS = {ast.Add: "sum", ast.Mult: "prod"}


@dataclass
class Lifted:
    """A prim func as tensor expressions."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    integers: tuple[str, ...]
    blocks: dict[str, Tensor]
    """What each block computes, by its name."""
    continued: bool = False
    """Whether reductions combine with what is there."""


class _WrittenOut(ast.NodeTransformer):
    """``C[i] += x`` as ``C[i] = C[i] + x``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        element = ast.parse(ast.unparse(node.target), mode="eval").body
        made = ast.Assign([node.target], ast.BinOp(element, node.op, node.value))
        return ast.fix_missing_locations(ast.copy_location(made, node))


class NoStagesError(Exception):
    """A prim func that is no sequence of computations."""


@dataclass
class _Nest:
    axes: list[tuple[str, Dim]]
    body: list[ast.stmt]


@dataclass
class _Pending:
    """The nest that stores what a reduction begins with."""

    value: Expr


@dataclass
class _Lifter:
    shapes: dict[str, tuple[tuple[Dim, ...], str]]
    tensors: dict[str, Tensor] = field(default_factory=dict)
    pending: dict[str, _Pending] = field(default_factory=dict)
    blocks: dict[str, Tensor] = field(default_factory=dict)
    symbols: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    continues: bool = False
    """Whether a reduction may combine with what is there."""
    continued: bool = False
    awaited: set[str] = field(default_factory=set)
    """The buffers that nests combine values with."""

    def statement(self, node: ast.stmt) -> None:
        """A nest, or an allocation."""
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
        ):
            if _function(node.value) != "alloc_buffer":
                raise NoStagesError(f"`{ast.unparse(node)[:60]}` is no computation of a buffer")
            shape, dtype = node.value.args[:2]
            assert isinstance(shape, ast.Tuple)
            dims = tuple(dim_of(item) for item in shape.elts)
            self.shapes[node.targets[0].id] = (dims, str(ast.literal_eval(dtype)))
            return
        nest = self.nest(node)
        title, statements = "", nest.body
        axes = {name: name for name, _ in nest.axes}
        initial: ast.expr | None = None
        if len(statements) == 1 and isinstance(statements[0], ast.With):
            title, axes, initial, statements = self.block(statements[0])
        self.computation(nest, title, axes, initial, statements)

    def nest(self, node: ast.stmt) -> _Nest:
        """Perfect loops from 0 on."""
        axes: list[tuple[str, Dim]] = []
        body = [node]
        while len(body) == 1 and isinstance(body[0], ast.For):
            loop = body[0]
            call = loop.iter
            name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
            if not isinstance(call, ast.Call) or (name != "range" and _function(call) != "grid"):
                raise NoStagesError("a loop has a kind already, which a schedule has given it")
            if name == "range" and len(call.args) != 1:
                raise NoStagesError("a loop does not begin at 0")
            targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
            axes += [
                (target.id, dim_of(end))
                for target, end in zip(targets, call.args, strict=True)
                if isinstance(target, ast.Name)
            ]
            body = loop.body
        return _Nest(axes, body)

    def block(self, node: ast.With) -> tuple[str, dict[str, str], ast.expr | None, list[ast.stmt]]:
        """The name of a block, the loops of its axes, its initial value, and its statements."""
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        title = str(ast.literal_eval(call.args[0])) if call.args else ""
        axes: dict[str, str] = {}
        initial: ast.expr | None = None
        rest: list[ast.stmt] = []
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and _function(value) == "remap":
                assert isinstance(statement, ast.Assign)
                (target,) = statement.targets
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                bindings = value.args[1]
                assert isinstance(bindings, ast.List)
                axes.update(
                    (ast.unparse(a), ast.unparse(b)) for a, b in zip(names, bindings.elts, strict=True)
                )
            elif isinstance(statement, ast.With):
                (store,) = statement.body
                assert isinstance(store, ast.Assign)
                initial = store.value
            else:
                rest.append(statement)
        return title, axes, initial, rest

    def computation(
        self,
        nest: _Nest,
        title: str,
        axes: Mapping[str, str],
        initial: ast.expr | None,
        statements: Sequence[ast.stmt],
    ) -> None:
        """What a nest stores in its buffer."""
        *scalars, store = statements
        if not isinstance(store, ast.Assign) or not isinstance(store.targets[0], ast.Subscript):
            raise NoStagesError(f"`{ast.unparse(store)[:60]}` stores no element")
        target = store.targets[0]
        name = ast.unparse(target.value)
        places = _places(target)
        by_loop = {loop: axis for axis, loop in axes.items()}
        extents = dict(nest.axes)
        names = [place.id for place in places if isinstance(place, ast.Name) and place.id in axes]
        if len(names) != len(places) or len(set(names)) != len(names) or name not in self.shapes:
            raise NoStagesError(
                f"`{ast.unparse(target)}` is stored at other places than the axes of its loops"
            )
        shape, dtype = self.shapes[name]
        for place, size in zip(names, shape, strict=True):
            if not prove_equal(extents[axes[place]], size):
                raise NoStagesError(
                    f"the loop {axes[place]} has another length than the dimension of '{name}' that it runs along"
                )
        own = {
            place: IterVar(axes[place], Range(0, size), DATA_PARALLEL)
            for place, size in zip(names, shape, strict=True)
        }
        reduced = {
            by_loop[loop]: IterVar(loop, Range(0, extent), REDUCTION)
            for loop, extent in nest.axes
            if by_loop[loop] not in own
        }
        reader = Elements({**own, **reduced}, self.tensors, self.symbols)
        for scalar in scalars:
            if not isinstance(scalar, ast.Assign) or not isinstance(scalar.targets[0], ast.Name):
                raise NoStagesError(f"`{ast.unparse(scalar)[:60]}` is no local scalar")
            reader.scalars[scalar.targets[0].id] = reader.expression(scalar.value)
        if not reduced and name not in self.pending and self.begins_reduction(name, store.value, reader):
            return
        body: Expr
        if reduced:
            begun = reader.expression(initial) if initial is not None else self.begun(name)
            body = self.reduction(
                store.value, ast.unparse(target), list(reduced.values()), begun, dtype, reader
            )
        else:
            body = _typed(reader.expression(store.value), dtype)
        if name in self.tensors:
            raise NoStagesError(f"'{name}' is filled twice")
        wanted = title if title and not re.fullmatch(r"block\d*", title) else name
        op = ComputeOp([own[place] for place in names], [body], name if name in self.parameters else wanted)
        self.tensors[name] = op.outputs[0]
        self.blocks[wanted if wanted not in self.blocks else f"{wanted}_{len(self.blocks)}"] = op.outputs[0]

    def begins_reduction(self, name: str, value: ast.expr, reader: Elements) -> bool:
        """Whether a nest stores a constant that a later one combines values with: decided by what follows."""
        if name not in self.awaited or name in self.tensors:
            return False
        self.pending[name] = _Pending(reader.expression(value))
        return True

    def begun(self, name: str) -> Expr | None:
        """What a reduction begins with; None: with what is there."""
        if name not in self.pending and self.continues:
            self.continued = True
            return None
        if name not in self.pending:
            raise NoStagesError(f"nothing says what the reduction '{name}' begins with")
        return self.pending.pop(name).value

    def reduction(
        self,
        value: ast.expr,
        target: str,
        axes: list[IterVar],
        begun: Expr | None,
        dtype: str,
        reader: Elements,
    ) -> Reduction:
        """``C[i] = C[i] + x``."""
        if isinstance(value, ast.BinOp) and type(value.op) in COMBINERS:
            name, sides = COMBINERS[type(value.op)], [value.left, value.right]
        elif isinstance(value, ast.Call) and _function(value) in ("max", "min") and len(value.args) == 2:
            name, sides = _function(value), list(value.args)
        else:
            raise NoStagesError(f"`{ast.unparse(value)[:60]}` combines by none of +, *, T.max, T.min")
        if ast.unparse(sides[0]) != target:
            raise NoStagesError(f"`{ast.unparse(value)[:60]}` does not begin with {target}")
        item = _typed(reader.expression(sides[1]), dtype)
        begin = None if begun is None else _typed(begun, dtype)
        is_plain = begin is None or _is_identity(name, begin, dtype)
        found: Reduction = getattr(reductions, name)(item, axis=axes, init=None if is_plain else begin)
        return found


def lift(function: func.FuncOp, continues: bool = False) -> Lifted:
    """The tensor expressions of a prim func; `continues`: a reduction without a beginning combines with what is there.

    Raises:
        UnsupportedError: it is no sequence of loop nests that each fill one buffer.
    """
    name = function.name.value
    lines, params = print_prim(function), prim_params(function)
    if lines is None or params is None:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' has no script form, which schedules are made of"
        )
    (parsed,) = ast.parse("\n".join(lines)).body
    tree = _WrittenOut().visit(parsed)
    assert isinstance(tree, ast.FunctionDef)
    lifter = _Lifter({p.name: (tuple(p.shape), str(p.dtype)) for p in params if p.shape is not None})
    lifter.parameters = {p.name for p in params}
    lifter.continues = continues
    written = {
        ast.unparse(node.value)
        for store in ast.walk(tree)
        if isinstance(store, ast.Assign)
        for node in store.targets
        if isinstance(node, ast.Subscript)
    }
    lifter.awaited = {
        ast.unparse(node.targets[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Subscript)
        and ast.unparse(node.targets[0]) in ast.unparse(node.value)
    }
    buffers = [p for p in params if p.shape is not None]
    inputs = [p for p in buffers if p.name not in written]
    integers = tuple(p.name for p in params if p.shape is None)
    if [p.name for p in params] != [
        *(p.name for p in inputs),
        *(p.name for p in buffers if p.name in written),
        *integers,
    ]:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}': its parameters are not inputs, then outputs, then integers"
        )
    for param in inputs:
        lifter.tensors[param.name] = placeholder(param.shape or (), str(param.dtype), param.name)
    lifter.symbols = {
        s for dims, _ in lifter.shapes.values() for dim in dims for s in symbolic.symbols(dim)
    } | set(integers)
    try:
        for statement in tree.body:
            lifter.statement(statement)
        outputs = [lifter.tensors[p.name] for p in buffers if p.name in written]
    except (NoStagesError, KeyError) as problem:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' is no sequence of loop nests that each fill one buffer: {problem}"
        ) from None
    return Lifted(
        [lifter.tensors[p.name] for p in inputs], outputs, integers, lifter.blocks, lifter.continued
    )


def dim_of(node: ast.expr) -> Dim:
    """A size as the script writes it."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    try:
        return symbolic.parse(str(text).replace("T.max(", "max(").replace("T.min(", "min("))
    except RelaxError:
        raise NoStagesError(f"`{text}` is no expression of sizes") from None


def _function(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _places(target: ast.Subscript) -> list[ast.expr]:
    index = target.slice
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _typed(value: Expr, dtype: str) -> Expr:
    """A value that is stored: numbers take the dtype of the buffer."""
    return value if value.dtype == dtype else value.astype(dtype)


def _is_identity(name: str, value: Expr, dtype: str) -> bool:
    """Whether a reduction begins with what changes nothing."""
    number = value.children[0] if isinstance(value, Cast) else value
    if isinstance(number, Number) and name in ("sum", "prod"):
        return bool(number.value == (name == "prod"))
    return repr(value) == repr(reductions.identity(name, dtype))
