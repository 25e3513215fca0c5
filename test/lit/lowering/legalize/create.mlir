// Filling needs the shape of the result only; symbols in the bounds of a range are passed as index arguments.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: "relax.call_tir"({{.*}}) {callee = @ones_f32, tir_vars = []} {{.*}} -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: "relax.call_tir"({{.*}}) {callee = @arange_i64, tir_vars = ["n"]} {{.*}} -> tensor<?xi64, #relax.shape<["m"]>>

// CHECK-LABEL: func.func private @ones_f32(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: linalg.yield %[[ONE]] : f32

// CHECK-LABEL: func.func private @arange_i64(
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<?xi64>, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[START:[0-9]+]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[I:[0-9]+]] = linalg.index 0 : index
// CHECK: arith.addi %[[START]], %{{[0-9]+}} : i64

func.func @main(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?xi64, #relax.shape<["m"]>>) {
  %s = "relax.shape_expr"() {values = ["n", 4]} : () -> !relax.shape_value<["n", 4]>
  %0 = "relax.ones"(%s) {dtype = f32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.arange"() {start = "n", end = "n + m", step = 1, dtype = i64} : () -> tensor<?xi64, #relax.shape<["m"]>>
  return %0, %1 : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?xi64, #relax.shape<["m"]>>
}
