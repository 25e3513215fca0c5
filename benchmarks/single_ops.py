"""Single ops of symbolic sizes against torch: pooling, resizing, gathering, scattering, sorting, padding.

``python -m benchmarks.single_ops [--threads N] [NAME...]`` measures those whose names contain one of the words.
"""

from __future__ import annotations

from benchmarks import environment  # isort: skip - before anything that imports NumPy

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from relax_mlir import terminal
from rich.console import Console

from benchmarks import targets
from benchmarks.measure import WrongResult, measure
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal

SECONDS, LEAST, ERROR = 0.4, 1.0, 1e-4

Sizes = tuple[int, ...]
Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Index:
    """A parameter of indices: its shape, and the name of their exclusive upper bound."""

    shape: Shape
    below: str


@dataclass(frozen=True)
class Case:
    """An op: its parameters (floats or indices) of symbolic sizes, sizes, and its code here and in torch."""

    name: str
    parameters: tuple[Shape | Index, ...]
    sizes: tuple[Sizes, ...]
    ours: Callable[..., Any]
    """A function of the module of ops, and the parameters."""
    torch: Callable[..., Any]
    """A function of `torch.nn.functional`, and the tensors."""


ROWS: tuple[Sizes, ...] = ((16, 64), (256, 1000), (2000, 2048))
IMAGES: tuple[Sizes, ...] = ((1, 3, 33, 33), (1, 64, 56, 56), (8, 64, 112, 112))
BATCH, MATRIX = ("n", "c", "h", "w"), ("n", "m")

POOLING = (
    Case(
        "max_pool2d 3x3/2",
        (BATCH,),
        IMAGES,
        lambda op, x: op.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)),
        lambda f, x: f.max_pool2d(x, 3, 2, 1),
    ),
    Case(
        "max_pool2d 2x2/2",
        (BATCH,),
        IMAGES,
        lambda op, x: op.nn.max_pool2d(x, (2, 2), strides=(2, 2)),
        lambda f, x: f.max_pool2d(x, 2, 2),
    ),
    Case(
        "avg_pool2d 2x2/2",
        (BATCH,),
        IMAGES,
        lambda op, x: op.nn.avg_pool2d(x, (2, 2), strides=(2, 2)),
        lambda f, x: f.avg_pool2d(x, 2, 2),
    ),
    Case(
        "avg_pool2d 3x3/1",
        (BATCH,),
        IMAGES,
        lambda op, x: op.nn.avg_pool2d(x, (3, 3), padding=(1, 1)),
        lambda f, x: f.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    ),
    Case(
        "adaptive_avg_pool2d 1x1",
        (BATCH,),
        ((1, 3, 33, 33), (1, 2048, 7, 7), (8, 64, 112, 112)),
        lambda op, x: op.nn.adaptive_avg_pool2d(x, (1, 1)),
        lambda f, x: f.adaptive_avg_pool2d(x, 1),
    ),
    Case(
        "adaptive_avg_pool2d 7x7",
        (BATCH,),
        IMAGES,
        lambda op, x: op.nn.adaptive_avg_pool2d(x, (7, 7)),
        lambda f, x: f.adaptive_avg_pool2d(x, 7),
    ),
    Case(
        "adaptive_max_pool2d 1x1",
        (BATCH,),
        ((1, 3, 33, 33), (1, 2048, 7, 7), (8, 64, 112, 112)),
        lambda op, x: op.nn.adaptive_max_pool2d(x, (1, 1)),
        lambda f, x: f.adaptive_max_pool2d(x, 1),
    ),
)

RESIZING = (
    Case(
        "resize2d linear x2",
        (BATCH,),
        IMAGES,
        lambda op, x: op.image.resize2d(x, (2 * x.shape[2], 2 * x.shape[3]), method="linear"),
        lambda f, x: f.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
    Case(
        "resize2d nearest x2",
        (BATCH,),
        IMAGES,
        lambda op, x: op.image.resize2d(
            x,
            (2 * x.shape[2], 2 * x.shape[3]),
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
        ),
        lambda f, x: f.interpolate(x, scale_factor=2, mode="nearest"),
    ),
    Case(
        "resize2d linear to 40x40",
        (BATCH,),
        IMAGES,
        lambda op, x: op.image.resize2d(x, (40, 40), method="linear"),
        lambda f, x: f.interpolate(x, (40, 40), mode="bilinear"),
    ),
    Case(
        "resize2d cubic to 40x40",
        (BATCH,),
        IMAGES,
        lambda op, x: op.image.resize2d(x, (40, 40), method="cubic", cubic_alpha=-0.75),
        lambda f, x: f.interpolate(x, (40, 40), mode="bicubic"),
    ),
)

GATHERING = (
    Case(
        "take rows",
        (MATRIX, Index(("k",), "n")),
        ((16, 64, 8), (5000, 64, 1000), (5000, 768, 1000), (2000, 2047, 2000)),
        lambda op, x, i: op.take(x, i, axis=0),
        lambda f, x, i: x[i],
    ),
    Case(
        "take columns",
        (MATRIX, Index(("k",), "m")),
        ((16, 64, 8), (256, 1000, 500), (2000, 2047, 2000)),
        lambda op, x, i: op.take(x, i, axis=1),
        lambda f, x, i: x.index_select(1, i),
    ),
    Case(
        "gather_elements axis 0",
        (MATRIX, Index(MATRIX, "n")),
        ROWS,
        lambda op, x, i: op.gather_elements(x, i, axis=0),
        lambda f, x, i: x.gather(0, i),
    ),
    Case(
        "gather_elements axis 1",
        (MATRIX, Index(MATRIX, "m")),
        ROWS,
        lambda op, x, i: op.gather_elements(x, i, axis=1),
        lambda f, x, i: x.gather(1, i),
    ),
    Case(
        "gather_nd rows",
        (MATRIX, Index(("k", 1), "n")),
        ((16, 64, 8), (5000, 64, 1000), (5000, 768, 1000)),
        lambda op, x, i: op.gather_nd(x, i),
        lambda f, x, i: x[i[:, 0]],
    ),
    Case(
        "index_tensor rows",
        (MATRIX, Index(("k",), "n")),
        ((16, 64, 8), (5000, 64, 1000), (5000, 768, 1000)),
        lambda op, x, i: op.index_tensor(x, (i,)),
        lambda f, x, i: x[i],
    ),
    Case(
        "index_tensor elements",
        (("n", "n"), Index(("k",), "n"), Index(("k",), "n")),
        ((16, 100), (1000, 10000), (1000, 1000000)),
        lambda op, x, i, j: op.index_tensor(x, (i, j)),
        lambda f, x, i, j: x[i, j],
    ),
)

SCATTERING = (
    Case(
        "scatter_elements axis 0",
        (MATRIX, Index(MATRIX, "n"), MATRIX),
        ROWS,
        lambda op, x, i, u: op.scatter_elements(x, i, u, axis=0),
        lambda f, x, i, u: x.scatter(0, i, u),
    ),
    Case(
        "scatter_elements axis 1",
        (MATRIX, Index(MATRIX, "m"), MATRIX),
        ROWS,
        lambda op, x, i, u: op.scatter_elements(x, i, u, axis=1),
        lambda f, x, i, u: x.scatter(1, i, u),
    ),
    Case(
        "scatter_elements add axis 1",
        (MATRIX, Index(MATRIX, "m"), MATRIX),
        ROWS,
        lambda op, x, i, u: op.scatter_elements(x, i, u, axis=1, reduction="add"),
        lambda f, x, i, u: x.scatter_add(1, i, u),
    ),
    Case(
        "scatter_nd rows",
        (MATRIX, Index(("k", 1), "n"), ("k", "m")),
        ((16, 64, 8), (5000, 64, 1000), (5000, 768, 1000)),
        lambda op, x, i, u: op.scatter_nd(x, i, u),
        lambda f, x, i, u: x.index_put((i[:, 0],), u),
    ),
    Case(
        "index_put add rows",
        (MATRIX, Index(("k",), "n"), ("k", "m")),
        ((16, 64, 8), (5000, 64, 1000), (5000, 768, 1000)),
        lambda op, x, i, u: op.index_put(x, (i,), u, accumulate=True),
        lambda f, x, i, u: x.index_put((i,), u, accumulate=True),
    ),
)

SORTING = (
    Case("sort", (MATRIX,), ROWS, lambda op, x: op.sort(x), lambda f, x: x.sort(-1)[0]),
    Case(
        "argsort",
        (MATRIX,),
        ROWS,
        lambda op, x: op.argsort(x, dtype="int64"),
        lambda f, x: x.argsort(dim=-1, stable=True),
    ),
    Case(
        "topk 10",
        (MATRIX,),
        ROWS,
        lambda op, x: op.topk(x, 10, ret_type="values"),
        lambda f, x: x.topk(10)[0],
    ),
    Case("sort axis 0", (MATRIX,), ROWS, lambda op, x: op.sort(x, axis=0), lambda f, x: x.sort(0)[0]),
)

MOVING = (
    Case("roll axis 0", (MATRIX,), ROWS, lambda op, x: op.roll(x, 5, 0), lambda f, x: x.roll(5, 0)),
    Case("roll axis 1", (MATRIX,), ROWS, lambda op, x: op.roll(x, 5, 1), lambda f, x: x.roll(5, 1)),
    Case("roll flat", (MATRIX,), ROWS, lambda op, x: op.roll(x, 5), lambda f, x: x.roll(5)),
    Case("flip axis 0", (MATRIX,), ROWS, lambda op, x: op.flip(x, 0), lambda f, x: x.flip(0)),
    Case("flip axis 1", (MATRIX,), ROWS, lambda op, x: op.flip(x, 1), lambda f, x: x.flip(1)),
    Case("tile 2x3", (MATRIX,), ROWS, lambda op, x: op.tile(x, (2, 3)), lambda f, x: x.tile(2, 3)),
    Case(
        "repeat 2 axis 1",
        (MATRIX,),
        ROWS,
        lambda op, x: op.repeat(x, 2, 1),
        lambda f, x: x.repeat_interleave(2, 1),
    ),
    *(
        Case(
            f"pad {mode}",
            (BATCH,),
            IMAGES,
            lambda op, x, mode=mode: op.nn.pad(x, [0, 0, 0, 0, 2, 2, 3, 3], mode),
            lambda f, x, mode=mode: f.pad(x, (3, 3, 2, 2), mode),
        )
        for mode in ("constant", "reflect", "replicate", "circular")
    ),
    Case(
        "pixel_shuffle 2",
        (("n", "4*c", "h", "w"),),
        ((1, 1, 33, 33), (1, 16, 56, 56), (8, 16, 112, 112)),
        lambda op, x: op.nn.pixel_shuffle(x, 2),
        lambda f, x: f.pixel_shuffle(x, 2),
    ),
)

CASES = (*POOLING, *RESIZING, *GATHERING, *SCATTERING, *SORTING, *MOVING)


def rows(words: Sequence[str] = (), seconds: float = SECONDS, threads: int = environment.COUNT) -> Iterator[Row]:
    """torch's time over ours for each op and size; the note has our time, and the quartiles of the ratio."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for case in CASES:
            if not words or any(word in case.name for word in words):
                yield from of_case(case, seconds, threads)
    finally:
        torch.set_num_threads(before)


def of_case(case: Case, seconds: float = SECONDS, threads: int = environment.COUNT) -> Iterator[Row]:
    """The rows of one case, which is built once for all sizes."""
    import torch
    import tvm_ffi

    main = _build(case, threads)
    for size in case.sizes:
        subject = f"{case.name} {'x'.join(map(str, size))}"
        arrays = _inputs(case, size)
        given = [tvm_ffi.from_dlpack(array) for array in arrays]
        tensors = [torch.from_numpy(array) for array in arrays]
        contestants = {
            "ours": Bound(partial(main, *given), np.from_dlpack),
            "torch": Bound(partial(case.torch, torch.nn.functional, *tensors), lambda found: found.numpy()),
        }
        try:
            error = _error(contestants)
        except WrongResult as wrong:
            yield Row(subject, "torch / ours", 0.0, LEAST, str(wrong))
            continue
        timings = measure(contestants, dict.fromkeys(contestants, error), seconds)
        pairs = zip(timings["torch"].samples, timings["ours"].samples, strict=True)
        low, ratio, high = np.quantile([other / own for other, own in pairs], [0.25, 0.5, 0.75])
        note = f"{duration(timings['ours'].median)}, {low:.2f} to {high:.2f}"
        yield Row(subject, "torch / ours", float(ratio), LEAST, note)


def _build(case: Case, threads: int) -> Callable[..., Any]:
    import relax_mlir as rx
    from relax_mlir import op

    bb = rx.BlockBuilder()
    parameters = [
        rx.Var(f"x{n}", rx.Tensor(p.shape, "int64") if isinstance(p, Index) else rx.Tensor(p))
        for n, p in enumerate(case.parameters)
    ]
    with bb.function("main", parameters):
        bb.emit_func_output(case.ours(op, *parameters))
    main: Callable[..., Any] = rx.build(bb.get(), rx.Target("cpu", num_threads=threads))["main"]
    return main


def _inputs(case: Case, size: Sizes) -> list[Array]:
    """Inputs; indices of a matrix along an axis are a permutation in each row, so that no two updates collide."""
    shapes = [p.shape if isinstance(p, Index) else p for p in case.parameters]
    names = dict.fromkeys(str(d).removeprefix("4*") for shape in shapes for d in shape if isinstance(d, str))
    values = dict(zip(names, size, strict=True))

    def number(dim: int | str) -> int:
        if isinstance(dim, int):
            return dim
        return 4 * values[dim[2:]] if dim.startswith("4*") else values[dim]

    found: list[Array] = []
    rng = np.random.default_rng(0)
    for seed, (parameter, shape) in enumerate(zip(case.parameters, shapes, strict=True)):
        known = [number(dim) for dim in shape]
        if isinstance(parameter, Index):
            below = values[parameter.below]
            keys = rng.random(known) if len(known) == 2 and shape[1] != 1 else None
            axis = shape.index(parameter.below) if parameter.below in shape else 0
            index = rng.integers(0, below, known) if keys is None else keys.argsort(axis)
            found.append(index if keys is not None or below < known[0] else rng.permutation(below)[: known[0]])
            found[-1] = np.ascontiguousarray(found[-1].reshape(known))
        else:
            found.append(normal(*known, seed=seed))
    return found


def _error(contestants: dict[str, Bound]) -> float:
    """The largest absolute difference of the two results."""
    ours, theirs = (np.asarray(bound.to_numpy(bound.call())) for bound in contestants.values())
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        raise WrongResult(f"{ours.dtype} of shape {ours.shape}, expected {theirs.dtype} of {theirs.shape}")
    error = float(np.max(np.abs(ours.astype(np.float64) - theirs), initial=0.0))
    if not error <= ERROR:
        raise WrongResult(f"an element is {error:.3g} off")
    return error


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.single_ops", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="NAME", help="only ops whose names contain this")
    parser.add_argument("--threads", type=int, default=environment.COUNT, help="of both (1)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"per row ({SECONDS})")
    options = parser.parse_args(arguments)
    found = list(rows(options.words, options.seconds, options.threads))
    console = Console(width=terminal.width())
    terminal.print_table(targets.table(found), console)
    console.print(targets.summary(found), highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
