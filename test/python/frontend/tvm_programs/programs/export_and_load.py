"""Export a compiled program as a library, load it, and run it."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import tempfile
from pathlib import Path

import numpy as np
from tvm import relax
from tvm.relax.frontend import nn


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(8, axes=-1, bias=False)

    def forward(self, x):
        return nn.silu(self.norm(x))


mod, params = Norm().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 8), "float32")}})
ex = tvm.compile(mod, target="llvm")
x, weight = np.random.default_rng(0).random((3, 8), dtype="float32"), np.ones(8, "float32")
expected = relax.VirtualMachine(ex, tvm.cpu())["forward"](x, weight).numpy()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "norm.so"
    ex.export_library(path)
    loaded = tvm.runtime.load_module(str(path))
    vm = relax.VirtualMachine(loaded, tvm.cpu(0))
    result = vm["forward"](tvm.runtime.tensor(x, tvm.cpu(0)), tvm.runtime.tensor(weight))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
