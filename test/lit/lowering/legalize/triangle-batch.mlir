// create.py: of a batch the last two axes are the matrix; the diagonal may lie below.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @triu_i32(
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: i32,
// CHECK-NEXT: %[[COLUMN:[A-Za-z0-9_]+]] = linalg.index 2 : index
// CHECK-NEXT: %[[ROW:[A-Za-z0-9_]+]] = linalg.index 1 : index
// CHECK-NEXT: %[[OFFSET:[A-Za-z0-9_]+]] = arith.subi %[[COLUMN]], %[[ROW]] : index
// CHECK-NEXT: %[[K:[a-z0-9_-]+]] = arith.constant -1 : index
// CHECK-NEXT: %[[KEPT:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[OFFSET]], %[[K]] : index
// CHECK-NEXT: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: arith.select %[[KEPT]], %[[X]], %[[ZERO]] : i32
func.func @main(%x: tensor<2x3x4xi32>) -> tensor<2x3x4xi32> {
  %0 = "relax.triu"(%x) {k = -1} : (tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  return %0 : tensor<2x3x4xi32>
}
