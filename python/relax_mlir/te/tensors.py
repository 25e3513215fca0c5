"""Tensors of tensor expressions, and the operations that compute them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.dialects.types import DimLike, as_dim, shape_text
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ShapeError,
    UnsupportedError,
    expect,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import DATA_PARALLEL, Expr, IterVar, Load, Range, index
from relax_mlir.te.operators import Operators


def var(name: str) -> symbolic.Expr:
    """The symbol `name`: a non-negative size, for shapes and index expressions."""
    return symbolic.symbol(name)


def size_var(name: str, dtype: str = "int64") -> symbolic.Expr:
    """The symbol `name`; every symbol is a size."""
    if dtype not in ("int32", "int64"):
        raise DTypeError(f"size_var '{name}': the dtype is {dtype!r}, but sizes are of int64")
    return symbolic.symbol(name)


def thread_axis(*args: object, **kwargs: object) -> IterVar:
    """Raise an error: GPU threads are not supported."""
    raise UnsupportedError(
        "te.thread_axis: its threads are those of a GPU, and the target is a CPU, whose cores a parallel axis of a "
        "schedule uses"
    )


class Operation:
    """An operation that computes tensors: `PlaceholderOp`, `ComputeOp` and others.

    `outputs` are the tensors, which share the op; `position` is the user's source line; `attrs` and `tag` are metadata.
    """

    def __init__(self, name: str, tag: str = "", attrs: Mapping[str, Any] | None = None) -> None:
        expect(f"{type(self).__name__}: 'attrs'", attrs, Mapping | None, "a dictionary")
        self.name, self.tag, self.attrs = name, tag, dict(attrs or {})
        self.position = user_frame_position()
        self.outputs: list[Tensor] = []

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.outputs)

    def output(self, index: int) -> Tensor:
        """Output `index`."""
        if not isinstance(index, int) or not 0 <= index < len(self.outputs):
            raise ArgumentError(
                f"operation '{self.name}' has {len(self.outputs)} outputs, numbered from 0, and no {index!r}"
            )
        return self.outputs[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that it reads, without duplicates, in the order of first use."""
        return []

    @property
    def parts(self) -> Sequence[Operation]:
        """The operations that it consists of, if any."""
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.outputs))})"


class PlaceholderOp(Operation):
    """An input tensor."""


class Tensor(Operators):
    """A tensor of known shape (integers, symbols and expressions of them) and dtype; ``A[i, j]`` is an element.

    It is output `value_index` of the operation `op`.
    """

    def __init__(
        self, shape: tuple[Dim, ...], dtype: str, name: str, op: Operation, value_index: int = 0
    ) -> None:
        self.shape, self.dtype, self.name, self.op, self.value_index = shape, dtype, name, op, value_index

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def refusal(self) -> ArgumentError:
        """The error of using it as a scalar expression."""
        place = ", ".join("ijklmn"[: self.ndim]) if self.ndim <= 6 else "…"
        return ArgumentError(
            f"the value is the tensor {self}, expected an element: {self.name}[{place or '()'}]"
        )

    def broadcast_operator(self, operator: str, left: object, right: object) -> Tensor:
        from relax_mlir.te import broadcasting  # broadcasting imports this module

        return broadcasting.broadcast_operator(operator, left, right)

    def __neg__(self) -> Tensor:
        from relax_mlir.te import broadcasting  # as above

        return broadcasting.mapped(self, lambda x: -x, "T_negative")

    def astype(self, dtype: str) -> Tensor:
        """The tensor with every element converted."""
        from relax_mlir.te import broadcasting  # as above

        return broadcasting.mapped(self, lambda x: x.astype(dtype), "T_cast")

    def __getitem__(self, indices: object) -> Any:  # noqa: ANN401 - an element, or a slice that needs more indices
        """The element at `indices`, one integer expression per dimension; fewer return a slice: ``A[i][j]``."""
        return TensorSlice(self, ())[indices]

    def __iter__(self) -> Iterator[Expr]:
        """Raise `ArgumentError`: without it, Python would take ``A[0]``, ``A[1]`` and so on, without end."""
        raise self.refusal

    def __call__(self, *indices: object) -> Expr:
        """The element at `indices`, as ``A[i, j]``."""
        _require_rank(self, len(indices))
        return _element(self, indices)

    def __repr__(self) -> str:
        return f"{self.name}: {shape_text(self.shape)} {self.dtype}"


class TensorSlice(Operators):
    """A tensor with its first indices, as in ``A[i]``, which takes the others: ``A[i][j]``."""

    def __init__(self, tensor: Tensor, indices: tuple[object, ...]) -> None:
        self.tensor, self.indices = tensor, indices

    @property
    def refusal(self) -> ShapeError:
        """The error of using it as a scalar expression."""
        return _wrong_rank(self.tensor, len(self.indices))

    def broadcast_operator(self, operator: str, left: object, right: object) -> Tensor:
        raise self.refusal

    def __iter__(self) -> Iterator[Expr]:
        """Raise `ShapeError`; see `Tensor.__iter__`."""
        raise self.refusal

    def __getitem__(self, indices: object) -> Any:  # noqa: ANN401 - as for a tensor
        given = (*self.indices, *(indices if isinstance(indices, tuple) else (indices,)))
        if len(given) < self.tensor.ndim:
            return TensorSlice(self.tensor, given)
        _require_rank(self.tensor, len(given))
        return _element(self.tensor, given)


def _require_rank(tensor: Tensor, count: int) -> None:
    if count != tensor.ndim:
        raise _wrong_rank(tensor, count)


def _wrong_rank(tensor: Tensor, count: int) -> ShapeError:
    return ShapeError(
        f"{tensor.name}[…]: {count} indices for the tensor {tensor}, which has {tensor.ndim} dimensions"
    )


def _element(tensor: Tensor, indices: Sequence[object]) -> Expr:
    return Load(tensor, [index(f"{tensor.name}[…]", item) for item in indices])


def placeholder(shape: Sequence[DimLike], dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """An input tensor of shape `shape` (integers, strings, symbols and expressions of them)."""
    op = PlaceholderOp(name)
    tensor = Tensor(shape_of(f"placeholder '{name}'", shape), dtypes.dtype(dtype).name, name, op)
    op.outputs.append(tensor)
    return tensor


def shape_of(what: str, shape: Sequence[DimLike]) -> tuple[Dim, ...]:
    """Convert a shape from the user.

    Raises:
        ArgumentError: not a list of dimensions.
        ShapeError: an unknown dimension.
    """
    expect(f"{what}: 'shape'", shape, list | tuple, "a list or tuple of dimensions")
    dims = []
    for axis, item in enumerate(shape):
        dim = as_dim(item)
        if dim is None:
            raise ShapeError(f"{what}: dimension {axis} is unknown; match_shape gives it a symbol")
        dims.append(dim)
    return tuple(dims)


def axes_of(names: Sequence[str], shape: Sequence[Dim]) -> tuple[IterVar, ...]:
    """One axis per dimension."""
    return tuple(IterVar(name, Range(0, dim), DATA_PARALLEL) for name, dim in zip(names, shape, strict=True))
