// attention.py, attention_softmax.py, attention_pack.py, simd.py.
// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Scores of a tile only: 6 rows of the register tile by a block of keys, in scratch memory.
// CHECK-LABEL: func.func private @attention
// CHECK-NOT: linalg
// CHECK: %[[SCRATCH:[a-z0-9_]+]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?xf32>
// A loop over batches, heads and blocks of queries, and one over blocks of keys.
// CHECK: scf.for %[[TASK:[a-z0-9_]+]]
// CHECK: arith.divui %[[TASK]],
// CHECK: scf.for %[[FIRST_KEY:[a-z0-9_]+]]
// CHECK: func.call @relax.attention.f32.pack_keys
// CHECK: func.call @relax.attention.f32.pack_values
// Scores: dot products for one query alone, else the blocks of matrix products, which the weights meet again.
// CHECK: func.call @relax.attention.f32.dots
// CHECK: func.call @relax.gemm.f32.block({{.*}}, %{{[a-z0-9_]+}}, %c0{{[_0-9]*}}, %c0{{[_0-9]*}}, %false
// The exponential: 2 to the power that the bits of a sum give.
// CHECK: arith.shli %{{[A-Za-z0-9_]+}}, %{{.*}} : vector<8xi32>
// CHECK: scf.if
// CHECK: func.call @relax.attention.f32.weighted_sum
// CHECK: } else {
// CHECK: func.call @relax.gemm.f32.block(
// CHECK: func.call @relax.attention.f32.write_rows
// CHECK: memref.dealloc %[[SCRATCH]] :
// CHECK: func.func private @relax.attention.f32.pack_keys
// CHECK-NOT: @relax.attention.f32.pack_rows
// Four panels of columns have sums of their own, or four rows of values.
// CHECK: func.func private @relax.attention.f32.weighted_sum(
// CHECK-COUNT-8: vector.fma
// CHECK: scf.for {{.*}} step %c4
// CHECK-COUNT-8: vector.fma
// CHECK: scf.for {{.*}} step %c1
// CHECK-COUNT-2: vector.fma
// CHECK: func.func private @relax.gemm.f32.tile_6(
// CHECK-NOT: func.func private @relax.gemm.f32.pack
func.func private @attention(%q: memref<?x?x4x64xf32>, %k: memref<?x?x2x64xf32>, %v: memref<?x?x2x64xf32>,
                             %out: memref<?x?x4x64xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%q : memref<?x?x4x64xf32>) outs(%out : memref<?x?x4x64xf32>)
  return
}
// -----
// Half floats are widened as they are packed.
// CHECK-LABEL: func.func private @half
// CHECK-NOT: linalg
// CHECK: func.call @relax.attention.f16.pack_rows
// CHECK: func.call @relax.attention.f16.pack_keys
// CHECK: func.call @relax.attention.f16.pack_values
// CHECK: func.call @relax.gemm.f32.block(
// CHECK: func.call @relax.attention.f16.weighted_sum
// CHECK: func.func private @relax.attention.f16.pack_keys
// CHECK: arith.extf %{{[A-Za-z0-9_]+}} fastmath<none> : vector<8xf16> to vector<8xf32>
// CHECK: func.func private @relax.attention.f16.write_rows
// CHECK: arith.truncf %{{[A-Za-z0-9_]+}} fastmath<none> : vector<8xf32> to vector<8xf16>
func.func private @half(%q: memref<?x?x2x64xf16>, %k: memref<?x?x2x64xf16>, %v: memref<?x?x2x64xf16>,
                        %bias: memref<?xf16>, %out: memref<?x?x2x64xf16>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {causal_mask = "TopLeft", scale = 0.5 : f64}} {
  linalg.copy ins(%q : memref<?x?x2x64xf16>) outs(%out : memref<?x?x2x64xf16>)
  return
}
// -----
// Declined: another layout.
// CHECK-LABEL: func.func private @turned
// CHECK: linalg.copy
func.func private @turned(%q: memref<1x5x2x8xf32, strided<[80, 1, 40, 5]>>, %k: memref<1x5x2x8xf32>, %v: memref<1x5x2x8xf32>,
                          %out: memref<1x5x2x8xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%k : memref<1x5x2x8xf32>) outs(%out : memref<1x5x2x8xf32>)
  return
}
// -----
// Declined: operands of several types.
// CHECK-LABEL: func.func private @mixed
// CHECK: linalg.copy
func.func private @mixed(%q: memref<1x5x2x8xf32>, %k: memref<1x5x2x8xf32>, %v: memref<1x5x2x8xf16>,
                         %out: memref<1x5x2x8xf32>)
    attributes {relax.prim_func, relax.kernel = "attention", relax.kernel_attrs = {}} {
  linalg.copy ins(%k : memref<1x5x2x8xf32>) outs(%out : memref<1x5x2x8xf32>)
  return
}
