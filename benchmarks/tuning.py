"""Tuning: the gain of a template with knobs on dynamic workloads, at sizes that tuning has not seen.

``python -m benchmarks.tuning`` tunes each workload for five minutes, ``--seconds 60`` for one, as `make bench` does.
"""

from __future__ import annotations

from benchmarks import environment  # isort: skip - before anything that imports NumPy

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir import terminal
from rich.console import Console

from benchmarks.targets import Row, summary, table

if TYPE_CHECKING:
    from relax_mlir.symbolic import Bounds
    from relax_mlir.tuning import LocalWorkers, Task

SECONDS, SHORT = 300.0, 60.0
"""The budget of a workload; the budget in `make bench`."""
LEAST = 1.5
"""The required speed-up of the tuned schedule over none, at hidden sizes."""
SEEN, HIDDEN = 6, 8
"""Sizes that tuning measures, and hidden ones."""
SEED, HIDDEN_SEED = 1, 1000

IMAGES = {"n": (1, 8), "h": (7, 64), "w": (7, 64)}
VOLUMES = {"n": (1, 4), "d": (4, 16), "h": (7, 40), "w": (7, 40)}
ROWS = {"n": (1, 256), "h": (1, 24), "w": (1, 256)}
PRODUCTS = {"n": (96, 512), "k": (96, 512), "m": (96, 512)}


def rows(budget: float = SHORT, search: str = "model", trials: int | None = None) -> Iterator[Row]:
    """The ratios of all workloads; for `matmul`, the tuner must report that its kernel is not beaten.

    Args:
        budget: seconds for each; trials: maximum number of candidates of each.
        search: the search algorithm.
    """
    from relax_mlir.tuning import LocalWorkers, tune

    with LocalWorkers(timeout=30) as workers:
        common: dict[str, Any] = {"budget": budget, "search": search, "trials": trials, "workers": workers}
        for task in tasks():
            found = tune(task, task.draw_sizes(SEEN, seed=SEED), **common)
            note = f"{found.measured} tried, {found.failed} failed, {budget:g} s"
            ratio = _hidden(task, found.best, workers)
            yield Row(f"tuned {task.name}", "default / tuned, hidden sizes", ratio, LEAST, note)
        product, kernel = matrix_product()
        found = tune(product, product.draw_sizes(SEEN, seed=SEED), baseline=kernel, **common)
    note = f"{found.measured} tried: {found.score:.2f}x, {budget:g} s"
    yield Row("tuned matmul", "nothing beats the kernel: 1", float(not found.found_better), 1.0, note)


def tasks() -> list[Task]:
    """Dynamic workloads whose default loops are slow: grouped convolutions, a pooling, an odd contraction."""
    from relax_mlir import te, topi

    n, d, h, w = (te.var(name) for name in ("n", "d", "h", "w"))
    image, volume = (
        te.placeholder((n, 32, h, w), name="image"),
        te.placeholder((n, 16, d, h, w), name="volume"),
    )
    kernel, each = te.placeholder((64, 8, 3, 3), name="kernel"), te.placeholder((32, 1, 3, 3), name="each")
    first, second = te.placeholder((n, h, 7), name="first"), te.placeholder((7, h, w), name="second")
    return [
        _task("grouped conv2d", [image, kernel, topi.nn.group_conv2d_nchw(image, kernel, 1, 1, 1, 4)], IMAGES),
        _task("depthwise conv2d", [image, each, topi.nn.depthwise_conv2d_nchw(image, each, 1, 1, 1)], IMAGES),
        _task("pool3d", [volume, topi.nn.pool3d(volume, (3,) * 3, (1,) * 3, (1,) * 3, (1,) * 6, "avg")], VOLUMES),
        _task("einsum nhc,chw->nw", [first, second, topi.einsum("nhc,chw->nw", first, second)], ROWS),
    ]


def matrix_product() -> tuple[Task, str]:
    """A matrix product as a task, and the module of `matmul`, which uses the kernel."""
    import relax_mlir as rx
    from relax_mlir import op as R
    from relax_mlir import te, topi

    n, k, m = (te.var(name) for name in ("n", "k", "m"))
    a, b = te.placeholder((n, k), name="a"), te.placeholder((k, m), name="b")
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(dims, "float32")) for name, dims in (("x", ("n", "k")), ("y", ("k", "m"))))
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.matmul(x, y)))
    return _task("matmul", [a, b, topi.matmul(a, b)], PRODUCTS), str(bb.get())


def _task(name: str, args: Sequence[Any], bounds: Bounds) -> Task:
    from relax_mlir.target import Target
    from relax_mlir.tuning import create_task, tiled_schedule

    task = create_task(tiled_schedule, args, name, Target(num_threads=environment.COUNT))
    return dataclasses.replace(task, bounds=bounds)


def _hidden(task: Task, values: Any, workers: LocalWorkers) -> float:  # noqa: ANN401 - values of knobs
    """The geometric mean of the ratios over sizes that tuning has not seen; 0 if the candidate fails there."""
    seen = task.draw_sizes(SEEN, seed=SEED)
    drawn = [sizes for sizes in task.draw_sizes(2 * HIDDEN, seed=HIDDEN_SEED) if sizes not in seen][:HIDDEN]
    once = workers.timeout, workers.rounds
    workers.timeout, workers.rounds = 60, 60
    (measured,) = workers.measure(task, drawn, [values])
    workers.timeout, workers.rounds = once
    return measured.score()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"budget of each workload ({SECONDS:g})")
    parser.add_argument("--search", default="model", help="of relax_mlir.tuning (model)")
    parser.add_argument("--trials", type=int, metavar="N", help="so many candidates of each at most")
    options = parser.parse_args(arguments)
    found = list(rows(options.seconds, options.search, options.trials))
    terminal.print_table(table(found), Console(width=terminal.width()))
    print(summary(found))
    return 1 if any(row.passed is False for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
