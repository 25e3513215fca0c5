"""Intrinsics equivalent to the loops of a stage: of random lengths, derived from the computation without a schedule."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic, te
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.te.expressions import (
    DATA_PARALLEL,
    INDEX,
    Expr,
    IterVar,
    Load,
    Range,
    fold,
    to_dim,
    variables_of,
)
from relax_mlir.te.loops import Loops
from relax_mlir.te.prim_func import Function, names_of, new_module
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import AxisTree, Facts, Span
from relax_mlir.te.tensors import ComputeOp, Tensor


class NoIntrin(Exception):
    """The loops' computation is not suitable for an intrinsic here."""


class _Update(Loops):
    """Combines with the current content."""

    def reduction(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> None:
        with self.loops([*op.axis, *value.axis]) as at:
            self.combine(value.combiner, [(target, at) for target in targets], value.source)


class _Reset(Loops):
    """Stores the initial values of reductions."""

    def reduction(self, op: ComputeOp, value: Reduction, targets: Sequence[Tensor]) -> None:
        with self.loops(op.axis) as at:
            self.store([(target, at) for target in targets], value.initial)


def loops_of(
    name: str,
    parameters: Sequence[Tensor],
    operations: Sequence[Any],
    kind: type[Loops] = Loops,
    integers: Sequence[str] = (),
) -> IRModule:
    """A module of the prim func of these operations as loops."""
    module = new_module(None)
    with module.context, ir.InsertionPoint(module.mlir.body), ir.Location.unknown():
        names = names_of(name, parameters, operations)
        Function(name, parameters, integers, names).emit_loops(operations, kind)
    return module


def derived(stage: Any, number: int, rng: random.Random) -> Any:
    """An intrinsic for the loops of a stage from `number` on. NoIntrin: they compute with indices or other loops."""
    op = stage.op
    roots = {axis: Span(axis.dom.begin, axis.dom.extent) for axis in (*op.axis, *op.reduce_axis)}
    tree = AxisTree(Facts(), roots, stage.relations)
    inside = stage.leaf_iter_vars[number:]
    moving = [axis for axis in roots if any(leaf is own for leaf in tree.loops(axis) for own in inside)]
    own: dict[IterVar, IterVar] = {}
    for axis in moving:
        lengths = [leaf.dom.extent for leaf in tree.loops(axis) if any(leaf is item for item in inside)]
        exact = [length for length in lengths if isinstance(length, int)]
        length: Any = symbolic.symbol(f"t{len(own)}")
        if len(exact) == len(lengths) == 1 and rng.random() < 0.6:
            length = exact[0]
        own[axis] = IterVar(axis.name, Range(0, length), axis.iter_type)
    reduced = [own[axis] for axis in op.reduce_axis if axis in own]
    reduced = reduced or [IterVar("one", Range(0, 1), "reduction")]
    inputs: list[Tensor] = []
    body = [
        Reduction(value.combiner, [_inside(x, own, inputs) for x in value.source], reduced, value.value_index)
        if isinstance(value, Reduction)
        else _inside(value, own, inputs)
        for value in op.body
    ]
    made = ComputeOp([own[axis] for axis in op.axis if axis in own], body, "tile")
    assert all(axis.iter_type == DATA_PARALLEL for axis in made.axis)
    anywhere = {
        tensor: te.decl_buffer(tensor.shape, tensor.dtype, strides=[te.var("any")] * tensor.ndim)
        for tensor in (*inputs, *made.outputs)
    }

    def parts(ins: Any, outs: Any) -> Any:
        every = [*made.input_tensors, *made.outputs]
        whole = loops_of("body", every, [made])
        if not any(isinstance(value, Reduction) for value in body):
            return whole
        update = loops_of("update", every, [made], _Update)
        reset = loops_of("reset", made.outputs, [made], _Reset)
        return rng.choice([(whole, None, None), (whole, reset, update), (None, reset, update), (None, None, update)])

    return te.decl_tensor_intrin(made, parts, "tile", binds=anywhere)


def _inside(value: Expr, own: dict[IterVar, IterVar], inputs: list[Tensor]) -> Expr:
    """A value of parts of tensors, one part per access."""

    def replaced(item: Expr, children: list[Expr]) -> Expr:
        if isinstance(item, Load):
            return _part(item, own, inputs)
        if item.kind == INDEX and not isinstance(item, IterVar):
            raise NoIntrin
        is_same = all(old is new for old, new in zip(item.children, children, strict=True))
        return item if is_same else item.rebuilt(children)

    loads = {id(part) for part in _index_parts(value)}

    def skipped(item: Expr, children: list[Expr]) -> Expr:
        return item if id(item) in loads else replaced(item, children)

    found = fold(value, skipped)
    if variables_outside(found):
        raise NoIntrin
    return found


def variables_outside(value: Expr) -> bool:
    """True if indices are values."""
    inside = {id(part) for part in _index_parts(value)}
    return any(id(item) not in inside for item in variables_of(value))


def _index_parts(value: Expr) -> list[Expr]:
    """The terms in the indices of accesses."""
    found: list[Expr] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Load):
            deep = list(item.children)
            while deep:
                part = deep.pop()
                found.append(part)
                deep += part.children
        else:
            waiting += item.children
    return found


def _part(load: Load, own: dict[IterVar, IterVar], inputs: list[Tensor]) -> Load:
    indices = []
    for index in load.children:
        places = {axis: symbolic.symbol(f"_{number}") for number, axis in enumerate(variables_of(index))}
        dim = to_dim(index, places)
        if dim is None:
            raise NoIntrin
        mine = [axis for axis in places if axis in own]
        if not mine:
            continue
        (axis, *others) = mine
        if others or str(places[axis]) in symbolic.symbols(dim - places[axis]):
            raise NoIntrin
        indices.append(own[axis])
    made = te.placeholder([axis.dom.extent for axis in indices], load.tensor.dtype, f"p{len(inputs)}")
    inputs.append(made)
    return Load(made, indices)
