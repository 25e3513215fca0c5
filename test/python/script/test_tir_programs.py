"""Prim funcs of many kinds, compared with the same source run by Python."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tir_reference import check, interpret, native, native_module, numpy_dtype

DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
FLOATS = DTYPES[8:]


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    return (rng.standard_normal(shape) * 4).astype(kind)


def out(dtype: str, *shape: int) -> Any:
    return np.zeros(shape, numpy_dtype(dtype))


SCAN = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        if i == 0:
            B[i] = A[i]
        else:
            B[i] = B[i - 1] + A[i]
"""


@pytest.mark.parametrize("n", [0, 1, 7])
def test_scan(n: int) -> None:
    check(SCAN, [values("float32", (n,))], [out("float32", n)])


HISTOGRAM = """
@T.prim_func
def k(A: T.Buffer(("n",), "int64"), H: T.Buffer((10,), "int32")):
    for i in range(10):
        H[i] = 0
    for i in range(n):
        H[A[i]] += 1
"""


def test_histogram() -> None:
    for n in (0, 1, 100):
        a = np.random.default_rng(n).integers(0, 10, (n,), dtype="int64")
        check(HISTOGRAM, [a], [out("int32", 10)])


TRIANGLE = """
@T.prim_func
def k(A: T.Buffer(("n", "n"), "float64"), B: T.Buffer(("n", "n"), "float64"), S: T.Buffer(("n",), "float64")):
    for i in T.serial(n):
        S[i] = 0.0
        for j in T.serial(n):
            B[i, j] = 0.0
        for j in T.serial(i, n):
            B[i, j] = A[i, j]
            S[i] = S[i] + A[j, i]
"""


def test_triangle_with_two_outputs() -> None:
    for n in (0, 1, 5):
        check(TRIANGLE, [values("float64", (n, n))], [out("float64", n, n), out("float64", n)])


CONV = """
@T.prim_func
def k(X: T.Buffer(("n", "m"), "float32"), W: T.Buffer((3, 3), "float32"), Y: T.Buffer(("n", "m"), "float32")):
    P = T.alloc_buffer((n + 2, m + 2), "float32")
    for i, j in T.grid(n + 2, m + 2):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(1 <= vi and vi < n + 1 and vj >= 1 and vj <= m, X[vi - 1, vj - 1], 0.0)
    for i, j, di, dj in T.grid(n, m, 3, 3):
        with T.block("conv"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.spatial(m, j)
            vdi = T.axis.reduce(3, di)
            vdj = T.axis.reduce(3, dj)
            with T.init():
                Y[vi, vj] = 0.0
            Y[vi, vj] += P[vi + vdi, vj + vdj] * W[vdi, vdj]
"""


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


WHILE = """
@T.prim_func
def k(A: T.Buffer(("n",), "int64"), B: T.Buffer(("n",), "int64")):
    x = T.alloc_buffer((1,), "int64")
    for i in range(n):
        x[0] = A[i] % 100
        B[i] = 0
        while x[0] > 1:
            if x[0] % 2 == 0:
                x[0] = x[0] // 2
            else:
                x[0] = 3 * x[0] + 1
            B[i] += 1
"""


def test_while() -> None:
    check(WHILE, [values("int64", (9,))], [out("int64", 9)])


LAZY = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "bool"), C: T.Buffer(("n",), "float32")):
    for i in range(n):
        B[i] = i > 0 and A[i - 1] > 0.0 or not (i < n - 1 and A[i + 1] <= 0.0)
        left = A[i - 1] if i > 0 else A[i]
        C[i] = left * 2.0
"""


def test_conditions_guard_what_they_stand_before() -> None:
    for n in (0, 1, 6):
        check(LAZY, [values("float32", (n,))], [out("bool", n), out("float32", n)])


INTEGER_PARAMETER = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("m * 2",), "float32"), m: T.int64, s: T.int32):
    for i in range(m * 2):
        B[i] = T.if_then_else(i + s < n, A[i + s], -1.0)
"""


def test_integer_parameters() -> None:
    check(INTEGER_PARAMETER, [values("float32", (5,))], [out("float32", 6)], [3, 2])


ARITHMETIC = """
@T.prim_func
def k(
    A: T.Buffer(("n",), "{0}"),
    B: T.Buffer(("n",), "{0}"),
    C: T.Buffer((8, "n"), "{0}"),
    D: T.Buffer((4, "n"), "bool"),
):
    for i in range(n):
        C[0, i] = A[i] + B[i]
        C[1, i] = A[i] - B[i]
        C[2, i] = A[i] * B[i]
        C[3, i] = A[i] // B[i]
        C[4, i] = A[i] % B[i]
        C[5, i] = max(A[i], B[i])
        C[6, i] = T.min(A[i], B[i])
        C[7, i] = A[i] // 3 + A[i] % 5
        D[0, i] = A[i] < B[i]
        D[1, i] = A[i] >= B[i]
        D[2, i] = A[i] == B[i]
        D[3, i] = 1 < A[i] <= 3
"""


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


MATH = """
@T.prim_func
def k(A: T.Buffer(("n",), "{0}"), C: T.Buffer((16, "n"), "{0}")):
    for i in range(n):
        C[0, i] = T.exp(A[i])
        C[1, i] = T.log(T.abs(A[i]))
        C[2, i] = T.sqrt(abs(A[i]))
        C[3, i] = T.tanh(A[i])
        C[4, i] = T.sigmoid(A[i])
        C[5, i] = T.erf(A[i])
        C[6, i] = T.sin(A[i])
        C[7, i] = T.cos(A[i])
        C[8, i] = T.floor(A[i])
        C[9, i] = T.ceil(A[i])
        C[10, i] = T.round(A[i])
        C[11, i] = T.trunc(A[i])
        C[12, i] = A[i] / 3.0
        C[13, i] = -A[i]
        C[14, i] = T.rsqrt(T.abs(A[i]) + 1.0)
        C[15, i] = T.tan(A[i])
"""


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


REDUCTION = """
@T.prim_func
def k(A: T.Buffer(("n", "m"), "{0}"), B: T.Buffer(("n",), "{0}")):
    for i, k in T.grid(n, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {1}
            B[vi] = {2}
"""


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "uint64", "float64"])
@pytest.mark.parametrize("kind", ["sum", "max", "product"])
def test_reductions(dtype: str, kind: str) -> None:
    initial, update = {
        "sum": (0, "B[vi] + A[vi, vk]"),
        "max": (f'T.min_value("{dtype}")', "T.max(B[vi], A[vi, vk])"),
        "product": (1, "B[vi] * A[vi, vk]"),
    }[kind]
    for n, m in ((0, 3), (1, 1), (3, 11)):
        a = values(dtype, (n, m))
        initial_text = (
            str(initial) if kind != "max" else ("-1e300" if dtype == "float64" else str(np.iinfo(dtype).min))
        )
        check(REDUCTION.format(dtype, initial_text, update), [a], [out(dtype, n)], rtol=1e-9)


def test_a_reduction_over_nothing_gives_its_initial_value() -> None:
    a = np.zeros((2, 0), "float32")
    source = REDUCTION.format("float32", "5.0", "B[vi] + A[vi, vk]")
    (found,) = native(native_module(source, [a], [out("float32", 2)]), [a])
    np.testing.assert_array_equal(found, [5.0, 5.0])


FACTORIAL_LETS = """
@T.prim_func
def k(A: T.Buffer((), "int64"), B: T.Buffer((), "int64")):
    x = A[()]
    y: T.int64 = x * x
    B[()] = y + x
"""


def test_rank_zero_and_local_scalars() -> None:
    check(FACTORIAL_LETS, [np.array(7, "int64")], [out("int64")])


BITS = """
@T.prim_func
def k(A: T.Buffer(("n",), "{0}"), B: T.Buffer((5, "n"), "{0}")):
    for i in range(n):
        B[0, i] = A[i] & 12
        B[1, i] = A[i] | 3
        B[2, i] = A[i] ^ 5
        B[3, i] = ~A[i]
        B[4, i] = (A[i] << 2) + (A[i] >> 1)
"""


@pytest.mark.parametrize("dtype", DTYPES[:8])
def test_bits(dtype: str) -> None:
    check(BITS.format(dtype), [values(dtype, (11,))], [out(dtype, 5, 11)])
