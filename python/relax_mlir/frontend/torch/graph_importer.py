"""Import one graph of functional ATen ops into the function under construction."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, CompileError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.frontend.torch import refused_ops
from relax_mlir.frontend.torch.custom_ops import call_custom, is_custom
from relax_mlir.frontend.torch.ignored import is_ignored
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.frontend.torch.registry import Rule, rules
from relax_mlir.frontend.torch.scalars import Scalars
from relax_mlir.frontend.torch.sizes import NoDimension, Sizes
from relax_mlir.frontend.torch.torch_arrays import dtype_name
from relax_mlir.frontend.torch.torch_mlir_fallback import TorchMlirFallback
from relax_mlir.frontend.torch.torch_types import Argument, FakeTensor, Graph, GraphModule, Node, Size
from relax_mlir.frontend.unsupported import UnsupportedOps
from relax_mlir.symbolic import Dim

_PLAIN = (ArgumentError, CompileError, DTypeError, ShapeError)
"""Errors that are constructed from a message alone."""
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class GraphImporter:
    """The state of the import of one function: the value of each node of torch's graph."""

    def __init__(
        self,
        builder: BlockBuilder,
        sizes: Sizes,
        unsupported: UnsupportedOps,
        extra: Mapping[str, Any] | None = None,
        values: Mapping[Any, Any] | None = None,
        fallback: TorchMlirFallback | None = None,
    ) -> None:
        self.builder = builder
        self.sizes = sizes
        self.unsupported = unsupported
        self.extra = dict(extra or {})
        """Users' rules, by op name."""
        self.fallback = fallback or TorchMlirFallback(builder, enabled=False)
        """The fallback for ops without a rule."""
        self.values: dict[Any, Any] = dict(values or {})
        """The value of each node, or a list for ops with several results."""
        self.scalars = Scalars(self)
        self.random_state: Value | None = None
        """The state for the next random numbers, if the function has one."""

    # -- sizes

    def dim(self, size: Size) -> Dim:
        """Convert a size to a dimension. A size without a symbolic expression is computed and gets a new symbol."""
        try:
            return self.sizes.dim(size)
        except NoDimension:
            return self.scalars.symbol(size)

    def shape(self, sizes: Size) -> list[Dim]:
        return [self.dim(size) for size in sizes]

    # -- the graph

    def run(
        self, graph: Graph, arguments: Sequence[Any] = (), done: Callable[[], None] = lambda: None
    ) -> Argument:
        """Emit all ops of a graph; return its result.

        Placeholders are bound to `arguments` unless they have values. `done` is called at each node.
        """
        waiting = iter(arguments)
        for node in graph.nodes:
            done()
            if node.op == "placeholder":
                given = next(waiting, None) if node not in self.values else None
                if given is not None:  # integers are part of the shapes
                    self.values[node] = given
            elif node.op == "output":
                return self.argument(node.args[0])
            elif node.op == "call_function":
                self._call(node)
        raise CompileError("a graph of torch has no output")

    def argument(self, item: Argument) -> Argument:
        """Convert an argument for rules: values, dimensions, lists of them, dtype names; anything else is unchanged."""
        if isinstance(item, list | tuple):
            return [self.argument(part) for part in item]
        if hasattr(item, "meta") and hasattr(item, "target"):
            if item in self.values:
                return self.values[item]
            value = item.meta.get("val")
            if value is None and item.op == "get_attr":
                return getattr(item.graph.owning_module, item.target)
            return self.scalars.number(value)
        kind = type(item).__name__
        if kind == "dtype":
            return dtype_name(item)
        return self.scalars.number(item) if kind in ("SymInt", "SymFloat", "SymBool") else item

    def _call(self, node: Node) -> None:
        if node.target is operator.getitem:
            whole = self.values.get(node.args[0])
            if isinstance(whole, list | tuple):
                self.values[node] = whole[node.args[1]]
                return
        if is_ignored(node):
            return
        with self._located(node):
            try:
                found = self._emitted(node)
                if found is not None:  # ops with only numbers as results are part of the shapes
                    self.values[node] = self._conforming(node, found)
            except UnsupportedError as error:
                self.unsupported.add(op_name(node), str(error), place_of(node))
                self.values[node] = self._stand_in(node)
            except RelaxError as error:
                where = place_of(node)
                kind = type(error) if type(error) in _PLAIN else CompileError
                raise kind(
                    f"importing {op_name(node)} ('{node.name}'{f' at {where}' if where else ''}): {error}"
                ) from error

    def _emitted(self, node: Node) -> Argument:
        name = op_name(node)
        call = OpCall(self, node)
        if name in self.extra:
            return self.extra[name](call, *map(self.argument, node.args), **_converted(self, node.kwargs))
        found = find_rule(node)
        if found is None and is_custom(node.target):
            return call_custom(call)
        try:
            if found is None:
                raise UnsupportedError(refused_ops.reason(name, node.meta.get("val")))
            args, keywords = self._bound(node)
            return found.function(call, *args, **{k: v for k, v in keywords.items() if k in found.keywords})
        except UnsupportedError as error:
            return self.fallback.call(call, name, _frame(node), str(error))

    def _bound(self, node: Node) -> tuple[list[Any], dict[str, Any]]:
        """Return positional arguments, defaults included, and keyword-only arguments."""
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            return [self.argument(item) for item in node.args], _converted(self, node.kwargs)
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        for index, parameter in enumerate(schema.arguments):
            if index < len(node.args):
                item = node.args[index]
            else:
                item = node.kwargs.get(parameter.name, parameter.default_value)
            if parameter.kwarg_only:
                keywords[parameter.name] = self.argument(item)
            else:
                args.append(self.argument(item))
        return args, keywords

    # -- results

    def inlined(
        self, graph_module: GraphModule, arguments: Sequence[Argument], state: Value | None = None
    ) -> tuple[list[Argument], Value | None]:
        """Emit the ops of a graph that control flow calls; return its results.

        `state` is that of random numbers; the new state is returned after the results.
        """
        inner = GraphImporter(self.builder, self.sizes, self.unsupported, self.extra, fallback=self.fallback)
        inner.scalars.known.update(self.scalars.known)
        inner.random_state = state
        found = inner.run(graph_module.graph, arguments)
        return list(found) if isinstance(found, list | tuple) else [found], inner.random_state

    def conforming(self, value: Argument, fake: FakeTensor) -> Argument:
        """Check a value against the shape and dtype that torch inferred."""
        return self._one(value, fake)

    def _conforming(self, node: Node, found: Argument) -> Argument:
        """Check a rule's results against torch's types; sizes not proved equal are compared at run time."""
        said = node.meta.get("val")
        if isinstance(found, list | tuple):
            said = said if isinstance(said, list | tuple) else [said]
            if len(found) != len(said):
                raise CompileError(f"{len(found)} results, but torch has {len(said)}")
            return [self._one(value, fake) for value, fake in zip(found, said, strict=True)]
        if isinstance(said, list | tuple) and isinstance(found, Value):
            return [self._one(R.tuple_get_item(found, i), fake) for i, fake in enumerate(said)]
        return self._one(found, said)

    def _one(self, value: Size, fake: FakeTensor) -> Argument:
        if not isinstance(value, Value) or not hasattr(fake, "shape"):
            return value
        info = value.struct_info
        if not isinstance(info, Tensor):
            return value
        dtype = dtype_name(fake.dtype)
        if info.dtype is None or info.dtype.name != dtype:
            raise CompileError(f"the result is {info}, but torch says {dtype}")
        shape = tuple(self.shape(fake.shape))
        if info.shape is None or len(info.shape) != len(shape):
            return R.match_shape(value, shape)
        pairs = zip(info.shape, shape, strict=True)
        if all(mine is not None and symbolic.prove_equal(mine, theirs) for mine, theirs in pairs):
            return value
        return R.match_shape(value, shape)

    def _stand_in(self, node: Node) -> Argument:
        """Return zeros in place of an unsupported op's results, so that the rest of the graph can be checked."""
        said = node.meta.get("val")
        if isinstance(said, list | tuple):
            return [self._zeros(fake) for fake in said]
        return self._zeros(said)

    def _zeros(self, fake: FakeTensor) -> Argument:
        if not hasattr(fake, "shape"):
            return None
        dtype = str(fake.dtype).removeprefix("torch.")
        return R.zeros(_known(self.sizes, fake.shape), dtype if dtype != "complex64" else "float32")

    @contextmanager
    def _located(self, node: Node) -> Iterator[None]:
        """Give ops emitted in the context the location of the user's source line."""
        place = _frame(node)
        if place is None:
            yield
            return
        with located_at(place[0], place[1], 0):
            yield


def find_rule(node: Node) -> Rule | None:
    """Return the rule for a node's op; None if there is none."""
    return rules().get(op_name(node))


def op_name(node: Node) -> str:
    """Return the name of a node's op: ``aten.add.Tensor``, ``cond``."""
    target = node.target
    if hasattr(target, "_schema"):
        return str(target)
    return str(getattr(target, "__name__", target))


def place_of(node: Node) -> str:
    """Return the user's source line of a node, ``model.py:12``; empty if torch does not know it."""
    place = _frame(node)
    return "" if place is None else f"{place[0]}:{place[1]}"


def _frame(node: Node) -> tuple[str, int] | None:
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    return (frames[-1]["file"], int(frames[-1]["line"])) if frames else None


def _converted(importer: GraphImporter, items: Mapping[str, Any]) -> dict[str, Any]:
    return {name: importer.argument(item) for name, item in items.items()}


def _known(sizes: Sizes, shape: Size) -> list[Dim]:
    """Return a shape in which 1 replaces dimensions that would have to be computed."""
    found: list[Dim] = []
    for size in shape:
        try:
            found.append(sizes.dim(size))
        except NoDimension:
            found.append(1)
    return found
