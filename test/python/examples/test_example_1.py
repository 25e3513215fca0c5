"""Running example 1, relax_func: a kernel of the user on a shape value, then an effect outside of dataflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.analysis.structural import assert_structural_equal
from relax_mlir.error import ShapeError
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.runtime import to_numpy
from relax_mlir.script import ir as I
from relax_mlir.script import parse
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def tir_exp_func(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("exp"):
                vi = T.axis.spatial(n, i)
                B[vi] = T.exp(A[vi])

    @R.function
    def relax_func(x: R.Tensor[(n, k), "f32"], w: R.Tensor[_, "f32"]):  # noqa: F821
        with R.dataflow():
            lv0 = R.match_shape(w, (k, m))  # noqa: F821
            lv1: R.Tensor[(n, m), "f32"] = R.dot(x, lv0)  # noqa: F821
            lv2: R.Tensor[(n * m,), "f32"] = R.flatten(lv1)  # noqa: F821
            lv3: R.Shape = (n * m,)  # noqa: F821
            gv0 = R.call_tir(lv3, tir_exp_func, [lv2])  # noqa: F821
            R.outputs(gv0)
        R.call_packed("custom_inplace_update", gv0)
        return gv0


@pytest.fixture(autouse=True)
def functions() -> None:
    def update(x: Any) -> None:
        np.from_dlpack(x)[...] += 1

    tvm_ffi.register_global_func("custom_inplace_update", update, override=True)


def values(n: int, k: int, m: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random((n, k), dtype=np.float32), rng.random((k, m), dtype=np.float32)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 0, 3)])
def test_runs(sizes: tuple[int, int, int]) -> None:
    x, w = values(*sizes)
    found = to_numpy(rx.build(Module)["relax_func"](x, w))
    np.testing.assert_allclose(found, np.exp(x @ w).reshape(-1) + 1, rtol=1e-5)


def test_the_weight_is_checked() -> None:
    x, w = values(3, 4, 5)
    with pytest.raises(ShapeError, match="k = 4"):
        rx.build(Module)["relax_func"](x, w[:3])


def test_prints_and_verifies() -> None:
    text = Module.script()
    assert "@T.prim_func" in text
    assert 'R.call_tir(cls.tir_exp_func, (lv2,), R.Tensor(("m*n",), "float32"))' in text
    assert_structural_equal(Module, parse(text))
    Module.verify()


def test_lowers() -> None:
    module = Module.clone()
    module.apply_(pipeline("relax-to-calls"))
    assert "@tir_exp_func" in str(module)
    module.verify()
