"""Operators of `topi` without a schedule, against torch and NumPy, on one thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.measure import WrongResult, measure, ratio
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal

SECONDS, LEAST, ERROR = 0.5, 1.0, 1e-3


@dataclass(frozen=True)
class Case:
    """An operator on tensors, on torch's tensors, and on arrays if NumPy has it; its arguments; their shapes."""

    name: str
    shapes: tuple[tuple[str, ...], ...]
    arrays: tuple[Array, ...]
    ours: Callable[..., Any]
    torch: Callable[..., Any]
    numpy: Callable[..., Any] | None = None


def cases() -> list[Case]:
    """Rows of a thousand elements, and images."""
    import torch
    from relax_mlir import topi

    functional = torch.nn.functional
    rows, images = ("n", "m"), ("n", "c", "h", "w")
    x, u, i = normal(256, 1000, seed=0), normal(256, 1000, seed=1), _places(256, 1000)
    image = normal(4, 32, 56, 56, seed=2)
    none = (0.0,) * 4
    return [
        Case("sort", (rows,), (x,), lambda x: topi.sort(x), lambda t: t.sort(-1)[0], np.sort),
        Case(
            "argsort",
            (rows,),
            (x,),
            lambda x: topi.argsort(x, dtype="int64"),
            lambda t: t.argsort(stable=True, dim=-1),
            lambda a: np.argsort(a, kind="stable"),
        ),
        Case("topk 10", (rows,), (x,), lambda x: topi.topk(x, 10, ret_type="values"), lambda t: t.topk(10)[0]),
        Case(
            "gather",
            (rows, rows),
            (x, i),
            lambda x, i: topi.gather(x, 1, i),
            lambda t, i: t.gather(1, i),
            lambda a, i: np.take_along_axis(a, i, 1),
        ),
        Case(
            "take",
            (rows, ("k",)),
            (x, i[0] % 256),
            lambda x, i: topi.take(x, i, 0, mode="fast"),
            lambda t, i: t[i],
            lambda a, i: a[i],
        ),
        Case(
            "scatter",
            (rows, rows, rows),
            (x, i, u),
            lambda x, i, u: topi.scatter_elements(x, i, u, 1, "add"),
            lambda t, i, u: t.scatter_add(1, i, u),
        ),
        Case("cumsum", (rows,), (x,), lambda x: topi.cumsum(x, 1), lambda t: t.cumsum(1), lambda a: a.cumsum(1)),
        Case(
            "cumsum of columns",
            (rows,),
            (x,),
            lambda x: topi.cumsum(x, 0),
            lambda t: t.cumsum(0),
            lambda a: a.cumsum(0),
        ),
        Case("softmax", (rows,), (x,), lambda x: topi.nn.softmax(x), lambda t: t.softmax(-1)),
        Case(
            "resize linear",
            (images,),
            (image,),
            lambda x: topi.image.resize2d(x, none, (112, 112), method="linear"),
            lambda t: functional.interpolate(t, (112, 112), mode="bilinear"),
        ),
        Case(
            "resize nearest",
            (images,),
            (image,),
            lambda x: topi.image.resize2d(
                x, none, (112, 112), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
            ),
            lambda t: functional.interpolate(t, (112, 112), mode="nearest"),
            lambda a: a.repeat(2, 2).repeat(2, 3),
        ),
        Case(
            "max_pool 3x3/2",
            (images,),
            (image,),
            lambda x: topi.nn.pool2d(x, 3, 2, 1, 1, "max"),
            lambda t: functional.max_pool2d(t, 3, 2, 1),
        ),
        Case(
            "avg_pool 2x2",
            (images,),
            (image,),
            lambda x: topi.nn.pool2d(x, 2, 2, 1, 0, "avg"),
            lambda t: functional.avg_pool2d(t, 2),
        ),
        Case(
            "adaptive_avg_pool 7x7",
            (images,),
            (image,),
            lambda x: topi.nn.adaptive_pool(x, 7, "avg"),
            lambda t: functional.adaptive_avg_pool2d(t, 7),
        ),
        Case(
            "adaptive_max_pool 5x5",
            (images,),
            (image,),
            lambda x: topi.nn.adaptive_pool(x, 5, "max"),
            lambda t: functional.adaptive_max_pool2d(t, 5),
        ),
        Case(
            "grid_sample",
            (images, ("n", "2", "k", "l")),
            (image, normal(4, 2, 64, 64, seed=3) / 2),
            lambda x, g: topi.image.grid_sample(x, g, align_corners=False),
            lambda t, g: functional.grid_sample(t, g.permute(0, 2, 3, 1), align_corners=False),
        ),
    ]


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """torch's time over ours for each operator; the note has our time, its quartiles, and NumPy's over ours."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for case in cases():
            yield _row(case, seconds)
    finally:
        torch.set_num_threads(threads)


def _row(case: Case, seconds: float) -> Row:
    subject = f"topi {case.name} {'x'.join(map(str, case.arrays[0].shape))}"
    try:
        contestants, errors = _contestants(case)
    except WrongResult as error:
        return Row(subject, "torch / ours", 0.0, LEAST, str(error))
    timings = measure(contestants, errors, seconds)
    ours = timings["ours"]
    note = f"{duration(ours.median)} ({duration(ours.quantile(0.25))} to {duration(ours.quantile(0.75))})"
    note += f", NumPy / ours {ratio(timings, 'numpy'):.2f}" if "numpy" in timings else ""
    return Row(subject, "torch / ours", ratio(timings, "torch"), LEAST, note)


def _contestants(case: Case) -> tuple[dict[str, Bound], dict[str, float]]:
    """The calls, and the errors of their results against torch's.

    Raises:
        WrongResult: a result differs.
    """
    import relax_mlir as rx
    import torch
    from relax_mlir import symbolic, te
    from relax_mlir.dialects.dtypes import dtype

    inputs = [
        te.placeholder(tuple(int(d) if d.isdigit() else te.var(d) for d in shape), str(array.dtype), f"x{number}")
        for number, (shape, array) in enumerate(zip(case.shapes, case.arrays, strict=True))
    ]
    found = case.ours(*inputs)
    target = rx.Target("cpu", num_threads=1)
    main = rx.build(te.create_prim_func([*inputs, found]), target)["main"]
    sizes = {
        name: size
        for shape, array in zip(case.shapes, case.arrays, strict=True)
        for name, size in zip(shape, array.shape, strict=True)
    }
    out = np.zeros([symbolic.evaluate(dim, sizes) for dim in found.shape], dtype(found.dtype).numpy)

    def ours() -> Array:
        main(*case.arrays, out)
        return out

    tensors = [torch.from_numpy(array) for array in case.arrays]
    contestants = {
        "ours": Bound(ours, np.asarray),
        "torch": Bound(lambda: case.torch(*tensors), lambda tensor: tensor.numpy()),
    }
    if case.numpy is not None:
        function = case.numpy
        contestants["numpy"] = Bound(lambda: function(*case.arrays), np.asarray)
    expected = contestants["torch"].to_numpy(contestants["torch"].call())
    errors = {name: _error(name, bound, expected) for name, bound in contestants.items()}
    return contestants, errors


def _error(name: str, bound: Bound, expected: Array) -> float:
    """The largest absolute error."""
    found = np.asarray(bound.to_numpy(bound.call()))
    if found.shape != expected.shape:
        raise WrongResult(f"{name}: shape {found.shape}, expected {expected.shape}")
    error = float(np.max(np.abs(found.astype(np.float64) - expected), initial=0.0))
    if not error <= ERROR:
        raise WrongResult(f"{name}: an element is {error:.3g} off")
    return error


def _places(count: int, size: int) -> Array:
    """Indices of columns, one of each per row."""
    rng = np.random.default_rng(0)
    return np.stack([rng.permutation(size) for _ in range(count)])
