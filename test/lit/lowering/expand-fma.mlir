// Without an instruction, a fused multiply-add of f32 is computed in f64; that of f64 by exact sums, in math functions.
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=x86-64'" | filecheck %s
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=KEPT
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=KEPT
// expand_ops.py.

// CHECK-LABEL: func.func @single(
// CHECK-COUNT-3: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[S:.*]] = arith.addf %[[P]]
// CHECK: arith.truncf %[[S]] : vector<4xf64> to vector<4xf32>
// KEPT-LABEL: func.func @single(
// KEPT-NEXT: math.fma
func.func @single(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %0 = math.fma %a, %b, %c : vector<4xf32>
  return %0 : vector<4xf32>
}

// CHECK-LABEL: func.func @bounded(
// CHECK-NOT: math.fma
// CHECK: arith.cmpf uno
// CHECK: arith.select
func.func @bounded(%a: f64, %b: f64, %c: f64) -> f64 {
  %0 = math.fma %a, %b, %c {relax.bounded} : f64
  return %0 : f64
}

// libm's is right for any operands.
// CHECK-LABEL: func.func @any(
// CHECK-NEXT: math.fma
func.func @any(%a: f64, %b: f64, %c: f64) -> f64 {
  %0 = math.fma %a, %b, %c : f64
  return %0 : f64
}
