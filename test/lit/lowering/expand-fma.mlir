// Without an instruction, a fused multiply-add of f32 is computed in f64; that of f64 by exact sums, in math functions.
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=x86-64'" | filecheck %s
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=KEPT
// RUN: relax-opt %s --expand-fma="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=KEPT
// expand.py.

// CHECK-LABEL: func.func @single(
// CHECK-NOT: math.fma
// CHECK-COUNT-3: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[S:.*]] = arith.addf %[[P]],
// CHECK: %[[R:.*]] = arith.truncf %[[S]] : vector<4xf64> to vector<4xf32>
// CHECK-NEXT: return %[[R]] :
// KEPT-LABEL: func.func @single(
// KEPT-NEXT: math.fma
func.func @single(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %0 = math.fma %a, %b, %c : vector<4xf32>
  return %0 : vector<4xf32>
}

// The product of halves is exact: what it loses is added to what the sum loses. An infinite sum has no rest.
// CHECK-LABEL: @bounded(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.mulf %[[A]], %[[B]] : f64
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant 0x41A0000002000000 : f64
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.mulf %[[A]], %[[CST]] : f64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.subf %[[V1]], %[[A]] : f64
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.subf %[[V1]], %[[V2]] : f64
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.subf %[[A]], %[[V3]] : f64
// CHECK-NEXT: %[[CST_0:[A-Za-z0-9_]+]] = arith.constant 0x41A0000002000000 : f64
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.mulf %[[B]], %[[CST_0]] : f64
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.subf %[[V5]], %[[B]] : f64
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.subf %[[V5]], %[[V6]] : f64
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.subf %[[B]], %[[V7]] : f64
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.mulf %[[V3]], %[[V7]] : f64
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.subf %[[V9]], %[[V0]] : f64
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.mulf %[[V3]], %[[V8]] : f64
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.addf %[[V10]], %[[V11]] : f64
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.mulf %[[V4]], %[[V7]] : f64
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.addf %[[V12]], %[[V13]] : f64
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = arith.mulf %[[V4]], %[[V8]] : f64
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = arith.addf %[[V14]], %[[V15]] : f64
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = arith.addf %[[V0]], %[[C]] : f64
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = arith.subf %[[V17]], %[[V0]] : f64
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = arith.subf %[[V17]], %[[V18]] : f64
// CHECK-NEXT: %[[V20:[A-Za-z0-9_]+]] = arith.subf %[[V0]], %[[V19]] : f64
// CHECK-NEXT: %[[V21:[A-Za-z0-9_]+]] = arith.subf %[[C]], %[[V18]] : f64
// CHECK-NEXT: %[[V22:[A-Za-z0-9_]+]] = arith.addf %[[V20]], %[[V21]] : f64
// CHECK-NEXT: %[[V23:[A-Za-z0-9_]+]] = arith.addf %[[V16]], %[[V22]] : f64
// CHECK-NEXT: %[[V24:[A-Za-z0-9_]+]] = arith.cmpf uno, %[[V23]], %[[V23]] : f64
// CHECK-NEXT: %[[V25:[A-Za-z0-9_]+]] = arith.addf %[[V17]], %[[V23]] : f64
// CHECK-NEXT: %[[V26:[A-Za-z0-9_]+]] = arith.select %[[V24]], %[[V17]], %[[V25]] : f64
// CHECK-NEXT: return %[[V26]] : f64
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

// Half precision is computed in f32 before.
// CHECK-LABEL: func.func @half(
// CHECK-NEXT: math.fma
func.func @half(%a: f16, %b: f16, %c: f16) -> f16 {
  %0 = math.fma %a, %b, %c {relax.bounded} : f16
  return %0 : f16
}
