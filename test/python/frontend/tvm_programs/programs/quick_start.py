"""A perceptron from a class: export, optimise, compile, run."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import relax
from tvm.relax.frontend import nn


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(96, 32)
        self.act = nn.SiLU()
        self.out = nn.Linear(32, 5, bias=False)

    def forward(self, x):
        return self.out(self.act(self.hidden(x)))


mod, param_spec = Perceptron().export_tvm(spec={"forward": {"x": nn.spec.Tensor((2, 96), "float32")}})
mod.show()
mod = relax.get_pipeline("zero")(mod)

target = tvm.target.Target("llvm")
ex = tvm.compile(mod, target)
dev = tvm.cpu()
vm = relax.VirtualMachine(ex, dev)
rng = np.random.default_rng(0)
x = rng.random((2, 96), dtype="float32")
weights = [rng.random(tuple(param.shape), dtype="float32") for _, param in param_spec]
result = vm["forward"](tvm.runtime.tensor(x, dev), *[tvm.runtime.tensor(w, device=dev) for w in weights]).numpy()

hidden = x @ weights[0].T + weights[1]
np.testing.assert_allclose(result, (hidden / (1 + np.exp(-hidden))) @ weights[2].T, rtol=1e-5)
