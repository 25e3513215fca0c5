"""Raise prim funcs to tensor expressions: each loop nest that fills a buffer becomes a computation.

The input is the printed form: nests around one block, and loops without blocks that store elements, one in each
buffer. A reduction is a block with `T.init`, or a nest that stores a constant, before or in its first iteration, and
a nest that combines values with it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.location import name_of
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.te import reductions
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import (
    DATA_PARALLEL,
    REDUCTION,
    Binary,
    Call,
    Cast,
    Expr,
    IterVar,
    Number,
    Range,
    ScalarVar,
)
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import Tensor, placeholder
from relax_mlir.te.walk import post_order
from relax_mlir.tir.printer import print_prim
from relax_mlir.tir.schedule.lift_expressions import Elements
from relax_mlir.tir.schedule.lift_loops import (
    EmptyReduction,
    Nest,
    NoStagesError,
    check_empty,
    dim_of,
    function_name,
    is_first,
    nest_of,
    ordered,
    places_of,
    read_first,
    store_of,
)
from relax_mlir.tir.schedule.lift_reductions import NoCombiner, reductions_of

COMBINERS = {"+": "sum", "*": "prod"}


@dataclass
class Lifted:
    """A prim func as tensor expressions."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    integers: tuple[str, ...]
    blocks: dict[str, Tensor]
    """The result of each block, by block name."""
    loops: dict[ComputeOp, list[IterVar]]
    """The loops of each computation, outermost first."""
    continued: bool = False
    """True if reductions combine with the existing values of the buffer."""


class _WrittenOut(ast.NodeTransformer):
    """Rewrite ``C[i] += x`` as ``C[i] = C[i] + x``."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        element = ast.parse(ast.unparse(node.target), mode="eval").body
        made = ast.Assign([node.target], ast.BinOp(element, node.op, node.value))
        return ast.fix_missing_locations(ast.copy_location(made, node))


@dataclass
class _Lifter:
    shapes: dict[str, tuple[tuple[Dim, ...], str]]
    titles: Mapping[ast.stmt, str]
    """The block name of each store."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    pending: dict[str, Expr] = field(default_factory=dict)
    """The stored values with which later nests combine values."""
    blocks: dict[str, Tensor] = field(default_factory=dict)
    loops: dict[ComputeOp, list[IterVar]] = field(default_factory=dict)
    """The loops of each computation, outermost first."""
    symbols: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    continues: bool = False
    """True if a reduction may combine with the existing values of the buffer."""
    continued: bool = False
    awaited: set[str] = field(default_factory=set)
    """The buffers with which nests combine values."""
    when_empty: EmptyReduction | None = None
    """The values stored for the following reduction in case it is empty."""

    def statement(self, node: ast.stmt) -> None:
        """Process a nest, an allocation, or the case of an empty reduction."""
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
        ):
            if function_name(node.value) != "alloc_buffer":
                raise NoStagesError(f"`{ast.unparse(node)[:60]}` is no computation of a buffer")
            shape, dtype = node.value.args[:2]
            assert isinstance(shape, ast.Tuple)
            dims = tuple(dim_of(item) for item in shape.elts)
            self.shapes[node.targets[0].id] = (dims, str(ast.literal_eval(dtype)))
            return
        if isinstance(node, ast.If):
            if self.when_empty is not None:
                raise NoStagesError(self.when_empty.refusal)
            self.when_empty = EmptyReduction.of(node)
            return
        nest = nest_of(node)
        title, statements = "", nest.body
        axes = {name: name for name, _ in nest.axes}
        initial: list[ast.stmt] = []
        if len(statements) == 1 and isinstance(statements[0], ast.With):
            title, axes, initial, statements = self.block(statements[0])
        self.computation(nest, title, axes, initial, statements)

    def block(self, node: ast.With) -> tuple[str, dict[str, str], list[ast.stmt], list[ast.stmt]]:
        """The name of a block, the loops of its axes, the initialization of its reduction, and its statements."""
        call = node.items[0].context_expr
        assert isinstance(call, ast.Call)
        title = str(ast.literal_eval(call.args[0])) if call.args else ""
        axes: dict[str, str] = {}
        initial: list[ast.stmt] = []
        rest: list[ast.stmt] = []
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and function_name(value) == "remap":
                assert isinstance(statement, ast.Assign)
                (target,) = statement.targets
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                bindings = value.args[1]
                assert isinstance(bindings, ast.List)
                axes.update(
                    (ast.unparse(a), ast.unparse(b)) for a, b in zip(names, bindings.elts, strict=True)
                )
            elif isinstance(statement, ast.With):
                initial = statement.body
            else:
                rest.append(statement)
        return title, axes, initial, rest

    def computation(
        self,
        nest: Nest,
        title: str,
        axes: Mapping[str, str],
        initial: Sequence[ast.stmt],
        statements: Sequence[ast.stmt],
    ) -> None:
        """Add the computation of the buffers that a nest stores to."""
        stores = [item for item in statements if store_of(item) is not None]
        if not stores or store_of(statements[-1]) is None:
            raise NoStagesError(f"`{ast.unparse(statements[-1])[:60]}` stores no element")
        found = [target for item in stores if (target := store_of(item)) is not None]
        targets = {ast.unparse(target.value): target for target in found}
        own = self.axes_of(nest, axes, found)
        by_loop = {loop: axis for axis, loop in axes.items()}
        reduced = {
            by_loop[loop]: IterVar(loop, Range(0, extent), REDUCTION)
            for loop, extent in nest.axes
            if by_loop[loop] not in own
        }
        reader = Elements({**own, **reduced}, self.tensors, self.symbols)
        begun = self.beginning(nest, list(reduced.values()), statements, initial, reader)
        rest = [item for item in statements if not isinstance(item, ast.If)]
        filled = [name for name in targets if name in self.tensors]
        if filled:
            raise NoStagesError(f"'{filled[0]}' is filled twice")
        if reduced:
            body = self.combined(targets, rest, reader, list(reduced.values()), begun)
        else:
            body = self.stored(rest, reader)
            for name in [name for name in targets if name in self.awaited and name not in self.pending]:
                self.pending[name] = body.pop(name)
            if not body:
                return
        wanted = title or next((self.titles[item] for item in stores if item in self.titles), "")
        loops = [{**own, **reduced}[by_loop[loop]] for loop, _ in nest.axes]
        self.add(wanted, list(own.values()), body, loops)

    def axes_of(
        self, nest: Nest, axes: Mapping[str, str], targets: Sequence[ast.Subscript]
    ) -> dict[str, IterVar]:
        """The spatial axes, by their names in the indices of the stores."""
        extents = dict(nest.axes)
        found: list[str] | None = None
        for target in targets:
            name, places = ast.unparse(target.value), places_of(target)
            names = [place.id for place in places if isinstance(place, ast.Name) and place.id in axes]
            if len(names) != len(places) or len(set(names)) != len(names) or name not in self.shapes:
                raise NoStagesError(
                    f"`{ast.unparse(target)}` is stored at other places than the axes of its loops"
                )
            if found is not None and names != found:
                raise NoStagesError(
                    f"`{ast.unparse(target)}` is stored at another place than what is with it"
                )
            found = names
            for place, size in zip(names, self.shapes[name][0], strict=True):
                if not prove_equal(extents[axes[place]], size):
                    raise NoStagesError(
                        f"the loop {axes[place]} has another length than the dimension of '{name}' that it runs along"
                    )
        return {
            place: IterVar(axes[place], Range(0, extents[axes[place]]), DATA_PARALLEL)
            for place in found or ()
        }

    def beginning(
        self,
        nest: Nest,
        reduced: Sequence[IterVar],
        statements: Sequence[ast.stmt],
        initial: Sequence[ast.stmt],
        reader: Elements,
    ) -> dict[str, Expr]:
        """The initial values of a reduction by buffer name, if its own nest stores them."""
        waiting, self.when_empty = self.when_empty, None
        first = next((item for item in statements if isinstance(item, ast.If)), None)
        if first is None:
            if waiting is not None:
                raise NoStagesError(waiting.refusal)
            return self.stored(initial, reader)
        if any(isinstance(item, ast.If) and item is not first for item in statements) or not is_first(
            first, [axis.name for axis in reduced]
        ):
            raise NoStagesError(
                f"`{ast.unparse(first)[:60]}` is a condition, which is no beginning of a reduction"
            )
        before = statements[: statements.index(first)]
        if any(store_of(item) is not None for item in before):
            raise NoStagesError("elements are stored before a reduction begins")
        self.stored(before, reader)
        begun = self.stored(first.body, reader)
        check_empty(waiting, reduced, first.body, nest)
        return begun

    def stored(self, statements: Sequence[ast.stmt], reader: Elements) -> dict[str, Expr]:
        """The values that statements store, in order, by buffer name."""
        found: dict[str, Expr] = {}
        outer = dict(reader.current)
        for item in statements:
            target = store_of(item)
            if not isinstance(item, ast.Assign):
                raise NoStagesError(f"`{ast.unparse(item)[:60]}` stores no element")
            value = reader.expression(item.value)
            if target is None:
                if not isinstance(item.targets[0], ast.Name):
                    raise NoStagesError(f"`{ast.unparse(item)[:60]}` is no local scalar")
                reader.scalars[item.targets[0].id] = value
                continue
            name = ast.unparse(target.value)
            found[name] = _typed(value, self.shapes[name][1])
            reader.current[ast.unparse(target)] = found[name]
        reader.current = outer
        return found

    def combined(
        self,
        targets: Mapping[str, ast.Subscript],
        statements: Sequence[ast.stmt],
        reader: Elements,
        axes: list[IterVar],
        given: Mapping[str, Expr],
    ) -> dict[str, Expr]:
        """The reductions of a nest, by buffer name."""
        begun = {name: given[name] if name in given else self.begun(name) for name in targets}
        so_far = {name: ScalarVar(name, dtypes.dtype(self.shapes[name][1])) for name in targets}
        reader.current = {ast.unparse(target): so_far[name] for name, target in targets.items()}
        found = self.stored(statements, reader)
        reader.current = {}
        if len(found) == 1:
            ((name, value),) = found.items()
            made = self.named(name, value, so_far[name], axes, begun[name])
            if made is not None:
                return {name: made}
        starts = [value for value in begun.values() if value is not None]
        if len(starts) != len(begun):
            raise NoStagesError(f"nothing says what the reduction '{next(iter(targets))}' begins with")
        try:
            together = reductions_of(
                "_".join(found), list(so_far.values()), list(found.values()), starts, axes
            )
        except NoCombiner as problem:
            raise NoStagesError(str(problem)) from None
        return dict(zip(found, together, strict=True))

    def named(
        self, name: str, value: Expr, so_far: ScalarVar, axes: list[IterVar], begun: Expr | None
    ) -> Reduction | None:
        """``C[i] + x`` and similar combinations as a built-in reduction; None for others."""
        kind = COMBINERS.get(value.operator) if isinstance(value, Binary) else None
        if isinstance(value, Call) and value.function in ("max", "min"):
            kind = value.function
        sides = [side for side in value.children if side is not so_far]
        if kind is None or len(sides) != 1 or so_far in set(post_order(sides[0])):
            return None
        dtype = self.shapes[name][1]
        is_plain = begun is None or _is_identity(kind, begun, dtype)
        made: Reduction = getattr(reductions, kind)(
            _typed(sides[0], dtype), axis=axes, init=None if is_plain else begun
        )
        return made

    def begun(self, name: str) -> Expr | None:
        """The initial value of a reduction, stored by another nest; None: the existing value."""
        if name not in self.pending and self.continues:
            self.continued = True
            return None
        if name not in self.pending:
            raise NoStagesError(f"nothing says what the reduction '{name}' begins with")
        return self.pending.pop(name)

    def add(self, title: str, axes: list[IterVar], body: Mapping[str, Expr], loops: list[IterVar]) -> None:
        """Add the computation of some buffers."""
        first, *others = body
        wanted = title if title and not re.fullmatch(r"block\d*", title) else first
        op = ComputeOp(
            axes, list(body.values()), first if first in self.parameters and not others else wanted
        )
        self.loops[op] = loops
        for name, tensor in zip(body, op.outputs, strict=True):
            if others:
                tensor.name = name
            self.tensors[name] = tensor
        names = [wanted, *(name for name in body if others and name != wanted)]
        for name, tensor in zip(
            names, [op.outputs[0], *map(self.tensors.__getitem__, names[1:])], strict=True
        ):
            self.blocks[name if name not in self.blocks else f"{name}_{len(self.blocks)}"] = tensor


def lift(function: func.FuncOp, continues: bool = False) -> Lifted:
    """The tensor expressions of a prim func; `continues`: a reduction without an initial value uses the existing one.

    Raises:
        UnsupportedError: it is not a sequence of loop nests that fill buffers.
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
    shapes = {p.name: (tuple(p.shape), str(p.dtype)) for p in params if p.shape is not None}
    lifter = _Lifter(shapes, _titles(function, tree))
    lifter.parameters = {p.name for p in params}
    lifter.continues = continues
    written = {
        ast.unparse(node.value)
        for store in ast.walk(tree)
        if isinstance(store, ast.Assign)
        for node in store.targets
        if isinstance(node, ast.Subscript)
    }
    lifter.awaited = {name for statement in tree.body for name in read_first(statement)}
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
        if lifter.when_empty is not None:
            raise NoStagesError(lifter.when_empty.refusal)
        outputs = [lifter.tensors[p.name] for p in buffers if p.name in written]
    except (NoStagesError, KeyError) as problem:
        raise UnsupportedError(
            f"tir.Schedule: prim func '{name}' is no sequence of loop nests that fill buffers: {problem}"
        ) from None
    return Lifted(
        [lifter.tensors[p.name] for p in inputs],
        outputs,
        integers,
        lifter.blocks,
        lifter.loops,
        lifter.continued,
    )


def _titles(function: func.FuncOp, tree: ast.FunctionDef) -> dict[ast.stmt, str]:
    """The block name of each store in loops on memrefs."""
    stores = [node for node in ordered(tree) if isinstance(node, ast.Assign) and store_of(node) is not None]
    ops = ops_of(function.operation, "memref.store", order=ir.WalkOrder.PRE_ORDER)
    if len(ops) != len(stores):
        return {}
    return {
        node: name for node, op in zip(stores, ops, strict=True) if (name := name_of(op.location)) is not None
    }


def _typed(value: Expr, dtype: str) -> Expr:
    """A stored value, cast to the dtype of the buffer."""
    return value if value.dtype == dtype else value.astype(dtype)


def _is_identity(name: str, value: Expr, dtype: str) -> bool:
    """True if the initial value of a reduction is its identity."""
    number = value.children[0] if isinstance(value, Cast) else value
    if isinstance(number, Number) and name in ("sum", "prod"):
        return bool(number.value == (name == "prod"))
    return repr(value) == repr(reductions.identity(name, dtype))
