"""Random programs with diamonds and several users: equal to the interpreter, with `fuse-ops` and without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from interpreted import interpreted
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.transform import PassContext, explain_fusion

INPUTS = [Tensor(shape, "float32") for shape in (("n", 4), ("n", 4), (4,), ("n", 1), ("m", "n"), ("m",))]
WIDE, ROW, COLUMN, TALL, LONG = range(5)
PROGRAMS = 8 if sweep.ALL else 4


class Program:
    """Values by class of their shapes; each step adds one."""

    def __init__(self, inputs: list[Any], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.values = {
            WIDE: inputs[:2],
            ROW: [inputs[2]],
            COLUMN: [inputs[3]],
            TALL: [inputs[4]],
            LONG: [inputs[5]],
        }

    def pick(self, kind: int) -> Any:
        """One of the last few values, so that values have several users."""
        some = self.values[kind][-3:]
        return some[int(self.rng.integers(len(some)))]

    def step(self) -> None:
        choice = int(self.rng.integers(9))
        kind = int(self.rng.choice([WIDE, WIDE, WIDE, TALL, ROW, COLUMN, LONG]))
        x, y = self.pick(kind), self.pick(kind)
        if choice == 0:
            made = R.negative(x)
        elif choice == 1:
            made = R.exp(R.minimum(x, R.const(np.float32(1))))
        elif choice in (2, 3):
            made = R.subtract(x, y)
        elif choice == 4 and kind == WIDE:
            made = R.maximum(x, self.pick(ROW))
        elif choice == 4 and kind == TALL:
            made = R.maximum(x, R.expand_dims(self.pick(LONG), axis=1))
        elif choice == 5:
            kind, made = WIDE, R.add(self.pick(COLUMN), self.pick(WIDE))
        elif choice == 6:
            both = R.concat([self.pick(WIDE), self.pick(WIDE)], axis=1)
            kind, made = WIDE, R.strided_slice(both, axes=[1], begin=[2], end=[6])
        elif choice == 7 and kind in (WIDE, TALL):
            made = R.permute_dims(R.tanh(R.negative(R.permute_dims(x))))
        else:
            made = R.multiply(x, R.const(np.float32(0.5)))
        self.values[kind].append(made)


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    for seed in range(PROGRAMS):
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(INPUTS)]
        with bb.function(f"program{seed}", variables):
            program = Program(variables, seed)
            for _ in range(18):
                program.step()
            bb.emit_func_output([program.values[kind][-1] for kind in (WIDE, TALL)])
    return bb.get()


@pytest.mark.parametrize("fused", sweep.quick([True, False], True))
def test_random_programs(fused: bool) -> None:
    built = module()
    with PassContext(disabled_pass=[] if fused else ["fuse-ops"]), explain_fusion() as report:
        executable = rx.build(built)
    done = sum(decision.fused for decision in report.decisions)
    assert done >= 3 * PROGRAMS if fused else done == 0
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (0, 3), (3, 0), (5, 17)):
        sizes = {"n": n, "m": m}
        given = []
        for info in INPUTS:
            shape = [d if isinstance(d, int) else sizes[str(d)] for d in info.known_shape or ()]
            given.append(rng.uniform(-2, 2, shape).astype("float32"))
        for seed in range(PROGRAMS):
            name = f"program{seed}"
            for result, expected in zip(executable[name](*given), interpreted(built, name, given), strict=True):
                np.testing.assert_allclose(np.from_dlpack(result), expected, rtol=2e-5, atol=2e-5, err_msg=name)
