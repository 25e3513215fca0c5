"""Arrays without elements and with a dimension of 2**40: calls return at once, with results as for shorter ones."""

from __future__ import annotations

import ast
import itertools

import empty_arrays
import pytest
import sweep
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
"""Uses whose inputs have a single dimension, or no free dimension that may be as long if another one is 0."""

EQUAL = 0.7 if sweep.ALL else 0.65
"""The minimum share of cases whose results are compared; nearly all cases that `make test` omits are comparable."""


def run(*arguments: str) -> str:
    """The last line of a child's output; the child must not have been ended by a signal."""
    done = warm_process.run([*arguments], timeout=300)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr.decode()[-2000:])
    return lines[-1]


def test_every_op_is_here() -> None:
    assert set(empty_arrays.SPECS) - {case.name for case in empty_arrays.cases()} == (
        ONE_DIMENSION | empty_arrays.LEFT_OUT.keys() | empty_arrays.SKIPPED
    )


GROUPS = [f"{mode}:{group}" for mode in empty_arrays.MODES for group in range(len(empty_arrays.groups(mode)))]


@pytest.fixture(scope="module")
def ended() -> dict[str, tuple[str, str, str]]:
    """By group: the exit status of its process, the last line of its output, and its error output."""
    done = warm_process.run([empty_arrays.__file__, *GROUPS], timeout=1200)
    lines, errors = done.stdout.decode().splitlines(), done.stderr.decode()
    found = {}
    for before, line in itertools.pairwise(["", *lines]):
        if line.startswith("ended "):
            _, group, status = line.split()
            found[group] = status, before, errors
    return found


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_op(group: str, ended: dict[str, tuple[str, str, str]]) -> None:
    status, line, errors = ended[group]
    assert status == "0", (line, errors[-2000:])
    counts = ast.literal_eval(line.removeprefix("counts "))
    assert counts["equal"] > EQUAL * sum(counts.values()), counts


@pytest.mark.parametrize("mode", empty_arrays.MODES)
def test_programs(mode: str) -> None:
    assert run(str(empty_arrays.PROGRAMS), mode) == "done"
