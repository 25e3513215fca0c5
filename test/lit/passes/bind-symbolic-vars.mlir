// Symbols become integers, in types, patterns and sizes; calls in the module must fit.
// RUN: relax-opt %s --split-input-file --bind-symbolic-vars='bindings=n=4 function=main' --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x?xf32, #relax.shape<[4, "m"]>>
// CHECK: "relax.shape_expr"() {values = ["4*m"]}
// CHECK: -> tensor<?xf32, #relax.shape<["4*m"]>>
// CHECK-LABEL: func.func @other(
// CHECK-SAME: #relax.shape<["n"]>
func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?xf32, #relax.shape<["m*n"]>> {
  %s = "relax.shape_expr"() {values = ["m*n"]} : () -> !relax.shape_value<["m*n"]>
  %r = "relax.reshape"(%x, %s) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, !relax.shape_value<["m*n"]>) -> tensor<?xf32, #relax.shape<["m*n"]>>
  return %r : tensor<?xf32, #relax.shape<["m*n"]>>
}
func.func @other(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: "relax.match_shape"(%{{.*}}) {pattern = [4]
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
