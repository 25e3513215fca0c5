// x86 before SSE 4.1 has no instruction that rounds to integers.
// RUN: relax-opt %s --expand-rounding="target='cpu -mcpu=x86-64'" | filecheck %s
// RUN: relax-opt %s --expand-rounding="target='cpu -mcpu=x86-64 -mattr=+sse4_1'" | filecheck %s --check-prefix=KEPT
// expand_rounding.py.

// KEPT-COUNT-5: math.{{floor|ceil|trunc|roundeven}}

// CHECK-LABEL: func.func @single(
// CHECK: arith.constant dense<0x4B000000> : vector<4xf32>
// CHECK: math.copysign
// CHECK: arith.cmpf ogt
// CHECK-NOT: math.{{floor|ceil|trunc|roundeven}}
// CHECK-LABEL: func.func @half(
func.func @single(%x: vector<4xf32>, %y: f64) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, f64) {
  %0 = math.floor %x : vector<4xf32>
  %1 = math.ceil %x : vector<4xf32>
  %2 = math.trunc %x : vector<4xf32>
  %3 = math.roundeven %y : f64
  return %0, %1, %2, %3 : vector<4xf32>, vector<4xf32>, vector<4xf32>, f64
}

// Half precision is computed in f32 before.
// CHECK: math.floor
func.func @half(%x: f16) -> f16 {
  %0 = math.floor %x : f16
  return %0 : f16
}
