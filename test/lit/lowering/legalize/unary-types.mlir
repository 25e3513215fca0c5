// elementwise.py, arithmetic.py: what an op is depends on the dtype.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// The least integer has no absolute value: it stays.
// CHECK-LABEL: func.func private @abs_i32(
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: i32,
// CHECK: %[[MINUS:[A-Za-z0-9_]+]] = arith.subi %{{[a-z0-9_]+}}, %[[X]] : i32
// CHECK-NEXT: arith.maxsi %[[X]], %[[MINUS]] : i32
// CHECK-LABEL: func.func private @abs_ui8(
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: i8,
// CHECK-NEXT: linalg.yield %[[X]] : i8

// Unsigned integers wrap around.
// CHECK-LABEL: func.func private @negative_ui8(
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: i8,
// CHECK: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i8
// CHECK-NEXT: arith.subi %[[ZERO]], %[[X]] : i8

// Ties to even.
// CHECK-LABEL: func.func private @round_f32(
// CHECK: math.roundeven

// NaN is true.
// CHECK-LABEL: func.func private @logical_not_f32(
// CHECK: ^bb0(%[[X:[a-z0-9_]+]]: f32,
// CHECK: %[[TRUE:[A-Za-z0-9_]+]] = arith.cmpf une, %[[X]],
// CHECK: arith.xori %[[TRUE]],

// CHECK-LABEL: func.func private @isfinite_i32(
// CHECK: %[[YES:[a-z0-9_]+]] = arith.constant true
// CHECK-NEXT: linalg.yield %[[YES]] :

func.func @main(%f: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>) {
  %0 = "relax.abs"(%i) : (tensor<4xi32>) -> tensor<4xi32>
  %1 = "relax.abs"(%u) : (tensor<4xui8>) -> tensor<4xui8>
  %2 = "relax.negative"(%u) : (tensor<4xui8>) -> tensor<4xui8>
  %3 = "relax.round"(%f) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "relax.logical_not"(%f) : (tensor<4xf32>) -> tensor<4xi1>
  %5 = "relax.isfinite"(%i) : (tensor<4xi32>) -> tensor<4xi1>
  return
}
