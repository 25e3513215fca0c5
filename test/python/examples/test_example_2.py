"""Running example 2, shape_example: symbolic shapes, an opaque shape function, and a data-dependent size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.analysis.structural import assert_structural_equal
from relax_mlir.error import ShapeError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SCRIPT = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def shape_example(x: R.Tensor(("n", 2, 2), "float32")):
        with R.dataflow():
            lv0: R.Tensor((n, 4), "float32") = R.reshape(x, R.shape([n, 4]))
            lv1: R.Tensor((n * 4,), "float32") = R.flatten(lv0)
            lv2 = R.shape([n * 4])
            lv3: R.Shape = R.call_pure_packed("myshape_func", lv2, out=R.Shape)
            lv4 = R.match_shape(lv3, (k,))
            lv5 = R.call_dps_packed("custom_func", [lv1], R.Tensor((k,), "float32"))
            lv6: R.Tensor((_,), "float32") = R.unique(lv5)
            lv7: R.Tensor((m,), "float32") = R.match_shape(lv6, (m,))
            gv0: R.Tensor((m,), "float32") = R.exp(lv7)
            R.output(gv0)
        return gv0
"""


@pytest.fixture(autouse=True)
def functions() -> None:
    """`myshape_func` adds two elements; `custom_func` repeats its input to fill its output."""

    def custom(x: Any, out: Any) -> None:
        given, result = np.from_dlpack(x), np.from_dlpack(out)
        result[:] = np.resize(given, result.shape) if given.size else 0

    tvm_ffi.register_global_func("myshape_func", lambda s: tvm_ffi.Shape((s[0] + 2,)), override=True)
    tvm_ffi.register_global_func("custom_func", custom, override=True)


def built() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 2, 2), "float32"))
    with bb.function("shape_example", [x]):
        with bb.dataflow():
            lv0 = bb.emit(R.reshape(x, ("n", 4)))
            lv1 = bb.emit(R.flatten(lv0))
            lv2 = bb.emit(R.shape_expr(["4*n"]))
            lv3 = bb.emit(R.call_pure_packed("myshape_func", lv2, out=rx.Shape()))
            bb.match_shape(lv3, ("k",))
            lv5 = bb.emit(R.call_dps_packed("custom_func", [lv1], rx.Tensor(("k",), "float32")))
            lv6 = bb.emit(R.unique(lv5))
            lv7 = bb.match_shape(lv6, ("m",))
            gv0 = bb.emit_output(R.exp(lv7))
        bb.emit_func_output(gv0)
    return bb.get()


@pytest.fixture(params=["builder", "script"])
def module(request: pytest.FixtureRequest) -> rx.IRModule:
    return built() if request.param == "builder" else parse(SCRIPT)


def test_both_forms_are_one_module() -> None:
    assert_structural_equal(built(), parse(SCRIPT))


def test_deduced_shapes(module: rx.IRModule) -> None:
    text = module.script()
    for line in (
        'R.Tensor(("n", 4), "float32") = R.reshape(',
        'R.Tensor(("4*n",), "float32") = R.flatten(',
        "R.Shape(None) = R.call_pure_packed",
        'R.Tensor((None,), "float32") = R.unique(',
        'R.Tensor(("m",), "float32") = R.exp(',
    ):
        assert line in text
    assert_structural_equal(parse(text), module)


def test_lowers(module: rx.IRModule) -> None:
    module.apply_(pipeline("relax-to-calls"))
    assert "relax_mlir.run.unique" in str(module.mlir) and "relax.call_tir" in str(module.mlir)
    module.verify()


def test_runs(module: rx.IRModule) -> None:
    function = rx.build(module)["shape_example"]
    for x in (np.arange(12, dtype=np.float32) % 3, np.zeros(4, np.float32), np.zeros(0, np.float32)):
        repeated = np.resize(x, x.size + 2) if x.size else np.zeros(2, np.float32)
        found = to_numpy(function(x.reshape(-1, 2, 2)))
        np.testing.assert_allclose(found, np.exp(np.unique(repeated)), rtol=1e-6)


def test_the_shape_function_is_checked(module: rx.IRModule) -> None:
    tvm_ffi.register_global_func("myshape_func", lambda s: tvm_ffi.Shape((s[0], 1)), override=True)
    with pytest.raises(ShapeError, match="the shape has 2 entries, expected 1"):
        rx.build(module)["shape_example"](np.zeros((1, 2, 2), np.float32))
