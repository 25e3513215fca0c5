"""Running example 4, the safety net: ops on a tensor of unknown rank and dtype, and on a known one."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis.structural import assert_structural_equal
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import create_pass

Array = np.ndarray[Any, Any]

SCRIPT = """
from relax_mlir.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(None, None)):
        with R.dataflow():
            lv0: R.Tensor(None, None) = R.log(x)
            lv1: R.Tensor((_,), None) = R.flatten(lv0)
            lv2 = R.match_shape(lv1, (m,))
            gv0: R.Tensor((m,), None) = R.exp(lv2)
            R.output(gv0)
        return gv0
"""


def built() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(None, None))
    with bb.function("main", [x]):
        with bb.dataflow():
            lv0 = bb.emit(R.log(x))
            lv1 = bb.emit(R.flatten(lv0))
            lv2 = bb.match_shape(lv1, ("m",))
            gv0 = bb.emit_output(R.exp(lv2))
        bb.emit_func_output(gv0)
    return bb.get()


@pytest.fixture(scope="module", params=["builder", "script"])
def module(request: pytest.FixtureRequest) -> rx.IRModule:
    return built() if request.param == "builder" else parse(SCRIPT)


def test_both_forms_are_one_module() -> None:
    assert_structural_equal(built(), parse(SCRIPT))


def test_prints_what_is_known(module: rx.IRModule) -> None:
    text = module.script()
    for line in (
        "R.Tensor(None, None) = R.log(x)",
        "R.Tensor((None,), None) = R.flatten(",
        'R.Tensor(("m",), None) = R.exp(',
    ):
        assert line in text
    assert_structural_equal(parse(text), module)


def test_ops_become_calls_of_the_runtime(module: rx.IRModule) -> None:
    lowered = module.clone()
    lowered.apply_(pipeline("relax-to-calls"))
    text = str(lowered.mlir)
    assert text.count('func = "relax_mlir.run.op"') == 3
    assert "call_tir" not in text and "call_dps_packed" not in text


def inputs() -> list[Array]:
    values = np.random.default_rng(5).uniform(0.5, 2, 12)
    shapes: list[tuple[int, ...]] = [(12,), (3, 4), (2, 1, 6), (1, 1, 1, 12)]
    found = [values.reshape(shape).astype(np.float32) for shape in shapes]
    found += [values.astype(dtype) for dtype in (np.float64, np.float16, ml_dtypes.bfloat16)]
    return [*found, np.array(2.0, np.float32), np.zeros((0, 3), np.float32)]


def test_runs(module: rx.IRModule) -> None:
    function = rx.build(module)["main"]
    for x in inputs():
        found = to_numpy(function(x))
        assert found.dtype == x.dtype
        tolerance = 2e-2 if x.dtype.itemsize == 2 else 1e-5
        np.testing.assert_allclose(found.astype(np.float64), x.reshape(-1).astype(np.float64), rtol=tolerance, atol=0)


def test_errors_are_those_of_a_known_tensor(module: rx.IRModule) -> None:
    function = rx.build(module)["main"]
    with pytest.raises(
        DTypeError, match=r"log: operand 'x' has dtype int64, expected a float; use astype \(at "
    ) as info:
        function(np.arange(3))
    known = rx.Var("x", rx.Tensor((3,), "int64"))
    bb = rx.BlockBuilder()
    with bb.function("main", [known]):
        with pytest.raises(DTypeError) as at_build_time:
            R.log(known)
        bb.emit_func_output(known)
    assert str(at_build_time.value) in str(info.value)
    with pytest.raises(ArgumentError, match="parameter 'x' is of type"):
        function(3)


def with_ewise_add(x_info: rx.Tensor) -> rx.IRModule:
    """``log(x) + y`` with y of shape ``(m, n)``, and so log(x); then `flatten` and `exp`."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", x_info), rx.Var("y", rx.Tensor(("m", "n"), "float32"))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            lv0 = bb.emit(R.log(x))
            lv1 = bb.match_shape(lv0, ("m", "n"), "float32")
            lv2 = bb.emit(R.add(lv1, y))
            lv3 = bb.emit(R.flatten(lv2))
            gv0 = bb.emit_output(R.exp(lv3))
        bb.emit_func_output(gv0)
    return bb.get()


def test_known_shapes_give_the_same_numbers() -> None:
    unknown = with_ewise_add(rx.Tensor(None, None))
    known = with_ewise_add(rx.Tensor(("m", "n"), "float32"))
    lowered = known.clone()
    lowered.apply_(pipeline("relax-to-calls"))
    assert "relax_mlir.run.op" not in str(lowered.mlir)
    slow, fast = rx.build(unknown)["main"], rx.build(known)["main"]
    rng = np.random.default_rng(6)
    for shape in ((3, 5), (1, 1), (0, 4), (17, 2)):
        x, y = (rng.uniform(0.5, 2, shape).astype(np.float32) for _ in range(2))
        np.testing.assert_array_equal(to_numpy(slow(x, y)), to_numpy(fast(x, y)))
        np.testing.assert_allclose(to_numpy(fast(x, y)), (x * np.exp(y)).reshape(-1), rtol=1e-5)
    with pytest.raises(ShapeError, match="has rank 1, expected rank 2"):
        slow(np.ones(3, np.float32), np.ones((1, 3), np.float32))
    with pytest.raises(ShapeError, match="dimension 0 is 3, but m = 1"):
        slow(np.ones((3, 3), np.float32), np.ones((1, 3), np.float32))


def safety_net_and_add() -> rx.IRModule:
    """`log` and `flatten` of a tensor of unknown type, which is later added to one of shape ``(m, n)``."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(None, None)), rx.Var("y", rx.Tensor(("m", "n"), "float32"))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            lv0 = bb.emit(R.log(x))
            lv1 = bb.emit_output(R.flatten(lv0))
            lv2 = bb.emit_output(R.ewise_add(lv0, y))
        bb.emit_func_output([lv1, lv2])
    return bb.get()


def test_the_pass_deduces_the_shapes() -> None:
    before, after = safety_net_and_add(), safety_net_and_add()
    after.apply_(create_pass("refine-shapes"))
    after.verify()
    assert 'R.Tensor(("m", "n"), "float32") = R.log(' in after.script()
    assert 'R.Tensor(("m*n",), "float32") = R.flatten(' in after.script()
    lowered = after.clone()
    lowered.apply_(pipeline("relax-to-calls"))
    assert "relax_mlir.run.op" not in str(lowered.mlir)
    slow, fast = rx.build(before)["main"], rx.build(after)["main"]
    rng = np.random.default_rng(7)
    for shape in ((3, 5), (1, 1), (0, 4)):
        x, y = (rng.uniform(0.5, 2, shape).astype(np.float32) for _ in range(2))
        for theirs, ours in zip(slow(x, y), fast(x, y), strict=True):
            np.testing.assert_array_equal(to_numpy(theirs), to_numpy(ours))
        np.testing.assert_allclose(to_numpy(fast(x, y)[1]), np.log(x) + y, rtol=1e-5, atol=1e-6)
    for function in (slow, fast):
        with pytest.raises(ShapeError):
            function(np.ones((3, 3), np.float32), np.ones((1, 3), np.float32))
