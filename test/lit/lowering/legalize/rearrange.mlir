// nn.py
// batch_flatten is a view: nothing is computed.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[SHAPE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n", "12*h"]}
// CHECK: "relax.reshape"(%{{[A-Za-z0-9_]+}}, %[[SHAPE]])
// CHECK-NOT: relax.call_tir
// CHECK-NOT: relax.prim_func
func.func @main(%x: tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>) -> tensor<?x?xf32, #relax.shape<["n", "12*h"]>> {
  %2 = "relax.nn_batch_flatten"(%x) : (tensor<?x4x?x3xf32, #relax.shape<["n", 4, "h", 3]>>) -> tensor<?x?xf32, #relax.shape<["n", "12*h"]>>
  return %2 : tensor<?x?xf32, #relax.shape<["n", "12*h"]>>
}
