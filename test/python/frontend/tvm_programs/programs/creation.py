"""The ways to create a program: scripts with prim funcs, classes with other functions, and the builder."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import relax, topi
from tvm.relax.frontend import nn
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class WithPrimFunc:
    @T.prim_func(s_tir=True)
    def clip(x: T.handle, y: T.handle):
        n = T.int64()
        m = T.int64()
        X = T.match_buffer(x, (n, m), "float32")
        Y = T.match_buffer(y, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("clip"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @R.function
    def forward(
        data: R.Tensor(("n", 20), dtype="float32"),
        w: R.Tensor((6, 20), dtype="float32"),
        b: R.Tensor((6,), dtype="float32"),
    ) -> R.Tensor(("n", 6), dtype="float32"):
        n = T.int64()
        cls = WithPrimFunc
        with R.dataflow():
            lv0 = R.matmul(data, R.permute_dims(w)) + b
            lv1 = R.call_tir(cls.clip, lv0, R.Tensor((n, 6), dtype="float32"))
            R.output(lv1)
        return lv1


@T.prim_func(s_tir=True)
def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
    M = T.int64()
    N = T.int64()
    K = T.int64()
    X = T.match_buffer(x, (M, K), "float32")
    W = T.match_buffer(w, (N, K), "float32")
    B = T.match_buffer(b, (N,), "float32")
    Z = T.match_buffer(z, (M, N), "float32")
    for i, j, k in T.grid(M, N, K):
        with T.sblock("linear"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[vi, vj] = T.float32(0)
            Z[vi, vj] = Z[vi, vj] + X[vi, vk] * W[vj, vk]
    for i, j in T.grid(M, N):
        with T.sblock("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = Z[vi, vj] + B[vj]


@tvm.register_func("test.tvm.doubled", override=True)
def doubled(x, out):
    np.from_dlpack(out)[...] = 2 * np.from_dlpack(x)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(20, 6)

    def forward(self, x):
        n = x.shape[0]
        x = nn.extern("test.tvm.doubled", [x], out=nn.Tensor.placeholder((n, 20), "float32"))
        x = nn.tensor_ir_op(
            linear,
            "linear",
            [x, self.dense.weight, self.dense.bias],
            out=nn.Tensor.placeholder((n, 6), "float32"),
        )
        return nn.tensor_expr_op(topi.nn.relu, "relu", [x])


from_class, _ = Mixed().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 20), "float32")}})

bb = relax.BlockBuilder()
n = tvm.tir.Var("n", "int64")
x = relax.Var("x", relax.TensorStructInfo((n, 20), "float32"))
weight = relax.Var("weight", relax.TensorStructInfo((6, 20), "float32"))
bias = relax.Var("bias", relax.TensorStructInfo((6,), "float32"))
with bb.function("forward", [x, weight, bias]):
    with bb.dataflow():
        lv0 = bb.emit(relax.call_dps_packed("test.tvm.doubled", [x], out_ty=relax.TensorType((n, 20), "float32")))
        gvar = bb.add_func(linear, "linear")
        lv1 = bb.emit(relax.call_tir(gvar, [lv0, weight, bias], out_ty=relax.TensorType((n, 6), "float32")))
        gv = bb.emit_te(topi.nn.relu, lv1)
        bb.emit_output(gv)
    bb.emit_func_output(gv)
built = bb.get()

rng = np.random.default_rng(0)
values = [rng.standard_normal(shape).astype("float32") for shape in ((3, 20), (6, 20), (6,))]
expected = np.maximum(values[0] @ values[1].T + values[2], 0)
twice = np.maximum(2 * values[0] @ values[1].T + values[2], 0)
for mod, wanted in ((WithPrimFunc, expected), (from_class, twice), (built, twice)):
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    result = vm["forward"](*map(tvm.runtime.tensor, values)).numpy()
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
