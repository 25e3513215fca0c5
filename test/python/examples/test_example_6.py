"""Running example 6, EmitTE: tensor expressions of Relax values, and a symbol that no buffer's shape determines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ShapeError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse


def build(shape: tuple[Any, ...]) -> rx.IRModule:
    """``bb.emit_te(fn, x, a)`` with a value and a shape."""

    def fn(x: te.Tensor, a: tuple[Any, ...]) -> te.Tensor:
        return te.compute(a, lambda i, j: x[i, j] * 2, "doubled")

    bb, x, a = rx.BlockBuilder(), rx.Var("x", rx.Tensor(shape, "float32")), rx.Var("a", rx.Shape(("n", "m")))
    with bb.function("rx_func", [x, a]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(fn, x, R_shape(shape)))
        bb.emit_func_output(out)
    return bb.get()


def R_shape(shape: tuple[Any, ...]) -> Any:
    from relax_mlir import op as R

    return R.shape_expr(shape)


def test_symbols_of_the_buffers() -> None:
    mod = build(("n", "m"))
    assert "tir_vars = []" in str(mod)
    for n, m in [(3, 4), (0, 2), (1, 1)]:
        x = np.random.default_rng(0).random((n, m), dtype=np.float32)
        np.testing.assert_array_equal(to_numpy(rx.build(mod)["rx_func"](x, (n, m))), x * 2)


def test_a_symbol_that_no_buffer_tells() -> None:
    """``(n, 2 * floordiv(m, 2))``: m comes after the output."""
    m = te.var("m")
    mod = build(("n", 2 * te.floordiv(m, 2)))
    assert 'tir_vars = ["m"]' in str(mod)
    prim = next(op for op in mod.mlir.body.operations if "relax.prim_func" in op.attributes)
    assert [str(t) for t in prim.type.inputs][-1] == "index"
    main = rx.build(mod)["rx_func"]
    for size in (4, 5, 0, 1):
        x = np.random.default_rng(0).random((3, 2 * (size // 2)), dtype=np.float32)
        np.testing.assert_array_equal(to_numpy(main(x, (3, size))), x * 2)
    with pytest.raises(ShapeError, match="m = 7"):
        main(np.zeros((3, 4), "f4"), (3, 7))


@pytest.mark.parametrize("shape", [("n", "m"), ("n", "2 * (m // 2)")])
def test_prints_and_lowers(shape: tuple[str, ...]) -> None:
    mod = build(shape)
    assert_structural_equal(mod, parse(mod.script()))
    for level in ("relax-to-tensors", "relax-to-memrefs", "relax-to-llvm"):
        lowered = mod.clone()
        lowered.apply_(pipeline(level))
        assert lowered.mlir.operation.verify()
