// math_exp.py, math_f64.py, math_erf.py with what simd.py has.
// RUN: relax-opt --expand-math="target='cpu -mcpu=skylake-avx512'" --split-input-file %s | filecheck %s
// RUN: relax-opt --expand-math="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s --check-prefix=AVX2
// RUN: relax-opt --expand-math="target='cpu -mcpu=skylake-avx512 -mattr=-avx512f'" --split-input-file %s | filecheck %s --check-prefix=AVX2
// RUN: relax-opt --expand-math="target='cpu -mcpu=skylake-avx512 -mattr=-avx512dq'" --split-input-file %s | filecheck %s --check-prefix=AVX2

// The fraction's power is looked up by the lowest bits of a sum, one instruction scales by the whole power of two: no
// bits of an exponent, no factor for results that are no normal numbers. What is left, which is anything for numbers whose
// power is 0 or inf, is bounded by one instruction.
// CHECK-LABEL: func.func @exp(
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = math.fma %[[X]], %{{.*}}, %[[ROUNDING:.*]] :
// CHECK: %[[N:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[ROUNDING]] :
// CHECK: %[[PLACE:[A-Za-z0-9_]+]] = arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK-NOT: arith.shli
// CHECK: %[[R:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"(%{{[A-Za-z0-9_]+}}, %{{.*}}, %c2_i32, %{{.*}}, %c-1_i16, %c4_i32)
// CHECK: math.fma %{{.*}}, %[[R]],
// CHECK: %[[T:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %[[PLACE]])
// CHECK: %[[P:[A-Za-z0-9_]+]] = math.fma %[[T]], %{{[A-Za-z0-9_]+}}, %[[T]] :
// CHECK: %[[Y:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[P]], %[[N]], %[[P]], %c-1_i16{{.*}}, %c4_i32{{.*}})
// CHECK-NEXT: return %[[Y]] :
// AVX2-LABEL: func.func @exp
// AVX2-NOT: x86.
// AVX2: arith.shli
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}
// -----
// Vectors that lie side by side are cut up for it, and computed as one before and after.
// CHECK-LABEL: func.func @exp2_of_two
// CHECK: vector.shuffle {{.*}} [0, 1, 2, {{.*}}, 15] : vector<32xf32>
// CHECK-NEXT: arith.constant
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"
// CHECK: vector.shuffle {{.*}} [16, 17, 18, {{.*}}, 31] : vector<32xf32>
// CHECK: math.fma {{.*}} : vector<32xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, {{.*}}, 15] : vector<32xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// CHECK: vector.shuffle {{.*}} [0, 1, 2, {{.*}}, 15] : vector<32xf32>
// CHECK: %[[LOW:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: vector.shuffle {{.*}} [16, 17, 18, {{.*}}, 31] : vector<32xf32>
// CHECK: %[[HIGH:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[Y:[A-Za-z0-9_]+]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 1, 2, {{.*}}, 31] : vector<16xf32>
// CHECK-NOT: x86.
// CHECK: return %[[Y]] :
func.func @exp2_of_two(%x: vector<32xf32>) -> vector<32xf32> {
  %0 = math.exp2 %x : vector<32xf32>
  return %0 : vector<32xf32>
}
// -----
// The coefficients for each lane are looked up by the nearest node, from which the polynomial counts; there is no
// exponential, and no choice between two results.
// CHECK-LABEL: func.func @erf
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = math.fma %[[X:[A-Za-z0-9_]+]], %{{.*}}, %[[MAGIC:.*]] :
// CHECK: arith.bitcast %[[SUM]] : vector<16xf32> to vector<16xi32>
// CHECK: %[[NODE:[A-Za-z0-9_]+]] = arith.subf %[[SUM]], %[[MAGIC]] :
// CHECK: math.fma %[[NODE]], %{{.*}}, %[[X]] :
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
// CHECK-NOT: call_intrinsic
// CHECK: math.copysign
// CHECK-NEXT: return
// AVX2-LABEL: func.func @erf
// AVX2-NOT: call_intrinsic
// AVX2: arith.shli
func.func @erf(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.erf %x : vector<16xf32>
  return %0 : vector<16xf32>
}
// -----
// f16 is computed in f32, of as many lanes.
// CHECK-LABEL: func.func @half
// CHECK: arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: arith.truncf
func.func @half(%x: vector<16xf16>) -> vector<16xf16> {
  %0 = math.exp %x : vector<16xf16>
  return %0 : vector<16xf16>
}
// -----
// A logarithm of f64: what the number is taken apart by needs no other way for denormals, 0, inf and NaN; there is no
// division.
// CHECK-LABEL: func.func @log_of_double(
// CHECK-SAME: %[[X:.*]]: vector<8xf64>
// CHECK: %[[M:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.getmant.pd.512"(%[[X]], %c11_i32
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.getexp.pd.512"(%[[X]], %[[X]],
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.getexp.pd.512"(%[[M]], %[[M]],
// CHECK-NOT: arith.divf
// CHECK: %[[I:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.pd.512"
// CHECK: math.fma %[[M]], %[[I]],
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.pd.512"
// CHECK-NOT: arith.divf
// CHECK-NOT: arith.select
// CHECK: return
// AVX2-LABEL: func.func @log_of_double(
// AVX2-NOT: call_intrinsic
// AVX2: arith.divf
func.func @log_of_double(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.log %x : vector<8xf64>
  return %0 : vector<8xf64>
}
// -----
// An exponential of f64: as of f32, with the rest of each power in a second table.
// CHECK-LABEL: func.func @exp_of_double(
// CHECK-SAME: %[[X:.*]]: vector<8xf64>
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = math.fma %[[X]],
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.range.pd.512"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.pd.512"
// CHECK: %[[Y:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"
// CHECK-NEXT: return %[[Y]] :
// AVX2-LABEL: func.func @exp_of_double(
// AVX2-NOT: call_intrinsic
// AVX2: arith.shli
func.func @exp_of_double(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.exp %x : vector<8xf64>
  return %0 : vector<8xf64>
}
// -----
// Scalars, other lengths, vectors of several axes and other functions are as everywhere.
// CHECK-LABEL: func.func @others
// CHECK-NOT: x86.
// CHECK-NOT: call_intrinsic
// CHECK: return
func.func @others(%s: f32, %x: vector<8xf32>, %y: vector<2x16xf32>, %z: vector<16xf32>, %w: vector<48xf32>,
                  %d: vector<24xf64>)
    -> (f32, vector<8xf32>, vector<2x16xf32>, vector<16xf32>, vector<48xf32>, vector<24xf64>) {
  %0 = math.exp %s : f32
  %1 = math.erf %x : vector<8xf32>
  %2 = math.exp2 %y : vector<2x16xf32>
  %3 = math.log %z : vector<16xf32>
  %4 = math.exp %w : vector<48xf32>
  %5 = math.log2 %d : vector<24xf64>
  return %0, %1, %2, %3, %4, %5
      : f32, vector<8xf32>, vector<2x16xf32>, vector<16xf32>, vector<48xf32>, vector<24xf64>
}
// -----
// A gelu written with erf is computed as a whole: the size of the argument with a bound, coefficients by the nearest
// node, the part above zero.
// CHECK-LABEL: func.func @gelu(
// CHECK-SAME: %[[X:.*]]: vector<16xf32>
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.range.ps.512"(%[[X]],
// CHECK: math.fma %[[SIZE]],
// CHECK-COUNT-6: llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"
// CHECK: %[[PART:[A-Za-z0-9_]+]] = llvm.call_intrinsic "llvm.x86.avx512.mask.fixupimm.ps.512"(%[[X]], %[[X]],
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = math.fma %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}, %[[PART]] :
// CHECK-NEXT: return %[[Y]] :
// AVX2-LABEL: func.func @gelu(
// AVX2-NOT: call_intrinsic
// AVX2: arith.shli
func.func @gelu(%x: vector<16xf32>) -> vector<16xf32> {
  %root = arith.constant dense<0.707106769> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %x, %root : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %x, %half : vector<16xf32>
  %4 = arith.mulf %2, %3 : vector<16xf32>
  return %4 : vector<16xf32>
}
// -----
// The product in another order, √2 as a divisor, and constants that are put into all lanes.
// CHECK-LABEL: func.func @gelu_in_another_order(
// CHECK-NOT: math.copysign
// CHECK: llvm.x86.avx512.mask.fixupimm.ps.512
// CHECK-NOT: math.copysign
func.func @gelu_in_another_order(%x: vector<16xf32>) -> vector<16xf32> {
  %root = arith.constant 1.41421354 : f32
  %roots = vector.broadcast %root : f32 to vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.divf %x, %roots : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %one, %1 : vector<16xf32>
  %3 = arith.mulf %x, %2 : vector<16xf32>
  %4 = arith.mulf %half, %3 : vector<16xf32>
  return %4 : vector<16xf32>
}
// -----
// What only looks like gelu: another factor within erf.
// CHECK-LABEL: func.func @other_factor(
// CHECK-NOT: fixupimm
// CHECK: math.copysign
func.func @other_factor(%x: vector<16xf32>) -> vector<16xf32> {
  %root = arith.constant dense<0.7> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %x, %root : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %x, %half : vector<16xf32>
  %4 = arith.mulf %2, %3 : vector<16xf32>
  return %4 : vector<16xf32>
}
// -----
// Another argument without erf.
// CHECK-LABEL: func.func @other_argument(
// CHECK-NOT: fixupimm
// CHECK: math.copysign
func.func @other_argument(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %root = arith.constant dense<0.707106769> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %x, %root : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %y, %half : vector<16xf32>
  %4 = arith.mulf %2, %3 : vector<16xf32>
  return %4 : vector<16xf32>
}
// -----
// 1 + erf is needed elsewhere, too.
// CHECK-LABEL: func.func @gate_used_twice(
// CHECK-NOT: fixupimm
// CHECK: math.copysign
func.func @gate_used_twice(%x: vector<16xf32>) -> (vector<16xf32>, vector<16xf32>) {
  %root = arith.constant dense<0.707106769> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %x, %root : vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %x, %half : vector<16xf32>
  %4 = arith.mulf %2, %3 : vector<16xf32>
  return %4, %2 : vector<16xf32>, vector<16xf32>
}
// -----
// Another function in the place of erf.
// CHECK-LABEL: func.func @other_function(
// CHECK-NOT: fixupimm
// CHECK: llvm.x86.avx512.mask.scalef.ps.512
// CHECK-NOT: fixupimm
func.func @other_function(%x: vector<16xf32>) -> vector<16xf32> {
  %root = arith.constant dense<0.707106769> : vector<16xf32>
  %half = arith.constant dense<0.5> : vector<16xf32>
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = arith.mulf %x, %root : vector<16xf32>
  %1 = math.exp %0 : vector<16xf32>
  %2 = arith.addf %1, %one : vector<16xf32>
  %3 = arith.mulf %x, %half : vector<16xf32>
  %4 = arith.mulf %2, %3 : vector<16xf32>
  return %4 : vector<16xf32>
}
