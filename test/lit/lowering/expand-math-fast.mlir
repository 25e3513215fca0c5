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
