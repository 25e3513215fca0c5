"""Loops whose variable would not advance or wrap around are errors, in the script or at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import RelaxError, ShapeError, VerifyError

LOOP = """
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @main(%x: !n, %first: i64, %last: i64, %by: i64) -> !n {{
  {constants}
  %r = scf.for %i = {bounds} iter_args(%v = %x) -> (!n) : i64 {{
    %w = "relax.negative"(%v) : (!n) -> !n
    scf.yield %w : !n
  }}
  return %r : !n
}}
"""
MAX = 2**63 - 1


def module(lower: str, upper: str, step: str) -> rx.IRModule:
    """A loop whose bounds are parameters or numbers."""
    numbers = {f"%c{i}": v for i, v in enumerate((lower, upper, step)) if not v.startswith("%")}
    lines = [f'{name} = "relax.prim_value"() {{value = {v} : i64}} : () -> i64' for name, v in numbers.items()]
    names = [v if v.startswith("%") else f"%c{i}" for i, v in enumerate((lower, upper, step))]
    text = LOOP.format(constants="\n  ".join(lines), bounds=f"{names[0]} to {names[1]} step {names[2]}")
    return rx.IRModule.parse(text)


@pytest.mark.parametrize(("upper", "step", "message"), [(3, 0, "step 0"), (3, -1, "step -1"), (MAX, 2, f"{MAX}")])
def test_known_ones_are_invalid(upper: int, step: int, message: str) -> None:
    with pytest.raises(VerifyError, match=rf"{message}.*\[invariant 16\]"):
        module("0", str(upper), str(step)).verify()


def test_they_count_in_64_bits() -> None:
    text = LOOP.format(constants="%c = arith.constant 1 : i32", bounds="%c to %c step %c")
    with pytest.raises(VerifyError, match=r"counts in i32, but .* in i64 or index \[invariant 16\]"):
        rx.IRModule.parse(text.replace(": i64 {", ": i32 {")).verify()


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_they_count_in_index(mode: Any) -> None:
    text = LOOP.format(constants="%c = arith.constant 2 : index", bounds="%first to %last step %c")
    module = rx.IRModule.parse(text.replace("(!n) : i64 {", "(!n) {").replace("i64", "index"))
    main = rx.build(module, exec_mode=mode)["main"]
    x = np.array([1, -2, 3], "float32")
    for first, last, rounds in ((0, 3, 2), (1, 3, 1), (5, 3, 0), (0, 6, 3)):
        assert np.array_equal(np.from_dlpack(main(x, first, last, 1)), x * (-1) ** rounds)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_parameters_of_index_are_integers(mode: Any) -> None:
    text = """
    func.func @main(%k: index) -> tuple<index, index> {
      %r = builtin.unrealized_conversion_cast %k, %k : index, index to tuple<index, index>
      return %r : tuple<index, index>
    }"""
    module = rx.IRModule.parse(text)
    rx.transform.parse_pipeline("normalize")(module).verify()
    assert rx.build(module, exec_mode=mode)["main"](5) == (5, 5)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_casts_that_would_cut_a_number_are_refused(mode: Any) -> None:
    text = """
    func.func @main(%k: index) -> index {
      %a = arith.index_cast %k : index to i8
      %b = arith.index_cast %a : i8 to index
      return %b : index
    }"""
    with pytest.raises(RelaxError, match="i8"):
        rx.build(rx.IRModule.parse(text), exec_mode=mode)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_others_fail_when_they_run(mode: Any) -> None:
    main = rx.build(module("%first", "%last", "%by"), exec_mode=mode)["main"]
    x = np.array([1, -2, 3], "float32")
    for first, last, by, rounds in (
        (0, 3, 1, 3),
        (0, 3, 2, 2),
        (5, 3, 1, 0),
        (0, 0, 7, 0),
        (MAX - 3, MAX, 1, 3),
    ):
        assert np.array_equal(np.from_dlpack(main(x, first, last, by)), x * (-1) ** rounds)
    for by in (0, -1, -(2**63)):
        with pytest.raises(ShapeError, match=rf"main: .*: the loop has the step {by}; loops count upwards"):
            main(x, 0, 3, by)
    for first, last, by in ((0, MAX, 2**62), (MAX - 4, MAX, 3), (0, MAX, MAX)):
        with pytest.raises(ShapeError, match=rf"the loop ends at {MAX}: in steps of {by} its variable would pass"):
            main(x, first, last, by)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
def test_a_step_that_is_known(mode: Any) -> None:
    main = rx.build(module("0", "%last", "2"), exec_mode=mode)["main"]
    x = np.ones(2, "float32")
    assert np.array_equal(np.from_dlpack(main(x, 0, 5, 0)), -x)
    with pytest.raises(ShapeError, match=rf"the loop ends at {MAX}: in steps of 2"):
        main(x, 0, MAX, 0)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
@pytest.mark.parametrize(
    ("step", "upper", "message"),
    [(0, 3, "the loop has the step 0"), (-2, 3, "the loop has the step -2"), (2, MAX, f"ends at {MAX}")],
)
def test_what_a_fold_makes_known(mode: Any, step: int, upper: int, message: str) -> None:
    """The numbers are known after both branches are merged, after the module was verified."""
    same = f"""%given = "relax.prim_value"() {{value = {step} : i64}} : () -> i64
  %end = "relax.prim_value"() {{value = {upper} : i64}} : () -> i64
  %zero = "relax.prim_value"() {{value = 0 : i64}} : () -> i64
  %no = arith.constant false
  %step, %upper = scf.if %no -> (i64, i64) {{
    scf.yield %given, %end : i64, i64
  }} else {{
    scf.yield %given, %end : i64, i64
  }}"""
    text = LOOP.format(constants=same, bounds="%zero to %upper step %step")
    main = rx.build(rx.IRModule.parse(text), exec_mode=mode)["main"]
    with pytest.raises(ShapeError, match=message):
        main(np.ones(2, "float32"), 0, 0, 0)
