"""The operations of workloads; a peer runs them eagerly or builds its graph from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Value = Any
"""A tensor of the peer: an array, or a node of its graph."""


@dataclass(frozen=True)
class Heads:
    """The split of the hidden size by attention: ``d = count * size``."""

    count: int
    size: int


class Ops(ABC):
    """Operations on float32 tensors; ``constants`` are looked up by name, in the peer's own form."""

    def __init__(self, constants: Mapping[str, Array]) -> None:
        self.constants: dict[str, Value] = {name: self.store(name, array) for name, array in constants.items()}

    @abstractmethod
    def store(self, name: str, array: Array) -> Value:
        """The peer's own form of a constant; called once per constant, before any operation."""

    @abstractmethod
    def scalar(self, value: float) -> Value:
        """A float32 scalar."""

    @abstractmethod
    def add(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def subtract(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def multiply(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def divide(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def maximum(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def exp(self, x: Value) -> Value: ...

    @abstractmethod
    def absolute(self, x: Value) -> Value: ...

    @abstractmethod
    def sqrt(self, x: Value) -> Value: ...

    @abstractmethod
    def relu(self, x: Value) -> Value: ...

    @abstractmethod
    def gelu(self, x: Value) -> Value:
        """``x * (1 + erf(x / sqrt(2))) / 2``."""

    @abstractmethod
    def softmax(self, x: Value) -> Value:
        """Over the last axis."""

    @abstractmethod
    def layer_norm(self, x: Value, name: str, epsilon: float) -> Value:
        """Over the last axis, with constants ``name.weight`` and ``name.bias``."""

    @abstractmethod
    def matmul(self, x: Value, y: Value) -> Value: ...

    @abstractmethod
    def matmul_transposed(self, x: Value, y: Value) -> Value:
        """``x @ y.T`` of two matrices."""

    @abstractmethod
    def linear(self, x: Value, name: str) -> Value:
        """``x @ weight.T + bias``: constants ``name.weight [out, in]`` and optionally ``name.bias [out]``."""

    @abstractmethod
    def attention(self, query: Value, key: Value, value: Value, split: Heads, bias: Value | None = None) -> Value:
        """Multi-head attention of ``[b, s, d]`` values; ``bias [b, 1, 1, s]`` is added to scaled scores."""

    @abstractmethod
    def take(self, name: str, indices: Value) -> Value:
        """Rows of the constant ``name``."""

    @abstractmethod
    def first_rows(self, name: str, like: Value) -> Value:
        """The first ``like.shape[1]`` rows of the constant ``name``."""

    @abstractmethod
    def to_float(self, x: Value) -> Value:
        """float32 values of integers."""

    @abstractmethod
    def expand(self, x: Value, axes: tuple[int, ...]) -> Value:
        """New axes of length one at these positions of the result."""

    @abstractmethod
    def sum(self, x: Value, axis: int, keepdims: bool) -> Value: ...
