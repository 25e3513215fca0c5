// The position relative to the diagonal decides; the diagonal is part of the function.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK: callee = @tril_f32, tir_vars
// CHECK: callee = @tril_f32_1, tir_vars
// CHECK: callee = @eye_i32, tir_vars
// CHECK-LABEL: func.func private @tril_f32(
// CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[COLUMN:[A-Za-z0-9_]+]] = linalg.index 1 : index
// CHECK: %[[ROW:[A-Za-z0-9_]+]] = linalg.index 0 : index
// CHECK: %[[OFFSET:[A-Za-z0-9_]+]] = arith.subi %[[COLUMN]], %[[ROW]] : index
// CHECK: %[[KEPT:[A-Za-z0-9_]+]] = arith.cmpi sle, %[[OFFSET]], %{{.*}} : index
// CHECK: arith.select %[[KEPT]], %[[X]], %{{.*}} : f32

func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x3xi32>) {
  %0 = "relax.tril"(%x) {k = 0} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.tril"(%x) {k = 1} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.eye"() {shape = [2, 3], k = 0, dtype = i32} : () -> tensor<2x3xi32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x3xi32>
}
