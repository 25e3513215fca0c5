// where broadcasts all three operands; clip keeps NaN, and is nothing without bounds.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<4xf32>
// CHECK: return %{{.*}}, %{{.*}}, %[[X]] :
// CHECK-LABEL: func.func private @where_i1(
// CHECK-SAME: relax.pattern = "broadcast"
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-LABEL: func.func private @clip_f32(
// CHECK: %[[LOW:[A-Za-z0-9_]+]] = arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: arith.minimumf %[[LOW]], %{{.*}} : f32

func.func @main(%x: tensor<4xf32>, %c: tensor<2x1xi1>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.where"(%c, %x, %x) : (tensor<2x1xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = "relax.clip"(%x) {min = 0.0, max = 6.0} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.clip"(%x) {min = unit, max = unit} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
}
