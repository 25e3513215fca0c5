// RUN: relax-opt %s --legalize-ops --check-prim-funcs | filecheck %s
// check_prim_funcs.py: what legalize-ops has made keeps its claims.

// CHECK: func.func private @softmax(
// CHECK-SAME: relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}, relax.kernel_seal = "
// CHECK-NOT: relax.unchecked
func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %0 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}
