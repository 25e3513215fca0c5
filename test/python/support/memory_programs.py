"""Programs whose memory can be shared, with arguments for each."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy

X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
NM = rx.Tensor(("n", "m"), "float32")
BOOL = rx.Tensor((), "bool")


def chain(x: rx.Value) -> rx.Value:
    for _ in range(4):
        x = R.nn.softmax(x)
    return x


def views(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    flat = R.flatten(y)
    return [flat, R.sum(R.expand_dims(R.nn.softmax(flat), axis=0)), R.reshape(flat, ("m", "n"))]


def pieces(x: rx.Value) -> rx.Value:
    left, right = R.split(R.concat([x, x], axis=1), 2, axis=1)
    return R.matmul(left, R.permute_dims(right))


def branches(x: rx.Value, c: rx.Value) -> list[rx.Value]:
    a = R.nn.softmax(x)
    b = R.nn.softmax(a, axis=0)

    def taken() -> rx.Value:
        return R.sum(R.nn.softmax(R.nn.softmax(R.matmul(b, R.permute_dims(a)))), axis=-1)

    y = R.if_then_else(c, taken, lambda: R.sum(x, axis=1))
    z = R.if_then_else(c, lambda: a, lambda: x)
    return [R.nn.softmax(y), R.nn.softmax(z)]


def effects(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    before = R.nn.softmax(y)
    R.call_packed("test.memory.double", x, y)
    z = R.nn.softmax(y)
    R.call_packed("test.memory.double", z, y)
    return [before, x, y, z, R.nn.softmax(z)]


def effects_on_branches(x: rx.Value, c: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)

    def taken() -> rx.Value:
        R.call_packed("test.memory.double", y, x)
        return R.nn.softmax(y)

    z = R.if_then_else(c, taken, lambda: R.nn.softmax(R.nn.softmax(y)))
    return [z, y, x]


def packed(x: rx.Value) -> list[rx.Value]:
    y = R.nn.softmax(x)
    kept = R.call_packed("test.memory.keep", y, out=NM)
    rest = chain(R.call_dps_packed("test.memory.negate", [R.nn.softmax(x), 2], NM))
    return [kept, rest]


def made(x: rx.Value) -> list[rx.Value]:
    flat = R.flatten(R.nn.softmax(x))
    return [R.arange("n"), R.full(("m", 2), 3.0), R.strided_slice(flat, [0], [0], ["n"], [1])]


def sizes(x: rx.Value) -> rx.Value:
    y = R.match_shape(R.flatten(x), ("k",))
    z = R.nn.softmax(R.concat([y, y], axis=0))
    return R.reshape(z, ("n", "2*m"))


PROGRAMS: dict[str, tuple[Any, list[rx.Tensor], list[list[Any]]]] = {
    build.__name__: (build, params, cases)
    for build, params, cases in [
        (chain, [NM], [[X]]),
        (views, [NM], [[X], [X[:, :0]]]),
        (pieces, [NM], [[X], [X[:0]]]),
        (branches, [NM, BOOL], [[X, np.array(True)], [X, np.array(False)]]),
        (effects, [NM], [[X]]),
        (effects_on_branches, [NM, BOOL], [[X, np.array(True)], [X, np.array(False)]]),
        (packed, [NM], [[X]]),
        (made, [NM], [[X], [X[:0]]]),
        (sizes, [NM], [[X]]),
    ]
}


def module(build: Any, params: list[rx.Tensor]) -> rx.IRModule:
    bb = rx.BlockBuilder()
    variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
    with bb.function("main", variables):
        bb.emit_func_output(build(*variables))
    return bb.get()


@functools.cache
def together() -> rx.IRModule:
    """A module of all programs, each as a separate function."""
    bb = rx.BlockBuilder()
    for name, (build, params, _) in PROGRAMS.items():
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(name, variables):
            bb.emit_func_output(build(*variables))
    return bb.get()


@functools.cache
def native() -> Any:
    """All programs as native code."""
    return rx.build(together())


def register_functions() -> None:
    """The packed functions that the programs call."""

    def double(x: Any, y: Any) -> None:
        to_numpy(x)[...] *= 2
        to_numpy(y)[...] += 1

    def negate(x: Any, times: int, out: Any) -> None:
        to_numpy(out)[...] = -times * to_numpy(x)

    tvm_ffi.register_global_func("test.memory.double", double, override=True)
    tvm_ffi.register_global_func("test.memory.negate", negate, override=True)
    tvm_ffi.register_global_func("test.memory.keep", lambda x: x, override=True)
