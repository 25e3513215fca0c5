"""Convert an ONNX graph: nodes become ops, subgraphs become regions, functions are inlined."""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto

from relax_mlir import op as R
from relax_mlir import symbolic, te
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.control import symbols_in_scope
from relax_mlir.dialects.effects import literal_format
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
from relax_mlir.frontend.onnx import folding, items
from relax_mlir.frontend.onnx.dtypes import CODES, NARROW, refuse
from relax_mlir.frontend.onnx.items import (
    MAX_FOLDED,
    Item,
    OptionalItem,
    Scope,
    SequenceItem,
    TensorItem,
    of_array,
    of_value,
)
from relax_mlir.frontend.onnx.registry import Node, find_rule, normal_domain, place_of
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim, Expr

# Convert ONNX names, which may be any string, to identifiers and symbols.


def identifier(name: str) -> str:
    """Return `name` with an underscore for each character that is not allowed in identifiers."""
    text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if text[0].isdigit():
        text = "_" + text
    return text + "_" if keyword.iskeyword(text) else text


def distinct(name: str, taken: set[str]) -> str:
    """Return `name` as an identifier that is not in `taken`, and add it to `taken`."""
    text = base = identifier(name)
    number = 1
    while text in taken:
        text, number = f"{base}_{number}", number + 1
    taken.add(text)
    return text


def parsed_dim(text: str) -> Dim | None:
    """Parse a ``dim_param`` as an expression (``"n"``, ``"past + n"``); return None if it is not one."""
    try:
        return symbolic.parse(text.strip())
    except RelaxError:
        return None


# The names that nodes and their subgraphs read, and the nodes that outputs need.


def needed_nodes(nodes: Sequence[NodeProto], outputs: Sequence[str]) -> list[NodeProto]:
    """Return the nodes that `outputs` depend on, in order. Nodes have no side effects, so the others may be dropped."""
    wanted = set(outputs)
    needed = []
    for node in reversed(nodes):
        if any(name in wanted for name in node.output if name):
            needed.append(node)
            wanted.update(name for name in node.input if name)
            wanted.update(outer_names(node))
    return needed[::-1]


def outer_names(node: NodeProto) -> list[str]:
    """Return the names of enclosing graphs that subgraphs of `node` read."""
    found: list[str] = []
    for graph in subgraphs(node):
        inner = {info.name for info in graph.input}
        inner.update(tensor.name for tensor in graph.initializer)
        inner.update(tensor.values.name for tensor in graph.sparse_initializer)
        for inside in graph.node:
            read = [*inside.input, *outer_names(inside)]
            found += [name for name in read if name and name not in inner]
            inner.update(inside.output)
        found += [info.name for info in graph.output if info.name not in inner]
    return list(dict.fromkeys(found))


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


# The state of random numbers during conversion, which draws use and update.


NAME = "generator"
"""The name of the parameter with the generator's state."""
_SEEDED = 0x4F4E4E58 << 32
"""Distinguishes keys derived from seeds from those of generators."""


class NumbersDrawnError(Exception):
    """The model draws random numbers, so its function needs a generator state."""


class RandomState:
    """The current state of a function, a branch or a loop iteration, and its initial state.

    Nodes with a seed have a separate generator, as in ONNX Runtime: its key is the seed, its counter that of the
    initial state. Their numbers are therefore independent of other nodes, and two nodes with the same seed draw equal
    numbers. Each draw also advances the counter of the current state, so that the next call or iteration draws other
    numbers.
    """

    def __init__(self, state: Value) -> None:
        self.now = state
        self._start = state

    def begin(self, state: Value) -> None:
        """Enter a loop iteration, which carries `state`."""
        self.now = self._start = state

    def kept(self) -> tuple[Value, Value]:
        return self.now, self._start

    def restore(self, kept: tuple[Value, Value]) -> None:
        """Restore the result of `kept`, for example after a branch."""
        self.now, self._start = kept

    def draw(self, bb: BlockBuilder, function: Callable[[Value], tuple[Value, Value]], seed: float | None) -> Value:
        """Draw numbers with `function`, which maps a state to numbers and the next state."""
        if seed is None:
            found, self.now = function(self.now)
            return found
        key = np.asarray([int(np.float64(seed).view(np.uint64)) ^ _SEEDED], np.uint64)
        own = R.concat([R.const(key), R.strided_slice(self._start, [0], [1], [3])], 0)
        found, after = function(own)
        self.now = bb.emit_te(_moved, self.now, own, after)
        return found


def _moved(state: Any, before: Any, after: Any) -> Any:  # noqa: ANN401 - tensors of te
    """Advance the counter of `state` by the difference between two other states."""
    none, one = te.const(0, "uint64"), te.const(1, "uint64")

    def word(i: Any) -> Any:  # noqa: ANN401 - expressions of te
        low = state[1] + after[1] - before[1]
        high = state[2] + te.select(low < state[1], one, none)
        return te.select(i < 1, state[0], te.select(i < 2, low, high))

    return te.compute((3,), word, name="moved")


# Functions of the model, and functions by which ONNX defines ops.


def function_body(node: Node, functions: Mapping[tuple[str, str], FunctionProto]) -> FunctionProto | None:
    """Return the function that defines a node's op, from the model or from ONNX's schema; None if there is none."""
    local = functions.get((normal_domain(node.proto.domain), node.op))
    return local if local is not None else _schema_body(node)


def _schema_body(node: Node) -> FunctionProto | None:
    schema = find_schema(node.proto.domain, node.op, node.opset)
    if schema is None:
        return None
    version = max(node.opset, schema.since_version)
    if schema.has_function:
        found = schema.get_function_with_opset_version(version)
        if found:
            return _parsed(found)
    if schema.has_context_dependent_function:
        types = [type_proto(item).SerializeToString() for item in node.items]
        found = schema.get_context_dependent_function_with_opset_version(version, node.proto.SerializeToString(), types)
        if found:
            return _parsed(found)
    return None


def has_function(domain: str, op: str, opset: int) -> bool:
    """True if ONNX defines an op by a function."""
    schema = find_schema(domain, op, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def find_schema(domain: str, op: str, opset: int) -> onnx.defs.OpSchema | None:
    """Return ONNX's definition of an op in an opset."""
    try:
        return onnx.defs.get_schema(op, opset, normal_domain(domain))
    except onnx.defs.SchemaError:
        return None


def _parsed(found: bytes | FunctionProto) -> FunctionProto:
    if isinstance(found, FunctionProto):
        return found
    body = FunctionProto()
    body.ParseFromString(found)
    return body


def type_proto(item: Item | None) -> TypeProto:
    """Return the ONNX type of an item."""
    result = TypeProto()
    if item is None:
        return result
    if isinstance(item, OptionalItem):
        result.optional_type.elem_type.CopyFrom(type_proto(item.item))
    elif isinstance(item, SequenceItem):
        result.sequence_type.elem_type.CopyFrom(type_proto(item.items[0] if item.items else None))
    else:
        result.tensor_type.elem_type = CODES[item.dtype]
        if item.shape is not None:
            result.tensor_type.shape.SetInParent()
            for dim in item.shape:
                entry = result.tensor_type.shape.dim.add()
                if isinstance(dim, Expr):
                    entry.dim_param = str(dim)
                elif dim is not None:
                    entry.dim_value = dim
    return result


def with_attributes(inside: NodeProto, node: Node, body: FunctionProto) -> NodeProto:
    """Return a node of a function with attribute references replaced by the caller's attributes."""
    if not _has_references(inside):
        return inside
    defaults = {attribute.name: attribute for attribute in body.attribute_proto}
    schema = find_schema(node.proto.domain, node.op, node.opset)
    result = NodeProto()
    result.CopyFrom(inside)
    _substitute(result, node, defaults, schema)
    return result


def _has_references(node: NodeProto) -> bool:
    return any(
        attribute.ref_attr_name or any(_has_references(n) for g in _graphs(attribute) for n in g.node)
        for attribute in node.attribute
    )


def _graphs(attribute: AttributeProto) -> list[onnx.GraphProto]:
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def _substitute(
    inside: NodeProto, node: Node, defaults: Mapping[str, AttributeProto], schema: onnx.defs.OpSchema | None
) -> None:
    kept = []
    for attribute in inside.attribute:
        for graph in _graphs(attribute):
            for nested in graph.node:
                _substitute(nested, node, defaults, schema)
        if not attribute.ref_attr_name:
            kept.append(attribute)
            continue
        given = node.attr_proto(attribute.ref_attr_name) or defaults.get(attribute.ref_attr_name)
        if given is None and schema is not None and attribute.ref_attr_name in schema.attributes:
            default = schema.attributes[attribute.ref_attr_name].default_value
            given = default if default.type != AttributeProto.UNDEFINED else None
        if given is not None:
            copy = AttributeProto()
            copy.CopyFrom(given)
            copy.name = attribute.name
            kept.append(copy)
    copies = [AttributeProto() for _ in kept]
    for copy, attribute in zip(copies, kept, strict=True):
        copy.CopyFrom(attribute)
    del inside.attribute[:]
    inside.attribute.extend(copies)


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
        arrays: items.Arrays,
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
                return [TensorItem(narrow[0], output) if isinstance(output, Value) else output for output in results]
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
            raise ArgumentError(f"the node has {len(node.proto.output)} outputs, but the op has {len(outputs)}")
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


# Results of branches of conditionals and loops, and their common type.


# Shared code of conditionals and loops: results of branches, and their common type.


def flag(node: Node, index: int) -> Value:
    """Return input `index`, a bool of one element, as a tensor of rank 0."""
    return R.reshape(node.tensor(index), ()) if node.rank(index) else node.tensor(index)


class DifferentRanksError(Exception):
    """The branches of an `If` yield tensors of different ranks, so each must contain the rest of the graph."""


class _Probed(Exception):
    """Leaves a branch that is built only to determine its result types."""


def probed(converter: Converter, emit: Callable[[], Sequence[Item]]) -> list[Tensor | str]:
    """Return the struct infos of the tensors that `emit` yields, or the kinds of other items. No emitted op remains."""
    found: list[Tensor | str] = []

    def branch() -> Value:
        with converter.block():
            for item in emit():
                found.append(
                    converter.value_of(item).tensor_info
                    if isinstance(item, TensorItem)
                    else "a sequence"
                    if isinstance(item, SequenceItem)
                    else "an optional"
                )
        raise _Probed

    with contextlib.suppress(_Probed):
        R.if_then_else(R.const(True), branch, branch)
    return found


def common(one: Any, other: Any) -> Tensor:  # noqa: ANN401 - struct infos of tensors
    """Return the common type of two tensors; dimensions that differ, or that only a branch knows, are unknown."""
    if one.dtype != other.dtype:
        raise DTypeError(f"a value is {one} here and {other} there: the dtypes differ")
    if one.shape is None or other.shape is None or len(one.shape) != len(other.shape):
        raise UnsupportedError(f"a value is {one} here and {other} there: different ranks are not supported")
    return Tensor(
        [
            a if a is not None and b is not None and is_outer(a) and symbolic.prove_equal(a, b) else None
            for a, b in zip(one.shape, other.shape, strict=True)
        ],
        one.dtype,
    )


def defined(item: Item | None, name: str) -> Item:
    """Return an output of a subgraph, which must have a value."""
    if item is None:
        raise ParseError(f"the output '{name}' of a subgraph has no value")
    return item


def is_outer(dim: Dim) -> bool:
    """True if a dimension is valid outside of the block; symbols defined in the block are not."""
    return isinstance(dim, int) or all(name in _outer_symbols() for name in symbolic.symbols(dim))


def _outer_symbols() -> set[str]:
    """The symbols in scope at the insertion point."""
    return symbols_in_scope(ir.InsertionPoint.current.block)


def loosened(value: Value, info: Tensor) -> Value:
    """Return the value with the less precise type `info`."""
    assert info.shape is not None
    return value if value.tensor_info.shape == info.shape else R.match_shape(value, list(info.shape))


# Conditionals whose branches yield tensors of different ranks: the rest of the graph is converted in both branches.
#
# PyTorch's exporter emits ``squeeze`` as such an `If`. Often one of the ranks is invalid for the rest of the graph. The
# rest is then converted once, and each call checks the condition.


def convert_split(
    converter: Converter,
    proto: NodeProto,
    rest: Sequence[NodeProto],
    outputs: Sequence[str],
    scope: Scope,
    opsets: dict[str, int],
) -> None:
    """Convert the conditional `proto` and the nodes after it, and bind `outputs` in `scope`."""
    node = Node(proto, opsets, scope, converter)
    graphs: tuple[GraphProto, GraphProto] = (node.required("then_branch"), node.required("else_branch"))

    drawn: set[bool] = set()

    def whole(graph: GraphProto) -> list[Item]:
        inner = Scope(scope)
        with converter.noting_draws(drawn):
            converter.bind_outputs(Node(proto, opsets, inner, converter), converter.subgraph(graph, inner, opsets))
            converter.convert_nodes(rest, outputs, inner, opsets)
        return [defined(inner.find(name), name) for name in outputs]

    found: list[list[Tensor | str]] = []
    errors: list[RelaxError | None] = []
    for graph in graphs:
        try:
            found.append(probed(converter, partial(whole, graph)))
            errors.append(None)
        except (ParseError, ShapeError, DTypeError) as error:
            errors.append(error)
    if errors[0] is not None and errors[1] is not None:
        raise errors[0]
    for reason, wanted in zip(errors, (False, True), strict=True):
        if reason is not None:
            _check(node, wanted, reason)
            converter.bind_outputs(node, converter.subgraph(graphs[0 if wanted else 1], scope, opsets))
            converter.convert_nodes(rest, outputs, scope, opsets)
            return
    if any(isinstance(info, str) for infos in found for info in infos):
        raise node.needs_value(0, "what follows gives a sequence or an optional, so that the value")
    infos = [common(one, other) for one, other in zip(*found, strict=True)]

    def emit(graph: GraphProto) -> Value:
        with converter.block():
            items = [item for item in whole(graph) if isinstance(item, TensorItem)]
            return R.make_tuple(
                *(loosened(converter.value_of(item), info) for item, info in zip(items, infos, strict=True)),
                *converter.states(any(drawn)),
            )

    together = R.if_then_else(flag(node, 0), lambda: emit(graphs[0]), lambda: emit(graphs[1]))
    if any(drawn):
        converter.random.now = R.tuple_get_item(together, len(outputs))
    for number, name in enumerate(outputs):
        scope.bind(name, of_value(converter.with_symbols(R.tuple_get_item(together, number))))


def _check(node: Node, wanted: bool, error: RelaxError) -> None:
    """Emit a check that the condition is `wanted`, since the other branch leads to an error."""
    condition = flag(node, 0) if wanted else R.logical_not(flag(node, 0))
    found = "false" if wanted else "true"
    message = f"{place_of(node.proto)}: the condition is {found}, and then {error}"
    R.assert_op(condition, format=literal_format(message))
