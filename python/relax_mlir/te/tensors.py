"""Tensors of tensor expressions: placeholders, computations, custom loops, operators with broadcasting."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir import symbolic
from relax_mlir.dialects import base, dtypes
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.dialects.types import DimLike, as_dim, shape_text
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    ShapeError,
    UnsupportedError,
    expect,
    expect_all,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    DATA_PARALLEL,
    REDUCTION,
    Expr,
    ExprLike,
    IterVar,
    Load,
    Range,
    Size,
    as_expr,
    binary,
    index,
    loads_of,
    post_order,
    variables_of,
)
from relax_mlir.te.reductions import Reduction, as_kind


class Operators:
    """Operators that `broadcast_operator` implements."""

    __array_ufunc__ = None  # NumPy scalars leave mixed operators to this class
    __hash__ = object.__hash__

    def broadcast_operator(self, operator: str, left: object, right: object) -> Tensor:
        """Return ``left operator right``."""
        raise NotImplementedError  # abstract

    def __add__(self, other: object) -> Tensor:
        return self.broadcast_operator("+", self, other)

    def __radd__(self, other: object) -> Tensor:
        return self.broadcast_operator("+", other, self)

    def __sub__(self, other: object) -> Tensor:
        return self.broadcast_operator("-", self, other)

    def __rsub__(self, other: object) -> Tensor:
        return self.broadcast_operator("-", other, self)

    def __mul__(self, other: object) -> Tensor:
        return self.broadcast_operator("*", self, other)

    def __rmul__(self, other: object) -> Tensor:
        return self.broadcast_operator("*", other, self)

    def __truediv__(self, other: object) -> Tensor:
        return self.broadcast_operator("/", self, other)

    def __rtruediv__(self, other: object) -> Tensor:
        return self.broadcast_operator("/", other, self)

    def __floordiv__(self, other: object) -> Tensor:
        return self.broadcast_operator("//", self, other)

    def __rfloordiv__(self, other: object) -> Tensor:
        return self.broadcast_operator("//", other, self)

    def __mod__(self, other: object) -> Tensor:
        return self.broadcast_operator("%", self, other)

    def __rmod__(self, other: object) -> Tensor:
        return self.broadcast_operator("%", other, self)

    def __and__(self, other: object) -> Tensor:
        return self.broadcast_operator("&", self, other)

    def __rand__(self, other: object) -> Tensor:
        return self.broadcast_operator("&", other, self)

    def __or__(self, other: object) -> Tensor:
        return self.broadcast_operator("|", self, other)

    def __ror__(self, other: object) -> Tensor:
        return self.broadcast_operator("|", other, self)

    def __xor__(self, other: object) -> Tensor:
        return self.broadcast_operator("^", self, other)

    def __rxor__(self, other: object) -> Tensor:
        return self.broadcast_operator("^", other, self)

    def __lshift__(self, other: object) -> Tensor:
        return self.broadcast_operator("<<", self, other)

    def __rlshift__(self, other: object) -> Tensor:
        return self.broadcast_operator("<<", other, self)

    def __rshift__(self, other: object) -> Tensor:
        return self.broadcast_operator(">>", self, other)

    def __rrshift__(self, other: object) -> Tensor:
        return self.broadcast_operator(">>", other, self)


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

    def __init__(self, shape: tuple[Dim, ...], dtype: str, name: str, op: Operation, value_index: int = 0) -> None:
        self.shape, self.dtype, self.name, self.op, self.value_index = shape, dtype, name, op, value_index

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def refusal(self) -> ArgumentError:
        """The error of using it as a scalar expression."""
        place = ", ".join("ijklmn"[: self.ndim]) if self.ndim <= 6 else "…"
        return ArgumentError(f"the value is the tensor {self}, expected an element: {self.name}[{place or '()'}]")

    def broadcast_operator(self, operator: str, left: object, right: object) -> Tensor:
        return broadcast_operator(operator, left, right)

    def __neg__(self) -> Tensor:
        return mapped(self, lambda x: -x, "T_negative")

    def astype(self, dtype: str) -> Tensor:
        """The tensor with every element converted."""
        return mapped(self, lambda x: x.astype(dtype), "T_cast")

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
    return ShapeError(f"{tensor.name}[…]: {count} indices for the tensor {tensor}, which has {tensor.ndim} dimensions")


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


class _Current(threading.local):
    tag: str = ""


_current = _Current()


@contextlib.contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Tag the computes in the scope: ``with te.tag_scope("conv2d"):``, or as a decorator of a function.

    Raises:
        ArgumentError: a nested scope, or a compute in the scope that already has a tag.
    """
    if not isinstance(tag, str) or not tag:
        raise ArgumentError(f"tag_scope: 'tag' is {tag!r}, expected text")
    if _current.tag:
        raise ArgumentError(f"tag_scope '{tag}': inside tag_scope '{_current.tag}', but a compute has one tag")
    _current.tag = tag
    try:
        yield
    finally:
        _current.tag = ""


def with_scope(what: str, tag: str) -> str:
    """The tag of a compute whose argument is `tag`."""
    if tag and _current.tag:
        raise ArgumentError(f"{what}: the tag '{tag}' inside tag_scope '{_current.tag}', but a compute has one tag")
    return tag or _current.tag


class ComputeOp(Operation):
    """A computation: `axis` are the axes of its outputs, `body` has the value of each output at these."""

    def __init__(
        self,
        axis: Sequence[IterVar],
        body: Sequence[Expr],
        name: str,
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        expect_all("ComputeOp: 'axis'", axis, IterVar, "axes")
        expect_all("ComputeOp: 'body'", body, Expr, "expressions")
        self.axis, self.body = tuple(axis), tuple(body)
        shape = tuple(var.dom.extent for var in self.axis)
        names = [name] if len(self.body) == 1 else [f"{name}_{number}" for number in range(len(self.body))]
        self.outputs += [
            Tensor(shape, as_kind(value).name, own, self, number)
            for number, (own, value) in enumerate(zip(names, self.body, strict=True))
        ]

    @property
    def reduce_axis(self) -> list[IterVar]:
        """The axes that the outputs reduce over, without duplicates."""
        found = (axis for value in self.body if isinstance(value, Reduction) for axis in value.axis)
        return list(dict.fromkeys(found))

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(load.tensor for load in loads_of(*self.body)))


def compute(
    shape: Sequence[DimLike],
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a tensor, or a tuple of tensors
    """The tensor whose element at ``(i, j, …)`` is ``fcompute(i, j, …)``, a scalar, an expression, or a reduction.

    A tuple of values returns a tuple of tensors. A Python scalar becomes a float32, int32 or bool. The op keeps `tag`
    and `attrs` as metadata.

    Raises:
        ArgumentError: `fcompute` takes another number of indices, or returns something else.
        DTypeError: incompatible dtypes.
        ShapeError: an access with the wrong number of indices.
    """
    what = f"compute '{name}'"
    dims = shape_of(what, shape)
    if not callable(fcompute):
        raise ArgumentError(f"{what}: 'fcompute' is {fcompute!r}, expected a function of the indices")
    if not isinstance(tag, str) or not isinstance(attrs, Mapping | None):
        raise ArgumentError(f"{what}: 'tag' is text, and 'attrs' a dictionary")
    axes = axes_of(_axis_names(what, fcompute, len(dims)), dims)
    result = fcompute(*axes)
    several = isinstance(result, tuple | list)
    body = [value if isinstance(value, Reduction) else as_expr(value) for value in (result if several else [result])]
    _check(what, axes, body)
    op = ComputeOp(axes, body, name, with_scope(what, tag), attrs)
    return tuple(op.outputs) if several else op.outputs[0]


def _check(what: str, axes: Sequence[IterVar], body: Sequence[Expr]) -> None:
    """Raise unless every variable belongs to the computation."""
    if not body:
        raise ArgumentError(f"{what}: 'fcompute' gives no value")
    for value in body:
        own = {*map(id, axes), *map(id, value.axis if isinstance(value, Reduction) else ())}
        for item in post_order(value):
            if isinstance(item, IterVar) and id(item) not in own:
                hint = (
                    "combine over it, as in te.sum(…, axis)"
                    if item.iter_type == REDUCTION
                    else "it belongs to another compute"
                )
                raise ArgumentError(f"{what}: the value reads the axis '{item.name}': {hint}")
    for value in body:
        if isinstance(value, Reduction) and len(value.combiner.lhs) > 1:
            found = [r.value_index for r in body if isinstance(r, Reduction) and r.combiner is value.combiner]
            if sorted(found) != list(range(len(value.combiner.lhs))):
                raise ArgumentError(
                    f"{what}: the reduction '{value.combiner.name}' has {len(value.combiner.lhs)} results: give all of "
                    "them, each once"
                )


def _axis_names(what: str, fcompute: Callable[..., Any], rank: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fcompute).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return [f"i{number}" for number in range(rank)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(required) > rank or (not rest and len(names) < rank):
        raise ArgumentError(
            f"{what}: 'fcompute' takes {len(names)} indices ({', '.join(names)}), but the shape has {rank} dimensions"
        )
    more = (f"{rest[0] if rest else 'i'}{number}" for number in itertools.count())
    return [*names[:rank], *itertools.islice(more, rank - len(names[:rank]))]


NAMES = {
    "+": "T_add",
    "-": "T_subtract",
    "*": "T_multiply",
    "/": "T_divide",
    "//": "T_floor_divide",
    "%": "T_mod",
    "&": "T_bitwise_and",
    "|": "T_bitwise_or",
    "^": "T_bitwise_xor",
    "<<": "T_left_shift",
    ">>": "T_right_shift",
}
"""Names of the operators' results."""
ELEMENTWISE, BROADCAST = "elemwise", "broadcast"
"""The tags of elementwise computations, without and with broadcasting."""


def broadcast_shape(what: str, shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """The broadcast shape, as for Relax's binary ops.

    Raises:
        ShapeError: two sizes, neither 1, that are not known to be equal.
    """
    found = base.broadcast(what, *(tuple(shape) for shape in shapes))
    assert found is not None
    return tuple(dim for dim in found if dim is not None)


def broadcast_element(tensor: Tensor, shape: Sequence[Dim], indices: Sequence[ExprLike]) -> Expr:
    """The element of `tensor`, broadcast to `shape`, at `indices`."""
    own = indices[len(indices) - tensor.ndim :]
    wide = shape[len(shape) - tensor.ndim :]
    return tensor(
        *(0 if size == 1 and other != 1 else i for size, other, i in zip(tensor.shape, wide, own, strict=True))
    )


def broadcast_operator(operator: str, left: object, right: object) -> Tensor:
    """The tensor of ``left operator right``: at least one of them is a tensor, the other a tensor or a scalar."""
    what = f"'{operator}' of tensors"
    tensors = [item for item in (left, right) if isinstance(item, Tensor)]
    for item in (left, right):
        if isinstance(item, Tensor):
            continue
        if isinstance(item, np.ndarray):
            raise ArgumentError(
                f"{what}: an operand is a NumPy array; hand it to emit_te, which makes a constant of it"
            )
        inside = variables_of(as_expr(item))
        if inside:
            tensor = tensors[0]
            raise ArgumentError(
                f"{what}: the element {item!r} beside {tensor.refusal}, or compute the tensor outside of this compute"
            )
    shape = broadcast_shape(what, [tensor.shape for tensor in tensors])

    def value(*indices: Expr) -> Expr:
        a, b = (
            broadcast_element(item, shape, indices) if isinstance(item, Tensor) else as_expr(item)
            for item in (left, right)
        )
        return binary(operator, a, b)

    same = all(tensor.shape == shape for tensor in tensors)
    return _made(shape, value, NAMES[operator], ELEMENTWISE if same else BROADCAST)


def mapped(tensor: Tensor, function: object, name: str) -> Tensor:
    """Apply `function` to every element."""
    assert callable(function)
    return _made(tensor.shape, lambda *indices: function(tensor(*indices)), name, ELEMENTWISE)


def _made(shape: Sequence[Dim], value: object, name: str, tag: str) -> Tensor:
    assert callable(value)
    found = compute(shape, value, name, tag)
    assert isinstance(found, Tensor)
    return found


class FreshNames:
    """Gives unique identifiers."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self.counts: dict[str, int] = {}

    def __call__(self, base: str) -> str:
        """An unused name similar to `base`."""
        clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in base)
        clean = clean if clean[:1].isalpha() else f"t{clean}"
        name = clean
        numbers = itertools.count(self.counts.get(clean, 0) + 1)
        while name in self.taken:
            self.counts[clean] = next(numbers)
            name = f"{clean}_{self.counts[clean]}"
        self.taken.add(name)
        return name


class LoopOp(Operation):
    """Tensors that `body` fills from `inputs`. Schedules do not change it.

    `body` gets a `LoopBuilder`, a `Buffer` for each input, and one for each output.
    """

    def __init__(
        self,
        inputs: Sequence[Tensor],
        shapes: Sequence[Sequence[Dim]],
        types: Sequence[str],
        body: Callable[..., Any],
        name: str,
        tag: str = "",
    ) -> None:
        super().__init__(name, tag)
        self.inputs, self.body = tuple(inputs), body
        names = [name] if len(shapes) == 1 else [f"{name}_{number}" for number in range(len(shapes))]
        self.outputs += [
            Tensor(tuple(shape), dtype, own, self, number)
            for number, (shape, dtype, own) in enumerate(zip(shapes, types, names, strict=True))
        ]

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def operations_of(outputs: Sequence[Tensor], known: Sequence[Tensor] = ()) -> list[Operation]:
    """The operations that `outputs` need, except placeholders, in topological order.

    Excludes the operations of `known`, and those needed only by these.
    """
    ordered: dict[Operation, None] = {}
    entered: set[Operation] = {tensor.op for tensor in known}
    waiting = [(tensor.op, False) for tensor in reversed(outputs)]
    while waiting:
        op, is_done = waiting.pop()
        if is_done:
            ordered[op] = None
        elif op not in entered and not isinstance(op, PlaceholderOp):
            entered.add(op)
            waiting.append((op, True))
            waiting += [(tensor.op, False) for tensor in reversed(op.input_tensors)]
    return list(ordered)


def read_by(outputs: Sequence[Tensor], known: Sequence[Tensor] = ()) -> list[Tensor]:
    """The tensors that `outputs` and their operations, up to `known`, read."""
    return list(dict.fromkeys(t for op in operations_of(outputs, known) for t in op.input_tensors))


def symbols_of(tensors: Sequence[Tensor], operations: Sequence[Operation]) -> list[str]:
    """Every symbol in shapes, ranges and expressions, in order of appearance."""
    dims: list[Dim] = [dim for tensor in tensors for dim in tensor.shape]
    for op in operations:
        dims += [dim for tensor in op.outputs for dim in tensor.shape]
        for part in (op, *op.parts):
            if isinstance(part, ComputeOp):
                dims += [dim for axis in part.reduce_axis for dim in (axis.dom.begin, axis.dom.extent)]
                dims += [axis.dom.extent for axis in part.axis]
                dims += [item.dim for item in post_order(*part.body) if isinstance(item, Size)]
    return list(dict.fromkeys(name for dim in dims for name in symbolic.symbols(dim)))
