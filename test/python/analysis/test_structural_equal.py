"""Structural equality: what counts as a difference, and what does not."""

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal, find_difference, structural_equal
from relax_mlir.script import parse, script_constants
from relax_mlir.transform import create_pass


def module(symbols: tuple[str, str] = ("n", "m"), scale: float = 2.0, weight: float = 1.0) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(symbols, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x + scale
            y = y + bb.const(np.full((100, 1, 1), weight, "float32"))
            y = bb.match_shape(y, (100, "a", "b"))
            s = R.shape_expr([f"{symbols[0]} * a"])
            out = bb.emit_output([y, s])
        bb.emit_func_output(out)
    return bb.get()


def test_names_of_symbols_do_not_count() -> None:
    assert_structural_equal(module(), module(("p", "q")))
    assert structural_equal(module(), rx.IRModule.parse(module().asm(elide_above=None)))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: module(("n", "n")), "argument 0"),
        (lambda: module(scale=3.0), "attribute 'value'"),
        (lambda: module(weight=3.0), "attribute 'value'"),
    ],
)
def test_differences_are_found_and_told(other, message: str) -> None:  # type: ignore[no-untyped-def]  # a lambda
    difference = find_difference(module(), other())
    assert difference is not None and message in difference and "main" in difference
    with pytest.raises(AssertionError, match="the modules differ"):
        assert_structural_equal(module(), other())


def test_functions_must_be_the_same() -> None:
    difference = find_difference(module(), rx.IRModule.parse("module {}"))
    assert difference is not None and "['main']" in difference


def test_default_attributes_may_be_written_out() -> None:
    """A legalised product reads back equal: its text leaves out the maps that the op has by default."""
    module = parse('@R.function\ndef main(x: R.Tensor(("n", "n"), "float32")):\n    return R.matmul(x, x)\n')
    create_pass("legalize-ops")(module.mlir)
    assert_structural_equal(module, parse(module.script(), constants=script_constants(module.mlir)))
