// math_functions.py: shorter polynomials, only when asked for.
// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell' fast=true" --split-input-file %s | filecheck %s

// One addition rounds, one gives the fraction, four make the polynomial.
// CHECK-LABEL: func.func @exp
// CHECK-COUNT-6: math.fma
// CHECK-NOT: math.fma
// CHECK: %[[HALF:.*]] = arith.mulf
// CHECK: arith.addf %[[HALF]], %[[HALF]] : vector<8xf32>
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// A quotient of polynomials, and no exponential.
// CHECK-LABEL: func.func @erf
// CHECK-COUNT-6: math.fma
// CHECK-NOT: math.fma
// CHECK-NOT: arith.shli
// CHECK: arith.divf
// CHECK: return
func.func @erf(%x: bf16) -> bf16 {
  %0 = math.erf %x : bf16
  return %0 : bf16
}
// -----
// f64 keeps its digits, and so do functions that have no shorter form.
// CHECK-LABEL: func.func @others
// CHECK-NOT: math.tanh
// CHECK-COUNT-14: math.fma %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} {relax.bounded} : f64
// CHECK-NOT: math.log
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.tanh %x : f64
  %1 = math.log %y : f32
  return %0, %1 : f64, f32
}
// -----
// A gelu is written with the short erf.
// CHECK-LABEL: func.func @gelu
// CHECK: %[[E:[A-Za-z0-9_]+]] = arith.divf
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: %[[H:[A-Za-z0-9_]+]] = arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = arith.mulf %{{.*}}, %[[H]] : vector<8xf32>
// CHECK-NEXT: return %[[Y]] :
func.func @gelu(%x: vector<8xf32>) -> vector<8xf32> {
  %root = arith.constant dense<0.707106769> : vector<8xf32>
  %half = arith.constant dense<0.5> : vector<8xf32>
  %one = arith.constant dense<1.0> : vector<8xf32>
  %0 = arith.mulf %x, %root : vector<8xf32>
  %1 = math.erf %0 : vector<8xf32>
  %2 = arith.addf %1, %one : vector<8xf32>
  %3 = arith.mulf %x, %half : vector<8xf32>
  %4 = arith.mulf %2, %3 : vector<8xf32>
  return %4 : vector<8xf32>
}
