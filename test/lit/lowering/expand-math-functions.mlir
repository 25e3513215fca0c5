// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// expand.py (lanes.py): one function per family: math_exp.py, math_log.py, math_trig.py,
// math_erf.py.

// math_exp: 2^n is the product of two normal numbers, whose bits are halves of a sum's.
// CHECK-LABEL: func.func @exp
// CHECK-NOT: math.exp
// CHECK-NOT: arith.cmpi
// CHECK: %[[WHOLE:[A-Za-z0-9_]+]] = arith.bitcast %{{[A-Za-z0-9_]+}} : vector<8xf32> to vector<8xi32>
// CHECK: %[[HALF:[A-Za-z0-9_]+]] = arith.shrsi %[[WHOLE]],
// CHECK: %[[OTHER:[A-Za-z0-9_]+]] = arith.subi %[[WHOLE]], %[[HALF]] :
// CHECK: arith.shli %[[HALF]],
// CHECK-NEXT: %[[POWER:[A-Za-z0-9_]+]] = arith.bitcast
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = arith.mulf %{{[A-Za-z0-9_]+}}, %[[POWER]] :
// CHECK: arith.shli %[[OTHER]],
// CHECK-NEXT: %[[REST:[A-Za-z0-9_]+]] = arith.bitcast
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.mulf %[[Y]], %[[REST]] :
// CHECK-NEXT: return %[[R]] : vector<8xf32>
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// math_log: denormals are scaled up; log(0) is -inf, and of less than 0 (or NaN) NaN.
// CHECK-LABEL: func.func @log
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: vector<8xf32>)
// CHECK-NOT: math.log
// CHECK: %[[SMALL:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[X]],
// CHECK: %[[SCALED:[A-Za-z0-9_]+]] = arith.mulf %[[X]],
// CHECK-NEXT: arith.select %[[SMALL]], %[[SCALED]], %[[X]] :
// CHECK: %[[IS_INF:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[X]],
// CHECK-NEXT: arith.select %[[IS_INF]],
// CHECK-NEXT: %[[IS_ZERO:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[X]],
// CHECK-NEXT: %[[MINUS_INF:[a-z0-9_]+]] = arith.constant dense<0xFF800000>
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]] = arith.select %[[IS_ZERO]], %[[MINUS_INF]],
// CHECK-NEXT: %[[NEGATIVE:[A-Za-z0-9_]+]] = arith.cmpf ult, %[[X]],
// CHECK-NEXT: %[[NAN:[a-z0-9_]+]] = arith.constant dense<0x7FC00000>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.select %[[NEGATIVE]], %[[NAN]], %[[L]] :
// CHECK-NEXT: return %[[R]] :
func.func @log(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.log %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// math_trig: a short way if all lanes are near, else the argument is reduced in f64; sin of an infinity is NaN.
// CHECK-LABEL: func.func @sin
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: vector<8xf32>)
// CHECK-NOT: math.sin
// CHECK: %[[ABS:[A-Za-z0-9_]+]] = math.absf %[[X]] :
// CHECK: %[[NEAR:[A-Za-z0-9_]+]] = arith.cmpf ole, %[[ABS]],
// CHECK-NEXT: %[[ALL:[A-Za-z0-9_]+]] = vector.reduction <and>, %[[NEAR]] : vector<8xi1> into i1
// CHECK-NEXT: scf.if %[[ALL]] -> (vector<8xf32>)
// CHECK-NOT: f64
// CHECK: } else {
// CHECK: %[[FINITE:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[ABS]],
// CHECK: arith.extf %{{[A-Za-z0-9_]+}} : vector<8xf32> to vector<8xf64>
// CHECK: arith.truncf %{{[A-Za-z0-9_]+}} : vector<8xf64> to vector<8xf32>
// CHECK: %[[NAN:[a-z0-9_]+]] = arith.constant dense<0x7FC00000>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.select %[[FINITE]], %{{[A-Za-z0-9_]+}}, %[[NAN]] :
// CHECK-NEXT: scf.yield %[[R]] :
// CHECK: return
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// math_trig: tanh is odd, so it takes the sign of its argument: tanh(-0.0) is -0.0.
// CHECK-LABEL: func.func @tanh
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f32)
// CHECK-NOT: math.tanh
// CHECK: math.absf %[[X]] :
// CHECK: %[[R:[A-Za-z0-9_]+]] = math.copysign %{{[A-Za-z0-9_]+}}, %[[X]] :
// CHECK-NEXT: return %[[R]] :
func.func @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}
// -----
// math_trig: the sum in the logarithm is formed in f64; no call is left.
// CHECK-LABEL: func.func @asinh
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: vector<8xf32>)
// CHECK-NOT: math.asinh
// CHECK: math.sqrt %{{[A-Za-z0-9_]+}} : vector<8xf64>
// CHECK: %[[R:[A-Za-z0-9_]+]] = math.copysign %{{[A-Za-z0-9_]+}}, %[[X]] :
// CHECK-NEXT: return %[[R]] :
func.func @asinh(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.asinh %x : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// math_inverse, of two arguments: the smaller over the larger, and NaN if one is.
// CHECK-LABEL: func.func @atan2
// CHECK-SAME: (%[[Y:[a-z0-9_]+]]: f32, %[[X:[a-z0-9_]+]]: f32)
// CHECK-NOT: math.atan2
// CHECK: arith.divf
// CHECK: %[[NONE:[A-Za-z0-9_]+]] = arith.cmpf uno, %[[X]], %[[Y]] :
// CHECK: %[[R:[A-Za-z0-9_]+]] = arith.select %[[NONE]],
// CHECK-NEXT: return %[[R]] :
func.func @atan2(%y: f32, %x: f32) -> f32 {
  %0 = math.atan2 %y, %x : f32
  return %0 : f32
}
// -----
// math_f64: what rounding 1 + x loses is added, over 1 + x; where that is nothing of x, it is x.
// CHECK-LABEL: func.func @log1p
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f64)
// CHECK: %[[U:[A-Za-z0-9_]+]] = arith.addf %[[ONE:[a-z0-9_]+]], %[[X]] : f64
// CHECK: arith.divf %{{[A-Za-z0-9_]+}}, %[[U]] : f64
// CHECK-NOT: math.log
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = math.absf %[[X]] :
// CHECK: %[[TINY:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[SIZE]],
// CHECK-NEXT: arith.select %[[TINY]], %[[X]],
func.func @log1p(%x: f64) -> f64 {
  %0 = math.log1p %x : f64
  return %0 : f64
}
// -----
// math_f64: n is in the low bits of a sum; the polynomial is multiplied by 2 to half of it, then to the rest.
// CHECK-LABEL: func.func @exp
// CHECK-NOT: math.exp
// CHECK: %[[SUM:[0-9]+]] = math.fma %{{[0-9]+}}, %{{[a-z0-9_]+}}, %[[MAGIC:[a-z0-9_]+]] {relax.bounded} : vector<4xf64>
// CHECK-NEXT: arith.subf %[[SUM]], %[[MAGIC]] :
// CHECK: %[[BITS:[0-9]+]] = arith.bitcast %[[SUM]] : vector<4xf64> to vector<4xi64>
// CHECK: %[[HALF:[0-9]+]] = arith.shrui %[[BITS]],
// CHECK-NEXT: %[[REST:[0-9]+]] = arith.subi %[[BITS]], %[[HALF]] :
// CHECK: arith.shli %[[HALF]],
// CHECK: arith.shli %[[REST]],
// CHECK: %[[R:[0-9]+]] = arith.mulf
// CHECK-NEXT: return %[[R]] :
func.func @exp(%x: vector<4xf64>) -> vector<4xf64> {
  %0 = math.exp %x : vector<4xf64>
  return %0 : vector<4xf64>
}
// -----
// math_log.py: in f64, where 2^(y·log2 x) keeps its digits; rounded once.
// CHECK-LABEL: func.func @pow
// CHECK-NOT: math.powf
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK: math.fma {{.*}} : vector<8xf64>
// CHECK: arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
// CHECK: return
func.func @pow(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = math.powf %x, %y : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// math_functions.py: by one fused multiply-add; vectors with a quotient of 2^24 and more are left to libm.
// CHECK-LABEL: func.func @remainder
// CHECK: %[[QUOTIENT:.*]] = arith.divf
// CHECK: %[[EXACT:.*]] = arith.cmpf olt, %[[QUOTIENT]],
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[EXACT]] : vector<8xi1> into i1
// CHECK: scf.if %[[ALL]] -> (vector<8xf32>) {
// CHECK: math.fma
// CHECK: math.copysign
// CHECK: } else {
// CHECK-NEXT: arith.remf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: return
func.func @remainder(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.remf %x, %y : vector<8xf32>
  return %0 : vector<8xf32>
}
// -----
// CHECK-LABEL: func.func @remainder_of_doubles
// CHECK-NEXT: arith.remf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f64
func.func @remainder_of_doubles(%x: f64, %y: f64) -> f64 {
  %0 = arith.remf %x, %y : f64
  return %0 : f64
}
// -----
// Without an expansion: left to libm.
// CHECK-LABEL: func.func @left
// CHECK-NEXT: math.sin %{{[a-z0-9_]+}} : f64
// CHECK-NEXT: math.powf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : f64
// CHECK-NEXT: return
func.func @left(%x: f64) -> (f64, f64) {
  %0 = math.sin %x : f64
  %1 = math.powf %x, %x : f64
  return %0, %1 : f64, f64
}
