// RUN: relax-opt --expand-floats="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Arithmetic of bf16 is done in f32; no conversion of bf16 is left to LLVM.
// CHECK-LABEL: func.func @add
// CHECK-SAME: (%[[X:[a-z0-9]+]]: bf16, %[[Y:[a-z0-9]+]]: bf16) -> bf16
// CHECK-NOT: arith.extf
// CHECK-NOT: arith.truncf
// CHECK: arith.addf %{{[0-9]+}}, %{{[0-9]+}}{{.*}} : f32
// CHECK: arith.bitcast %{{[0-9]+}} : i16 to bf16
func.func @add(%x: bf16, %y: bf16) -> bf16 {
  %0 = arith.addf %x, %y : bf16
  return %0 : bf16
}

// -----

// f64 is rounded to odd before the second rounding; the target converts f32 to f16 itself.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: (%[[X:[a-z0-9]+]]: vector<4xf64>)
// CHECK: arith.truncf %[[X]] : vector<4xf64> to vector<4xf32>
// CHECK: arith.cmpf one
// CHECK: arith.truncf %{{[0-9]+}} : vector<4xf32> to vector<4xf16>
func.func @narrow(%x: vector<4xf64>) -> vector<4xf16> {
  %0 = arith.truncf %x : vector<4xf64> to vector<4xf16>
  return %0 : vector<4xf16>
}
