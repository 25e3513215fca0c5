// Comparisons are ordered (false with NaN), not_equal is unordered; unsigned integers compare unsigned.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @less_f32(
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : f32
// CHECK-LABEL: func.func private @not_equal_f32(
// CHECK: arith.cmpf une, %{{.*}}, %{{.*}} : f32
// CHECK-LABEL: func.func private @less_ui8(
// CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i8
// CHECK-LABEL: func.func private @logical_and_f32(
// CHECK: %[[A:[A-Za-z0-9_]+]] = arith.cmpf une
// CHECK: %[[B:[A-Za-z0-9_]+]] = arith.cmpf une
// CHECK: arith.andi %[[A]], %[[B]] : i1

func.func @main(%x: tensor<4xf32>, %u: tensor<4xui8>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = "relax.less"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = "relax.not_equal"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = "relax.less"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  %3 = "relax.logical_and"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
