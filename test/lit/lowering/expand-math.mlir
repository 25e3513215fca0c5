// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// The expansion of exp has no call, no branch and no conversion float -> integer (poison for NaN).
// CHECK-LABEL: func.func @exp_scalar
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f32) -> f32
// CHECK-NOT: math.exp
// CHECK-NOT: arith.fptosi
// CHECK: %[[BELOW:[A-Za-z0-9_]+]] = arith.select %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[X]] : f32
// CHECK: %[[CLAMPED:[A-Za-z0-9_]+]] = arith.select %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[BELOW]] : f32
// CHECK: math.fma %[[CLAMPED]],
// CHECK: arith.bitcast %{{[A-Za-z0-9_]+}} : f32 to i32
// CHECK: arith.shli
// CHECK: arith.bitcast %{{[A-Za-z0-9_]+}} : i32 to f32
// CHECK: %[[PART:[A-Za-z0-9_]+]] = arith.mulf %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : f32
// CHECK: %[[R:[A-Za-z0-9_]+]] = arith.mulf %[[PART]], %{{[A-Za-z0-9_]+}} : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @exp_scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
// -----
// CHECK-LABEL: func.func @tanh_vector
// CHECK-NOT: math.tanh
// CHECK: %[[INVERSE:[A-Za-z0-9_]+]] = arith.divf
// CHECK-NEXT: %[[QUOTIENT:[A-Za-z0-9_]+]] = arith.mulf %{{[A-Za-z0-9_]+}}, %[[INVERSE]] :
// CHECK: %[[Y:[A-Za-z0-9_]+]] = math.fma %{{[A-Za-z0-9_]+}}, %[[INVERSE]], %[[QUOTIENT]] :
// CHECK-NEXT: math.copysign %[[Y]],
func.func @tanh_vector(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.tanh %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// CHECK-LABEL: func.func @half
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f16) -> f16
// CHECK: arith.extf %[[X]] : f16 to f32
// CHECK: %[[R:[A-Za-z0-9_]+]] = arith.truncf %{{[A-Za-z0-9_]+}} : f32 to f16
// CHECK-NEXT: return %[[R]] : f16
func.func @half(%x: f16) -> f16 {
  %0 = math.log %x : f16
  return %0 : f16
}
// -----
// Functions without an expansion, for the type or at all, are calls of libm later.
// CHECK-LABEL: func.func @left_alone
// CHECK: math.sin %{{[a-z0-9_]+}} : f64
// CHECK: math.cbrt %{{[a-z0-9_]+}} : f32
func.func @left_alone(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.sin %x : f64
  %1 = math.cbrt %y : f32
  return %0, %1 : f64, f32
}
// -----
// A gelu written with erf is computed as a whole: max(x, 0) minus |x| times two to a polynomial.
// CHECK-LABEL: func.func @gelu
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: vector<8xf32>)
// CHECK-NOT: math.erf
// CHECK: %[[WHOLE:[A-Za-z0-9_]+]] = arith.bitcast %[[X]] : vector<8xf32> to vector<8xi32>
// CHECK: arith.minsi %[[WHOLE]],
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = math.absf
// CHECK: %[[LEAST:[A-Za-z0-9_]+]] = arith.minsi
// CHECK: %[[BOUNDED:[A-Za-z0-9_]+]] = arith.bitcast %[[LEAST]] : vector<8xi32> to vector<8xf32>
// CHECK-COUNT-6: math.fma %{{[a-z0-9_]+}}, %[[BOUNDED]],
// CHECK: %[[PRODUCT:[A-Za-z0-9_]+]] = math.fma %{{[A-Za-z0-9_]+}}, %[[BOUNDED]],
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = math.fma %[[PRODUCT]], %[[BOUNDED]], %[[MAGIC:[a-z0-9_]+]]
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = arith.subf %[[MAGIC]], %[[SUM]] :
// CHECK-NEXT: %[[REST:[A-Za-z0-9_]+]] = math.fma %[[PRODUCT]], %[[BOUNDED]], %[[N]] :
// CHECK: %[[BITS:[A-Za-z0-9_]+]] = arith.bitcast %[[SUM]] : vector<8xf32> to vector<8xi32>
// CHECK: %[[SHIFTED:[A-Za-z0-9_]+]] = arith.shli %[[BITS]],
// CHECK: %[[POWER:[A-Za-z0-9_]+]] = arith.bitcast %[[SHIFTED]] :
// CHECK-COUNT-6: math.fma %{{[a-z0-9_]+}}, %[[REST]],
// CHECK: %[[BEYOND:[A-Za-z0-9_]+]] = arith.mulf %{{[A-Za-z0-9_]+}}, %[[POWER]] :
// CHECK: %[[MINUS:[A-Za-z0-9_]+]] = arith.negf %[[SIZE]] :
// CHECK: arith.minui
// CHECK: %[[POSITIVE:[A-Za-z0-9_]+]] = arith.bitcast %{{[A-Za-z0-9_]+}} : vector<8xi32> to vector<8xf32>
// CHECK: %[[Y:[A-Za-z0-9_]+]] = math.fma %[[MINUS]], %[[BEYOND]], %[[POSITIVE]] :
// CHECK-NEXT: return %[[Y]] :
func.func @gelu(%x: vector<8xf32>) -> vector<8xf32> {
  %root = arith.constant dense<0.707106769> : vector<8xf32>
  %half = arith.constant dense<0.5> : vector<8xf32>
  %one = arith.constant dense<1.0> : vector<8xf32>
  %scaled = arith.mulf %x, %root : vector<8xf32>
  %erf = math.erf %scaled : vector<8xf32>
  %gate = arith.addf %one, %erf : vector<8xf32>
  %halved = arith.mulf %x, %half : vector<8xf32>
  %y = arith.mulf %halved, %gate : vector<8xf32>
  return %y : vector<8xf32>
}
// -----
// An erf that others use, too, is no part of a gelu; nor is one of f64.
// CHECK-LABEL: func.func @no_gelu
// CHECK: math.copysign %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : f32
// CHECK: math.copysign %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : f64
// CHECK: %[[GATE:[A-Za-z0-9_]+]] = arith.addf %{{[a-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : f64
// CHECK: arith.mulf %{{[A-Za-z0-9_]+}}, %[[GATE]] : f64
func.func @no_gelu(%x: f32, %y: f64) -> (f32, f32, f64) {
  %root = arith.constant 0.707106769 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %scaled = arith.mulf %x, %root : f32
  %erf = math.erf %scaled : f32
  %gate = arith.addf %one, %erf : f32
  %halved = arith.mulf %x, %half : f32
  %r = arith.mulf %halved, %gate : f32
  %root64 = arith.constant 0.70710678118654752 : f64
  %half64 = arith.constant 0.5 : f64
  %one64 = arith.constant 1.0 : f64
  %scaled64 = arith.mulf %y, %root64 : f64
  %erf64 = math.erf %scaled64 : f64
  %gate64 = arith.addf %one64, %erf64 : f64
  %halved64 = arith.mulf %y, %half64 : f64
  %r64 = arith.mulf %halved64, %gate64 : f64
  return %r, %erf, %r64 : f32, f32, f64
}
// -----
// Predicates for which upstream has no lowering, on any float; its own stay.
// CHECK-LABEL: func.func @predicates
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: vector<4xf64>)
// CHECK-NEXT: math.isnan %[[X]] : f32
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = math.absf %[[X]] : f32
// CHECK-NEXT: %[[INF:[A-Za-z0-9_]+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: arith.cmpf oeq, %[[A]], %[[INF]] : f32
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = math.absf %[[Y]] : vector<4xf64>
// CHECK-NEXT: %[[INFS:[A-Za-z0-9_]+]] = arith.constant dense<0x7FF0000000000000> : vector<4xf64>
// CHECK-NEXT: arith.cmpf oeq, %[[B]], %[[INFS]] : vector<4xf64>
func.func @predicates(%x: f32, %y: vector<4xf64>) -> (i1, i1, vector<4xi1>) {
  %0 = math.isnan %x : f32
  %1 = math.isinf %x : f32
  %2 = math.isinf %y : vector<4xf64>
  return %0, %1, %2 : i1, i1, vector<4xi1>
}
