"""Random programs with diamonds and several users: equal to NumPy, with `fuse-ops` and without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.transform import PassContext, explain_fusion

Array = np.ndarray[Any, Any]
Pair = tuple[Any, Callable[[list[Array]], Array]]
"""A value of the program, and how NumPy computes it from the inputs."""

INPUTS = [Tensor(shape, "float32") for shape in (("n", 4), ("n", 4), (4,), ("n", 1), ("m", "n"), ("m",))]
WIDE, ROW, COLUMN, TALL, LONG = range(5)
PROGRAMS = 8 if sweep.ALL else 4


class Program:
    """Values by class of their shapes; each step adds one."""

    def __init__(self, inputs: list[Any], seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        made: list[Pair] = [(x, lambda given, i=i: given[i]) for i, x in enumerate(inputs)]
        self.values = {WIDE: made[:2], ROW: [made[2]], COLUMN: [made[3]], TALL: [made[4]], LONG: [made[5]]}

    def pick(self, kind: int) -> Pair:
        """One of the last few values, so that values have several users."""
        some = self.values[kind][-3:]
        return some[int(self.rng.integers(len(some)))]

    def step(self) -> None:
        choice = int(self.rng.integers(9))
        kind = int(self.rng.choice([WIDE, WIDE, WIDE, TALL, ROW, COLUMN, LONG]))
        x, f = self.pick(kind)
        y, g = self.pick(kind)
        if choice == 0:
            made: Pair = (R.negative(x), lambda v: -f(v))
        elif choice == 1:
            made = (R.exp(R.minimum(x, R.const(np.float32(1)))), lambda v: np.exp(np.minimum(f(v), 1)))
        elif choice in (2, 3):
            made = (R.subtract(x, y), lambda v: f(v) - g(v))
        elif choice == 4 and kind in (WIDE, TALL):
            z, h = self.pick(ROW if kind == WIDE else LONG)
            if kind == WIDE:
                made = (R.maximum(x, z), lambda v: np.maximum(f(v), h(v)))
            else:
                made = (R.maximum(x, R.expand_dims(z, axis=1)), lambda v: np.maximum(f(v), h(v)[:, None]))
        elif choice == 5:
            kind = WIDE
            (x, f), (z, h) = self.pick(WIDE), self.pick(COLUMN)
            made = (R.add(z, x), lambda v: h(v) + f(v))
        elif choice == 6:
            kind = WIDE
            (x, f), (y, g) = self.pick(WIDE), self.pick(WIDE)
            both = R.concat([x, y], axis=1)
            made = (
                R.strided_slice(both, axes=[1], begin=[2], end=[6]),
                lambda v: np.concatenate([f(v), g(v)], axis=1)[:, 2:6],
            )
        elif choice == 7 and kind in (WIDE, TALL):
            turned = R.tanh(R.negative(R.permute_dims(x)))
            made = (R.permute_dims(turned), lambda v: np.tanh(-f(v)))
        else:
            made = (R.multiply(x, R.const(np.float32(0.5))), lambda v: f(v) * np.float32(0.5))
        self.values[kind].append(made)

    def results(self) -> list[Pair]:
        return [values[-1] for kind, values in self.values.items() if kind in (WIDE, TALL)]


def module() -> tuple[rx.IRModule, list[list[Callable[[list[Array]], Array]]]]:
    bb = rx.BlockBuilder()
    references = []
    for seed in range(PROGRAMS):
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(INPUTS)]
        with bb.function(f"program{seed}", variables):
            program = Program(variables, seed)
            for _ in range(18):
                program.step()
            results = program.results()
            bb.emit_func_output([value for value, _ in results])
        references.append([reference for _, reference in results])
    return bb.get(), references


@pytest.mark.parametrize("fused", sweep.quick([True, False], True))
def test_random_programs(fused: bool) -> None:
    built, references = module()
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
        for seed, expected in enumerate(references):
            results = executable[f"program{seed}"](*given)
            for result, reference in zip(results, expected, strict=True):
                np.testing.assert_allclose(
                    np.from_dlpack(result), reference(given), rtol=2e-5, atol=2e-5, err_msg=f"program {seed}"
                )
