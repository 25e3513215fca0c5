// create.py: filling needs the shape of the result only, and `full` the value besides; symbols in the bounds of a range
// are passed as index arguments; ranges of floats are computed in f64.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[VALUE:[a-z0-9_]+]]: tensor<f32>
// CHECK: "relax.call_tir"({{.*}}) {callee = @ones_f32, tir_vars = []} {{.*}} -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[VALUE]] :
// CHECK: "relax.call_tir"(%[[ARGS]]) {callee = @full_f32, tir_vars = []} {{.*}} -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: "relax.call_tir"({{.*}}) {callee = @arange_i64, tir_vars = ["n"]} {{.*}} -> tensor<?xi64, #relax.shape<["m"]>>
// CHECK: "relax.call_tir"({{.*}}) {callee = @arange_f32, tir_vars = []} {{.*}} -> tensor<3xf32>

// CHECK-LABEL: func.func private @ones_f32(
// CHECK-SAME: %[[OUT:[a-z0-9_]+]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: linalg.yield %[[ONE]] : f32

// CHECK-LABEL: func.func private @full_f32(
// CHECK-SAME: %[[VALUE:[a-z0-9_]+]]: tensor<f32>, %[[OUT:[a-z0-9_]+]]: tensor<?x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[VALUE]] : tensor<f32>) outs(%[[OUT]] : tensor<?x4xf32>)
// CHECK: ^bb0(%[[FILL:[a-z0-9_]+]]: f32, %{{[a-z0-9_]+}}: f32):
// CHECK-NEXT: linalg.yield %[[FILL]] : f32

// CHECK-LABEL: func.func private @arange_i64(
// CHECK-SAME: %[[OUT:[a-z0-9_]+]]: tensor<?xi64>, %[[N:[a-z0-9_]+]]: index)
// CHECK: %[[START:[A-Za-z0-9_]+]] = arith.index_cast %[[N]] : index to i64
// CHECK: %[[I:[A-Za-z0-9_]+]] = linalg.index 0 : index
// CHECK: arith.addi %[[START]], %{{[A-Za-z0-9_]+}} : i64

// CHECK-LABEL: func.func private @arange_f32(
// CHECK: %[[I:[A-Za-z0-9_]+]] = arith.sitofp %{{[A-Za-z0-9_]+}} : i64 to f64
// CHECK: %[[OFFSET:[A-Za-z0-9_]+]] = arith.mulf %[[I]], %{{.*}} : f64
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %{{.*}}, %[[OFFSET]] : f64
// CHECK: arith.truncf %[[SUM]] : f64 to f32

func.func @main(%v: tensor<f32>, %x: tensor<?x?xf32, #relax.shape<["n", "m"]>>)
    -> (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>,
        tensor<?xi64, #relax.shape<["m"]>>, tensor<3xf32>) {
  %s = "relax.shape_expr"() {values = ["n", 4]} : () -> !relax.shape_value<["n", 4]>
  %0 = "relax.ones"(%s) {dtype = f32} : (!relax.shape_value<["n", 4]>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.full"(%s, %v) : (!relax.shape_value<["n", 4]>, tensor<f32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.arange"() {start = "n", end = "n + m", step = 1, dtype = i64} : () -> tensor<?xi64, #relax.shape<["m"]>>
  %3 = "relax.arange"() {start = 0.5, end = 2.0, step = 0.5, dtype = f32} : () -> tensor<3xf32>
  return %0, %1, %2, %3 : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?xi64, #relax.shape<["m"]>>, tensor<3xf32>
}
