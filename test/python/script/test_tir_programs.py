"""Prim funcs of many kinds, compared with the same source run by Python."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sweep
from tir_reference import Case, check, check_together, interpret, native, native_module, numpy_dtype
from tir_sources import (
    ARITHMETIC,
    BITS,
    CONV,
    DTYPES,
    FACTORIAL_LETS,
    FLOATS,
    HISTOGRAM,
    INTEGER_PARAMETER,
    LAZY,
    MATH,
    REDUCTION,
    SCAN,
    TRIANGLE,
    WHILE,
)


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    return (rng.standard_normal(shape) * 4).astype(kind)


def out(dtype: str, *shape: int) -> Any:
    return np.zeros(shape, numpy_dtype(dtype))


@pytest.mark.parametrize("n", [0, 1, 7])
def test_scan(n: int) -> None:
    check(SCAN, [values("float32", (n,))], [out("float32", n)])


def test_histogram() -> None:
    arrays = [np.random.default_rng(n).integers(0, 10, (n,), dtype="int64") for n in (0, 1, 100)]
    check_together([Case(HISTOGRAM, [a], [out("int32", 10)]) for a in arrays])


def test_triangle_with_two_outputs() -> None:
    check_together(
        [Case(TRIANGLE, [values("float64", (n, n))], [out("float64", n, n), out("float64", n)]) for n in (0, 1, 5)]
    )


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (5, 7)])
def test_convolution_with_padding(shape: tuple[int, int]) -> None:
    check(CONV, [values("float32", shape), values("float32", (3, 3), 1)], [out("float32", *shape)], rtol=1e-5)


SOFTMAX = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer(("n", "m"), "float32")):
    M = T.alloc_buffer(("n",), "float32")
    E = T.alloc_buffer(("n", "m"), "float32")
    S = T.alloc_buffer(("n",), "float32")
    for i, k in T.grid(n, m):
        with T.block("max"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(n, m):
        with T.block("exp"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(n, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(n, m):
        with T.block("divide"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = E[vi, vj] / S[vi]
"""


@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (5, 7), (3, 33)])
def test_softmax_of_four_blocks(shape: tuple[int, int]) -> None:
    source = SOFTMAX.replace('("n",)', "(n,)").replace('alloc_buffer(("n", "m")', "alloc_buffer((n, m)")
    source = source.replace('A: T.Buffer((n,), "float32")', 'A: T.Buffer(("n",), "float32")')
    module = check(source, [values("float32", shape)], [out("float32", *shape)], rtol=1e-5)
    assert str(module).count("linalg.generic") == 4


def test_while() -> None:
    check(WHILE, [values("int64", (9,))], [out("int64", 9)])


def test_conditions_guard_what_they_stand_before() -> None:
    for n in (0, 1, 6):
        check(LAZY, [values("float32", (n,))], [out("bool", n), out("float32", n)])


def test_integer_parameters() -> None:
    check(INTEGER_PARAMETER, [values("float32", (5,))], [out("float32", 6)], [3, 2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic_of_every_dtype(dtype: str) -> None:
    a, b = values(dtype, (37,)), values(dtype, (37,), 1)
    a[:4] = [0, 1, 2, 3]
    b[3:5] = [1, 2]
    b[b == 0] = 1
    check(ARITHMETIC.format(dtype), [a, b], [out(dtype, 8, 37), out("bool", 4, 37)])


def test_division_by_zero_gives_zero() -> None:
    source = """
@T.prim_func
def k(A: T.Buffer(("n",), "int32"), B: T.Buffer(("n",), "int32"), C: T.Buffer(("n",), "int32")):
    for i in range(n):
        C[i] = A[i] // B[i] + A[i] % B[i] + T.truncdiv(A[i], B[i])
"""
    a = np.array([5, -(2**31), 7], "int32")
    b = np.array([0, -1, 2], "int32")
    (found,) = native(native_module(source, [a, b], [a]), [a, b])
    assert found[0] == 0
    assert found[2] == 7 // 2 + 7 % 2 + 3


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_floats(dtype: str) -> None:
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 4e-2}[dtype]
    check(MATH.format(dtype), [values(dtype, (13,))], [out(dtype, 16, 13)], rtol=tolerance)


CAST_TARGETS = ("int8", "uint8", "int64", "uint64", "float16", "bfloat16", "float64", "bool")
CAST = """
    for i in range(n):
        with T.block("cast"):
            vi = T.axis.spatial(n, i)
            TO_{1}[vi] = T.cast({0}[vi], "{1}")"""


@cache
def casts(source_dtype: str) -> dict[str, tuple[Any, Any]]:
    """The results of one prim func with a loop for each target: native ones, and those of Python."""
    wide = values(source_dtype, (9,)) if source_dtype != "bool" else np.arange(9) % 2 == 0
    small = (wide % 100).astype(wide.dtype) if wide.dtype.kind in "iu" else wide
    outs = [out(target, 9) for target in CAST_TARGETS]
    parameters = [f'{name}: T.Buffer(("n",), "{source_dtype}")' for name in ("WIDE", "SMALL")]
    parameters += [f'TO_{target}: T.Buffer(("n",), "{target}")' for target in CAST_TARGETS]
    loops = [CAST.format("SMALL" if "float16" in t else "WIDE", t) for t in CAST_TARGETS]
    source = f"@T.prim_func\ndef k({', '.join(parameters)}):{''.join(loops)}\n"
    found = native(native_module(source, [wide, small], outs), [wide, small])
    interpret(source, [wide, small, *outs])
    return dict(zip(CAST_TARGETS, zip(found, outs, strict=True), strict=True))


@pytest.mark.parametrize("source_dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("target", CAST_TARGETS)
def test_casts(source_dtype: str, target: str) -> None:
    found, expected = casts(source_dtype)[target]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "dtype",
    sweep.quick(["int8", "uint16", "int32", "int64", "uint64", "float64"], "int8", "uint64", "float64"),
)
@pytest.mark.parametrize("kind", ["sum", "max", "product"])
def test_reductions(dtype: str, kind: str) -> None:
    initial, update = {
        "sum": (0, "B[vi] + A[vi, vk]"),
        "max": (f'T.min_value("{dtype}")', "T.max(B[vi], A[vi, vk])"),
        "product": (1, "B[vi] * A[vi, vk]"),
    }[kind]
    least = "-1e300" if dtype == "float64" else str(np.iinfo(dtype).min)
    source = REDUCTION.format(dtype, initial if kind != "max" else least, update)
    arrays = [values(dtype, shape) for shape in ((0, 3), (1, 1), (3, 11))]
    check_together([Case(source, [a], [out(dtype, len(a))]) for a in arrays], rtol=1e-9)


def test_a_reduction_over_nothing_gives_its_initial_value() -> None:
    a = np.zeros((2, 0), "float32")
    source = REDUCTION.format("float32", "5.0", "B[vi] + A[vi, vk]")
    (found,) = native(native_module(source, [a], [out("float32", 2)]), [a])
    np.testing.assert_array_equal(found, [5.0, 5.0])


def test_rank_zero_and_local_scalars() -> None:
    check(FACTORIAL_LETS, [np.array(7, "int64")], [out("int64")])


@pytest.mark.parametrize("dtype", DTYPES[:8])
def test_bits(dtype: str) -> None:
    check(BITS.format(dtype), [values(dtype, (11,))], [out(dtype, 5, 11)])
