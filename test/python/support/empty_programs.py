"""Programs on arrays of many rows without columns, and of no rows: fused kernels, loops, effects, prim funcs.

``python empty_programs.py MODE`` calls each with a time limit, which ends the process, and compares with the shapes or
numbers in the table. Each call is announced by a line before it runs.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir.error import RelaxError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

HUGE = 2**40
"""A dimension that is too long for memory."""
SECONDS = 20
"""A call takes milliseconds; the limit allows for a busy machine."""
N = HUGE
NAN = "nan"
PROGRAM = """
@T.prim_func
def twice(x: T.Buffer(("n", "m"), "float32"), y: T.Buffer(("n", "m"), "float32")):
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j] * 2.0

@T.prim_func
def moved(x: T.Buffer(("n", "m"), "float32"), k: T.Buffer((1,), "int64"), y: T.Buffer(("n", "m"), "float32")):
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j + k[0]]

@T.prim_func
def first(x: T.Buffer(("n", "m"), "float32"), k: T.Buffer((1,), "int64"), y: T.Buffer(("n", "m"), "float32")):
    scale = T.alloc_buffer((1,), "float32")
    scale[k[0]] = T.float32(1)
    for i in range(n):
        for j in range(m):
            y[i, j] = x[i, j] * scale[0]

@R.function
def fused(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    with R.dataflow():
        y = R.nn.softmax(x + x, axis=-1) * 2.0
        z = R.nn.softmax(R.exp(x), axis=0)
        R.output(y, z)
    return y, z

@R.function
def views(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return x[::-1], x[::2], R.concat([x, x], axis=0), R.concat([x[:, :], x], axis=1)

@R.function
def effects(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    y = x[::2]
    R.call_packed("empty.increment", y)
    z = R.permute_dims(x)
    R.call_packed("empty.increment", z)
    return y, z

@R.function
def loop(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    y = x
    for i in R.range(3):
        y = R.cumsum(y + x, axis=1)
    return y

@R.function
def prim(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return R.call_tir(cls.twice, (x,), R.Tensor(("n", "m"), "float32"))

@R.function
def checked_inside(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return R.call_tir(cls.moved, (x, k), R.Tensor(("n", "m"), "float32"))

@R.function
def checked_first(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return R.call_tir(cls.first, (x, k), R.Tensor(("n", "m"), "float32"))

@R.function
def totals(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return (
        R.sum(x), R.mean(x), R.prod(R.exp(x)), R.sum(R.permute_dims(x)), R.sum(x[1:]), R.sum(x[::2]),
        R.sum(R.astype(R.permute_dims(x[::2]), "int32")), R.sum(x + R.sum(x, axis=1, keepdims=True) * 0.0)
    )

@R.function
def columns(x: R.Tensor(("n", "m"), "float32"), k: R.Tensor((1,), "int64")):
    return R.sum(x + R.sum(x, axis=[0])), R.sum(R.exp(x), axis=0), R.argmax(x, axis=0), R.matmul(R.permute_dims(x), x)
"""
LONG, FLAT = (N, 0), (0, N)
CALLS: list[tuple[str, tuple[int, int], int, Any]] = [
    ("fused", LONG, 0, (LONG, LONG)),
    ("fused", FLAT, 0, (FLAT, FLAT)),
    ("views", LONG, 0, (LONG, (N // 2, 0), (2 * N, 0), LONG)),
    ("views", FLAT, 0, (FLAT, FLAT, FLAT, (0, 2 * N))),
    ("effects", LONG, 0, ((N // 2, 0), FLAT)),
    ("effects", FLAT, 0, (FLAT, LONG)),
    ("loop", LONG, 0, LONG),
    ("loop", FLAT, 0, FLAT),
    ("prim", LONG, 0, LONG),
    ("prim", FLAT, 0, FLAT),
    ("checked_inside", LONG, 5, LONG),
    ("checked_inside", FLAT, 5, FLAT),
    ("checked_first", LONG, 0, LONG),
    ("checked_first", LONG, 1, "index 1 is out of range"),
    ("checked_first", FLAT, 1, "index 1 is out of range"),
    ("totals", FLAT, 0, (0.0, NAN, 1.0, 0.0, 0.0, 0.0, 0, 0.0)),
    ("columns", LONG, 0, (0.0, (0,), (0,), (0, 0))),
]
"""Function, shape of its first argument, number in its second one, and the result or a part of the error."""


def plain(value: Any) -> Any:
    """The shapes of tensors; the elements of those of rank 0."""
    if isinstance(value, tuple | tvm_ffi.Array):
        return tuple(map(plain, value))
    array = to_numpy(value)
    return array.shape if array.ndim else NAN if np.isnan(array) else array.item()


def increment(x: Any) -> None:
    to_numpy(x)[...] += 1


def main(mode: str) -> None:
    tvm_ffi.register_global_func("empty.increment", increment, override=True)
    executable = rx.build(parse(PROGRAM), exec_mode=mode)
    for name, shape, number, wanted in CALLS:
        print(f"{name} of {shape}, {number}", flush=True)
        signal.alarm(SECONDS)
        try:
            found = plain(executable[name](np.empty(shape, np.float32), np.array([number])))
        except RelaxError as error:
            found = str(error)
        signal.alarm(0)
        assert wanted in found if isinstance(wanted, str) else found == wanted, found


if __name__ == "__main__":
    main(sys.argv[1])
    print("done")
