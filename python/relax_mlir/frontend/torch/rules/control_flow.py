"""Control flow: ``torch.cond``, ``while_loop``, ``scan`` and ``map``, whose bodies are separate graphs."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.registry import NO_GENERATOR, OpCall, Operand, draws, rule
from relax_mlir.frontend.torch.torch_types import Argument, GraphModule
from relax_mlir.symbolic import Expr


@rule("higher_order::cond")
def cond(
    call: OpCall,
    condition: Operand,
    then: GraphModule,
    otherwise: GraphModule,
    operands: Sequence[Argument] = (),
) -> list[Value]:
    """Emit a conditional; both branches yield results of torch's types, and the random state if one draws numbers."""
    state = _state(call, then, otherwise)

    def branch(graph: GraphModule) -> Value:
        found, after = call.importer.inlined(graph, operands, *state)
        return R.make_tuple(*_conforming(call, found), *_kept(state, after))

    chosen = R.if_then_else(call.tensor(condition, "bool"), lambda: branch(then), lambda: branch(otherwise))
    return _without_state(call, [R.tuple_get_item(chosen, i) for i in range(len(call.results) + len(state))])


def _state(call: OpCall, *graphs: GraphModule) -> list[Value]:
    """Return the state of random numbers in a list; empty if the graphs draw none."""
    if not any(map(draws, graphs)):
        return []
    if call.importer.random_state is None:
        raise call.unsupported(NO_GENERATOR)
    return [call.importer.random_state]


def _kept(state: Sequence[Value], after: Value | None) -> list[Value]:
    return [after] if state and after is not None else []


def _without_state(call: OpCall, found: list[Value]) -> list[Value]:
    """Return results without the state at their end, which becomes the current state."""
    count = len(call.results)
    if len(found) > count:
        call.importer.random_state = found[count]
    return found[:count]


def _conforming(call: OpCall, values: Sequence[Argument]) -> list[Value]:
    pairs = zip(values, call.results, strict=True)
    return [call.importer.conforming(_tensor(call, value, fake), fake) for value, fake in pairs]


def _tensor(call: OpCall, value: Argument, fake: Argument) -> Value:
    if not hasattr(fake, "shape"):
        raise call.unsupported("control flow that gives a number instead of a tensor")
    return call.tensor(value, str(fake.dtype).removeprefix("torch."))


@rule("higher_order::while_loop")
def while_loop(
    call: OpCall,
    condition: GraphModule,
    body: GraphModule,
    carried: Sequence[Argument],
    others: Sequence[Argument] = (),
) -> list[Value]:
    if draws(condition):
        raise call.unsupported(NO_GENERATOR)
    init, state = _conforming(call, carried), _state(call, body)
    count = len(init)

    def goes_on(*values: Value) -> Value:
        (found,), _ = call.importer.inlined(condition, [*values[:count], *others])
        return R.reshape(found, ())

    def step(*values: Value) -> list[Value]:
        found, after = call.importer.inlined(body, [*values[:count], *others], *values[count:])
        return [*_conforming(call, found), *_kept(state, after)]

    return _without_state(call, list(R.while_loop(goes_on, step, [*init, *state])))


@rule("higher_order::scan")
def scan(
    call: OpCall,
    combine: GraphModule,
    init: Sequence[Value],
    items: Sequence[Value],
    others: Sequence[Argument] = (),
) -> list[Value]:
    """Apply ``combine(*carried, *item)`` to each item along the first axis; its other results are stacked."""
    count = len(init)
    return _loop(call, combine, init, items, others, count)


@rule("higher_order::map_impl")
def map_(call: OpCall, body: GraphModule, items: Sequence[Value], others: Sequence[Argument] = ()) -> list[Value]:
    return _loop(call, body, [], items, others, 0)


def _loop(
    call: OpCall,
    body: GraphModule,
    init: Sequence[Value],
    items: Sequence[Value],
    others: Sequence[Argument],
    carried: int,
) -> list[Value]:
    """Emit a loop over the first axis of `items`; the results are the carried values, then stacked ones."""
    fakes = call.results
    size = call.importer.dim(call.node.args[2 if carried or len(call.node.args) > 3 else 1][0].meta["val"].shape[0])
    stacked = [R.zeros(call.importer.shape(f.shape), str(f.dtype).removeprefix("torch.")) for f in fakes[carried:]]
    state = _state(call, body)

    def step(place: Expr, *values: Value) -> list[Value]:
        index = R.prim_to_tensor(place)
        taken = [R.take(item, index, 0) for item in items]
        given = [*values[:carried], *taken, *others]
        found, after = call.importer.inlined(body, given, *values[len(fakes) :])
        kept = [call.importer.conforming(v, f) for v, f in zip(found[:carried], fakes, strict=False)]
        pairs = zip(values[carried : len(fakes)], found[carried:], strict=True)
        return [
            *kept,
            *(R.slice_scatter(whole, R.expand_dims(part, 0), place, place + 1) for whole, part in pairs),
            *_kept(state, after),
        ]

    first = [call.importer.conforming(v, f) for v, f in zip(init, fakes, strict=False)]
    return _without_state(call, list(R.for_loop(0, size, step, [*first, *stacked, *state])))
