// elementwise.py, arithmetic.py: what an op is depends on the dtype.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// Rounding down: one less where the remainder is not zero and has not the sign of the divisor.
// CHECK-LABEL: func.func private @floor_divide_i32(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: i32, %[[B:[a-z0-9_]+]]: i32, %{{.*}}: i32):
// CHECK: %[[SAFE:[A-Za-z0-9_]+]] = arith.select %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[B]] : i32
// CHECK: %[[Q:[A-Za-z0-9_]+]] = arith.divsi %[[A]], %[[SAFE]] : i32
// CHECK: %[[REST:[A-Za-z0-9_]+]] = arith.remsi %[[A]], %[[SAFE]] : i32
// CHECK: arith.xori %[[REST]], %[[SAFE]] : i32
// CHECK: %[[LESS:[A-Za-z0-9_]+]] = arith.subi %[[Q]], %{{[a-z0-9_]+}} : i32
// CHECK: arith.select %{{[A-Za-z0-9_]+}}, %[[LESS]], %[[Q]] : i32

// A remainder of zero has the sign of the divisor, that of a division by zero is NaN.
// CHECK-LABEL: func.func private @floor_mod_f32(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: f32, %[[B:[a-z0-9_]+]]: f32, %{{.*}}: f32):
// CHECK: %[[REST:[A-Za-z0-9_]+]] = arith.remf %[[A]], %[[B]] : f32
// CHECK: %[[ZERO:[A-Za-z0-9_]+]] = math.copysign %{{[a-z0-9_]+}}, %[[B]] : f32
// CHECK: %[[SIGNED:[A-Za-z0-9_]+]] = arith.select %{{[A-Za-z0-9_]+}}, %[[ZERO]], %{{[A-Za-z0-9_]+}} : f32
// CHECK: %[[R:[A-Za-z0-9_]+]] = arith.select %{{[A-Za-z0-9_]+}}, %[[REST]], %[[SIGNED]] : f32
// CHECK-NEXT: linalg.yield %[[R]] :

// Repeated squaring; a negative exponent leaves something of 1 and -1 only.
// CHECK-LABEL: func.func private @power_i32(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: i32, %[[B:[a-z0-9_]+]]: i32, %{{.*}}: i32):
// CHECK: %[[LOOP:[A-Za-z0-9_]+]]:3 = scf.while (%{{[a-z0-9_]+}} = %[[A]], %{{[a-z0-9_]+}} = %[[B]],
// CHECK: arith.shrui
// CHECK: %[[NEGATIVE:[A-Za-z0-9_]+]] = arith.cmpi slt, %[[B]],
// CHECK: %[[R:[A-Za-z0-9_]+]] = arith.select %[[NEGATIVE]], %{{[A-Za-z0-9_]+}}, %[[LOOP]]#2 : i32
// CHECK-NEXT: linalg.yield %[[R]] :

// NaN wins, and -0.0 is less than 0.0.
// CHECK-LABEL: func.func private @maximum_ui8(
// CHECK: arith.maxui
// CHECK-LABEL: func.func private @maximum_f32(
// CHECK: arith.maximumf

// float16 in float32, rounded once.
// CHECK-LABEL: func.func private @add_f16(
// CHECK: %[[A:[A-Za-z0-9_]+]] = arith.extf %{{[a-z0-9_]+}} : f16 to f32
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = arith.extf %{{[a-z0-9_]+}} : f16 to f32
// CHECK-NEXT: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK-NEXT: linalg.yield %[[R]] :

// The sum of bools is their disjunction.
// CHECK-LABEL: func.func private @add_i1(
// CHECK: arith.ori
// CHECK-NOT: arith.addi
// CHECK: return

// Equal operands, which may both be infinite, add log 2.
// CHECK-LABEL: func.func private @log_add_exp_f32(
// CHECK: ^bb0(%[[A:[a-z0-9_]+]]: f32, %[[B:[a-z0-9_]+]]: f32, %{{.*}}: f32):
// CHECK: %[[LOG2:[a-z0-9_]+]] = arith.constant 0.693147182 : f32
// CHECK-NEXT: %[[TWICE:[A-Za-z0-9_]+]] = arith.addf %[[A]], %[[LOG2]] : f32
// CHECK-NEXT: %[[EQUAL:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[A]], %[[B]] : f32
// CHECK-NEXT: arith.select %[[EQUAL]], %[[TWICE]],

func.func @main(%f: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>, %h: tensor<4xf16>, %b: tensor<4xi1>) {
  %0 = "relax.floor_divide"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = "relax.floor_mod"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.power"(%i, %i) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %3 = "relax.maximum"(%u, %u) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %4 = "relax.maximum"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = "relax.add"(%h, %h) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %6 = "relax.add"(%b, %b) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %7 = "relax.log_add_exp"(%f, %f) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
