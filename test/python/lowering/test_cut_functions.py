"""Functions that leave a module at the end of level V: which of `build`'s do, and that few ops stay together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.lowering.abi.text import functions, is_declaration
from relax_mlir.lowering.module_parts import APART, Part
from relax_mlir.lowering.pipeline import phases
from relax_mlir.mlir import ir
from relax_mlir.target import Target

Expression = Callable[[rx.BlockBuilder, Value], Value]


def cut(function: Expression, target: Target) -> tuple[ir.Module, list[Part]]:
    """The module at the end of level V, and the parts that have left it."""
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 64), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(function(builder, x))
    work, parts = builder.get(), list[Part]()
    for phase in phases(str(target), take_kernels=parts.extend)[:-2]:
        for step in phase.passes:
            step(work.mlir)
    assert work.mlir.operation.verify()
    return work.mlir, parts


def norm_of_softmax(builder: rx.BlockBuilder, x: Value) -> Value:
    one = builder.const(np.ones(64, np.float32))
    return R.nn.layer_norm(R.nn.softmax(R.nn.gelu(x)), one, one, axes=[-1])


@pytest.mark.parametrize("threads", [1, 2])
def test_functions_that_cannot_fail_leave(threads: int) -> None:
    module, parts = cut(norm_of_softmax, Target("cpu", num_threads=threads))
    left = functions(module)
    own = [part for part in parts if part.group is None]
    exported = {name for part in own for name in part.exported}
    assert exported
    assert all(name.startswith("relax.") for name in exported)  # those of C libraries do not
    assert all(APART in left[name].attributes and is_declaration(left[name]) for name in exported)
    assert not any(part.is_flat for part in own)
    assert not any("main" in name for name in exported)


def test_a_few_ops_stay() -> None:
    module, parts = cut(lambda _, x: R.add(x, x), Target("cpu"))
    assert not parts
    assert not any(APART in op.attributes for op in functions(module).values())
