// Without a fused multiply-add, functions of f64 are calls of libm, and those that upstream makes inaccurate are formed
// from them.
// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell -mattr=-fma'" --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @exp
// CHECK-NEXT: math.exp %{{[a-z0-9]+}} : f64
// CHECK-NEXT: return
func.func @exp(%x: f64) -> f64 {
  %0 = math.exp %x : f64
  return %0 : f64
}
// -----
// math_log: where 1 + x rounds to 1 it is x.
// CHECK-LABEL: func.func @log1p
// CHECK-SAME: (%[[X:[a-z0-9]+]]: f64)
// CHECK: %[[U:[0-9]+]] = arith.addf %[[ONE:[a-z0-9_]+]], %[[X]] : f64
// CHECK-NEXT: math.log %[[U]] : f64
// CHECK: %[[TINY:[0-9]+]] = arith.cmpf oeq, %[[U]], %[[ONE]] :
// CHECK-NEXT: %[[R:[0-9]+]] = arith.select %[[TINY]], %[[X]],
// CHECK-NEXT: return %[[R]] :
func.func @log1p(%x: f64) -> f64 {
  %0 = math.log1p %x : f64
  return %0 : f64
}
