// Each element is read from its place: from the end, by the remainder, by the quotient.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @flip(
// CHECK: linalg.generic
// CHECK: arith.subi
// CHECK: tensor.extract
// CHECK-LABEL: func.func private @tile(
// CHECK: arith.remui
// CHECK: tensor.extract
// CHECK-LABEL: func.func private @repeat(
// CHECK: arith.divui
// CHECK: tensor.extract

func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>, tensor<12xf32>) {
  %0 = "relax.flip"(%x) {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.tile"(%x) {repeats = [2]} : (tensor<4xf32>) -> tensor<8xf32>
  %2 = "relax.repeat"(%x) {repeats = 3 : i64, axis = 0 : i64} : (tensor<4xf32>) -> tensor<12xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<8xf32>, tensor<12xf32>
}
