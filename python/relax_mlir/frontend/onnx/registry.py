"""Conversion rules of ONNX ops, by domain, name and opset; nodes and operands as the rules see them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, numpy_helper

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError
from relax_mlir.frontend.onnx import dtypes
from relax_mlir.frontend.onnx import rules as rule_modules
from relax_mlir.frontend.onnx.items import Item, OptionalItem, SequenceItem, TensorItem
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.builder import BlockBuilder
    from relax_mlir.frontend.onnx.converter import Converter
    from relax_mlir.frontend.onnx.items import Scope


# Conversion rules of ONNX ops, by domain, name and opset.


Rule = Callable[["Node"], Any]
"""Emits the ops of a node and returns its outputs: values, items or arrays of known elements, one or a list."""


@dataclass(frozen=True)
class _Entry:
    since: int
    until: int
    rule: Rule


_rules: dict[tuple[str, str], list[_Entry]] = {}


def rule(*names: str, since: int = 1, until: int = 10**6, domain: str = "") -> Callable[[Rule], Rule]:
    """Register the rule of ops for the opsets from `since` to `until`, inclusive."""

    def register(function: Rule) -> Rule:
        for name in names:
            _rules.setdefault((domain, name), []).append(_Entry(since, until, function))
        return function

    return register


@cache
def load_rules() -> None:
    """Import the rule modules, which register their rules."""
    for _, family, _ in pkgutil.iter_modules(rule_modules.__path__):
        importlib.import_module(f"relax_mlir.frontend.onnx.rules.{family}")


def find_rule(domain: str, name: str, opset: int) -> Rule | None:
    """Return the rule of an op in an opset; None if there is none."""
    load_rules()
    for entry in _rules.get((normal_domain(domain), name), ()):
        if entry.since <= opset <= entry.until:
            return entry.rule
    return None


def normal_domain(domain: str) -> str:
    """Normalise the domain: ONNX's own domain has two names."""
    return "" if domain == "ai.onnx" else domain


# A node as rules see it: attributes, operands, and known elements.


class ValueNeededError(UnsupportedError):
    """The program depends on elements of a tensor that are not known at import.

    `inputs` are the names of the model inputs from which they are computed.
    """

    def __init__(self, message: str, inputs: Sequence[str]) -> None:
        super().__init__(message)
        self.inputs = tuple(inputs)


class Node:
    """One node of a graph during conversion."""

    def __init__(self, proto: NodeProto, opsets: dict[str, int], scope: Scope, converter: Converter) -> None:
        self.proto = proto
        self.opsets = opsets
        self.scope = scope
        self.converter = converter
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self.items: list[Item | None] = [scope.find(name) if name else None for name in proto.input]

    @property
    def op(self) -> str:
        return str(self.proto.op_type)

    @property
    def opset(self) -> int:
        """The opset of the node's domain."""
        return self.opsets[normal_domain(self.proto.domain)]

    @property
    def bb(self) -> BlockBuilder:
        return self.converter.bb

    @property
    def place(self) -> str:
        """The name of the node in messages."""
        return place_of(self.proto)

    # -- attributes

    def attr(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - attributes have many types
        """Return the attribute `name`: a number, a string, a list, an array or a graph; `default` if it is missing."""
        if name not in self._attributes:
            return default
        attribute = self._attributes[name]
        if attribute.type == AttributeProto.TENSOR:
            return numpy_helper.to_array(attribute.t)
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
            return list(value)
        return value

    def required(self, name: str) -> Any:  # noqa: ANN401 - see attr
        """Return the attribute `name`, which must be present."""
        if name not in self._attributes:
            raise ArgumentError(f"the attribute '{name}' is missing")
        return self.attr(name)

    def attr_proto(self, name: str) -> AttributeProto | None:
        return self._attributes.get(name)

    # -- operands

    def has(self, index: int) -> bool:
        """True if input `index` is given."""
        return index < len(self.items) and self.items[index] is not None

    def item(self, index: int) -> Item:
        if not self.has(index):
            raise ArgumentError(f"input {index} is missing")
        found = self.items[index]
        assert found is not None
        return found

    def tensor_item(self, index: int) -> TensorItem:
        """Return input `index`, which must be a tensor or an optional that contains one."""
        found = self.item(index)
        if isinstance(found, OptionalItem) and found.item is not None:
            found = found.item
        if not isinstance(found, TensorItem):
            kind = "a sequence" if isinstance(found, SequenceItem) else "an empty optional"
            raise ArgumentError(f"input {index} is {kind}, expected a tensor")
        return found

    def sequence(self, index: int) -> SequenceItem:
        found = self.item(index)
        if isinstance(found, OptionalItem) and found.item is not None:
            found = found.item
        if not isinstance(found, SequenceItem):
            raise ArgumentError(f"input {index} is no sequence")
        return found

    def tensor(self, index: int) -> Value:
        """Return the value of input `index`."""
        return self.converter.value_of(self.tensor_item(index))

    def maybe(self, index: int) -> Value | None:
        """Return the value of input `index`; None if it is not given."""
        return self.tensor(index) if self.has(index) else None

    @property
    def tensors(self) -> list[Value]:
        return [self.tensor(index) for index in range(len(self.items))]

    def dtype(self, index: int = 0) -> str:
        return self.tensor_item(index).dtype

    def shape(self, index: int = 0) -> tuple[Dim, ...]:
        """Return the dimensions of input `index`, which are integers or symbolic."""
        shape = self.tensor_item(index).shape
        if shape is None or any(dim is None for dim in shape):
            raise ShapeError(f"the shape of input {index}, {shape}, is not known at import")
        return tuple(dim for dim in shape if dim is not None)

    def rank(self, index: int = 0) -> int:
        return len(self.shape(index))

    def axis(self, name: str = "axis", default: int = 0, index: int = 0) -> int:
        """Return the attribute `name` as a non-negative axis of input `index`."""
        return normal_axis(self.attr(name, default), self.rank(index))

    # -- known elements

    def known(self, index: int) -> np.ndarray[Any, Any] | None:
        """Return the elements of input `index` if they are known or symbolic."""
        return self.tensor_item(index).known if self.has(index) else None

    def constant(self, index: int) -> np.ndarray[Any, Any]:
        """Return the elements of input `index`, which must be numbers known at import."""
        item = self.tensor_item(index)
        if item.known is None or item.is_symbolic:
            raise self.needs_value(index, "the elements")
        return item.known

    def needs_value(self, index: int, what: str) -> ValueNeededError:
        """Return the error for an input whose elements must be known."""
        name = self.proto.input[index]
        sources = self.scope.sources(name)
        hint = (
            f"give the values of {', '.join(map(repr, sources))} as from_onnx(..., fixed={{name: value}})"
            if sources
            else "make them constants of the model"
        )
        return ValueNeededError(f"{what} of '{name}' (input {index}) must be known at import: {hint}", sources)

    def integers(self, index: int) -> list[int]:
        """Return input `index` as a list of integers known at import."""
        return [int(number) for number in self.constant(index).reshape(-1)]

    def scalar(self, index: int) -> Any:  # noqa: ANN401 - a number of the input's dtype
        """Return input `index`, a constant of one element, as a Python number."""
        array = self.constant(index)
        if array.size != 1:
            raise ShapeError(f"input {index} has {array.size} elements, expected one")
        return array.reshape(-1)[0].item()

    def dims(self, index: int) -> list[Dim]:
        """Return input `index`, a vector of non-negative integers, as dimensions.

        Elements that are unknown at import become symbols.
        """
        item = self.tensor_item(index)
        if item.known is not None:
            return [dim if isinstance(dim, Expr) else int(dim) for dim in item.known.reshape(-1)]
        return self.converter.dims_of(self.tensor(index))

    # -- emitting

    def te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as emit_te
        """Call a prim func generated from a tensor expression."""
        return self.bb.emit_te(function, *args, **kwargs)

    def const(self, number: Any, dtype: str | None = None, like: int = 0) -> Value:  # noqa: ANN401 - a number or array
        """Return a constant of `dtype`, by default that of input `like`."""
        return constant(number, dtype or self.dtype(like))

    def unsupported(self, what: str) -> UnsupportedError:
        """Return the error for an unsupported variant of the op."""
        return UnsupportedError(f"{what} is not supported")


def constant(number: Any, dtype: str) -> Value:  # noqa: ANN401 - a number or an array
    """Return a constant of `dtype`."""
    return R.const(np.asarray(number).astype(dtypes.numpy_dtype(dtype)))


def normal_axis(axis: int, rank: int) -> int:
    """Return `axis` as a non-negative integer. Raises `ShapeError` if it is out of range for `rank`."""
    if not -rank <= axis < max(rank, 1):
        raise ShapeError(f"axis {axis} is none of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def place_of(proto: NodeProto) -> str:
    """Return the name of a node in messages: its own, else its outputs'."""
    name = f"'{proto.name}'" if proto.name else f"of output '{next(iter(proto.output), '')}'"
    domain = normal_domain(proto.domain)
    return f"node {name} ({domain + '.' if domain else ''}{proto.op_type})"


# Operands whose dimensions must match, which ONNX checks only at run time.


def aligned(values: Sequence[Value]) -> list[Value]:
    """Return the values with dimensions that provably broadcast.

    Two different symbols, neither of which is known to be 1, are assumed to be equal. A call with different sizes for
    them is an error.
    """
    shapes = [value.tensor_info.shape for value in values]
    if any(shape is None for shape in shapes):
        return list(values)
    rank = max(len(shape) for shape in shapes if shape is not None)
    target: list[Dim] = []
    for axis in range(rank):
        dims = [shape[axis - rank + len(shape)] for shape in shapes if shape is not None and axis >= rank - len(shape)]
        target.append(_wanted([dim for dim in dims if dim is not None]))
    return [matched(value, target) for value in values]


def _wanted(dims: Sequence[Dim]) -> Dim:
    others = [dim for dim in dims if dim != 1]
    numbers = [dim for dim in others if isinstance(dim, int)]
    return numbers[0] if numbers else others[0] if others else 1


def wanted_dims(shapes: Sequence[Sequence[Dim]]) -> list[Dim]:
    """Return the assumed dimensions of tensors of equal shapes: per axis an integer if there is one, else the first."""
    return [next((dim for dim in dims if isinstance(dim, int)), dims[0]) for dims in zip(*shapes, strict=True)]


def matched(value: Value, target: Sequence[Dim]) -> Value:
    """Match a value to the last dimensions of `target`; those not provably equal are checked by each call."""
    shape = value.tensor_info.shape
    assert shape is not None
    pattern: list[Dim | None] = []
    for dim, wanted in zip(shape, target[len(target) - len(shape) :], strict=True):
        is_open = not isinstance(dim, int) and not symbolic.prove_equal(dim, wanted) if dim is not None else False
        pattern.append(wanted if is_open else dim)
    return R.match_shape(value, pattern) if pattern != list(shape) else value


def broadcast_shape(first: Sequence[Dim], second: Sequence[Dim]) -> list[Dim]:
    """Return the shape of two shapes broadcast against each other, with the assumptions of `aligned`."""
    rank = max(len(first), len(second))
    one = [1] * (rank - len(first)) + list(first)
    other = [1] * (rank - len(second)) + list(second)
    return [_wanted([a, b]) for a, b in zip(one, other, strict=True)]
