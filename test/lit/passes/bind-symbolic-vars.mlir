// Symbols become integers, in types, patterns and sizes; calls in the module must fit.
// RUN: relax-opt %s --split-input-file --bind-symbolic-vars='bindings=n=4 function=main' --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x?xf32, #relax.shape<[4, "m"]>>
// CHECK-NOT: relax.symbol_bounds
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
// -----
// A symbol may get the ends of its bounds; those of other symbols stay.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<4x?xf32, #relax.shape<[4, "m"]>>
// CHECK-SAME: relax.symbol_bounds = {m = [1, unit]}
func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) attributes {relax.symbol_bounds = {n = [4, 4], m = [1, unit]}} {
  return
}
// -----
// The types of results follow: four elements, and a number of them that is not known, give four.
// CHECK: "relax.add"({{.*}} -> tensor<4xf32>
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
