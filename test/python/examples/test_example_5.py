"""Running example 5, myfunc, as script: a prim func of the user, and a registered function by destination passing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir.analysis.structural import assert_structural_equal
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.runtime import to_numpy
from relax_mlir.script import ir as I
from relax_mlir.script import parse
from relax_mlir.script import relax as R
from relax_mlir.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def tirexp(a: T.handle, b: T.handle):
        n = T.var("int64")
        m = T.var("int64")
        X = T.match_buffer(a, (n, m), "float32")
        Y = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.block("exp"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.exp(X[vi, vj])

    @R.function
    def myfunc(x: R.Tensor[(n, m), "f32"]):  # noqa: F821
        with R.dataflow():
            lv0 = R.call_tir((n, m), tirexp, [x])  # noqa: F821
            gv0 = R.call_tir((m * n,), "flatten", [lv0])  # noqa: F821
            R.outputs(gv0)
        return gv0


@pytest.fixture(autouse=True)
def functions() -> None:
    def flatten(x: Any, out: Any) -> None:
        np.from_dlpack(out)[...] = np.from_dlpack(x).reshape(-1)

    tvm_ffi.register_global_func("flatten", flatten, override=True)


@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (0, 4)])
def test_runs(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).random(shape, dtype=np.float32)
    np.testing.assert_allclose(to_numpy(rx.build(Module)["myfunc"](x)), np.exp(x).reshape(-1), rtol=1e-5)


def test_prints_and_verifies() -> None:
    text = Module.script()
    assert 'R.call_tir(cls.tirexp, (x,), R.Tensor(("n", "m"), "float32"))' in text
    assert 'R.call_dps_packed("flatten", [lv0], R.Tensor(("m*n",), "float32"))' in text
    assert_structural_equal(Module, parse(text))
    Module.verify()


@pytest.mark.parametrize("name", ["relax-to-calls", "relax-to-tensors", "relax-to-memrefs", "relax-to-llvm"])
def test_lowers(name: str) -> None:
    pipeline(name)(Module.clone().mlir)
