// elementwise.py, arithmetic.py: relations by dtype.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func private @greater_equal_i32(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: i32, %[[B:[a-z0-9_]+]]: i32, %{{.*}}: i1):
// CHECK-NEXT: arith.cmpi sge, %[[A]], %[[B]] : i32

// 16-bit floats are compared in float32; the answer is not rounded.
// CHECK-LABEL: func.func private @equal_bf16(
// CHECK: %[[A:[A-Za-z0-9_]+]] = arith.extf %{{[a-z0-9_]+}} : bf16 to f32
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = arith.extf %{{[a-z0-9_]+}} : bf16 to f32
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[A]], %[[B]] : f32
// CHECK-NEXT: linalg.yield %[[R]] : i1

// False is less than True: signed, the bit 1 would be -1.
// CHECK-LABEL: func.func private @less_i1(
// CHECK: arith.cmpi ult

// Bools are true as they are, and numbers that are not zero.
// CHECK-LABEL: func.func private @logical_xor_i1(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: i1, %[[B:[a-z0-9_]+]]: i1, %{{.*}}: i1):
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.xori %[[A]], %[[B]] : i1
// CHECK-NEXT: linalg.yield %[[R]] : i1

func.func @main(%i: tensor<4xi32>, %h: tensor<4xbf16>, %b: tensor<4xi1>) {
  %0 = "relax.greater_equal"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = "relax.equal"(%h, %h) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %2 = "relax.less"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %3 = "relax.logical_xor"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}
