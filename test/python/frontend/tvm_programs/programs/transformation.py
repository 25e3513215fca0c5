"""Passes: lowering and fusion in sequence, a mutator in a module pass, patterns, and contexts of passes."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import IRModule, relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.frontend import nn


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 24)
        self.act = nn.ReLU()
        self.down = nn.Linear(24, 4)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


origin, params = Layers().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 16), "float32")}})
legal = tvm.relax.transform.LegalizeOps()(origin)
assert len(legal.get_global_vars()) > len(origin.get_global_vars())
mod = tvm.ir.transform.Sequential([tvm.relax.transform.FoldConstant(), tvm.relax.transform.FuseOps()])(origin)
mod.show()


@mutator
class SigmoidRewriter(PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if call.op.name == "relax.nn.relu":
            return relax.op.sigmoid(call.args[0])
        return super().visit_call_(call)


@tvm.transform.module_pass(opt_level=0, name="ReluToSigmoid")
class ReluToSigmoid:
    def transform_module(self, mod: IRModule, _ctx: tvm.transform.PassContext) -> IRModule:
        rewriter = SigmoidRewriter(mod)
        for g_var, func in mod.functions_items():
            if isinstance(func, relax.Function):
                func = rewriter.visit_expr(func)
                rewriter.builder_.update_func(g_var, func)
        return rewriter.builder_.get()


changed = ReluToSigmoid()(origin)
lhs = wildcard()
pattern = is_op("relax.nn.relu")(lhs)
by_pattern = IRModule(
    {"forward": rewrite_call(pattern, lambda call, matched: relax.op.sigmoid(matched[lhs]), origin["forward"])}
)
tvm.ir.assert_structural_equal(by_pattern["forward"], changed["forward"])

rng = np.random.default_rng(0)
values = [rng.standard_normal((5, 16)).astype("float32")]
values += [rng.standard_normal(tuple(p.shape)).astype("float32") for _, p in params]
hidden = values[0] @ values[1].T + values[2]
with tvm.transform.PassContext(opt_level=3):
    ex = tvm.compile(changed, "llvm")
out = relax.VirtualMachine(ex, tvm.cpu())["forward"](*map(tvm.runtime.tensor, values)).numpy()
np.testing.assert_allclose(out, 1 / (1 + np.exp(-hidden)) @ values[3].T + values[4], rtol=1e-4, atol=1e-5)
