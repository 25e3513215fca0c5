"""Create tensors: filled, ranges, grids, one-hot; and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, dim_of, dims_of, listed, one_or_listed, require, size
from relax_mlir.topi.tag import ELEMWISE, INJECTIVE


def full(shape: Sequence[Any], dtype: str, fill_value: Any) -> Tensor:  # noqa: ANN401 - a number or an expression
    """A tensor filled with one value."""
    wanted = dtypes.dtype(dtype).name
    dims = dims_of("topi.full: 'shape'", shape)
    dtypes.require_held("topi.full: 'fill_value'", fill_value, dtypes.dtype(dtype))
    value = functions.cast(fill_value, wanted)
    return computed(dims, lambda *i: value, "T_full", ELEMWISE)


def full_like(x: Tensor, fill_value: Any) -> Tensor:  # noqa: ANN401 - a number or an expression
    """A tensor filled with one value, with the shape and dtype of `x`."""
    tensor = require("topi.full_like: 'x'", x)
    return full(tensor.shape, tensor.dtype, fill_value)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Tensor:  # noqa: ANN401 - sizes, numbers
    """``start, start + step, …``, excluding `stop`; from 0 if only one bound is given.

    Integers and symbols, or floats; with floats all three are constants.
    """
    begin, end = (0, start) if stop is None else (start, stop)
    wanted = dtypes.dtype(dtype)
    if any(isinstance(item, float) for item in (begin, end, step)):
        return _float_range(begin, end, step, wanted.name)
    first, last, by = (dim_of("topi.arange", item) for item in (begin, end, step))
    if not isinstance(by, int) or by == 0:
        raise ArgumentError(f"topi.arange: 'step' is {by}, expected an integer other than 0")
    distance = last - first if by > 0 else first - last
    count: Dim = symbolic.maximum(symbolic.ceildiv(distance, abs(by)), 0)
    _require_held(first, by, count, wanted)
    return computed([count], lambda i: (i * by + size(first)).astype(wanted.name), "T_arange", INJECTIVE)


def _require_held(first: Dim | float, by: float, count: Dim, dtype: DType) -> None:
    """Raise `DTypeError` if values of a constant range do not fit `dtype`."""
    if isinstance(first, int | float) and isinstance(count, int) and count:
        dtypes.require_held("topi.arange: the first number", first, dtype)
        dtypes.require_held("topi.arange: the last number", first + (count - 1) * by, dtype)


def _float_range(begin: Any, end: Any, step: Any, dtype: str) -> Tensor:  # noqa: ANN401 - checked here
    if not all(isinstance(item, int | float) for item in (begin, end, step)) or step == 0:
        raise ArgumentError(f"topi.arange: {begin}, {end} and {step} are not three numbers with a step other than 0")
    try:
        count = max(-int(-(end - begin) // step), 0)
    except (ValueError, OverflowError):
        raise ArgumentError(f"topi.arange: there is no number of steps from {begin} to {end} by {step}") from None
    _require_held(begin, step, count, dtypes.dtype(dtype))
    return computed(
        [count],
        lambda i: (i.astype("float64") * float(step) + float(begin)).astype(dtype),
        "T_arange",
        INJECTIVE,
    )


def meshgrid(a_tuple: Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """For each of the tensors of rank 1, a tensor with its elements along its dimension of the common grid."""
    tensors = [require("topi.meshgrid: a tensor", tensor) for tensor in listed("topi.meshgrid: 'a_tuple'", a_tuple)]
    if indexing not in ("ij", "xy") or any(tensor.ndim > 1 for tensor in tensors):
        raise ArgumentError("topi.meshgrid: takes tensors of one dimension, and 'indexing' is 'ij' or 'xy'")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    sizes = [tensor.shape[0] if tensor.ndim else 1 for tensor in tensors]
    shape = [sizes[number] for number in order]

    def made(number: int) -> Tensor:
        tensor, place = tensors[number], order.index(number)
        return computed(shape, lambda *i: tensor(i[place]) if tensor.ndim else tensor(), "T_meshgrid", INJECTIVE)

    return [made(number) for number in range(len(tensors))]


def one_hot(
    indices: Tensor,
    on_value: float,
    off_value: float,
    depth: Any,  # noqa: ANN401 - a size
    axis: int = -1,
    dtype: str = "float32",
) -> Tensor:
    """`on_value` where the position along a new axis, of length `depth`, equals the index, `off_value` for the rest."""
    tensor, length = require("topi.one_hot: 'indices'", indices), dim_of("topi.one_hot: 'depth'", depth)
    place = axis_of("topi.one_hot", axis, tensor.ndim + 1)
    shape = [*tensor.shape[:place], length, *tensor.shape[place:]]
    for name, number in (("on_value", on_value), ("off_value", off_value)):
        dtypes.require_held(f"topi.one_hot: '{name}'", number, dtypes.dtype(dtype))
    on, off = functions.const(on_value, dtype), functions.const(off_value, dtype)

    def value(*i: Expr) -> Expr:
        found = tensor(*i[:place], *i[place + 1 :]).astype("int64")
        return functions.select(found == i[place], on, off)

    return computed(shape, value, "T_one_hot", INJECTIVE)


ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def eye(n: Any, m: Any = None, k: Any = 0, dtype: str = "float32") -> Tensor:  # noqa: ANN401 - sizes
    """The matrix of `n` rows and `m` columns (by default `n`) with 1 on the diagonal `k`, and 0 for the rest."""
    rows = dim_of("topi.eye: 'n'", n)
    columns = rows if m is None else dim_of("topi.eye: 'm'", m)
    diagonal, kind = dim_of("topi.eye: 'k'", k), dtypes.dtype(dtype).name
    one, zero = functions.const(1, kind), functions.const(0, kind)
    return computed(
        (rows, columns), lambda i, j: functions.select(j == i + size(diagonal), one, zero), "T_eye", INJECTIVE
    )


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """`data` with the diagonals `k` of the last two dimensions replaced.

    Args:
        data: matrices.
        diagonal: the new elements of one diagonal; for several ``(…, diagonals, longest)``, the uppermost first.
        k: a diagonal, or the lowest and the highest of several.
        align: the alignment of shorter diagonals above and below the main one: "RIGHT_LEFT", "LEFT_RIGHT",
            "LEFT_LEFT" or "RIGHT_RIGHT".
    """
    what = "topi.matrix_set_diag"
    tensor, new = require(f"{what}: 'data'", data), require(f"{what}: 'diagonal'", diagonal)
    given = one_or_listed(f"{what}: 'k'", k)
    given = given * 2 if len(given) == 1 else given
    if len(given) != 2 or not all(isinstance(d, int) for d in given) or given[0] > given[1]:
        raise ArgumentError(f"{what}: 'k' is {k!r}, expected an integer, or two of which the first is not larger")
    if align not in ALIGNMENTS:
        raise ArgumentError(f"{what}: 'align' is {align!r}, expected one of {', '.join(ALIGNMENTS)}")
    if tensor.ndim < 2 or new.dtype != tensor.dtype:
        raise DTypeError(f"{what}: {new} are no diagonals of the matrices {tensor}: they differ in rank or dtype")
    low, high = given
    rows, columns = tensor.shape[-2:]
    longest = _longest(rows, columns, low, high)
    several = [high - low + 1] if low != high else []
    shape = [*tensor.shape[:-2], *several, longest]
    if len(shape) != new.ndim or not all(map(symbolic.prove_equal, shape, new.shape)):
        raise ShapeError(f"{what}: 'diagonal' is {new}, not known to have the shape ({', '.join(map(str, shape))})")
    above, below = align.split("_")

    def value(*i: Expr) -> Expr:
        row, column = i[-2], i[-1]
        number = column - row
        place = functions.select(number >= 0, row, column)
        if low != high:
            length = functions.minimum(
                functions.minimum(size(columns) - number, size(columns)),
                functions.minimum(size(rows) + number, size(rows)),
            )
            gap = size(longest) - length
            place = place + functions.select(
                number >= 0, gap if above == "RIGHT" else 0, gap if below == "RIGHT" else 0
            )
        at = [*i[:-2], *([high - number] if several else []), place]
        is_new = functions.all(number >= low, number <= high)
        return functions.if_then_else(is_new, new(*at), tensor(*i))

    return computed(tensor.shape, value, "T_matrix_set_diag", INJECTIVE)


def _longest(rows: Dim, columns: Dim, low: int, high: int) -> Dim:
    """The length of the longest diagonal from `low` to `high`."""
    down = symbolic.minimum(rows + min(high, 0), rows)
    right = symbolic.minimum(columns - max(low, 0), columns)
    return symbolic.maximum(symbolic.minimum(down, right), 0)
