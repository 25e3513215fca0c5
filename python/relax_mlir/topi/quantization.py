"""Quantize to integers with a scale, and dequantize."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, require, require_float
from relax_mlir.topi.tag import BROADCAST, ELEMWISE

Element = Callable[[Sequence[Expr]], Expr]
"""The value at indices."""
QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")


def quantize(
    data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "int8"
) -> Tensor:
    """``round(data / scale) + zero_point``, clamped to the range of `out_dtype`; ties round to even.

    Args:
        data: floats.
        scale: floats: one for all, or one for each index along `axis`.
        zero_point: integers or floats: one for all, or one for each index along `axis`.
        axis: the axis of the scales.
        out_dtype: int8, uint8, int16, uint16 or int32.

    NaN becomes the zero point.
    """
    what = "topi.quantize"
    tensor = require(f"{what}: 'data'", data)
    require_float(what, tensor)
    wanted = _quantized(what, out_dtype)
    require(f"{what}: 'scale'", scale)
    kind = "float64" if "float64" in (tensor.dtype, scale.dtype) or wanted == "int32" else "float32"
    factor, zero, tag = _parameters(what, tensor, scale, zero_point, axis, kind)

    def value(*i: Expr) -> Expr:
        scaled = functions.nearbyint(tensor(*i).astype(kind) / factor(i))
        number = functions.select(functions.isnan(scaled), functions.const(0, kind), scaled)
        return (number + zero(i)).astype(wanted)  # conversions saturate

    return computed(tensor.shape, value, "T_quantize", tag)


def dequantize(
    data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "float32"
) -> Tensor:
    """``(data - zero_point) * scale``; see `quantize`."""
    what = "topi.dequantize"
    tensor, wanted = require(f"{what}: 'data'", data), dtypes.dtype(out_dtype)
    _quantized(what, tensor.dtype)
    if not wanted.is_float:
        raise DTypeError(f"{what}: 'out_dtype' is {wanted}, expected a float")
    kind = "float64" if wanted.name == "float64" or tensor.dtype == "int32" else "float32"
    factor, zero, tag = _parameters(what, tensor, scale, zero_point, axis, kind)
    return computed(
        tensor.shape,
        lambda *i: ((tensor(*i).astype(kind) - zero(i)) * factor(i)).astype(wanted.name),
        "T_dequantize",
        tag,
    )


def _quantized(what: str, dtype: str) -> str:
    if dtype not in QUANTIZED:
        raise DTypeError(
            f"{what}: quantized numbers have dtype {dtype}, expected one of {', '.join(QUANTIZED)}"
        )
    return dtype


def _parameters(
    what: str, data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, kind: str
) -> tuple[Element, Element, str]:
    """The scale and the zero point at indices, and the tag."""
    found: list[Element] = []
    place = axis_of(what, axis, data.ndim) if data.ndim else 0
    for name, given in (("scale", scale), ("zero_point", zero_point)):
        tensor = require(f"{what}: '{name}'", given)
        if name == "scale":
            require_float(f"{what}: '{name}'", tensor)
        if tensor.ndim > 1:
            raise ArgumentError(
                f"{what}: '{name}' is {tensor}, expected one number, or one for each place of the axis"
            )
        if tensor.ndim == 1 and tensor.shape[0] != 1:
            whole = data.shape[place] if data.ndim else 1
            if not symbolic.prove_equal(tensor.shape[0], whole):
                raise ShapeError(
                    f"{what}: '{name}' is {tensor}, not known to have the {whole} places of axis {place}"
                )
        found.append(_element(tensor, place, kind))
    return found[0], found[1], BROADCAST if data.ndim else ELEMWISE


def _element(tensor: Tensor, place: int, kind: str) -> Element:
    if tensor.ndim == 0:
        return lambda i: tensor().astype(kind)
    if tensor.shape[0] == 1:
        return lambda i: tensor(0).astype(kind)
    return lambda i: tensor(i[place]).astype(kind)
