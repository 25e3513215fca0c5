"""Elementwise ops on every dtype: arithmetic, functions, comparisons, choices, casts, activations and quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import reference
import sweep
import torch
from harness import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    SIZES,
    Array,
    Suite,
    compiled,
    numbers,
    pairs,
    special_values,
    tensor,
)
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fusion.fuse_ops import FuseOps
from scipy import special
from torch.nn import functional as F

DRAWS = {
    **{name: numbers(-10, 5) for name in ("exp", "expm1")},
    **{name: numbers(1e-3, 50) for name in ("log", "log10", "log2")},
    **{name: numbers(-50, 50) for name in ("asinh", "atan")},
    **{name: numbers(-20, 20) for name in ("cos", "sin")},
    **{name: numbers(-1, 1) for name in ("acos", "asin")},
    "log1p": numbers(-0.99, 50),
    "rsqrt": numbers(1e-2, 50),
    "sigmoid": numbers(-12, 12),
    "sqrt": numbers(0, 100),
    "acosh": numbers(1, 50),
    "atanh": numbers(-0.99, 0.99),
    "tan": numbers(-1.3, 1.3),
}
"""Where a function is defined and its result is no extreme."""
FUNCTIONS = [name for name in reference.FLOAT_UNARY if "." not in name]
ARITHMETIC = ("add", "floor_divide", "floor_mod", "maximum", "minimum", "mod", "multiply", "subtract")


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_floats(dtype: str) -> None:
    """All in float32; the other types alternate."""
    suite = Suite((dtype, FLOATS[1:] if dtype in FLOATS[1:] else [dtype]), dtype=dtype)
    row = [[special_values(dtype)[None]]]
    for name in FUNCTIONS:
        suite.use(name, "n m", draw=DRAWS.get(name), inputs=row, sizes=SIZES)
    for name in ("expm1", "log1p"):
        suite.use(name, "n m", draw=numbers(-1e-6, 1e-6))
    suite.run()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_functions_of_numbers(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    for name in (name for name in reference.NUMBER_UNARY if "." not in name):
        suite.use(name, "n", inputs=[[special_values(dtype)]], sizes=SIZES)
    suite.use("negative", "")
    suite.run(test_functions_of_numbers)


@pytest.mark.parametrize("dtype", ALL)
def test_predicates(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for name in (*reference.PREDICATES, *["bitwise_not"] * (dtype in (*INTEGERS, "bool"))):
        suite.use(name, "n", inputs=[[special_values(dtype)]], sizes=SIZES)
    suite.run(test_predicates)


def test_sigmoid_of_all_sizes() -> None:
    """Within 2.2 units of the last place, where results are denormal too."""
    x = np.concatenate([np.linspace(-105, 20, 200_003), [np.inf, -np.inf, -0.0]]).astype(np.float32)
    exact = special.expit(x.astype(np.float64))
    found = compiled(R.sigmoid, "n")(x)
    assert (np.abs(found - exact) <= 2.2 * np.spacing(exact.astype(np.float32))).all()


def on_pairs(suite: Suite, names: Any, **options: Any) -> None:
    """Ops on vectors: of random numbers, and of all pairs of special values."""
    for name in names:
        suite.use(name, "n", "n", inputs=[pairs(special_values(suite.dtype))], sizes=SIZES, **options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_of_floats(dtype: str) -> None:
    """All in float32; the other types alternate.

    A quotient depends on the rounding of its operands: the reference computes it in the dtype if NumPy has it.
    """
    suite = Suite((dtype, FLOATS[1:] if dtype in FLOATS[1:] else [dtype]), dtype=dtype)
    precision = np.float64 if dtype == "float64" else np.float32
    on_pairs(suite, (*ARITHMETIC, *reference.FLOAT_BINARY), precision=precision)
    suite.use("power", "n", "n", draw=[numbers(0.1, 3), numbers(-3, 3)], precision=precision)
    suite.use("power", "n", "n", inputs=[pairs(special_values(dtype))], precision=precision)
    suite.use("ewise_fma", "n", "n", "n")
    suite.run()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_arithmetic_of_integers(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    on_pairs(suite, (*ARITHMETIC, "power"))
    suite.use("ewise_fma", "n", "n", "n")
    suite.run(test_arithmetic_of_integers)


@pytest.mark.parametrize("dtype", ALL)
def test_comparisons(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    on_pairs(suite, reference.COMPARISONS)
    suite.run(test_comparisons)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_bits(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    on_pairs(suite, ("bitwise_and", "bitwise_or", "bitwise_xor"))
    if dtype == "bool":
        on_pairs(suite, ("add", "maximum", "minimum", "multiply"))
    else:
        bits = np.iinfo(dtype).bits
        counts = np.array([*range(-2 if dtype in SIGNED else 0, bits + 3), bits * 2], dtype=dtype)
        every = [np.ascontiguousarray(x.reshape(-1)) for x in np.meshgrid(special_values(dtype), counts)]
        for name in ("left_shift", "right_shift"):
            suite.use(name, "n", "n", inputs=[every], sizes=SIZES)
    suite.run(test_bits)


def test_broadcasting_and_operators() -> None:
    suite = Suite()
    for left, right in (
        ("n 1 m", "2 m"),
        ("n m", ""),
        ("", "n"),
        ("1 m", "n 1"),
        ("3 1", "1 4"),
        ("n 1", "n 5"),
    ):
        suite.use("subtract", left, right)
    suite.use("ewise_fma", "n 1 int32", "m int32", "int32")
    suite.both(lambda R, x: R.multiply(2, R.add(x, 1)), "n int8")
    suite.both(lambda R, x, y: (x + y) * x - y / 2.0, "n", "n")
    suite.both(lambda R, x, y: x // 2 + y % 3 - -x, "n int32", "n int32")
    suite.both(lambda R, x, y: (x & y) | (~x ^ 3), "n uint8", "n uint8")
    suite.both(lambda R, x, y: x > y, "n", "n")
    suite.run()


def test_where_and_clip() -> None:
    suite = Suite()
    for dtype in ALL:
        suite.use("where", "n 1 bool", f"n m {dtype}", f"m {dtype}")
    suite.both(lambda R, c, x: R.where(c, x, 0), "n bool", "n")
    for dtype in NUMBERS:
        suite.use("clip", f"n {dtype}", min=1, max=3, inputs=[[special_values(dtype)]], sizes=SIZES)
    for bounds in ({"min": -0.5}, {"max": 0.5}, {}):
        suite.use("clip", "n", inputs=[[special_values("float32")]], **bounds, sizes=SIZES)
    suite.use("clip", "n", min=2, max=1)
    suite.add("wide", lambda x: R.clip(x, -1000, 1000), np.copy, [tensor("n uint8")])
    suite.run()


@pytest.mark.parametrize("source", ALL)
def test_astype(source: str) -> None:
    """To targets of each kind, which alternate over the sources; integers go to 16 bits by way of float32."""
    suite = Suite(dtype=source)
    values = special_values(source)
    if source in FLOATS:
        large = np.array([100.7, -100.7, 6e4, -6e4, 2.0**40, -(2.0**40)])
        with np.errstate(over="ignore"):
            values = np.concatenate([values, large.astype(values.dtype)])
    for target in ALL:
        if source not in sweep.turn(target, sweep.alike(target, ALL), ALL):
            continue
        twice = source in INTEGERS and target in ("float16", "bfloat16")

        def convert(ops: Any, x: Any, target: str = target, twice: bool = twice) -> Any:
            x = x.astype(np.float32) if twice and ops is not R else x
            return ops.astype(x, target)

        suite.both(convert, "n", draw=numbers(0, 100), inputs=[[values]], sizes=SIZES)
    suite.run()


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_float64_is_rounded_once(target: str) -> None:
    """Values next to the middle between two f16 values: rounding to float32 first would move them onto the middle."""
    step = float(ml_dtypes.finfo(dtypes.dtype(target).numpy).eps)
    middles = 1 + step * (np.arange(1, 9) + 0.5)
    values = np.concatenate([middles, middles * (1 + 1e-12), middles * (1 - 1e-12)])
    found = compiled(lambda x: R.astype(x, target), "n float64")
    for x in (values, -values):
        np.testing.assert_array_equal(found(x).astype(np.float64), np.rint(x / step) * step)


TOLERANCE = {"float32": 2e-6, "float64": 1e-13}
ACTIVATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("leakyrelu", {}),
    ("leakyrelu", {"alpha": -0.25}),
    ("elu", {}),
    ("elu", {"alpha": 0.3}),
    ("selu", {}),
    ("softplus", {}),
    ("softplus", {"beta": 2.5, "threshold": 3.0}),
    ("hardswish", {}),
    ("hardsigmoid", {}),
    ("hardsigmoid", {"alpha": 0.2, "beta": 0.4}),
    ("mish", {}),
    ("relu6", {}),
)


def test_activations() -> None:
    suite = Suite()
    line = np.concatenate([np.linspace(-120, 120, 61), np.linspace(-7, 7, 41), np.linspace(-1e-3, 1e-3, 11)])
    for dtype in FLOATS:
        inputs = [[special_values(dtype)], [line.astype(dtypes.dtype(dtype).numpy)]]
        for name, options in sweep.turn(dtype, sweep.partners(dtype, FLOATS), ACTIVATIONS):
            more = {**options, "tolerance": TOLERANCE.get(dtype), "sizes": SIZES}
            suite.use(f"nn.{name}", f"n {dtype}", inputs=inputs, **more)
    suite.use("nn.mish", "")
    suite.run()


def test_composite_activations() -> None:
    suite = Suite()
    for dtype in FLOATS:
        kind = dtypes.dtype(dtype).numpy
        rows = [special_values(dtype).reshape(3, -1), np.linspace(-9, 9, 37, dtype="f4")[None].astype(kind)]
        suite.both(
            lambda R, x: [R.nn.relu(x), R.nn.gelu(x), R.nn.gelu_tanh(x), R.nn.silu(x)],
            f"n m {dtype}",
            inputs=[[row] for row in rows],
            tolerance={"float32": 2e-5, "float64": 1e-11}.get(dtype),
        )
    for dtype in INTEGERS:
        suite.use("nn.relu", f"n {dtype}", inputs=[[special_values(dtype)]])
    for dtype in ("int8", "uint8", "int64"):
        suite.use("nn.relu6", f"n {dtype}", draw=numbers(-20, 20))
    suite.run()


def test_references_are_those_of_torch() -> None:
    """The formulas of activations with parameters, on numbers of all sizes."""
    x = np.concatenate([np.linspace(-60, 60, 61), np.linspace(-1e-3, 1e-3, 11)])
    names = {"leakyrelu": "leaky_relu"}
    for name, options in ACTIVATIONS:
        if options != {"alpha": 0.2, "beta": 0.4}:  # of ONNX
            theirs = getattr(F, names.get(name, name))(torch.tensor(x), *options.values()).numpy()
            (ours,) = plain(reference.OPS[f"nn.{name}"](x, **options))
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_small_results_keep_their_digits() -> None:
    """Results near 0 must have small relative errors; those of silu go through the denormals."""
    names = ("softplus", "elu", "mish")
    x = np.concatenate([-np.linspace(1, 80, 200), -np.logspace(-30, 0, 100)]).astype(np.float32)
    found = compiled(lambda x: [getattr(R.nn, name)(x) for name in names], "n")(x)
    for have, name in zip(found, names, strict=True):
        want = getattr(F, name)(torch.from_numpy(x).double()).numpy()
        np.testing.assert_allclose(have, want, rtol=2e-6, atol=1e-37)
    x = np.linspace(-115, -80, 500, dtype=np.float32)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(compiled(R.nn.silu, "n")(x), wide * special.expit(wide), rtol=1e-6, atol=1e-43)


def test_prelu() -> None:
    kinds = (*FLOATS, "int32", "uint8")
    for dtype in kinds:
        suite = Suite.of(dtype, kinds)
        for shape, slopes, axis in (("n m 3", "m", 1), ("n m 3", "3", -1), ("n m 3", "1", 1), ("m", "m", 0)):
            suite.use("nn.prelu", shape, slopes, axis=axis)
        suite.run()


def calls(build: Callable[..., Any], *shapes: str) -> int:
    """The number of called prim funcs after fusion."""
    suite = Suite()
    suite.add("main", build, build, [tensor(shape) for shape in shapes], sizes=())
    mod = suite.module()
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps())
    return str(mod.mlir).count("relax.call_tir")


@pytest.mark.parametrize(
    "build",
    [
        lambda x, a: R.exp(R.nn.leakyrelu(R.add(x, a))),
        lambda x, a: R.exp(R.nn.softplus(R.nn.mish(R.add(x, a)))),
        lambda x, a: R.nn.hardswish(R.nn.elu(R.nn.prelu(x, a))),
        lambda x, a: R.nn.leakyrelu(R.nn.leakyrelu(x, 0.5), 0.25),
    ],
)
def test_chains_are_one_kernel(build: Callable[..., Any]) -> None:
    assert calls(build, "n m", "m") == 1


def test_behind_a_product() -> None:
    """Activations become the epilogue of a GEMM."""

    def build(R: Any, x: Any, w: Any) -> Any:
        return R.nn.leakyrelu(R.nn.hardswish(R.matmul(x, w)))

    assert calls(lambda x, w: build(R, x, w), "n 5", "5 m") == 1
    suite = Suite()
    suite.both(build, "n 5", "5 m")
    suite.run()


QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")


@pytest.mark.parametrize("dtype", QUANTIZED)
def test_quantized_integers(dtype: str) -> None:
    suite = Suite.of(dtype, QUANTIZED)
    down = [numbers(-300, 300), numbers(0.01, 2), numbers(-20, 20)]
    back = [numbers(-(2**31), 2**31 - 1), *down[1:]]
    to = {"out_dtype": dtype, "draw": down}
    suite.use("quantize", "n m 3 float32", "m float32", "m", axis=1, **to)
    suite.use("quantize", "n m 3 float32", "float32", "1", axis=0, **to)
    suite.use("dequantize", "n m 3", "m float32", "m", axis=-2, draw=back)
    suite.use("dequantize", "n m 3", "float32", "1", draw=back)
    suite.run(test_quantized_integers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_quantized_floats(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    values = np.array([np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, 1e4, -0.0])
    values = values.astype(dtypes.dtype(dtype).numpy)
    one: Array = np.array(1).astype(values.dtype)
    suite.use("quantize", "n", "", "int8", inputs=[[values, one, np.array(3, np.int8)]])
    suite.use("dequantize", "n int8", "float32", "int8", out_dtype=dtype)
    suite.both(lambda R, x: R.quantize(x, 0.5, 3), "")
    suite.run(test_quantized_floats)


def test_quantization_fuses() -> None:
    """A chain of dequantize, a function and quantize is one kernel."""
    build = lambda x, s, z: R.quantize(R.nn.relu(R.dequantize(x, s, z)), s, z)  # noqa: E731
    assert calls(build, "n 4 int8", "4", "4 int8") == 1
