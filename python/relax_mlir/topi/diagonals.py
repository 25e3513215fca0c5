"""Operators on diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import (
    computed,
    dim_of,
    one_or_listed,
    require,
    size,
)
from relax_mlir.topi.tag import INJECTIVE

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


def matrix_set_diag(
    data: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
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
        raise ArgumentError(
            f"{what}: 'k' is {k!r}, expected an integer, or two of which the first is not larger"
        )
    if align not in ALIGNMENTS:
        raise ArgumentError(f"{what}: 'align' is {align!r}, expected one of {', '.join(ALIGNMENTS)}")
    if tensor.ndim < 2 or new.dtype != tensor.dtype:
        raise DTypeError(
            f"{what}: {new} are no diagonals of the matrices {tensor}: they differ in rank or dtype"
        )
    low, high = given
    rows, columns = tensor.shape[-2:]
    longest = _longest(rows, columns, low, high)
    several = [high - low + 1] if low != high else []
    shape = [*tensor.shape[:-2], *several, longest]
    if len(shape) != new.ndim or not all(map(symbolic.prove_equal, shape, new.shape)):
        raise ShapeError(
            f"{what}: 'diagonal' is {new}, not known to have the shape ({', '.join(map(str, shape))})"
        )
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
