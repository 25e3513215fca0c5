"""All kernels for x86 CPUs with fewer features, compiled for these and run: against float64, with random sizes."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from machine_text import Assembly
from masked import loadable
from relax_mlir import op as R
from relax_mlir.runtime import elf, to_numpy
from relax_mlir.runtime.elf import SUPPORTED
from relax_mlir.runtime.executable import Executable
from relax_mlir.target import Target
from scipy.special import erf

FORBIDDEN = {
    "cpu -mcpu=haswell -mattr=-fma": r"vfn?m(add|sub)",
    "cpu -mcpu=haswell -mattr=-avx2": r"v(p(add|sub|mul|sll|srl|sra|cmp|and|or|xor)\w+ .*%ymm|gather|pbroadcast)",
    "cpu -mcpu=x86-64": r"v[a-z]\S* |\S+ .*%ymm|p(max|min)[su]d|round[ps][sd]|blendv|ptest|pshufb",
}
"""Targets, and instructions that their CPUs lack."""

LIBRARY = re.compile(
    r"__(extend|trunc|float|fix)|(fma|floor|ceil|trunc|roundeven|rint)f?$|(exp|log|tanh|sin|pow|erf)f$"
)
"""Functions of libm and of LLVM's run-time library."""

HOST = Target.host()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SUPPORTED and HOST.has("avx2", "fma")), reason="runs code for x86-64 with AVX2 and FMA"),
]

Reference = Callable[..., Any]
Case = tuple[tuple[tuple[tuple[int | str, ...], str], ...], Callable[..., Any], Reference]
"""Shapes and dtypes of the parameters, the operation, and the same in NumPy on float64."""


def softmax(x: np.ndarray) -> np.ndarray:
    scaled = np.exp(x - x.max(axis=-1, keepdims=True))
    return scaled / scaled.sum(axis=-1, keepdims=True)


def layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * scale + shift


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    return np.einsum("bhqk,bkhd->bqhd", softmax(scores), v)


def chain(x: Any, y: Any) -> Any:
    return R.divide(R.exp(R.add(R.multiply(x, R.const(2.0, "float32")), y)), R.add(R.abs(y), R.const(1.0, "float32")))


WEIGHT = np.random.default_rng(7).standard_normal((40, 23), dtype=np.float32)
FLOATS = ("float32", "float64", "float16", "bfloat16")
MATRICES = (("n", "k"), ("k", "m"))
ROWS = (("n", "m"),)


def on(*shapes: tuple[int | str, ...], dtype: str = "float32") -> tuple[tuple[tuple[int | str, ...], str], ...]:
    return tuple((shape, dtype) for shape in shapes)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


CASES: dict[str, Case] = {
    **{f"matmul_{dtype}": (on(*MATRICES, dtype=dtype), R.matmul, product) for dtype in FLOATS},
    "constant": (on(("n", 40)), lambda x: R.matmul(x, R.const(WEIGHT)), lambda x: x @ WEIGHT.astype(np.float64)),
    "softmax": (on(*ROWS), R.nn.softmax, softmax),
    "softmax_half": (on(*ROWS, dtype="float16"), R.nn.softmax, softmax),
    "layer_norm": (
        on(("n", "m"), ("m",), ("m",)),
        lambda x, s, t: R.nn.layer_norm(x, s, t, axes=[-1], epsilon=1e-5),
        layer_norm,
    ),
    "attention": (on(*[(2, s, 2, "d") for s in ("n", "k", "k")]), R.nn.attention, attention),
    "sum_rows": (on(*ROWS), partial(R.sum, axis=[1]), partial(np.sum, axis=1)),
    "max_columns": (on(("k", "m")), partial(R.max, axis=[0]), partial(np.max, axis=0, initial=-np.inf)),
    "argmax": (on(*ROWS), partial(R.argmax, axis=1), partial(np.argmax, axis=1)),
    "chain": (on(("n", "m"), ("m",)), chain, lambda x, y: np.exp(2 * x + y) / (np.abs(y) + 1)),
    "gelu": (on(*ROWS), R.nn.gelu, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "cast": (on(*ROWS, dtype="float16"), lambda x: R.astype(x, "bfloat16"), lambda x: x.astype(ml_dtypes.bfloat16)),
    **{name: (on(*ROWS), getattr(R, name), getattr(np, name)) for name in ("tanh", "sin", "floor", "ceil", "trunc")},
    "log": (on(*ROWS), lambda x: R.log(R.abs(x)), lambda x: np.log(np.abs(x))),
    "power": (on(*ROWS), lambda x: R.power(R.abs(x), x), lambda x: np.abs(x) ** x),
    "round": (on(*ROWS), R.round, np.rint),
}  # fmt: skip

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


def left_out(target: str, name: str) -> bool:
    """True if a case is skipped: matmuls are most of the code, so in a partial sweep each has only some targets.

    The targets that lack one feature share all cases except the f32 matmul. Cases of bf16, constants, powers and sines
    are skipped if another target covers them: powers and sines, whose code is long without FMA, have one target each.
    """
    if not sweep.ALL and "x86-64" in target and name in ("matmul_bfloat16", "constant", "power"):
        return True
    if not sweep.ALL and "-fma" in target and name == "sin":
        return True
    if "-avx2" in target and name in ("matmul_float64", "matmul_float16", "constant"):
        return True
    taking_turns = [each for each in FORBIDDEN if "-mattr" in each]
    if target not in taking_turns or name == "matmul_float32":
        return False
    return name not in sweep.turn(target, taking_turns, [each for each in CASES if each != "matmul_float32"])


def module(target: str) -> rx.IRModule:
    bb = rx.BlockBuilder()
    for name, (parameters, operation, _) in CASES.items():
        if left_out(target, name):
            continue
        values = [rx.Var(f"x{n}", rx.Tensor(shape, dtype)) for n, (shape, dtype) in enumerate(parameters)]
        with bb.function(name, values):
            bb.emit_func_output(bb.emit(operation(*values)))
    return bb.get()


@functools.cache
def loader(target: str) -> tuple[Callable[[], Executable], Assembly]:
    return loadable(module(target), Target(target))


@functools.cache
def compiled(target: str) -> tuple[Executable, Assembly]:
    load, assembly = loader(target)
    return load(), assembly


@pytest.mark.parametrize("target", FORBIDDEN)
def test_only_instructions_of_the_target(target: str) -> None:
    _, code = compiled(target)
    assert code.everything.matching(FORBIDDEN[target]) == []
    assert len(code.functions) > sum(not left_out(target, name) for name in CASES)


@pytest.mark.parametrize("target", FORBIDDEN)
def test_no_calls_of_libraries(target: str) -> None:
    called = set(compiled(target)[1].everything.calls)
    assert not {name for name in called if LIBRARY.match(name)}


@pytest.mark.parametrize(
    ("target", "name"),
    [(target, name) for target in FORBIDDEN for name in CASES if not left_out(target, name)],
)
def test_results(target: str, name: str) -> None:
    parameters, _, reference = CASES[name]
    function = compiled(target)[0][name]
    rng = np.random.default_rng(len(name))
    for trial in range(12):
        least = 0 if name.startswith(("matmul", "chain", "sum")) and trial == 0 else 1
        sizes = {symbol: int(rng.choice([least, 1, 2, 3, 5, 8, 17, 31, 64, 70])) for symbol in "nkmd"}
        shapes = [tuple(sizes.get(d, d) if isinstance(d, str) else d for d in shape) for shape, _ in parameters]
        dtypes = [np.dtype(getattr(ml_dtypes, dtype, None) or dtype) for _, dtype in parameters]
        inputs = [rng.standard_normal(shape).astype(d) for shape, d in zip(shapes, dtypes, strict=True)]
        got = to_numpy(function(*inputs)).astype(np.float64)
        expected = reference(*(x.astype(np.float64) for x in inputs))
        assert got.shape == np.shape(expected)
        tolerance = TOLERANCE[parameters[0][1]] * (8 if "matmul" in name else 1)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=f"{name} of {shapes}")


def test_functions_of_libraries_that_are_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """This code calls memset, which is further away than the four bytes of an instruction reach."""

    def far(size: int) -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        place: int = libc.mmap(1 << 45, size, 3, 0x22, -1, 0)  # to read and write, private, of no file
        return place

    monkeypatch.setattr(elf, "_map", far)
    load, assembly = loader("cpu -mcpu=x86-64")
    executable = load()
    products = [code for name, code in assembly.functions.items() if name.startswith("relax.gemm.f32.")]
    assert any("memset" in code.calls for code in products)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 70)), rng.standard_normal((70, 33))
    found = to_numpy(executable["matmul_float32"](a.astype("float32"), b.astype("float32")))
    np.testing.assert_allclose(found, a @ b, rtol=0, atol=1e-4)
