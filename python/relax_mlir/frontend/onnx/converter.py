"""Convert an ONNX graph: nodes become ops, subgraphs become regions, functions are inlined."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ParseError,
    RelaxError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
)
from relax_mlir.frontend.onnx import folding, initializers
from relax_mlir.frontend.onnx.branches import DifferentRanksError, defined
from relax_mlir.frontend.onnx.function_bodies import function_body, with_attributes
from relax_mlir.frontend.onnx.items import (
    MAX_FOLDED,
    Item,
    OptionalItem,
    SequenceItem,
    TensorItem,
    of_array,
    of_value,
)
from relax_mlir.frontend.onnx.names import identifier
from relax_mlir.frontend.onnx.narrow import NARROW, refuse
from relax_mlir.frontend.onnx.node import Node, place_of
from relax_mlir.frontend.onnx.random_state import NumbersDrawnError, RandomState
from relax_mlir.frontend.onnx.registry import find_rule, normal_domain
from relax_mlir.frontend.onnx.scope import Scope
from relax_mlir.frontend.onnx.split_conditional import convert_split
from relax_mlir.frontend.onnx.used_names import needed_nodes, outer_names
from relax_mlir.symbolic import Dim, Expr

_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, AssertionError)
"""Exceptions that rules raise for malformed nodes."""


MOVES = frozenset(
    (
        *("Reshape", "Transpose", "Identity", "Unsqueeze", "Squeeze", "Flatten", "Expand", "Slice", "Concat"),
        *("Split", "Gather", "Tile", "DepthToSpace", "SpaceToDepth"),
    )
)
"""Ops that only move elements and therefore support any dtype."""
CONVERTS = frozenset(("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", "Shape", "Size"))
"""Ops that handle the narrow dtypes themselves."""


class Converter:
    """Converts the graphs of one model into the function under construction in `bb`."""

    def __init__(
        self,
        bb: BlockBuilder,
        arrays: initializers.Arrays,
        functions: Mapping[tuple[str, str], FunctionProto],
        state: Value | None = None,
    ) -> None:
        self.bb = bb
        self.arrays = arrays
        self._functions = functions
        self._random = None if state is None else RandomState(state)
        self._taken: set[str] = set()
        self._made: list[dict[int, tuple[TensorItem, Value]]] = [{}]
        self._count = 0
        self._reading: tuple[str, ...] = ()
        self.open_inputs: set[str] = set()
        """Inputs of the model, unknown at import, whose values became symbols or decide a branch."""

    # -- random numbers

    @property
    def random(self) -> RandomState:
        """The current state of random numbers. Raises `NumbersDrawnError` if the function has none."""
        if self._random is None:
            raise NumbersDrawnError
        return self._random

    def states(self, drawn: bool = True) -> list[Value]:
        """Return the current state of random numbers in a list; empty if the function has none, or if not `drawn`."""
        return [] if self._random is None or not drawn else [self._random.now]

    @contextlib.contextmanager
    def noting_draws(self, drawn: set[bool]) -> Iterator[None]:
        """Add to `drawn` True if code converted in the context draws random numbers, else False."""
        before = self.states()
        yield
        drawn.add(any(now is not then for now, then in zip(self.states(), before, strict=True)))

    # -- values and symbols

    def reserve(self, symbols: Iterable[str]) -> None:
        """Reserve the symbols of parameters, so that no fresh symbol gets their names."""
        self._taken.update(symbols)

    def fresh_symbol(self, hint: str = "u") -> str:
        number = 0
        while f"{hint}{number}" in self._taken:
            number += 1
        self._taken.add(f"{hint}{number}")
        return f"{hint}{number}"

    def value_of(self, item: TensorItem) -> Value:
        """Return the value of a tensor; a constant is emitted once per block."""
        if item.value is not None:
            return item.value
        for made in self._made:
            if id(item) in made:
                return made[id(item)][1]
        value = _materialized(item)
        self._made[-1][id(item)] = (item, value)
        return value

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Emit values in a separate block, such as a branch, within the context."""
        self._made.append({})
        kept = None if self._random is None else self._random.kept()
        try:
            yield
        finally:
            self._made.pop()
            if self._random is not None and kept is not None:
                self._random.restore(kept)

    def dims_of(self, vector: Value) -> list[Dim]:
        """Bind fresh symbols to the elements of an integer vector; a negative element is an error at run time."""
        self.leave_open()
        info = vector.tensor_info
        if info.shape is None or len(info.shape) > 1 or not all(isinstance(dim, int) for dim in info.shape):
            raise ShapeError(f"the number of dimensions is not known at import: they are a tensor {info}")
        if info.shape == ():
            vector, count = R.reshape(vector, (1,)), 1
        else:
            (count,) = info.shape  # type: ignore[assignment]  # an int, as has been checked
        if count == 0:
            return []
        if info.dtype is None or info.dtype.name != "int64":
            vector = R.astype(vector, "int64")
        names = [self.fresh_symbol() for _ in range(count)]
        R.match_shape(R.tensor_to_shape(vector), names)
        return [symbolic.symbol(name) for name in names]

    def leave_open(self) -> None:
        """Record that the current node depends on the values of inputs that are not known at import."""
        self.open_inputs.update(self._reading)

    def with_symbols(self, value: Value) -> Value:
        """Return `value` with fresh symbols for its unknown dimensions."""
        info = value.struct_info
        if not isinstance(info, Tensor) or info.shape is None or None not in info.shape:
            return value
        dims = [self.fresh_symbol() if dim is None else dim for dim in info.shape]
        return R.match_shape(value, dims)

    # -- graphs

    def bind_initializers(self, graph: GraphProto, scope: Scope) -> None:
        for tensor in graph.initializer:
            scope.bind(tensor.name, self.arrays.of_tensor(tensor))
        for sparse in graph.sparse_initializer:
            scope.bind(sparse.values.name, self.arrays.of_sparse(sparse))

    def convert_nodes(
        self,
        nodes: Sequence[NodeProto],
        outputs: Sequence[str],
        scope: Scope,
        opsets: dict[str, int],
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """Convert those of `nodes` that the `outputs` need; call `done` after each."""
        needed = needed_nodes(nodes, outputs)
        for number, node in enumerate(needed, 1):
            try:
                self._convert(node, scope, opsets)
                done()
            except DifferentRanksError:
                convert_split(self, node, needed[number:], outputs, scope, opsets)
                return

    def subgraph(
        self, graph: GraphProto, scope: Scope, opsets: dict[str, int], inputs: Sequence[Item | None] = ()
    ) -> list[Item]:
        """Convert a subgraph at the insertion point with its inputs bound to `inputs`; return its outputs."""
        inner = Scope(scope)
        for info, item in zip(graph.input, inputs, strict=True):
            inner.bind(info.name, item)
        self.bind_initializers(graph, inner)
        names = [info.name for info in graph.output]
        self.convert_nodes(graph.node, names, inner, opsets)
        return [defined(inner.find(name), name) for name in names]

    def _convert(self, proto: NodeProto, scope: Scope, opsets: dict[str, int]) -> None:
        place = place_of(proto)
        self._count += 1
        with located_at(place, self._count, 0):
            try:
                node = Node(proto, opsets, scope, self)
                self._reading = _sources(node)
                outputs = self._outputs(node)
                self.bind_outputs(node, outputs)
            except (ArgumentError, UnknownNameError) as error:  # the op's arguments come from the model
                raise ParseError(f"{place}: {error}") from error
            except RelaxError as error:
                raise _located(error, place) from error
            except _MALFORMED as error:
                raise ParseError(f"{place}: the node is not as ONNX defines it: {error}") from error

    def _outputs(self, node: Node) -> list[Any]:
        folded = folding.fold(node)
        if folded is not None:
            return folded
        narrow = [item.dtype for item in node.items if isinstance(item, TensorItem) and item.dtype in NARROW]
        rule = find_rule(node.proto.domain, node.op, node.opset)
        if narrow and node.op not in MOVES | CONVERTS:
            raise refuse(narrow[0], node.op)
        if rule is not None:
            result = rule(node)
            results = list(result) if isinstance(result, list | tuple) else [result]
            if narrow and node.op in MOVES:
                return [
                    TensorItem(narrow[0], output) if isinstance(output, Value) else output
                    for output in results
                ]
            return results
        body = function_body(node, self._functions)
        if body is None:
            raise UnsupportedError(f"there is no rule for {node.op} of opset {node.opset}")
        return self.expand(node, body)

    def expand(self, node: Node, body: FunctionProto) -> list[Any]:
        """Inline the function that defines a node's op; return the node's outputs."""
        inner = Scope()
        for name in body.input:
            inner.bind(name, None)
        for name, item, given in zip(body.input, node.items, node.proto.input, strict=False):
            inner.bind(name, item, node.scope.sources(given))
        opsets = dict(node.opsets) | {normal_domain(o.domain): o.version for o in body.opset_import}
        wanted = [name for name, out in zip(body.output, node.proto.output, strict=False) if out]
        nodes = [with_attributes(inside, node, body) for inside in body.node]
        self.convert_nodes(nodes, wanted, inner, opsets)
        return [inner.find(name) if name in wanted else None for name in body.output]

    def bind_outputs(self, node: Node, outputs: Sequence[Any]) -> None:
        """Bind the names of a node's outputs."""
        sources = _sources(node)
        if len(outputs) < len([name for name in node.proto.output if name]):
            raise ArgumentError(
                f"the node has {len(node.proto.output)} outputs, but the op has {len(outputs)}"
            )
        for name, output in zip(node.proto.output, outputs, strict=False):
            if name:
                node.scope.bind(name, self._item(output, name), sources)

    def _item(self, output: Any, name: str) -> Item | None:  # noqa: ANN401 - what rules return
        if output is None or isinstance(output, SequenceItem | OptionalItem):
            return output
        if isinstance(output, np.ndarray | np.generic):
            return of_array(np.asarray(output), name=name)
        if isinstance(output, TensorItem):
            if output.value is None:
                return TensorItem(output.dtype, None, output.known, output.name or name)
            return TensorItem(output.dtype, self.with_symbols(output.value), output.known)
        value = self.with_symbols(self.bb.emit(output, identifier(name)))
        return of_value(value)


def _sources(node: Node) -> tuple[str, ...]:
    """Return the inputs of the model that a node depends on."""
    read = [name for name in node.proto.input if name] + outer_names(node.proto)
    return tuple(dict.fromkeys(source for name in read for source in node.scope.sources(name)))


def _materialized(item: TensorItem) -> Value:
    """Emit the value of a tensor with known elements."""
    assert item.known is not None
    if not item.is_symbolic:
        array = np.ascontiguousarray(item.known).reshape(item.known.shape)
        return R.const(array, name=item.name)
    dims = [dim if isinstance(dim, Expr) else int(dim) for dim in item.known.reshape(-1)]
    if all(symbolic.prove_less_equal(0, dim) for dim in dims) and item.known.ndim == 1:
        value = R.shape_to_tensor(R.shape_expr(dims))
    else:
        numbers = [R.prim_to_tensor(R.prim_value(dim)) for dim in dims]
        parts = [R.reshape(number, (1,)) for number in numbers]
        value = R.reshape(R.concat(parts, 0), item.known.shape)
    return value if item.dtype == "int64" else R.astype(value, item.dtype)


def _located(error: RelaxError, place: str) -> RelaxError:
    """Prefix an error with the node; an error of a nested node names both."""
    text = f"{place}: {error}"
    if isinstance(error, ParseError | ShapeError | DTypeError | UnsupportedError) or type(error).__init__ in (
        RelaxError.__init__,
        Exception.__init__,
    ):
        located = type(error).__new__(type(error))
        located.__dict__.update(error.__dict__)
        located.args = (text,)
        return located
    return error


def is_small(arrays: Iterable[np.ndarray[Any, Any]]) -> bool:
    """True if arrays are small enough to be computed with at import."""
    return sum(array.size for array in arrays) <= MAX_FOLDED
