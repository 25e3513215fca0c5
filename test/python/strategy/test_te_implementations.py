"""Implementations with schedules, with calls of libraries, and with accesses that are not proved."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy, register
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.diagnostics import all_places
from relax_mlir.error import ArgumentError, BoundsError
from relax_mlir.ir_module import functions_of
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.script import parse
from relax_mlir.strategy import OpStrategy, SpecializedCondition, temporary_strategy
from relax_mlir.transform import create_pass


def product(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    a, b = inputs
    k = te.reduce_axis((0, a.shape[1]), "k")
    return te.compute(out_type.shape, lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "product")


def tiled(attrs: Any, outs: list[te.Tensor], target: Any) -> te.Schedule:
    (out,) = outs
    s = te.create_schedule(out.op)
    local = s.cache_write(out, "local")
    i, j, _, inner = s[out].tile(*out.op.axis, 4, 16)
    s[out].parallel(i)
    s[out].vectorize(inner)
    s[local].compute_at(s[out], j)
    s[local].reorder(*s[local].op.reduce_axis, *s[local].op.axis)
    s[local].vectorize(s[local].op.axis[1])
    return s


def built(op: str, strategy: Any, make: Callable[[], Any], *infos: rx.Tensor, mode: Any = "native") -> Any:
    """The function `main` of a call of an op, with a strategy."""
    bb = rx.BlockBuilder()
    variables = [rx.Var(f"x{number}", info) for number, info in enumerate(infos)]
    with bb.function("main", variables):
        with bb.dataflow():
            out = bb.emit_output(make(*variables))
        bb.emit_func_output(out)
    with temporary_strategy(op, strategy):
        return rx.build(bb.get(), exec_mode=mode)["main"]


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_a_schedule_for_many_rows(mode: Any) -> None:
    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        with SpecializedCondition(inputs[0].shape[0] > 4):
            made.add_implementation(product, tiled, name="tiled", plevel=20)
        return made

    infos = rx.Tensor(("n", "k")), rx.Tensor(("k", "m"))
    main = built("matmul", strategy, lambda x, y: R.add(R.matmul(x, y), R.const(1.0)), *infos, mode=mode)
    rng = np.random.default_rng(1)
    for n, k, m in ((0, 3, 4), (3, 5, 2), (5, 0, 7), (9, 33, 17), (64, 16, 32)):
        a, b = rng.random((n, k), "float32"), rng.random((k, m), "float32")
        np.testing.assert_allclose(numpy(main(a, b)), a @ b + 1, rtol=1e-5)


@register("strategies.negate")
def negate(x: Any, out: Any) -> None:
    np.negative(np.from_dlpack(x), out=np.from_dlpack(out))


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_a_library_for_long_vectors(mode: Any) -> None:
    """A packed function is called if its condition holds; its computation is a prim func."""

    def compute(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
        x = inputs[0]
        called = te.extern(
            x.shape, [x], lambda ins, outs: te.call_packed("strategies.negate", ins[0], outs[0]), "called"
        )
        return te.compute(x.shape, lambda i: called[i] * 2.0, "doubled")

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        with SpecializedCondition(inputs[0].shape[0] >= 4):
            made.add_implementation(compute, name="library", plevel=20)
        return made

    main = built("exp", strategy, R.exp, rx.Tensor(("n",)), mode=mode)
    for n in (0, 3, 4, 9):
        x = np.arange(n, dtype="float32")
        np.testing.assert_allclose(numpy(main(x)), -2 * x if n >= 4 else np.exp(x), rtol=1e-6)


def test_accesses_that_are_not_proved_are_checked() -> None:
    def compute(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
        x, rows = inputs
        return te.compute(out_type.shape, lambda i: x[rows[i]], "taken")

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(compute, name="unchecked", plevel=20)
        return made

    main = built("take", strategy, lambda x, i: R.take(x, i, axis=0), rx.Tensor(("n",)), rx.Tensor(("m",), "int64"))
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(numpy(main(x, np.array([4, 0]))), [4, 0])
    for bad in (5, -1, 2**62):
        with pytest.raises(BoundsError, match="take_unchecked"):
            main(x, np.array([0, bad]))


def test_integers_divided_by_zero() -> None:
    def compute(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
        x, y = inputs
        return te.compute(out_type.shape, lambda i: te.floordiv(x[i], y[i]), "quotient")

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(compute, name="mine", plevel=20)
        return made

    main = built("floor_divide", strategy, R.floor_divide, *[rx.Tensor(("n",), "int32")] * 2)
    found = numpy(main(np.array([7, 5, -7], "int32"), np.array([2, 0, 2], "int32")))
    np.testing.assert_array_equal(found, [3, 0, -4])


def test_schedules_of_something_else() -> None:
    def strategy(schedule: Any) -> Any:
        def made(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
            found = OpStrategy()
            found.add_implementation(product, schedule, name="mine", plevel=20)
            return found

        return made

    infos = rx.Tensor((2, 3)), rx.Tensor((3, 4))
    with pytest.raises(ArgumentError, match=r"implementation 'mine': 'schedule' gives 3, expected a te.Schedule"):
        built("matmul", strategy(lambda attrs, outs, target: 3), R.matmul, *infos)

    def other(attrs: Any, outs: Any, target: Any) -> te.Schedule:
        return te.create_schedule(te.compute((2,), lambda i: te.const(0, "float32"), "other").op)

    with pytest.raises(ArgumentError, match="gives a schedule of other, expected one of what 'compute' gives"):
        built("matmul", strategy(other), R.matmul, *infos)


COMPUTING = ("arith.addf", "arith.mulf", "memref.store")


def test_locations() -> None:
    """Calls and the project's implementations have the line of the op; users' implementations have their own lines."""

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(product, None, name="mine", plevel=20)
        return made

    source = ast.parse(Path(__file__).read_text())
    function = next(node for node in source.body if getattr(node, "name", "") == "product")
    text = """
@R.function
def main(
    x: R.Tensor(("n", 2, "h", "w"), "float32"), k: R.Tensor((4, 1, 3, 3), "float32"), a: R.Tensor(("n", 4), "float32")
):
    each = R.nn.conv2d(x, k, groups=2)
    return each, R.matmul(a, R.ones((4, "n"), "float32"))
"""
    module = parse(text)
    with temporary_strategy("matmul", strategy):
        module.apply_(create_pass("legalize-ops"))
    ops = {callee_of(op): op for op in ops_of(module.mlir.operation, "relax.call_tir")}
    lines = {name: all_places(op.location) for name, op in ops.items()}
    assert lines["nn_conv2d_grouped_direct"] == ["<script>:6:12"] and lines["matmul_mine"] == ["<script>:7:18"]
    made = {
        f.name.value: {place for op in ops_of(f.operation, *COMPUTING) for place in all_places(op.location)}
        for f in functions_of(module.mlir)
    }
    assert made["nn_conv2d_grouped_direct"] == {"<script>:6:0"}
    assert made["matmul_mine"] == {f"{__file__}:{function.end_lineno}:0"}
