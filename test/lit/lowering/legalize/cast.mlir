// Conversions: saturating to integers, by signedness from integers, nothing for the same dtype.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<4xf32>
// CHECK: return %[[X]],

// CHECK-LABEL: func.func private @astype_f32(
// CHECK-SAME: tensor<4xi8>
// CHECK: %[[LOW:.*]] = arith.constant -1.280000e+02 : f32
// CHECK: %[[HIGH:.*]] = arith.constant 1.280000e+02 : f32
// CHECK: %[[INSIDE:[A-Za-z0-9_]+]] = arith.andi
// CHECK: %[[SAFE:[A-Za-z0-9_]+]] = arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : f32
// CHECK: arith.fptosi %[[SAFE]] : f32 to i8
// CHECK-LABEL: func.func private @astype_ui8(
// CHECK: arith.uitofp %{{.*}} : i8 to f32
// CHECK-LABEL: func.func private @astype_ui8_1(
// CHECK: arith.extui %{{.*}} : i8 to i32

func.func @main(%x: tensor<4xf32>, %u: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi32>) {
  %0 = "relax.astype"(%x) {dtype = f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.astype"(%x) {dtype = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %2 = "relax.astype"(%u) {dtype = f32} : (tensor<4xui8>) -> tensor<4xf32>
  %3 = "relax.astype"(%u) {dtype = i32} : (tensor<4xui8>) -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi32>
}
