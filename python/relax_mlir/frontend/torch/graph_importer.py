"""Import one graph of functional ATen ops into the function under construction."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import tvm_ffi

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, CompileError, DTypeError, RelaxError, ShapeError, UnsupportedError
from relax_mlir.frontend.common import UnsupportedOps
from relax_mlir.frontend.torch import registry
from relax_mlir.frontend.torch.registry import CHANGES, OpCall, Rule, is_ignored, rules
from relax_mlir.frontend.torch.sizes import NoDimension, Sizes, tensor_info
from relax_mlir.frontend.torch.torch_mlir_fallback import TorchMlirFallback
from relax_mlir.frontend.torch.torch_types import (
    Argument,
    FakeTensor,
    Graph,
    GraphModule,
    Node,
    Size,
    SymPy,
    dtype_name,
)
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.registry import OpCall


# Users' ops (`torch.library`), imported as packed functions that run the op in PyTorch.


PREFIX = "relax_mlir.torch"
"""The prefix of packed function names, as in ``relax_mlir.torch.mylib.scale.0``."""

_OWN = (
    *("aten", "prims", "prim", "higher_order", "_c10d_functional", "c10d", "quantized"),
    "quantized_decomposed",
)
"""Namespaces of torch itself, whose ops have rules or are unsupported."""
_numbers = itertools.count()


def is_custom(target: Argument) -> bool:
    """True if an op comes from users or from a library other than torch."""
    schema = getattr(target, "_schema", None)
    return schema is not None and schema.name.partition("::")[0] not in _OWN


def call_custom(call: OpCall) -> Value:
    """Call the op in torch, on the memory of the tensors.

    The packed function exists only in this process, so the module can run here but cannot be exported.

    Raises:
        UnsupportedError: the op changes its arguments, or returns something other than tensors.
    """
    target = call.node.target
    schema = target._schema
    if schema.is_mutable:
        raise UnsupportedError(CHANGES)
    fakes = call.results
    if not fakes or not all(hasattr(fake, "shape") for fake in fakes):
        raise UnsupportedError("an op of users that returns something else than tensors")
    template = call.importer.argument([*call.node.args, *call.node.kwargs.values()])
    given: list[Value] = []
    pattern = _pattern(template, given)
    name = f"{PREFIX}.{schema.name.replace('::', '.')}.{next(_numbers)}"
    tvm_ffi.register_global_func(
        name, _function(target, pattern, len(call.node.args), tuple(call.node.kwargs)), override=True
    )
    infos = [_known_info(tensor_info(fake, call.importer.sizes), call) for fake in fakes]
    return R.call_pure_packed(name, *given, out=infos[0] if len(infos) == 1 else Tuple(infos))


def _known_info(info: Tensor, call: OpCall) -> Tensor:
    """Return the struct info of a result without dimensions that only the op itself determines."""
    dims = [
        None if isinstance(d, Expr) and any(n.startswith("u") for n in _symbols(d)) else d for d in info.shape or ()
    ]
    return Tensor(dims, info.dtype)


def _symbols(dim: Expr) -> Sequence[str]:
    from relax_mlir.symbolic import symbols

    return list(symbols(dim))


class _Given:
    """A placeholder for an argument that the compiled program passes."""


def _pattern(item: Argument, given: list[Value]) -> Argument:
    """Replace tensors and symbolic integers in arguments by `_Given`, and append them to `given`."""
    if isinstance(item, list | tuple):
        return [_pattern(part, given) for part in item]
    if isinstance(item, Expr):
        item = R.prim_value(item)
    if isinstance(item, Value):
        given.append(item)
        return _Given
    return item


def _function(target: Argument, pattern: Argument, count: int, names: Sequence[str]) -> Any:  # noqa: ANN401 - a function
    """Return a packed function that inserts tensors into the pattern and calls the op."""

    def run(*values: Argument) -> Argument:
        import torch

        waiting = iter(values)

        def filled(item: Argument) -> Argument:
            if isinstance(item, list):
                return [filled(part) for part in item]
            if item is not _Given:
                return item
            value = next(waiting)
            return torch.from_dlpack(value) if hasattr(value, "__dlpack__") else value

        items = [filled(item) for item in pattern]
        with torch.no_grad():
            found = target(*items[:count], **dict(zip(names, items[count:], strict=True)))
        if isinstance(found, tuple | list):
            return tuple(tvm_ffi.from_dlpack(tensor.contiguous()) for tensor in found)
        return tvm_ffi.from_dlpack(found.contiguous())

    return run


# Numbers that depend on sizes but are no dimensions: they are computed with tensors of rank 0.


_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "IntTrueDiv": R.divide,
    "FloatTrueDiv": R.divide,
    "FloatPow": R.power,
    "Pow": R.power,
    "PowByNatural": R.power,
    "FloorDiv": R.floor_divide,
    "Mod": R.floor_mod,
    "PythonMod": R.floor_mod,
}
_FOLDED: dict[str, Callable[[Value, Value], Value]] = {
    "Add": R.add,
    "Mul": R.multiply,
    "Max": R.maximum,
    "Min": R.minimum,
}
_UNARY: dict[str, Callable[[Value], Value]] = {
    "ToFloat": lambda x: x,
    "Identity": lambda x: x,
    "CeilToInt": R.ceil,
    "FloorToInt": R.floor,
    "TruncToInt": R.trunc,
    "TruncToFloat": R.trunc,
    "RoundToInt": R.round,
    "OpaqueUnaryFn_sqrt": R.sqrt,
    "OpaqueUnaryFn_exp": R.exp,
    "OpaqueUnaryFn_cos": R.cos,
    "OpaqueUnaryFn_sin": R.sin,
    "OpaqueUnaryFn_tanh": R.tanh,
    "OpaqueUnaryFn_log2": lambda x: R.divide(R.log(x), R.log(R.const(2.0, "float64"))),
    "Abs": R.abs,
}
_KNOWN = (*_UNARY, *_BINARY, *_FOLDED)
_RELATIONS = {
    "Equality": "equal",
    "Eq": "equal",
    "Unequality": "not_equal",
    "Ne": "not_equal",
    "StrictLessThan": "less",
    "LessThan": "less_equal",
    "StrictGreaterThan": "greater",
    "GreaterThan": "greater_equal",
}


class Scalars:
    """Symbolic numbers of one graph: dimensions if possible, else tensors of rank 0."""

    def __init__(self, importer: GraphImporter) -> None:
        self._importer = importer
        self.known: dict[str, Value] = {}
        """The tensors of rank 0 for torch's symbols of floats and bools that the program computes."""
        self._computed: dict[str, Dim] = {}

    def number(self, value: Size) -> Argument:
        """Convert a number for rules: an int, float or bool, a dimension, or a tensor of rank 0."""
        kind = type(value).__name__
        if kind == "SymInt":
            return self._importer.dim(value)
        if kind == "SymFloat":
            expression = value.node.expr
            return float(expression) if expression.is_number else self.compute(expression)
        return self.flag(value.node.expr) if kind == "SymBool" else value

    def symbol(self, value: Size) -> Dim:
        """Return a symbol for a size computed at run time, one per expression."""
        expression = value.node.expr if hasattr(value, "node") else value
        text = str(expression)
        if text not in self._computed:
            self._computed[text] = self.bind(R.astype(self.compute(expression), "int64"))
        return self._computed[text]

    def bind(self, number: Value, name: str | None = None) -> Expr:
        """Bind a symbol to an integer tensor of rank 0; a negative value is an error at run time."""
        chosen = name or fresh_symbols(1)[0]
        flat = R.reshape(number if number.dtype == "int64" else R.astype(number, "int64"), (1,))
        R.match_shape(R.tensor_to_shape(flat), (chosen,))
        return symbolic.symbol(chosen)

    def compute(self, expression: SymPy) -> Value:
        """Emit an expression as a float64 tensor of rank 0. Raises `UnsupportedError`."""
        name = type(expression).__name__
        if expression.is_number:
            return R.const(float(expression), "float64")
        if expression.is_Symbol and str(expression) in self.known:
            return R.astype(self.known[str(expression)], "float64")
        if name not in _KNOWN or expression.is_integer:
            try:
                return R.astype(R.prim_to_tensor(self._importer.sizes.expression(expression)), "float64")
            except NoDimension as error:
                if name not in _KNOWN:
                    raise UnsupportedError(f"the size or number '{expression}': {error}") from None
        parts = [self.compute(part) for part in expression.args]
        if name in _UNARY:
            return _UNARY[name](parts[0])
        if name in _BINARY:
            return _BINARY[name](*parts)
        total = parts[0]
        for part in parts[1:]:
            total = _FOLDED[name](total, part)
        return total

    def flag(self, expression: SymPy) -> Argument:
        """Evaluate a condition on sizes to a bool, or emit it. Raises `UnsupportedError`."""
        from relax_mlir.dialects.structure import compare

        name = type(expression).__name__
        if str(expression) in ("True", "False"):
            return str(expression) == "True"
        if name in ("And", "Or"):
            combine = R.logical_and if name == "And" else R.logical_or
            parts = [self._flag_tensor(part) for part in expression.args]
            total = parts[0]
            for part in parts[1:]:
                total = combine(total, part)
            return total
        if name == "Not":
            return R.logical_not(self._flag_tensor(expression.args[0]))
        if expression.is_Symbol and str(expression) in self.known:
            return self.known[str(expression)]
        if name not in _RELATIONS:
            raise UnsupportedError(f"the condition '{expression}' on sizes")
        relation = _RELATIONS[name]
        try:
            left, right = (self._importer.sizes.expression(part) for part in expression.args)
            return compare(relation, left, right)
        except NoDimension:
            return getattr(R, relation)(*(self.compute(part) for part in expression.args))

    def _flag_tensor(self, expression: SymPy) -> Value:
        found = self.flag(expression)
        return found if isinstance(found, Value) else R.const(found, "bool")


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

    def run(self, graph: Graph, arguments: Sequence[Any] = (), done: Callable[[], None] = lambda: None) -> Argument:
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
                raise UnsupportedError(registry.reason(name, node.meta.get("val")))
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
