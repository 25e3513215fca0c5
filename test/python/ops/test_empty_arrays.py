"""Arrays without elements and with a dimension of 2**40: calls return at once, with results as for shorter ones."""

from __future__ import annotations

import ast

import empty_arrays
import pytest
import warm_process

ONE_DIMENSION = {
    *(
        "clip:float",
        "grad.avg_pool2d_backward",
        "grad.max_pool2d_backward",
        "grad.nll_loss_backward",
        "meshgrid",
    ),
    *("meshgrid:xy", "nn.nll_loss", "nn.pad:reflect", "outer", "random.words", "tensor_to_shape"),
}
"""Uses whose inputs have a single dimension, or none that is free to be so long beside one of length 0."""


def run(*arguments: str) -> str:
    """The last line that a child has written, which no signal has ended."""
    done = warm_process.run([*arguments], timeout=300)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr.decode()[-2000:])
    return lines[-1]


def test_every_op_is_here() -> None:
    assert set(empty_arrays.SPECS) - {case.name for case in empty_arrays.cases()} == (
        ONE_DIMENSION | empty_arrays.LEFT_OUT.keys()
    )


@pytest.mark.parametrize(
    ("mode", "group"),
    [(mode, group) for mode in empty_arrays.MODES for group in range(len(empty_arrays.groups(mode)))],
)
def test_every_op(mode: str, group: int) -> None:
    counts = ast.literal_eval(run(empty_arrays.__file__, mode, str(group)).removeprefix("counts "))
    assert counts["equal"] > 0.7 * sum(counts.values()), counts


@pytest.mark.parametrize("mode", empty_arrays.MODES)
def test_programs(mode: str) -> None:
    assert run(str(empty_arrays.PROGRAMS), mode) == "done"
