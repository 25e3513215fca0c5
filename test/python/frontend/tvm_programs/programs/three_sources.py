"""One model from PyTorch, from a class, and from a script; its functions, lowering, compilation."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
import torch
from torch.export import export
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program
from tvm.script import ir as I
from tvm.script import relax as R


class TorchModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(12, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


torch_model = TorchModel().eval()
with torch.no_grad():
    program = export(torch_model, (torch.randn(4, 12),))
    mod = from_exported_program(program, keep_params_as_input=True, unwrap_unit_return_tuple=True)
mod, params = relax.frontend.detach_params(mod)

from tvm.relax.frontend import nn


class RelaxModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 8)
        self.second = nn.Linear(8, 3)

    def forward(self, x):
        return self.second(nn.relu(self.first(x)))


from_class, _ = RelaxModel().export_tvm({"forward": {"x": nn.spec.Tensor((4, 12), "float32")}})


@I.ir_module
class Scripted:
    @R.function
    def main(
        x: R.Tensor((4, 12), dtype="float32"),
        w1: R.Tensor((8, 12), dtype="float32"),
        b1: R.Tensor((8,), dtype="float32"),
        w2: R.Tensor((3, 8), dtype="float32"),
        b2: R.Tensor((3,), dtype="float32"),
    ) -> R.Tensor((4, 3), dtype="float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            h = R.nn.relu(R.add(R.matmul(x, R.permute_dims(w1, axes=None), out_dtype=None), b1))
            gv = R.add(R.matmul(h, R.permute_dims(w2, axes=None), out_dtype=None), b2)
            R.output(gv)
        return gv


x = np.random.default_rng(0).random((4, 12), dtype="float32")
expected = torch_model(torch.from_numpy(x)).detach().numpy()
dev = tvm.cpu()
for module, name in ((mod, "main"), (from_class, "forward"), (Scripted, "main")):
    (gv,) = module.get_global_vars()
    assert gv.name_hint == name and module[gv] == module[name]
    lowered = relax.transform.LegalizeOps()(module)
    assert len(lowered.get_global_vars()) > 1
    vm = relax.VirtualMachine(tvm.compile(relax.get_pipeline("zero")(module), target="llvm"), dev)
    out = vm[name](tvm.runtime.tensor(x, dev), *params["main"]).numpy()
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
