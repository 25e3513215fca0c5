"""Wrong arguments of the builders, of `IRModule` and of `build`: errors of the project, never internal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import RelaxError

N = rx.Tensor(("n",), "float32")


def inside(emit: Callable[[Any, Any], Any]) -> None:
    """Run `emit` in the body of a function."""
    bb, x = rx.BlockBuilder(), rx.Var("x", N)
    with bb.function("main", [x]):
        emit(bb, x)
        bb.emit_func_output(x)


CASES: dict[str, Callable[[], Any]] = {
    "build_none": lambda: rx.build(None),
    "build_str": lambda: rx.build("x"),
    "build_target": lambda: rx.build(rx.BlockBuilder().get(), target=3),
    "build_other_machine": lambda: rx.build(rx.BlockBuilder().get(), "cpu -mtriple=sparc-unknown-linux-gnu"),
    "build_mode": lambda: rx.build(rx.BlockBuilder().get(), exec_mode=None),
    "build_instr": lambda: rx.build(rx.BlockBuilder().get(), instruments=3),
    "parse_none": lambda: rx.IRModule.parse(None),
    "read_none": lambda: rx.IRModule.read(None),
    "read_missing": lambda: rx.IRModule.read("/nonexistent"),
    "getitem": lambda: rx.BlockBuilder().get()[3],
    "bb_none": lambda: rx.BlockBuilder(3),
    "fn_name": lambda: rx.BlockBuilder().function(3).__enter__(),
    "fn_param": lambda: rx.BlockBuilder().function("f", [3]).__enter__(),
    "fn_params": lambda: rx.BlockBuilder().function("f", 3).__enter__(),
    "fn_empty": lambda: rx.BlockBuilder().function("").__enter__(),
    "emit_none": lambda: inside(lambda bb, x: bb.emit(None)),
    "emit_no_value": lambda: inside(lambda bb, x: bb.emit(R.call_packed("f", x))),
    "emit_name": lambda: inside(lambda bb, x: bb.emit(x + x, 3)),
    "match_val": lambda: inside(lambda bb, x: bb.match_shape(3, ("n",))),
    "match_pat": lambda: inside(lambda bb, x: bb.match_shape(x, 3)),
    "match_pat2": lambda: inside(lambda bb, x: bb.match_shape(x, (1.5,))),
    "match_dtype": lambda: inside(lambda bb, x: bb.match_shape(x, ("n",), "flt")),
    "const": lambda: inside(lambda bb, x: bb.const("a")),
    "const2": lambda: inside(lambda bb, x: bb.const(None)),
    "const3": lambda: inside(lambda bb, x: bb.const(np.zeros(2, "complex64"))),
    "const4": lambda: inside(lambda bb, x: bb.const(1, "nope")),
    "const5": lambda: inside(lambda bb, x: bb.const(300, "int8")),
    "const6": lambda: inside(lambda bb, x: bb.const(np.array(["a"]), "int8")),
    "call": lambda: inside(lambda bb, x: bb.call(3, x)),
    "call2": lambda: inside(lambda bb, x: bb.call("nope", x)),
    "lookup": lambda: rx.BlockBuilder().lookup(None),
    "addf": lambda: rx.BlockBuilder().add_func(3, "x"),
    "addf2": lambda: rx.BlockBuilder().add_func(rx.BlockBuilder().get(), 3),
    "upd": lambda: rx.BlockBuilder().update_func("x", 3),
    "ct": lambda: inside(lambda bb, x: R.call_tir(3, [x], N)),
    "ct2": lambda: inside(lambda bb, x: R.call_tir("f", x, N)),
    "ct3": lambda: inside(lambda bb, x: R.call_tir("f", [x], 3)),
    "ct4": lambda: inside(lambda bb, x: R.call_tir("f", [3], N)),
    "ct5": lambda: inside(lambda bb, x: R.call_tir("f", [x], N, tir_vars=3)),
    "cd": lambda: inside(lambda bb, x: R.call_dps_packed(3, [x], N)),
    "cd2": lambda: inside(lambda bb, x: R.call_dps_packed("f", [x], None)),
    "cp": lambda: inside(lambda bb, x: R.call_packed(3, x)),
    "cp2": lambda: inside(lambda bb, x: R.call_packed("f", x, out=3)),
    "cp3": lambda: inside(lambda bb, x: R.call_packed("f", [x])),
    "cp4": lambda: inside(lambda bb, x: R.call_packed("f", 1 << 70)),
    "mt": lambda: inside(lambda bb, x: R.make_tuple(x, 3)),
    "tgi": lambda: inside(lambda bb, x: R.tuple_get_item(3, 0)),
    "tgi2": lambda: inside(lambda bb, x: R.tuple_get_item(R.make_tuple(x), "a")),
    "tgi3": lambda: inside(lambda bb, x: R.tuple_get_item(R.make_tuple(x), 4)),
    "so": lambda: inside(lambda bb, x: R.shape_of(3)),
    "se": lambda: inside(lambda bb, x: R.shape_expr(3)),
    "se2": lambda: inside(lambda bb, x: R.shape_expr(["n+"])),
    "pv": lambda: inside(lambda bb, x: R.prim_value(1.5)),
    "ite": lambda: inside(lambda bb, x: R.if_then_else(3, lambda: x, lambda: x)),
    "ite2": lambda: inside(lambda bb, x: R.if_then_else(R.const(True), x, x)),
    "ite3": lambda: inside(lambda bb, x: R.if_then_else(R.const(True), lambda: None, lambda: x)),
    "var": lambda: rx.BlockBuilder().function("f", [rx.Var(3, N)]).__enter__(),
    "var2": lambda: rx.BlockBuilder().function("f", [rx.Var("x", 3)]).__enter__(),
    "out": lambda: inside(lambda bb, x: bb.emit_func_output({})),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(case: str) -> None:
    with pytest.raises(RelaxError) as caught:
        CASES[case]()
    assert "incompatible function arguments" not in str(caught.value)


def test_messages_name_function_parameter_and_what_was_expected() -> None:
    with pytest.raises(RelaxError, match=r"build: 'mod' is None \(NoneType\), expected an IRModule"):
        rx.build(None)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(RelaxError, match=r"match_shape: 'pattern' is 3 \(int\), expected a list or tuple"):
        inside(lambda bb, x: bb.match_shape(x, 3))
