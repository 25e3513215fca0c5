"""Work behind softmax and the norms, in registers or in a sweep of its own: every remainder, every float type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime.arrays import to_numpy

EPSILON = 1e-5
ROWS = (0, 1, 2, 5)
LENGTHS = (1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 100, 130)

DTYPES: dict[str, Any] = {
    "float32": (np.float32, 3e-6),
    "float64": (np.float64, 1e-13),
    "float16": (np.float16, 4e-3),
    "bfloat16": (ml_dtypes.bfloat16, 3e-2),
}
"""The type in NumPy, and how far results may be off, relatively and absolutely."""


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON) * weight + bias


class Inputs(NamedTuple):
    """A matrix, another one, a row, a column, a row of booleans."""

    x: Any
    other: Any
    row: Any
    column: Any
    flags: Any


KERNELS: dict[str, tuple[Callable[[Inputs], Any], Callable[[Inputs], np.ndarray]]] = {
    "softmax": (lambda i: R.nn.softmax(i.x, axis=-1), lambda i: softmax(i.x)),
    "log_softmax": (lambda i: R.nn.log_softmax(i.x, axis=-1), lambda i: np.log(softmax(i.x))),
    "layer_norm": (
        lambda i: R.nn.layer_norm(i.x, i.row, i.row, axes=[-1], epsilon=EPSILON),
        lambda i: layer_norm(i.x, i.row, i.row),
    ),
    "rms_norm": (
        lambda i: R.nn.rms_norm(i.x, i.row, axes=[-1], epsilon=EPSILON),
        lambda i: i.x / np.sqrt((i.x**2).mean(-1, keepdims=True) + EPSILON) * i.row,
    ),
}
"""What each builds, and what it means."""

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


def program(kernel: str, epilogue: str, dtype: str) -> rx.IRModule:
    bb = rx.BlockBuilder()
    matrix = rx.Tensor(("n", "m"), dtype)
    shapes = (matrix, matrix, rx.Tensor(("m",), dtype), rx.Tensor(("n", 1), dtype), rx.Tensor(("m",), "bool"))
    inputs = Inputs(*(rx.Var(name, info) for name, info in zip(Inputs._fields, shapes, strict=True)))
    with bb.function("main", list(inputs)):
        with bb.dataflow():
            y = bb.emit(KERNELS[kernel][0](inputs))
            result = bb.emit_output(EPILOGUES[epilogue][0](bb.emit, y, inputs))
        bb.emit_func_output(result)
    return bb.get()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_length(kernel: str, epilogue: str, dtype: str) -> None:
    main = rx.build(program(kernel, epilogue, dtype))["main"]
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
