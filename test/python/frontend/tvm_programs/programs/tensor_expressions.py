"""Tensor expressions and topi: prim funcs from formulas, from scripts, and called from the builder."""

import relax_mlir.tvm

tvm = relax_mlir.tvm.install()

import numpy as np
from tvm import relax, te, topi
from tvm.script import tir as T

n, m = te.var("n"), te.var("m")
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), name="k")
B = te.compute((n,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="B")
mod = te.create_prim_func([A, B])
lib = tvm.compile(mod, target="llvm")
a = np.random.default_rng(0).random((4, 5), dtype="float32")
b = tvm.runtime.empty((4,))
lib["main"](tvm.runtime.tensor(a), b)
np.testing.assert_allclose(b.numpy(), (a * a).sum(1), rtol=1e-5)


@T.prim_func
def transposed(x: T.handle, y: T.handle):
    h = T.int64()
    w = T.int64()
    X = T.match_buffer(x, (h, w), "float32")
    Y = T.match_buffer(y, (w, h), "float32")
    for i, j in T.grid(w, h):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vj, vi]


lib = tvm.compile(tvm.IRModule({"transposed": transposed["transposed"]}), target="llvm")
c = tvm.runtime.empty((5, 4))
lib["transposed"](tvm.runtime.tensor(a), c)
np.testing.assert_array_equal(c.numpy(), a.T)

bb = relax.BlockBuilder()
x = relax.Var("x", relax.TensorStructInfo(("n", "m"), "float32"))
with bb.function("main", [x]):
    y = bb.emit_te(topi.nn.softmax, x, axis=1)
    bb.emit_func_output(bb.emit_te(topi.argmax, y, axis=1))
result = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())["main"](tvm.runtime.tensor(a))
np.testing.assert_array_equal(result.numpy(), a.argmax(1))
