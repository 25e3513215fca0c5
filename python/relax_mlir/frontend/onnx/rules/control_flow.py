"""Conditionals, `Loop` and `Scan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from onnx import GraphProto

from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.frontend.onnx.converter import DifferentRanksError, common, flag, is_outer, loosened, probed
from relax_mlir.frontend.onnx.items import Item, TensorItem, elements, of_array, of_value
from relax_mlir.frontend.onnx.registry import Node, normal_axis, rule
from relax_mlir.symbolic import Dim, Expr

# Conditionals, whose branches may use names of enclosing graphs.


@rule("If")
def _if(node: Node) -> list[Item]:
    branches: tuple[GraphProto, GraphProto] = (node.required("then_branch"), node.required("else_branch"))
    known = node.known(0)
    if known is not None:
        taken = branches[0] if bool(known.reshape(-1)[0]) else branches[1]
        return node.converter.subgraph(taken, node.scope, node.opsets)
    node.converter.leave_open()
    drawn: set[bool] = set()
    found = [probed(node.converter, partial(_results, node, graph, drawn)) for graph in branches]
    if any(isinstance(info, str) for infos in found for info in infos):
        raise node.needs_value(0, "a branch gives a sequence or an optional, so that the value")
    if len(found[0]) != len(found[1]):
        raise ArgumentError(f"the branches have {len(found[0])} and {len(found[1])} outputs")
    if any(_rank(one) != _rank(other) for one, other in zip(*found, strict=True)):
        raise DifferentRanksError
    infos = [common(one, other) for one, other in zip(*found, strict=True)]

    def emit(graph: GraphProto) -> Value:
        with node.converter.block():
            values = [
                loosened(node.converter.value_of(item), info)
                for item, info in zip(_results(node, graph, drawn), infos, strict=True)
            ]
            return R.make_tuple(*values, *node.converter.states(any(drawn)))

    whole = R.if_then_else(flag(node, 0), lambda: emit(branches[0]), lambda: emit(branches[1]))
    if any(drawn):
        node.converter.random.now = R.tuple_get_item(whole, len(infos))
    results = (R.tuple_get_item(whole, number) for number in range(len(infos)))
    return [of_value(node.converter.with_symbols(value)) for value in results]


def _rank(info: Any) -> int | None:  # noqa: ANN401 - the struct info of a tensor
    return None if info.shape is None else len(info.shape)


def _results(node: Node, graph: GraphProto, drawn: set[bool]) -> list[Any]:
    """Convert a branch and return its results; `drawn` records random draws."""
    with node.converter.noting_draws(drawn):
        return node.converter.subgraph(graph, node.scope, node.opsets)


# `Loop` and `Scan`: loops of the program, unrolled if they carry sequences.


MAX_ROUNDS = 4096
"""The maximum number of iterations of a loop that is unrolled because it carries a sequence."""
MAX_ROWS = 2**24
"""A larger iteration bound is ignored; results then grow in each iteration."""


@dataclass
class _Body:
    """The body of a `Loop` or a `Scan`, with the number of its carried and collected values."""

    node: Node
    graph: GraphProto
    carried: int
    drawn: set[bool] = field(default_factory=set)
    """Contains True after conversion of an iteration that draws random numbers."""

    @property
    def collected(self) -> int:
        return len(self.graph.output) - 1 - self.carried

    def run(self, iteration: Item, condition: Item, carried: Sequence[Item]) -> list[Item]:
        return self.convert([iteration, condition, *carried])

    def convert(self, inputs: Sequence[Item]) -> list[Item]:
        """Convert the body for its inputs; return its outputs."""
        with self.node.converter.noting_draws(self.drawn):
            return self.node.converter.subgraph(self.graph, self.node.scope, self.node.opsets, inputs)

    def states(self) -> list[Value]:
        """Return the state of random numbers, the last carried value of a loop whose iterations draw any."""
        return self.node.converter.states(any(self.drawn))

    def begin(self, carried: tuple[Value, ...]) -> tuple[Value, ...]:
        """Enter an iteration: return the carried values without the state of random numbers, which becomes current."""
        if not any(self.drawn):
            return carried
        self.node.converter.random.begin(carried[-1])
        return carried[:-1]

    def end(self, carried: Sequence[Value]) -> list[Value]:
        """Leave the loop: return its results without the state of random numbers, which becomes current."""
        if not any(self.drawn):
            return list(carried)
        self.node.converter.random.now = carried[-1]
        return list(carried[:-1])


@rule("Loop")
def _loop(node: Node) -> list[Item]:
    graph: GraphProto = node.required("body")
    initial = [node.item(i) for i in range(2, len(node.items))]
    if len(graph.input) != 2 + len(initial):
        raise ArgumentError(f"the body has {len(graph.input)} inputs for {len(initial)} carried values")
    body = _Body(node, graph, len(initial))
    if not all(isinstance(item, TensorItem) for item in initial):
        return _unrolled(node, body, initial)
    start = node.known(1) if node.has(1) else np.asarray(True)
    values = [node.converter.value_of(item) for item in initial if isinstance(item, TensorItem)]
    infos = _fixed_point(body, [value.tensor_info for value in values])
    values = [loosened(value, info) for value, info in zip(values, infos, strict=True)]
    counts = node.has(0)
    limit = node.known(0) if counts else None
    if start is not None and bool(start.reshape(-1)[0]) and counts and _goes_on(body, infos):
        bound: Dim = _as_dim(limit.reshape(-1)[0]) if limit is not None else _trip_count(node)
        return _counted(body, bound, values, infos)
    return _while(body, limit, values, infos)


def _as_dim(number: Any) -> Dim:  # noqa: ANN401 - an element of an array of objects
    return number if isinstance(number, Expr) else max(int(number), 0)


def _trip_count(node: Node) -> Dim:
    """Return an iteration count that is unknown at import as a symbol; negative counts become 0."""
    count = R.maximum(R.reshape(R.astype(node.tensor(0), "int64"), (1,)), R.const(np.int64(0)))
    return node.converter.dims_of(count)[0]


def _placeholders(infos: Sequence[Tensor]) -> list[Value]:
    """Return values with given struct infos, for a body that is built only to determine its result types."""
    values = []
    for info in infos:
        assert info.shape is not None and info.dtype is not None
        dims = [0 if dim is None else dim for dim in info.shape]
        value = (
            R.full(dims, R.const(np.zeros((), info.dtype.numpy))) if dims else R.const(np.zeros((), info.dtype.numpy))
        )
        values.append(loosened(value, info))
    return values


def _probe(body: _Body, infos: Sequence[Tensor], seen: Callable[[list[Item]], None] = lambda _: None) -> list[Any]:
    """Return what an iteration yields for carried values of some struct infos: condition, carried, collected."""

    def emit() -> list[Item]:
        converter = body.node.converter
        carried = [of_value(converter.with_symbols(value)) for value in _placeholders(infos)]
        iteration = R.astype(R.const(np.int64(0)), "int64")
        condition = R.logical_not(R.const(False))
        results = body.run(of_value(iteration), of_value(condition), carried)
        seen(results)
        return results

    return probed(body.node.converter, emit)


def _fixed_point(body: _Body, infos: Sequence[Tensor]) -> list[Tensor]:
    """Return struct infos of the carried values that hold in every iteration; changing dimensions are unknown."""
    current = list(infos)
    for _ in range(1 + sum(info.ndim or 0 for info in infos)):
        results = _probe(body, current)[1 : 1 + body.carried]
        if any(isinstance(result, str) for result in results):
            raise UnsupportedError("a loop gives a sequence or an optional in the place of a tensor")
        merged = [_merged(old, new) for old, new in zip(current, results, strict=True)]
        if all(a.shape == b.shape for a, b in zip(merged, current, strict=True)):
            return merged
        current = merged
    return current


def _shaped(info: Tensor | str) -> Tensor:
    """Require that an iteration yields a tensor."""
    if isinstance(info, str):
        raise UnsupportedError(f"a round gives {info} in the place of a tensor")
    return info


def _merged(old: Tensor, new: Tensor) -> Tensor:
    both = common(old, new)
    assert both.shape is not None and old.shape is not None
    return Tensor(
        [None if wanted is None else dim for dim, wanted in zip(old.shape, both.shape, strict=True)],
        old.dtype,
    )


def _goes_on(body: _Body, infos: Sequence[Tensor]) -> bool:
    """True if the body never ends the loop: its condition is true, or its input condition."""
    name = body.graph.output[0].name
    producers = {output: inner for inner in body.graph.node for output in inner.output}
    while name in producers and producers[name].op_type == "Identity":
        name = producers[name].input[0]
    if name == body.graph.input[1].name:
        return True
    known: list[bool] = []

    def seen(results: list[Item]) -> None:
        condition = results[0]
        array = condition.known if isinstance(condition, TensorItem) else None
        known.append(array is not None and array.dtype == bool and bool(array.reshape(-1)[0]))

    _probe(body, infos, seen)
    return known[0]


def _collected_infos(body: _Body, infos: Sequence[Tensor]) -> list[Tensor]:
    """Return the struct infos of collected values; dimensions that only the iteration knows are unknown."""
    results = _probe(body, infos)[1 + body.carried :]
    found = []
    for info in results:
        if isinstance(info, str) or info.shape is None:
            raise UnsupportedError("a loop collects a sequence, or tensors of unknown rank")
        found.append(Tensor([dim if dim is not None and is_outer(dim) else None for dim in info.shape], info.dtype))
    return found


def _counted(body: _Body, bound: Dim, values: list[Value], infos: list[Tensor]) -> list[Item]:
    """Emit a loop with a fixed number of iterations."""
    converter = body.node.converter
    rows = [_Rows(body.node, info, bound) for info in _collected_infos(body, infos)]
    condition = of_array(np.asarray(True))

    def emit(i: Expr, *given: Value) -> tuple[Value, ...]:
        with converter.block():
            state = body.begin(given)
            carried = [of_value(converter.with_symbols(value)) for value in state[: body.carried]]
            number = TensorItem("int64", None, elements([i], ()))
            _, *results = body.run(number, condition, carried)
            fresh = [converter.value_of(_tensor(result)) for result in results]
            kept = [loosened(value, info) for value, info in zip(fresh[: body.carried], infos, strict=True)]
            written = [
                row.with_row(buffer, value, i)
                for row, buffer, value in zip(rows, state[body.carried :], fresh[body.carried :], strict=True)
            ]
            return (*kept, *written, *body.states())

    final = R.for_loop(0, bound, emit, [*values, *(row.empty() for row in rows), *body.states()])
    return [of_value(converter.with_symbols(value)) for value in body.end(final)]


def _while(body: _Body, limit: Any, values: list[Value], infos: list[Tensor]) -> list[Item]:  # noqa: ANN401 - a value or a dimension
    """Emit a loop with a condition and an optional iteration limit."""
    node, converter = body.node, body.node.converter
    bound = None if limit is None else _as_dim(limit.reshape(-1)[0])
    known = bound if isinstance(bound, Expr) or (bound is not None and bound <= MAX_ROWS) else None
    rows = [_Rows(node, info, known) for info in _collected_infos(body, infos)]
    most = flag(node, 0) if node.has(0) else None
    start = flag(node, 1) if node.has(1) else R.const(True)

    def goes_on(i: Value, condition: Value, *_: Value) -> Value:
        return condition if most is None else R.logical_and(condition, R.less(i, R.astype(most, "int64")))

    def emit(i: Value, condition: Value, *given: Value) -> tuple[Value, ...]:
        with converter.block():
            state = body.begin(given)
            carried = [of_value(converter.with_symbols(value)) for value in state[: body.carried]]
            results = body.run(of_value(i), of_value(condition), carried)
            fresh = [converter.value_of(_tensor(result)) for result in results]
            kept = [loosened(value, info) for value, info in zip(fresh[1 : 1 + body.carried], infos, strict=True)]
            place = converter.dims_of(i)[0] if rows and known is not None else 0
            written = [
                row.with_row(buffer, value, place)
                for row, buffer, value in zip(rows, state[body.carried :], fresh[1 + body.carried :], strict=True)
            ]
            following = R.add(i, R.const(np.int64(1)))
            return (following, R.reshape(fresh[0], ()), *kept, *written, *body.states())

    first = R.const(np.int64(0))
    initial = [first, start, *values, *(row.empty() for row in rows), *body.states()]
    count, _, *final = R.while_loop(goes_on, emit, initial)
    results = [converter.with_symbols(value) for value in body.end(final)]
    if rows and known is not None:
        (done,) = converter.dims_of(count)
        results[body.carried :] = [
            R.strided_slice(value, [0], [0], [done], assume_inbound=True) for value in results[body.carried :]
        ]
    return [of_value(converter.with_symbols(value)) for value in results]


def _tensor(item: Item) -> TensorItem:
    if not isinstance(item, TensorItem):
        raise UnsupportedError("a loop that only a call ends gives a sequence or an optional")
    return item


class _Rows:
    """A collected result: a buffer with a row per iteration.

    It grows if the number of iterations or the size of a row is unknown.
    """

    def __init__(self, node: Node, row: Tensor, count: Dim | None) -> None:
        assert row.shape is not None and row.dtype is not None
        self._node, self._row, self._dtype = node, row, row.dtype
        self._grows = count is None or None in row.shape
        self._dims: list[Dim] = [0 if dim is None else dim for dim in row.shape]
        self._count: Dim = 0 if count is None or self._grows else count

    def empty(self) -> Value:
        zero = R.const(np.zeros((), self._dtype.numpy))
        buffer = R.full([self._count, *self._dims], zero)
        return self._loose(buffer) if self._grows else buffer

    def _loose(self, buffer: Value) -> Value:
        assert self._row.shape is not None
        return R.match_shape(buffer, [None, *self._row.shape])

    def with_row(self, buffer: Value, row: Value, place: Dim) -> Value:
        shape = row.tensor_info.known_shape
        assert shape is not None
        if not self._grows:
            return R.slice_scatter(buffer, R.expand_dims(row, 0), place, place + 1)
        known = self._node.converter.with_symbols(buffer)
        seen = known.tensor_info.known_shape
        assert seen is not None
        first = [dim if wanted is None else wanted for dim, wanted in zip(shape, self._row.shape or (), strict=True)]
        before = R.reshape(known, [seen[0], *first]) if list(seen[1:]) != first else known
        return self._loose(R.concat([before, R.reshape(row, [1, *shape])], 0))


def _unrolled(node: Node, body: _Body, initial: Sequence[Item]) -> list[Item]:
    """Unroll a loop that carries sequences; its iterations must be known at import."""
    count = None
    if node.has(0):
        limit = node.known(0)
        if limit is None or limit.dtype == object:
            raise node.needs_value(0, "a loop that carries a sequence is unrolled, so that the value")
        count = int(limit.reshape(-1)[0])
    condition: Item = node.item(1) if node.has(1) else of_array(np.asarray(True))
    carried = list(initial)
    collected: list[list[Value]] = [[] for _ in range(body.collected)]
    rounds = 0
    while (count is None or rounds < count) and _is_true(node, condition):
        if rounds >= MAX_ROUNDS:
            raise UnsupportedError(f"a loop that carries a sequence has more than {MAX_ROUNDS} rounds")
        condition, *results = body.run(of_array(np.asarray(rounds, np.int64)), condition, carried)
        carried = list(results[: body.carried])
        for values, item in zip(collected, results[body.carried :], strict=True):
            values.append(node.converter.value_of(_tensor(item)))
        rounds += 1
    stacked = [_stacked(values) for values in collected]
    return [*carried, *stacked]


def _is_true(node: Node, condition: Item) -> bool:
    if isinstance(condition, TensorItem) and condition.known is not None and not condition.is_symbolic:
        return bool(condition.known.reshape(-1)[0])
    raise node.needs_value(1, "a loop that carries a sequence is unrolled, so that the condition")


def _stacked(values: list[Value]) -> Item:
    if not values:
        raise UnsupportedError("a loop that carries a sequence and has no rounds collects nothing of known shape")
    rows = [R.expand_dims(value, 0) for value in values]
    return of_value(rows[0] if len(rows) == 1 else R.concat(rows, 0))


@rule("Scan", since=9)
def _scan(node: Node) -> list[Item]:
    graph: GraphProto = node.required("body")
    count = node.required("num_scan_inputs")
    states = len(node.items) - count
    scanned = [node.tensor(i) for i in range(states, len(node.items))]
    return scan(node, graph, [node.tensor(i) for i in range(states)], scanned)


@rule("Scan", until=8)
def _scan_of_batch(node: Node) -> list[Item]:
    """Convert the form before opset 9, with the sequence lengths as an additional first input, and a batch axis."""
    graph: GraphProto = node.required("body")
    if node.has(0):
        raise node.unsupported("Scan of opset 8 with lengths of sequences")
    count = node.required("num_scan_inputs")
    states = len(node.items) - 1 - count
    batch = node.shape(1)[0]
    if not isinstance(batch, int):
        raise node.unsupported("Scan of opset 8 with a batch of symbolic size")
    results: list[list[Value]] = []
    for number in range(batch):
        parts = [
            R.squeeze(R.strided_slice(node.tensor(i), [0], [number], [number + 1]), [0])
            for i in range(1, len(node.items))
        ]
        items = scan(node, graph, parts[:states], parts[states:])
        results.append([node.converter.value_of(_tensor(item)) for item in items])
    return [_stacked(list(values)) for values in zip(*results, strict=True)]


def scan(node: Node, graph: GraphProto, states: list[Value], scanned: list[Value]) -> list[Item]:
    """Emit a loop over an axis of each of the scanned tensors."""
    converter = node.converter
    outputs = len(graph.output) - len(states)
    body = _Body(node, graph, len(states))
    axes = [
        normal_axis(axis, value.ndim or 0)
        for axis, value in zip(node.attr("scan_input_axes") or [0] * len(scanned), scanned, strict=True)
    ]
    backwards = node.attr("scan_input_directions") or [0] * len(scanned)
    shapes = [value.tensor_info.known_shape or () for value in scanned]
    length = shapes[0][axes[0]]

    def slices(place: Callable[[bool], Dim]) -> list[Item]:
        found: list[Item] = []
        for value, axis, direction in zip(scanned, axes, backwards, strict=True):
            at = place(bool(direction))
            part = R.strided_slice(value, [axis], [at], [at + 1], assume_inbound=True)
            found.append(of_value(R.squeeze(part, [axis])))
        return found

    def run(carried: Sequence[Item], place: Callable[[bool], Dim]) -> list[Item]:
        return body.convert([*carried, *slices(place)])

    probe = probed(converter, lambda: run([of_value(v) for v in states], lambda _: 0))
    infos = [value.tensor_info for value in states]
    kept = [_merged(old, _shaped(new)) for old, new in zip(infos, probe[: len(states)], strict=True)]
    rows = [_rows_of(node, info, length) for info in probe[len(states) :]]

    def emit(i: Expr, *given: Value) -> tuple[Value, ...]:
        with converter.block():
            state = body.begin(given)
            carried = [of_value(converter.with_symbols(value)) for value in state[: len(states)]]
            results = run(carried, lambda back: length - 1 - i if back else i)
            fresh = [converter.value_of(_tensor(item)) for item in results]
            held = [loosened(value, info) for value, info in zip(fresh[: len(states)], kept, strict=True)]
            directions = node.attr("scan_output_directions") or [0] * outputs
            written = [
                row.with_row(buffer, value, length - 1 - i if back else i)
                for row, buffer, value, back in zip(
                    rows, state[len(states) :], fresh[len(states) :], directions, strict=True
                )
            ]
            return (*held, *written, *body.states())

    start = [loosened(value, info) for value, info in zip(states, kept, strict=True)]
    initial = [*start, *(row.empty() for row in rows), *body.states()]
    final = body.end(R.for_loop(0, length, emit, initial))
    collected = [
        _moved(value, axis)
        for value, axis in zip(final[len(states) :], node.attr("scan_output_axes") or [0] * outputs, strict=True)
    ]
    return [of_value(converter.with_symbols(value)) for value in (*final[: len(states)], *collected)]


def _rows_of(node: Node, info: Tensor | str, length: Dim) -> _Rows:
    """The collected rows of a result of each round."""
    if isinstance(info, str) or info.shape is None or not all(d is not None and is_outer(d) for d in info.shape):
        raise UnsupportedError("a scan collects tensors whose shape only a round tells")
    return _Rows(node, info, length)


def _moved(value: Value, axis: int) -> Value:
    """Move the rows of a collected result to `axis`."""
    rank = value.ndim or 0
    axis = normal_axis(axis, rank)
    if axis == 0:
        return value
    order = list(range(1, rank))
    order.insert(axis, 0)
    return R.permute_dims(value, order)
