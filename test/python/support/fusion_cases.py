"""Fusion cases: one function per case in one module, and the number of calls that `fuse-ops` leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import sweep
from relax_mlir.dialects.types import Tensor
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fusion.fuse_ops import FuseOps

Case = tuple[Callable[..., rx.Value], Callable[..., Any], Sequence[Tensor], int]
"""The builder, the same in NumPy, the parameters, and the number of remaining calls of prim funcs."""

Array = np.ndarray[Any, Any]

SIZES = [
    (1, 1, 1, 1),
    (2, 0, 3, 5),
    (0, 2, 1, 4),
    (2, 3, 2, 0),
    (2, 1, 3, 8),
    (3, 2, 2, 9),
    (2, 3, 5, 67),
    (40, 2, 33, 130),
]
"""Values of n, h, m and k."""


def f32(*shape: int | str) -> Tensor:
    return Tensor(shape, "float32")


def f16(*shape: int | str) -> Tensor:
    return Tensor(shape, "float16")


def softmax(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(softmax(x))


def normal(x: Array, axes: int = 1) -> Array:
    last = tuple(range(-axes, 0))
    return (x - x.mean(axis=last, keepdims=True)) / np.sqrt(x.var(axis=last, keepdims=True) + 1e-5)


def rms(x: Array) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)


THREADS = (1, 2)


def numbers_of(cases: Mapping[str, Case], threads: int) -> list[int]:
    """The indices of the cases that run on this many threads; these alternate, but the first case runs on both."""
    return sorted({0, *sweep.turn(threads, THREADS, range(len(cases)))})


def on_threads(cases: Mapping[str, Case]) -> list[tuple[int, int]]:
    """Threads and number of all cases, for `parametrize`."""
    return [(threads, number) for threads in THREADS for number in numbers_of(cases, threads)]


def module_of(cases: Mapping[str, Case], numbers: Collection[int] | None = None) -> rx.IRModule:
    """The functions ``case0``, ``case1`` and so on, or those of some of these numbers."""
    bb = rx.BlockBuilder()
    for number, (build, _, params, _) in enumerate(cases.values()):
        if numbers is not None and number not in numbers:
            continue
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(f"case{number}", variables):
            bb.emit_func_output(build(*variables))
    return bb.get()


def check_calls(cases: Mapping[str, Case]) -> None:
    """Every case has its expected number of calls."""
    mod = module_of(cases)
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps())
    mod.verify()
    functions = {op.attributes["sym_name"].value: op for op in mod.mlir.body.operations}
    for number, (name, case) in enumerate(cases.items()):
        calls = [callee_of(op) for op in ops_of(functions[f"case{number}"].operation, "relax.call_tir")]
        assert len(calls) == case[3], (name, calls)


def check_values(cases: Mapping[str, Case], number: int, executable: Any) -> None:
    """The results of a case for all `SIZES`, on random numbers, are those of NumPy in f64."""
    _, reference, params, _ = list(cases.values())[number]
    rng = np.random.default_rng(number)
    for values in SIZES:
        sizes = dict(zip("nhmk", values, strict=True))
        shapes = [[d if isinstance(d, int) else sizes[str(d)] for d in p.known_shape or ()] for p in params]
        inputs = [
            rng.uniform(-2, 2, shape).astype(str(p.dtype)) for shape, p in zip(shapes, params, strict=True)
        ]
        result = np.from_dlpack(executable[f"case{number}"](*inputs))
        expected = reference(*(x.astype(np.float64) for x in inputs))
        tolerance = 4e-3 if result.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(result.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
