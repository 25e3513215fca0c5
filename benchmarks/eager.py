"""Targets against NumPy and torch only, in f32 and f64: shapes and functions that the workloads do not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import WrongResult, measure
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.targets import RATIO, Row
from benchmarks.workloads import Elementwise, MatMul, Workload, normal

SECONDS = 0.5
ERROR = {"float32": 2.0**-18, "float64": 2.0**-46}
"""Allowed error against a wider type, relative to the largest element."""

DTYPES = tuple(ERROR)
Sizes = tuple[int, ...]
Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Case:
    """A measured case: its operands with symbolic sizes, and its code for this project and for NumPy and torch."""

    name: str
    parameters: tuple[Shape, ...]
    sizes: tuple[Sizes, ...]
    ours: Callable[..., Any]
    """A function of `BlockBuilder.emit`, the module of ops, and the parameters."""
    theirs: Callable[..., Any]
    """A function of the module (NumPy or torch) and the operands."""
    dtypes: tuple[str, ...] = DTYPES
    positive: bool = False


def _transposed(emit: Callable[..., Any], op: Any, x: Any) -> Any:  # noqa: ANN401
    return emit(op.permute_dims(x))


NARROW: tuple[Sizes, ...] = (
    (255, 4097, 33),
    (8, 1024, 33),
    (64, 64, 33),
    (1000, 256, 33),
    (1000, 32, 12),
    (64, 256, 7),
    (255, 1025, 3),
    (255, 512, 48),
)
"""Rows, depth and columns of products with few columns."""

PRODUCTS = (
    Case(
        "narrow product",
        (("n", "k"), ("k", "m")),
        NARROW,
        lambda emit, op, a, b: emit(op.matmul(a, b)),
        lambda _, a, b: a @ b,
    ),
    Case(
        "narrow product, right transposed",
        (("n", "k"), ("m", "k")),
        NARROW,
        lambda emit, op, a, b: emit(op.matmul(a, _transposed(emit, op, b))),
        lambda _, a, b: a @ b.T,
    ),
    Case(
        "narrow product, left transposed",
        (("k", "n"), ("k", "m")),
        NARROW,
        lambda emit, op, a, b: emit(op.matmul(_transposed(emit, op, a), b)),
        lambda _, a, b: a.T @ b,
    ),
    Case(
        "outer product",
        (("n", "k"), ("k", "m")),
        ((64, 1, 64), (255, 1, 33), (512, 1, 512), (1000, 1, 1000), (2048, 1, 7)),
        lambda emit, op, a, b: emit(op.matmul(a, b)),
        lambda _, a, b: a @ b,
    ),
    Case(
        "batch of products",
        (("b", "n", "n"), ("b", "n", "n")),
        ((64, 8), (1000, 8), (64, 16), (1000, 16)),
        lambda emit, op, a, b: emit(op.matmul(a, b)),
        lambda _, a, b: a @ b,
    ),
)


def _inner(emit: Callable[..., Any], op: Any, x: Any) -> Any:  # noqa: ANN401
    return emit(op.strided_slice(x, axes=[1], begin=[1], end=[256]))


def _function(name: str, positive: bool = False) -> Case:
    return Case(
        name,
        (("n",),),
        ((100,), (10_000,), (1_000_000,)),
        lambda emit, op, x: emit(getattr(op, name)(x)),
        lambda library, x: getattr(library, name)(x),
        ("float64",),
        positive,
    )


ELEMENTWISE = (
    Case(
        "x[:, 1:256] + y[:, 1:256]",
        (("n", 257), ("n", 257)),
        ((64,), (1000,)),
        lambda emit, op, x, y: emit(op.add(_inner(emit, op, x), _inner(emit, op, y))),
        lambda _, x, y: x[:, 1:256] + y[:, 1:256],
    ),
    _function("exp"),
    _function("log", positive=True),
    _function("tanh"),
)


def rows(workloads: Sequence[Workload], seconds: float = SECONDS) -> Iterator[Row]:
    """Rows of products if W1 is among the workloads, rows of elementwise operations if W6 is."""
    for kind, cases in ((MatMul, PRODUCTS), (Elementwise, ELEMENTWISE)):
        if any(type(workload) is kind for workload in workloads):
            for case in cases:
                for dtype in case.dtypes:
                    yield from of_case(case, dtype, seconds)


def of_case(case: Case, dtype: str, seconds: float = SECONDS) -> Iterator[Row]:
    """The rows of one case and element type, which is built once for all sizes."""
    main = _build(case, dtype)
    for size in case.sizes:
        subject = f"{case.name} {'f' + dtype[5:]} {','.join(map(str, size))}"
        arrays = _inputs(case, dtype, size)
        contestants = _contestants(case, main, arrays)
        try:
            errors = {name: _check(bound, case, arrays) for name, bound in contestants.items()}
        except WrongResult as error:
            yield Row(subject, "best other / ours", 0.0, RATIO, str(error))
            continue
        timings = measure(contestants, errors, seconds)
        own = timings.pop("ours").samples
        ratios = {
            name: float(np.median([other / ours for other, ours in zip(each.samples, own, strict=True)]))
            for name, each in timings.items()
        }
        best = min(ratios, key=lambda name: ratios[name])
        yield Row(subject, "best other / ours", ratios[best], RATIO, best)


def _inputs(case: Case, dtype: str, size: Sizes) -> list[Array]:
    names = dict.fromkeys(d for shape in case.parameters for d in shape if isinstance(d, str))
    values = dict(zip(names, size, strict=True))
    shapes = [[values[d] if isinstance(d, str) else d for d in shape] for shape in case.parameters]
    found = [normal(*shape, seed=index).astype(dtype) for index, shape in enumerate(shapes)]
    return [np.maximum(np.abs(each), np.finfo(dtype).tiny) for each in found] if case.positive else found


def _build(case: Case, dtype: str) -> Callable[..., Any]:
    import relax_mlir as rx
    from relax_mlir import op

    bb = rx.BlockBuilder()
    parameters = [rx.Var(f"x{n}", rx.Tensor(shape, dtype)) for n, shape in enumerate(case.parameters)]
    with bb.function("main", parameters):
        bb.emit_func_output(case.ours(bb.emit, op, *parameters))
    main: Callable[..., Any] = rx.build(bb.get())["main"]
    return main


def _contestants(case: Case, main: Callable[..., Any], arrays: Sequence[Array]) -> dict[str, Bound]:
    import torch
    import tvm_ffi

    from benchmarks import environment

    torch.set_num_threads(environment.COUNT)
    given = [tvm_ffi.from_dlpack(array) for array in arrays]
    tensors = [torch.from_numpy(array) for array in arrays]
    return {
        "ours": Bound(lambda: main(*given), np.from_dlpack),
        "numpy": Bound(lambda: case.theirs(np, *arrays), np.asarray),
        "torch": Bound(lambda: case.theirs(torch, *tensors), lambda result: result.numpy()),
    }


def _check(bound: Bound, case: Case, arrays: Sequence[Array]) -> float:
    """The largest absolute error; in f64 NumPy's error is not larger than that of others."""
    expected = case.theirs(np, *(array.astype(np.float64) for array in arrays))
    actual = bound.to_numpy(bound.call())
    if actual.shape != expected.shape or actual.dtype != arrays[0].dtype:
        raise WrongResult(f"{actual.dtype} of shape {actual.shape}, expected shape {expected.shape}")
    error = float(np.max(np.abs(actual - expected), initial=0.0))
    if not error <= ERROR[str(arrays[0].dtype)] * float(np.max(np.abs(expected), initial=0.0)):
        raise WrongResult(f"an element is {error:.3g} off")
    return error
