"""Fourier transforms by direct summation, and window functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dim_of, dims_of, require, require_equal, require_float, size
from relax_mlir.topi.tag import COMM_REDUCE, INJECTIVE


def hamming_window(
    window_size: Any,  # noqa: ANN401 - a size
    periodic: bool,
    alpha: float,
    beta: float,
    dtype: str = "float32",
) -> Tensor:
    """``alpha - beta * cos(2 * pi * i / n)``, where ``n`` is `window_size`, minus one unless `periodic`.

    A window of one element is 1.
    """
    length = dim_of("topi.hamming_window: 'window_size'", window_size)
    kind = dtypes.dtype(dtype)
    if not kind.is_float:
        raise DTypeError(f"topi.hamming_window: 'dtype' is {kind}, expected a float")
    whole = as_expr(size(length if periodic else symbolic.maximum(length - 1, 1))).astype("float64")
    is_one = as_expr(size(length)) == 1

    def value(i: Expr) -> Expr:
        angle = i.astype("float64") * (2 * math.pi) / whole
        found = functions.const(float(alpha), "float64") - functions.cos(angle) * float(beta)
        return functions.select(is_one, functions.const(1, "float64"), found).astype(kind.name)

    return computed((length,), value, "T_hamming_window", INJECTIVE)


def dft(re_data: Tensor, im_data: Tensor, inverse: bool = False) -> list[Tensor]:
    """The real and imaginary parts of the discrete Fourier transform along the last axis.

    Computed by direct summation, in quadratic time. `inverse`: with the opposite sign, divided by the length.
    """
    what = "topi.dft"
    real, imaginary = require(f"{what}: 're_data'", re_data), require(f"{what}: 'im_data'", im_data)
    require_float(what, real)
    require_equal(what, real.shape, imaginary.shape)
    if real.dtype != imaginary.dtype or real.ndim == 0:
        raise DTypeError(f"{what}: {real} and {imaginary} are not of one dtype, with one axis or more")
    length, kind = real.shape[-1], "float64" if real.dtype == "float64" else "float32"
    cosines, sines = _waves(length, kind)
    tap = reductions.reduce_axis((0, length), "r")
    sign = 1.0 if inverse else -1.0
    factor = as_expr(size(length)).astype(kind) if inverse else None

    def part(which: int) -> Tensor:
        def value(*i: Expr) -> object:
            at = [*i[:-1], tap]
            turn = i[-1] * tap % size(length)
            a, b = real(*at).astype(kind), imaginary(*at).astype(kind)
            c, s = cosines(turn), sines(turn) * sign
            return reductions.sum(a * c - b * s if which == 0 else a * s + b * c, tap)

        total = computed(real.shape, value, "T_dft_sum", COMM_REDUCE)
        return computed(
            real.shape,
            lambda *i: (total(*i) if factor is None else total(*i) / factor).astype(real.dtype),
            f"T_dft_{'imaginary' if which else 'real'}",
            COMM_REDUCE,
        )

    return [part(0), part(1)]


def stft(
    data: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: Sequence[Any] | None = None,
) -> Tensor:
    """The Fourier transforms of frames of a signal that begin every `hop_length` elements.

    Args:
        data: ``(length,)`` or ``(batch, length)``, floats.
        n_fft: the number of elements in a frame.
        hop_length, win_length: the distance between frames, and the length of `window`, which is centred in each frame.
        window: multiplies the elements of a frame.
        normalized: divide by the square root of `n_fft`.
        onesided: only the first ``n_fft // 2 + 1`` frequencies, which determine the others.
        output_shape: the shape of the result, which is inferred; checked if given.

    Returns:
        ``(batch, frequencies, frames, 2)``: real and imaginary parts; the batch is 1 for one signal.
    """
    what = "topi.stft"
    signal, weights = require(f"{what}: 'data'", data), require(f"{what}: 'window'", window)
    require_float(what, signal)
    if signal.ndim not in (1, 2) or weights.dtype != signal.dtype:
        raise ShapeError(
            f"{what}: {signal} and {weights} are not one or two dimensions, and a window of the same dtype"
        )
    for name, number in (("n_fft", n_fft), ("hop_length", hop_length), ("win_length", win_length)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ArgumentError(f"{what}: '{name}' is {number!r}, expected an integer from 1 on")
    require_equal(f"{what}: 'window'", weights.shape, (win_length,))
    if win_length > n_fft:
        raise ArgumentError(f"{what}: 'win_length' is {win_length}, above 'n_fft', {n_fft}")
    length, batch = signal.shape[-1], signal.shape[0] if signal.ndim == 2 else 1
    parts: Dim = symbolic.maximum(symbolic.floordiv(length - n_fft, hop_length) + 1, 0)
    rows = n_fft // 2 + 1 if onesided else n_fft
    shape: list[Dim] = [batch, rows, parts, 2]
    if output_shape is not None:
        require_equal(f"{what}: 'output_shape'", dims_of(f"{what}: 'output_shape'", output_shape), shape)
    kind = "float64" if signal.dtype == "float64" else "float32"
    cosines, sines = _waves(n_fft, kind)
    tap = reductions.reduce_axis((0, win_length), "r")
    before = (n_fft - win_length) // 2
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0

    def value(b: Expr, row: Expr, column: Expr, which: Expr) -> object:
        place = column * hop_length + (tap + before)
        item = signal(b, place) if signal.ndim == 2 else signal(place)
        turn = row * (tap + before) % n_fft
        wave = functions.select(which == 0, cosines(turn), -sines(turn))
        return reductions.sum(weights(tap).astype(kind) * item.astype(kind) * wave, tap)

    total = computed(shape, value, "T_stft_sum", COMM_REDUCE)
    return computed(shape, lambda *i: (total(*i) * scale).astype(signal.dtype), "T_stft", COMM_REDUCE)


def _waves(length: Dim, kind: str) -> tuple[Tensor, Tensor]:
    """Tables of cosine and sine for `length` equidistant angles."""

    def angle(i: Expr) -> Expr:
        return i.astype("float64") * (2 * math.pi) / as_expr(size(length)).astype("float64")

    return (
        computed((length,), lambda i: functions.cos(angle(i)).astype(kind), "T_cosines", INJECTIVE),
        computed((length,), lambda i: functions.sin(angle(i)).astype(kind), "T_sines", INJECTIVE),
    )
