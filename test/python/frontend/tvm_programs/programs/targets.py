"""Targets as texts, dictionaries and contexts; what is not available says so."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import relax
from tvm.script import relax as R


@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return R.exp(x)


x = np.linspace(0, 1, 5, dtype="float32")
for target in ("llvm", "llvm -mcpu=haswell", {"kind": "llvm", "mcpu": "haswell"}):
    with tvm.target.Target(target):
        assert tvm.target.Target.current().kind == "cpu"
        ex = tvm.compile(main)
    np.testing.assert_allclose(relax.VirtualMachine(ex, "cpu")["main"](x).numpy(), np.exp(x), rtol=1e-5)

refused = 0
for wrong in (
    lambda: tvm.target.Target("cuda"),
    lambda: tvm.cuda(0),
    lambda: tvm.device("cuda", 0),
    lambda: tvm.rpc,
    lambda: relax.get_pipeline("static_shape_tuning", total_trials=1),
):
    try:
        wrong()
    except Exception as error:
        assert "not available" in str(error), error
        refused += 1
assert refused == 5
