// RUN: relax-opt --expand-floats="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Arithmetic of bf16 is done in f32; no conversion of bf16 is left to LLVM.
// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: bf16, %[[Y:[a-z0-9_]+]]: bf16) -> bf16
// CHECK-NOT: arith.extf
// CHECK-NOT: arith.truncf
// CHECK: arith.addf %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}{{.*}} : f32
// CHECK: arith.bitcast %{{[A-Za-z0-9_]+}} : i16 to bf16
func.func @add(%x: bf16, %y: bf16) -> bf16 {
  %0 = arith.addf %x, %y : bf16
  return %0 : bf16
}
// -----
// f64 is rounded to odd before the second rounding; the target converts f32 to f16 itself.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: vector<4xf64>)
// CHECK: arith.truncf %[[X]] : vector<4xf64> to vector<4xf32>
// CHECK: arith.cmpf one
// CHECK: arith.truncf %{{[A-Za-z0-9_]+}} : vector<4xf32> to vector<4xf16>
func.func @narrow(%x: vector<4xf64>) -> vector<4xf16> {
  %0 = arith.truncf %x : vector<4xf64> to vector<4xf16>
  return %0 : vector<4xf16>
}
// -----
// expand.py, lanes.py: f32 and f64 are left alone, and so are integers.
// CHECK-LABEL: func.func @left_alone
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: f32, %[[Y:[a-z0-9_]+]]: f64, %[[I:[a-z0-9_]+]]: i32)
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = arith.extf %[[X]] : f32 to f64
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = arith.addf %[[A]], %[[Y]] : f64
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = arith.sitofp %[[I]] : i32 to f64
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = arith.mulf %[[B]], %[[C]] : f64
// CHECK-NEXT: return %[[D]] :
func.func @left_alone(%x: f32, %y: f64, %i: i32) -> f64 {
  %0 = arith.extf %x : f32 to f64
  %1 = arith.addf %0, %y : f64
  %2 = arith.sitofp %i : i32 to f64
  %3 = arith.mulf %1, %2 : f64
  return %3 : f64
}
// -----
// Integers become f16 by way of f32, in two roundings, as in NumPy.
// CHECK-LABEL: func.func @from_integer
// CHECK-SAME: (%[[I:[a-z0-9_]+]]: i32)
// CHECK-NEXT: %[[WIDE:[A-Za-z0-9_]+]] = arith.sitofp %[[I]] : i32 to f32
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = arith.truncf %[[WIDE]] fastmath<none> : f32 to f16
// CHECK-NEXT: return %[[R]] :
func.func @from_integer(%i: i32) -> f16 {
  %0 = arith.sitofp %i : i32 to f16
  return %0 : f16
}
// -----
// Unsigned integers, and what halves become: wider floats and integers.
// CHECK-LABEL: func.func @others
// CHECK-SAME: (%[[I:[a-z0-9_]+]]: i32, %[[X:[a-z0-9_]+]]: f16, %[[Y:[a-z0-9_]+]]: bf16)
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = arith.extf %[[X]] fastmath<none> : f16 to f32
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = arith.uitofp %[[I]] : i32 to f32
// CHECK-NEXT: arith.truncf %[[A]] fastmath<none> : f32 to f16
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: arith.extf %[[B]] : f32 to f64
// CHECK-NEXT: arith.fptosi %[[S]] : f32 to i32
// CHECK-NEXT: arith.fptoui %[[S]] : f32 to i32
// CHECK: arith.bitcast %[[Y]] : bf16 to i16
// CHECK: %[[E:[A-Za-z0-9_]+]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: arith.extf %[[E]] : f32 to f64
func.func @others(%i: i32, %x: f16, %y: bf16) -> (f16, f64, i32, i32, f64) {
  %0 = arith.uitofp %i : i32 to f16
  %1 = arith.extf %x : f16 to f64
  %2 = arith.fptosi %x : f16 to i32
  %3 = arith.fptoui %x : f16 to i32
  %4 = arith.extf %y : bf16 to f64
  return %0, %1, %2, %3, %4 : f16, f64, i32, i32, f64
}
