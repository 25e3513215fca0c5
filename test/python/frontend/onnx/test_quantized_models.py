"""Quantised ONNX ops: scales and zero points per tensor, row, column, channel and block, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_models import Array
from relax_mlir.error import ShapeError
from relax_mlir.frontend.onnx import InferenceSession

RNG = np.random.default_rng(7)


def whole(*shape: int, dtype: str = "uint8") -> Array:
    """Random integers of all values of a dtype."""
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def scale(*shape: int, by: float = 1.0) -> Array:
    """Random positive factors."""
    return (RNG.uniform(0.01, 0.1, shape) * by).astype("float32")


def run(op: str, *inputs: Array | None, reference: bool = False, **attributes: Any) -> Array:
    """The result of a model of one node: by this project, or by ONNX's reference."""
    names = ["" if value is None else f"x{place}" for place, value in enumerate(inputs)]
    feeds = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in feeds.items()
    ]
    node = helper.make_node(op, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    if reference:
        return np.asarray(ReferenceEvaluator(proto).run(None, feeds)[0])
    found: Array = InferenceSession(onnx.shape_inference.infer_shapes(proto)).run(None, feeds)[0]
    return found


def rows(value: Array) -> Array:
    """One value per row, as a column."""
    return value[:, None] if value.ndim == 1 else value


def product(a: Array, a_point: Array, b: Array, b_point: Array) -> Array:
    """The product of matrices of integers minus their zero points."""
    result: Array = (a.astype("int32") - rows(a_point)) @ (b.astype("int32") - b_point)
    return result


def quantized(a: Array, a_scale: Array, result_scale: Array, point: Array, exact: Array) -> Array:
    """QLinearMatMul's last step; `a_scale` holds the factors of both operands."""
    info = np.iinfo(point.dtype)
    with_point = np.rint(exact * (a_scale / rows(result_scale))) + rows(point).astype("int32")
    return np.clip(with_point, info.min, info.max).astype(point.dtype)


@pytest.mark.parametrize(
    ("a_shape", "per_a", "b_shape", "per_b", "per_y", "dtype"),
    [
        ((3, 6), (), (6, 5), (), (), "uint8"),
        ((3, 6), (3,), (6, 5), (5,), (3,), "uint8"),
        ((4, 4), (4,), (4, 4), (), (4,), "int8"),  # a square: rows and columns would fit
        ((4, 4), (), (4, 4), (4,), (1,), "uint8"),
        ((1, 6), (1,), (6, 5), (1,), (1,), "uint8"),
        ((2, 3, 6), (3,), (2, 6, 5), (2, 1, 5), (), "uint8"),
        ((3, 3, 3), (3,), (3, 3, 3), (3,), (3,), "uint8"),
        ((2, 3, 6), (2, 3, 1), (6, 5), (5,), (2, 3, 1), "int8"),
    ],
)
def test_products_of_quantized_matrices(
    a_shape: tuple[int, ...],
    per_a: tuple[int, ...],
    b_shape: tuple[int, ...],
    per_b: tuple[int, ...],
    per_y: tuple[int, ...],
    dtype: str,
) -> None:
    a, b = whole(*a_shape, dtype=dtype), whole(*b_shape, dtype=dtype)
    a_point, b_point, point = (whole(*shape, dtype=dtype) for shape in (per_a, per_b, per_y))
    exact = product(a, a_point, b, b_point)
    np.testing.assert_array_equal(run("MatMulInteger", a, b, a_point, b_point), exact)
    a_scale, b_scale, result_scale = scale(*per_a), scale(*per_b), scale(*per_y, by=20)
    found = run("QLinearMatMul", a, a_scale, a_point, b, b_scale, b_point, result_scale, point)
    expected = quantized(a, rows(a_scale) * b_scale, result_scale, point, exact)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    difference = np.abs(found.astype("int32") - expected)
    assert difference.max() <= 1 and (difference != 0).mean() < 0.1  # a half may round either way


@pytest.mark.parametrize(("a_shape", "b_shape"), [((6,), (6, 5)), ((3, 6), (6,)), ((6,), (6,)), ((2, 3, 6), (6,))])
def test_products_of_quantized_vectors(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b, one = whole(*a_shape), whole(*b_shape), whole(1)
    rows_of_a = whole(a_shape[-2]) if len(a_shape) > 1 else one
    point = rows_of_a[:, None] if len(a_shape) > 1 else rows_of_a
    exact = (a.astype("int32") - point) @ (b.astype("int32") - one)
    found = run("MatMulInteger", a, b, rows_of_a, one)
    np.testing.assert_array_equal(found, exact)
    assert found.shape == exact.shape


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize(
    ("shape", "per", "attributes"),
    [
        ((8,), (2,), {"axis": 0, "block_size": 4}),
        ((7,), (2,), {"axis": -1, "block_size": 4}),
        ((8,), (8,), {"axis": 0}),
        ((8,), (1,), {}),  # one value needs no axis
        ((3, 8), (3, 2), {"axis": 1, "block_size": 4}),
        ((3, 8), (8,), {}),
        ((3, 8), (3,), {"axis": -2}),
    ],
)
def test_scales_of_axes_and_blocks(
    op: str, shape: tuple[int, ...], per: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    x = whole(*shape) if op == "DequantizeLinear" else RNG.standard_normal(shape).astype("float32")
    arguments = (x, scale(*per), whole(*per))
    found = run(op, *arguments, **attributes)
    expected = run(op, *arguments, reference=True, **attributes)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_scales_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match="need block_size"):
        run("DequantizeLinear", whole(3, 8), scale(3, 2), None)
    with pytest.raises(ShapeError, match="do not broadcast"):
        run("DequantizeLinear", whole(8), scale(2), None, axis=0)
    with pytest.raises(ShapeError, match="do not broadcast"):
        run("MatMulInteger", whole(3, 6), whole(6, 5), whole(2), whole(5))


@pytest.mark.parametrize("per", [(), (1,), (4,)])
def test_quantized_convolutions(per: tuple[int, ...]) -> None:
    x, w, bias = whole(2, 3, 9), whole(4, 3, 3, dtype="int8"), whole(4, dtype="int32") // 2**20
    x_point, w_point, point = whole(), whole(*per, dtype="int8"), whole()
    x_scale, w_scale, result_scale = scale(), scale(*per), scale(by=20)

    def channels(value: Array) -> Array:
        return value.reshape(-1, 1) if value.ndim else value

    centred = np.pad(x.astype("int32") - x_point, ((0, 0), (0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(centred, 3, 2)
    filters = w.astype("int32") - (w_point.reshape(-1, 1, 1) if per else w_point)
    exact = np.einsum("bilk,oik->bol", windows, filters) + bias[:, None]
    expected = np.rint(exact * (x_scale * channels(w_scale) / result_scale)) + point.astype("int32")
    arguments = (x, x_scale, x_point, w, w_scale, w_point, result_scale, point, bias)
    found = run("QLinearConv", *arguments, pads=[1, 1])
    difference = np.abs(found.astype("int32") - np.clip(expected, 0, 255))
    assert found.shape == expected.shape and difference.max() <= 1 and (difference != 0).mean() < 0.1
