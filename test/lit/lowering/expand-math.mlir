// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// The expansion of exp has no call, no branch and no conversion float -> integer (poison for NaN).
// CHECK-LABEL: func.func @exp_scalar
// CHECK-SAME: (%[[X:[a-z0-9]+]]: f32) -> f32
// CHECK-NOT: math.exp
// CHECK-NOT: arith.fptosi
// CHECK: %[[CLAMPED:[0-9]+]] = arith.select %{{[0-9]+}}, %{{[a-z0-9_]+}}, %{{[0-9]+}} : f32
// CHECK: math.fma %[[CLAMPED]]
// CHECK: arith.bitcast %{{[0-9]+}} : f32 to i32
// CHECK: arith.shli
// CHECK: arith.bitcast %{{[0-9]+}} : i32 to f32
// CHECK: %[[PART:[0-9]+]] = arith.mulf %{{[0-9]+}}, %{{[0-9]+}} : f32
// CHECK: %[[R:[0-9]+]] = arith.mulf %[[PART]], %{{[0-9]+}} : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @exp_scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// -----

// CHECK-LABEL: func.func @tanh_vector
// CHECK-NOT: math.tanh
// CHECK: arith.divf
// CHECK: math.copysign
func.func @tanh_vector(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.tanh %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// -----

// CHECK-LABEL: func.func @half
// CHECK-SAME: (%[[X:[a-z0-9]+]]: f16) -> f16
// CHECK: arith.extf %[[X]] : f16 to f32
// CHECK: %[[R:[0-9]+]] = arith.truncf %{{[0-9]+}} : f32 to f16
// CHECK-NEXT: return %[[R]] : f16
func.func @half(%x: f16) -> f16 {
  %0 = math.log %x : f16
  return %0 : f16
}

// -----

// f64, and functions without an expansion, are calls of libm later.
// CHECK-LABEL: func.func @left_alone
// CHECK: math.exp %{{[a-z0-9]+}} : f64
// CHECK: math.cbrt %{{[a-z0-9]+}} : f32
func.func @left_alone(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.cbrt %y : f32
  return %0, %1 : f64, f32
}
