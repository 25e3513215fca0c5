"""Implementations that hold for some sizes only: one artefact, whose prim func branches; in both modes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.strategy import (
    OpStrategy,
    SpecializedCondition,
    explain_strategy,
    temporary_strategy,
)
from relax_mlir.symbolic import divisible

Arrays = Callable[..., Any]


def doubled_product(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    """Twice the matmul, so that results show which implementation ran."""
    a, b = inputs
    k = te.reduce_axis((0, a.shape[1]), "k")
    shape = (a.shape[0], b.shape[1])
    return te.compute(shape, lambda i, j: te.sum(a[i, k] * b[k, j] * te.const(2, a.dtype), axis=k), "twice")


def products(attrs: Any, inputs: list[te.Tensor], out_type: Any, target: Any) -> OpStrategy:
    """One implementation for few rows, another for multiples of 8."""
    strategy = OpStrategy()
    rows = inputs[0].shape[0]
    with SpecializedCondition(rows <= 4):
        strategy.add_implementation(doubled_product, name="few", plevel=30)
    with SpecializedCondition(divisible(rows, 8)):
        strategy.add_implementation(
            lambda attrs, inputs, out: te.compute(
                (inputs[0].shape[0], inputs[1].shape[1]), lambda i, j: te.const(-1, inputs[0].dtype), "ones"
            ),
            name="eights",
            plevel=20,
        )
    return strategy


def joined(attrs: Any, inputs: list[te.Tensor], out_type: Any, target: Any) -> OpStrategy:
    """A concatenation of two vectors, intentionally wrong if the first one is short."""
    strategy = OpStrategy()
    a, b = inputs

    def compute(attrs: Any, inputs: list[te.Tensor], out: Any) -> te.Tensor:
        a, b = inputs
        (n,), (m,) = a.shape, b.shape
        return te.compute(
            (n + m,),
            lambda i: te.if_then_else(i < n, a[te.minimum(i, n - 1)], b[i - n] + te.const(1, b.dtype)),
            "joined",
        )

    with SpecializedCondition(a.shape[0] < b.shape[0], a.shape[0] > 0):
        strategy.add_implementation(compute, name="short", plevel=20)
    return strategy


def halves(attrs: Any, inputs: list[te.Tensor], out_type: Any, target: Any) -> OpStrategy:
    """Two results, exchanged if there are few columns."""
    strategy = OpStrategy()
    x = inputs[0]

    def compute(attrs: Any, inputs: list[te.Tensor], out: Any) -> list[te.Tensor]:
        x = inputs[0]
        shape = (2, x.shape[1])
        return [
            te.compute(shape, lambda i, j: x[i + 2, j], "low"),
            te.compute(shape, lambda i, j: x[i, j], "high"),
        ]

    with SpecializedCondition(x.shape[1] <= 3):
        strategy.add_implementation(compute, name="exchanged", plevel=20)
    return strategy


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"))), rx.Var("y", rx.Tensor(("k", "m")))
    with bb.function("product", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(R.nn.relu(R.add(R.matmul(x, y), R.const(1.0))))
        bb.emit_func_output(out)
    a, b = rx.Var("a", rx.Tensor(("n",), "int32")), rx.Var("b", rx.Tensor(("m",), "int32"))
    with bb.function("join", [a, b]):
        bb.emit_func_output(R.concat([a, b], axis=0))
    z = rx.Var("z", rx.Tensor((4, "n"), "float64"))
    with bb.function("split", [z]):
        bb.emit_func_output(R.split(z, 2, axis=0))
    return bb.get()


def registered() -> ExitStack:
    stack = ExitStack()
    for op, strategy in (("matmul", products), ("concat", joined), ("split", halves)):
        stack.enter_context(temporary_strategy(op, strategy))
    return stack


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_values(mode: Any) -> None:
    with registered():
        built = rx.build(module(), exec_mode=mode)
    rng = np.random.default_rng(0)
    for n in (0, 1, 4, 5, 7, 8, 9, 16):
        for k, m in ((3, 2), (0, 3), (17, 33)):
            x, y = rng.random((n, k), "float32"), rng.random((k, m), "float32")
            wanted = 2 * (x @ y) if n <= 4 else np.full((n, m), -1.0) if n % 8 == 0 else x @ y
            found = numpy(built["product"](x, y))
            np.testing.assert_allclose(found, np.maximum(wanted + 1, 0), rtol=1e-5)
    for n, m in ((0, 3), (1, 2), (2, 2), (3, 1), (0, 0), (5, 9)):
        a, b = np.arange(n, dtype="int32"), np.arange(m, dtype="int32") + 50
        wanted = np.concatenate([a, b + 1 if 0 < n < m else b])
        np.testing.assert_array_equal(numpy(built["join"](a, b)), wanted)
    for n in (0, 1, 3, 4, 9):
        z = rng.random((4, n))
        low, high = (numpy(each) for each in built["split"](z))
        np.testing.assert_array_equal(low, z[2:] if n <= 3 else z[:2])
        np.testing.assert_array_equal(high, z[:2] if n <= 3 else z[2:])


def test_the_table_tells_what_is_taken() -> None:
    with registered(), explain_strategy() as report:
        work = module()
        rx.transform.LegalizeOps().apply_(work)
    text = report.render(100)
    assert "taken   few                     30  where n <= 4" in text
    assert "taken   eights                  20  where n % 8 == 0" in text
    assert "taken   kernel matrix product   15  otherwise" in text
    assert "taken   short    20  where n < m and n > 0" in text


def test_prim_funcs_are_read_again() -> None:
    """A module at level R1 with a branch and entries on memory is valid, printed, read, and built."""
    with registered():
        work = module()
        rx.transform.LegalizeOps().apply_(work)
    work.verify()
    again = rx.IRModule.parse(str(work))
    x, y = np.ones((2, 3), "float32"), np.ones((3, 1), "float32")
    np.testing.assert_array_equal(numpy(rx.build(again)["product"](x, y)), np.full((2, 1), 7.0))


def static(n: int, strategy: Any) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor((n, "k"))), rx.Var("y", rx.Tensor(("k", 3)))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.matmul(x, y))
    work = bb.get()
    with temporary_strategy("matmul", strategy):
        rx.transform.LegalizeOps().apply_(work)
    return work


def test_what_is_known_is_settled_at_build() -> None:
    for n, wanted in ((3, "matmul_few"), (24, "matmul_eights"), (7, "matmul")):
        text = str(static(n, products))
        assert f"callee = @{wanted}" in text and "by_size" not in text


@pytest.mark.parametrize(
    ("compute", "error", "message"),
    [
        (
            lambda attrs, inputs, out: inputs[0],
            ArgumentError,
            "'mine': 'compute' gives x1.*expected computed te.Tensors",
        ),
        (lambda attrs, inputs, out: [3], ArgumentError, "'compute' gives 3"),
        (
            lambda attrs, inputs, out: te.compute((1, 3), lambda i, j: te.const(0, "float32")),
            ShapeError,
            "is of shape",
        ),
        (
            lambda attrs, inputs, out: te.compute(out.shape, lambda i, j: te.const(0, "float64")),
            DTypeError,
            "the op's result is float32",
        ),
        (
            lambda attrs, inputs, out: [te.compute(out.shape, lambda i, j: te.const(0, "float32"))] * 2,
            ArgumentError,
            "gives 2 tensors, the op has 1",
        ),
    ],
)
def test_what_is_computed_is_checked(compute: Any, error: type[Exception], message: str) -> None:
    def mine(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        strategy = OpStrategy()
        strategy.add_implementation(compute, name="mine", plevel=20)
        return strategy

    with pytest.raises(error, match=message):
        static(2, mine)


def test_strategies_give_strategies() -> None:
    with pytest.raises(ArgumentError, match=r"relax.matmul: the strategy 'wrong' returns 3, expected an OpStrategy"):

        def wrong(*args: Any) -> int:
            return 3

        static(2, wrong)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_a_conditional_around_what_is_no_prim_func(mode: Any) -> None:
    """An implementation that returns its operand: the branch is in the Relax function, also in a dataflow block."""

    def mine(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        strategy = OpStrategy()
        with SpecializedCondition(inputs[0].shape[0] <= 4, divisible(inputs[0].shape[0], 2)):
            strategy.add_implementation(
                lambda attrs, inputs, out: te.compute(inputs[0].shape, lambda i: inputs[0][i] + te.const(1, "int32")),
                name="mine",
                plevel=20,
            )
        return strategy

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "int32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(R.add(R.floor(x), x))
        bb.emit_func_output(out)
    with temporary_strategy("floor", mine):
        main = rx.build(bb.get(), exec_mode=mode)["main"]
    for n in (0, 2, 3, 4, 5, 6):
        given = np.arange(n, dtype="int32")
        np.testing.assert_array_equal(numpy(main(given)), 2 * given + (n <= 4 and n % 2 == 0))
