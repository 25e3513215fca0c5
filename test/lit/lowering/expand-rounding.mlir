// x86 before SSE 4.1 has no instruction that rounds to integers.
// RUN: relax-opt %s --expand-rounding="target='cpu -mcpu=x86-64'" | filecheck %s
// RUN: relax-opt %s --expand-rounding="target='cpu -mcpu=x86-64 -mattr=+sse4_1'" | filecheck %s --check-prefix=KEPT
// RUN: relax-opt %s --expand-rounding="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=KEPT
// expand.py.

// KEPT-COUNT-9: math.{{floor|ceil|trunc|roundeven}}
// KEPT-NOT: arith.

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

// Each is the nearest even number, corrected by one where that is too large.
// CHECK-LABEL: func.func @even(
// CHECK-SAME: %[[IN:[a-z0-9_]+]]: f32
// CHECK: %[[ABS:[A-Za-z0-9_]+]] = math.absf %[[IN]] : f32
// CHECK: %[[LARGE:[A-Za-z0-9_]+]] = arith.constant 0x4B000000 : f32
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[ROUNDED:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[LARGE]] :
// CHECK-NEXT: %[[SMALL:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[SIGNED:[A-Za-z0-9_]+]] = math.copysign %[[ROUNDED]], %[[IN]] :
// CHECK-NEXT: %[[EVEN:[A-Za-z0-9_]+]] = arith.select %[[SMALL]], %[[SIGNED]], %[[IN]] :
// CHECK-NEXT: return %[[EVEN]] :
func.func @even(%x: f32) -> f32 {
  %0 = math.roundeven %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @floor(
// CHECK-SAME: %[[IN:[a-z0-9_]+]]: f64
// CHECK: %[[ABS:[A-Za-z0-9_]+]] = math.absf %[[IN]] : f64
// CHECK: %[[LARGE:[A-Za-z0-9_]+]] = arith.constant 0x4330000000000000 : f64
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[ROUNDED:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[LARGE]] :
// CHECK-NEXT: %[[SMALL:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[SIGNED:[A-Za-z0-9_]+]] = math.copysign %[[ROUNDED]], %[[IN]] :
// CHECK-NEXT: %[[EVEN:[A-Za-z0-9_]+]] = arith.select %[[SMALL]], %[[SIGNED]], %[[IN]] :
// CHECK: %[[ABOVE:[A-Za-z0-9_]+]] = arith.cmpf ogt, %[[EVEN]], %[[IN]] :
// CHECK: %[[ONE:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK: %[[LESS:[A-Za-z0-9_]+]] = arith.subf %[[EVEN]], %[[ONE]] :
// CHECK-NEXT: %[[FLOOR:[A-Za-z0-9_]+]] = arith.select %[[ABOVE]], %[[LESS]], %[[EVEN]] :
// CHECK-NEXT: return %[[FLOOR]] :
func.func @floor(%x: f64) -> f64 {
  %0 = math.floor %x : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @ceil(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: f32
// CHECK-NEXT: %[[IN:[A-Za-z0-9_]+]] = arith.negf %[[X]] :
// CHECK: %[[ABS:[A-Za-z0-9_]+]] = math.absf %[[IN]] : f32
// CHECK: %[[LARGE:[A-Za-z0-9_]+]] = arith.constant 0x4B000000 : f32
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[ROUNDED:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[LARGE]] :
// CHECK-NEXT: %[[SMALL:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[SIGNED:[A-Za-z0-9_]+]] = math.copysign %[[ROUNDED]], %[[IN]] :
// CHECK-NEXT: %[[EVEN:[A-Za-z0-9_]+]] = arith.select %[[SMALL]], %[[SIGNED]], %[[IN]] :
// CHECK: %[[ABOVE:[A-Za-z0-9_]+]] = arith.cmpf ogt, %[[EVEN]], %[[IN]] :
// CHECK: %[[ONE:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[LESS:[A-Za-z0-9_]+]] = arith.subf %[[EVEN]], %[[ONE]] :
// CHECK-NEXT: %[[FLOOR:[A-Za-z0-9_]+]] = arith.select %[[ABOVE]], %[[LESS]], %[[EVEN]] :
// CHECK-NEXT: %[[CEIL:[A-Za-z0-9_]+]] = arith.negf %[[FLOOR]] :
// CHECK-NEXT: return %[[CEIL]] :
func.func @ceil(%x: f32) -> f32 {
  %0 = math.ceil %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @trunc(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: f32
// CHECK-NEXT: %[[IN:[A-Za-z0-9_]+]] = math.absf %[[X]] :
// CHECK: %[[ABS:[A-Za-z0-9_]+]] = math.absf %[[IN]] : f32
// CHECK: %[[LARGE:[A-Za-z0-9_]+]] = arith.constant 0x4B000000 : f32
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = arith.addf %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[ROUNDED:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[LARGE]] :
// CHECK-NEXT: %[[SMALL:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[ABS]], %[[LARGE]] :
// CHECK-NEXT: %[[SIGNED:[A-Za-z0-9_]+]] = math.copysign %[[ROUNDED]], %[[IN]] :
// CHECK-NEXT: %[[EVEN:[A-Za-z0-9_]+]] = arith.select %[[SMALL]], %[[SIGNED]], %[[IN]] :
// CHECK: %[[ABOVE:[A-Za-z0-9_]+]] = arith.cmpf ogt, %[[EVEN]], %[[IN]] :
// CHECK: %[[ONE:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[LESS:[A-Za-z0-9_]+]] = arith.subf %[[EVEN]], %[[ONE]] :
// CHECK-NEXT: %[[FLOOR:[A-Za-z0-9_]+]] = arith.select %[[ABOVE]], %[[LESS]], %[[EVEN]] :
// CHECK-NEXT: %[[TRUNC:[A-Za-z0-9_]+]] = math.copysign %[[FLOOR]], %[[X]] :
// CHECK-NEXT: return %[[TRUNC]] :
func.func @trunc(%x: f32) -> f32 {
  %0 = math.trunc %x : f32
  return %0 : f32
}
