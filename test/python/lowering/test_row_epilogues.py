"""Epilogues of softmax and the norms, in registers or in a separate pass: every remainder, every float type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.ffi import to_numpy

ROWS = (0, 1, 2, 5)
LENGTHS = (1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 100, 130)

DTYPES: dict[str, Any] = {
    "float32": (np.float32, 3e-6),
    "float64": (np.float64, 1e-13),
    "float16": (np.float16, 4e-3),
    "bfloat16": (ml_dtypes.bfloat16, 3e-2),
}
"""The type in NumPy, and how far results may be off, relatively and absolutely."""


def expected(name: str, *arrays: np.ndarray) -> np.ndarray:
    """The reference's result."""
    return plain(OPS[f"nn.{name}"](*arrays))[0]


class Inputs(NamedTuple):
    """A matrix, another one, a row, a column, a row of booleans."""

    x: Any
    other: Any
    row: Any
    column: Any
    flags: Any


KERNELS: dict[str, tuple[Callable[[Inputs], Any], Callable[[Inputs], np.ndarray]]] = {
    "softmax": (lambda i: R.nn.softmax(i.x), lambda i: expected("softmax", i.x)),
    "log_softmax": (lambda i: R.nn.log_softmax(i.x), lambda i: expected("log_softmax", i.x)),
    "layer_norm": (
        lambda i: R.nn.layer_norm(i.x, i.row, i.row),
        lambda i: expected("layer_norm", i.x, i.row, i.row),
    ),
    "rms_norm": (lambda i: R.nn.rms_norm(i.x, i.row), lambda i: expected("rms_norm", i.x, i.row)),
}
"""For each kernel, its builder and its reference."""

EPILOGUES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "residual": (lambda emit, y, i: emit(R.add(y, i.x)), lambda y, i: y + i.x),
    "several": (
        lambda emit, y, i: emit(R.subtract(emit(R.multiply(emit(R.add(y, i.row)), i.column)), i.other)),
        lambda y, i: (y + i.row) * i.column - i.other,
    ),
    "twice": (lambda emit, y, i: emit(R.multiply(y, y)), lambda y, i: y * y),
    "choice": (
        lambda emit, y, i: emit(R.where(emit(R.greater(y, i.other)), y, i.other)),
        lambda y, i: np.where(y > i.other, y, i.other),
    ),
    "booleans": (
        lambda emit, y, i: emit(R.where(i.flags, y, i.other)),
        lambda y, i: np.where(i.flags, y, i.other),
    ),
    "heavy": (
        lambda emit, y, i: emit(R.add(emit(R.nn.gelu(y)), i.x)),
        lambda y, i: y * normal_distribution(y) + i.x,
    ),
}


def normal_distribution(x: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(x)


def program(kernel: str, epilogues: Sequence[str], dtype: str) -> rx.IRModule:
    """A function per epilogue, called like it."""
    bb = rx.BlockBuilder()
    matrix = rx.Tensor(("n", "m"), dtype)
    shapes = (matrix, matrix, rx.Tensor(("m",), dtype), rx.Tensor(("n", 1), dtype), rx.Tensor(("m",), "bool"))
    for epilogue in epilogues:
        inputs = Inputs(*(rx.Var(name, info) for name, info in zip(Inputs._fields, shapes, strict=True)))
        with bb.function(epilogue, list(inputs)):
            with bb.dataflow():
                y = bb.emit(KERNELS[kernel][0](inputs))
                result = bb.emit_output(EPILOGUES[epilogue][0](bb.emit, y, inputs))
            bb.emit_func_output(result)
    return bb.get()


def tried(dtype: str) -> list[tuple[str, str]]:
    """Kernels with epilogues: all in f32; the other types take turns with every second."""
    every = [(kernel, epilogue) for kernel in KERNELS for epilogue in EPILOGUES]
    return every if dtype == "float32" else sweep.turn(dtype, [*DTYPES][1:], sweep.every(every, 2))


@functools.cache
def compiled(kernel: str, dtype: str) -> rx.Executable:
    return rx.build(program(kernel, [epilogue for each, epilogue in tried(dtype) if each == kernel], dtype))


@pytest.mark.parametrize(("kernel", "epilogue", "dtype"), [(*case, dtype) for dtype in DTYPES for case in tried(dtype)])
def test_every_length(kernel: str, epilogue: str, dtype: str) -> None:
    main = compiled(kernel, dtype)[epilogue]
    numpy_type, tolerance = DTYPES[dtype]
    rng = np.random.default_rng(11)
    for rows in ROWS:
        for length in LENGTHS:
            shapes = ((rows, length), (rows, length), (length,), (rows, 1))
            floats = [rng.standard_normal(shape).astype(numpy_type) for shape in shapes]
            given = Inputs(*floats, rng.random(length) < 0.5)
            wide = Inputs(*(x.astype(np.float64) for x in floats), given.flags)
            y = KERNELS[kernel][1](wide)
            expected = EPILOGUES[epilogue][1](y.astype(numpy_type).astype(np.float64), wide)
            got = to_numpy(main(*given)).astype(np.float64)
            largest = max(np.abs(y).max(initial=0), 1)
            np.testing.assert_allclose(
                got,
                expected,
                rtol=tolerance,
                atol=tolerance * largest**2,
                err_msg=f"{rows} rows of {length}",
            )


NORMS = ("layer_norm", "rms_norm")


@functools.cache
def heavy(kernel: str, target: str = "cpu") -> Callable[..., np.ndarray]:
    """A norm with a long epilogue, and its arguments except the matrix."""
    main = rx.build(program(kernel, ["heavy"], "float32"), target=target)["heavy"]

    def run(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        column, flags = np.zeros((len(x), 1), np.float32), np.zeros(len(row), bool)
        return to_numpy(main(x, x, row, column, flags))

    return run


def expected_heavy(kernel: str, x: np.ndarray, row: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    given = Inputs(wide, wide, row.astype(np.float64), None, None)
    return EPILOGUES["heavy"][1](KERNELS[kernel][1](given), given)


@pytest.mark.parametrize("target", ["cpu", "cpu -num-threads=2"])
@pytest.mark.parametrize("kernel", NORMS)
def test_many_operations_behind_norms(kernel: str, target: str) -> None:
    """Blocks of sums and their remainders, few rows and many, mixing means near and far from 0."""
    rng = np.random.default_rng(21)
    run = heavy(kernel, target)
    for rows, length in ((3, 4095), (2, 4128), (3, 8209), (1, 9000), (17, 96), (200, 1000), (3000, 40)):
        scale = 10.0 ** rng.integers(-3, 4, (rows, 1))
        means = rng.choice([0, 0.5, 1, -30, 300], (rows, 1))
        x = ((rng.standard_normal((rows, length)) + means) * scale).astype(np.float32)
        row = rng.standard_normal(length).astype(np.float32)
        got, want = run(x, row), expected_heavy(kernel, x, row)
        error = np.abs(got - want) / (1 + np.abs(x) + np.abs(row))
        assert error.max() < 1e-4 if kernel == "layer_norm" else error.max() < 2e-6


@pytest.mark.parametrize("kernel", NORMS)
def test_rows_have_nothing_to_do_with_their_places(kernel: str) -> None:
    """A row's sums are computed by themselves or interleaved with another row, and are the same bit for bit."""
    rng = np.random.default_rng(22)
    runs = [heavy(kernel), heavy(kernel, "cpu -num-threads=2")]
    for length in (5, 33, 100, 768, 5000):
        x = (rng.standard_normal((40, length)) + rng.choice([0, 30], (40, 1))).astype(np.float32)
        row = rng.standard_normal(length).astype(np.float32)
        alone = np.concatenate([runs[0](x[i : i + 1], row) for i in range(len(x))])
        for run in runs:
            np.testing.assert_array_equal(run(x, row), alone)


@pytest.mark.parametrize("kernel", NORMS)
def test_not_finite_numbers_stay_in_their_rows(kernel: str) -> None:
    rng = np.random.default_rng(23)
    x = rng.standard_normal((9, 100)).astype(np.float32)
    x[0, 3], x[4, 99], x[5, 0], x[8, 50] = np.nan, np.inf, -np.inf, np.nan
    row = rng.standard_normal(100).astype(np.float32)
    got = heavy(kernel)(x, row)
    plain = [1, 2, 3, 6, 7]
    want = expected_heavy(kernel, x[plain], row)
    np.testing.assert_allclose(got[plain], want, rtol=3e-6, atol=1e-5)
    assert np.isnan(got[[0, 4, 5, 8]]).any(-1).all()


@pytest.mark.parametrize("kernel", NORMS)
def test_many_operations_behind_work_in_place(kernel: str) -> None:
    """The prologue of a norm fills rows of the output, two rows ahead of the normalisation."""
    bb = rx.BlockBuilder()
    matrix, line = rx.Tensor(("n", "m"), "float32"), rx.Tensor(("m",), "float32")
    x, y, row = rx.Var("x", matrix), rx.Var("y", matrix), rx.Var("row", line)
    with bb.function("main", [x, y, row]):
        with bb.dataflow():
            total = bb.emit(R.add(x, y))
            normalised = bb.emit(KERNELS[kernel][0](Inputs(total, None, row, None, None)))
            result = bb.emit_output(R.nn.silu(normalised))
        bb.emit_func_output(result)
    rng = np.random.default_rng(24)
    for target in ("cpu", "cpu -num-threads=2"):
        main = rx.build(bb.get(), target=target)["main"]
        for rows, length in ((0, 5), (1, 40), (2, 64), (3, 33), (50, 100), (400, 700)):
            one, other = rng.standard_normal((2, rows, length)).astype(np.float32)
            weight = rng.standard_normal(length).astype(np.float32)
            total64 = one.astype(np.float64) + other
            want = KERNELS[kernel][1](Inputs(total64, None, weight.astype(np.float64), None, None))
            np.testing.assert_allclose(
                to_numpy(main(one, other, weight)), want / (1 + np.exp(-want)), rtol=3e-6, atol=1e-5
            )
