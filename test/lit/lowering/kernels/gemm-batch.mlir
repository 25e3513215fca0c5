// lower_contractions.py: a batch of small products is one call, which decides once.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --split-input-file | filecheck %s

// The loop over the batch is in the entry of the batch, not around the product.
// CHECK-LABEL: func.func @batch(
// CHECK: call @relax.gemm.f32.batch(
// CHECK: return
// CHECK-LABEL: func.func private @relax.gemm.f32.batch(
// CHECK: call @relax.gemm.f32.unpacked_batch_1(
// CHECK: } else {
// CHECK: scf.for
// CHECK: call @relax.gemm.f32(
func.func @batch(%a: memref<?x?x?xf32>, %b: memref<?x?x?xf32>, %c: memref<?x?x?xf32>) attributes {relax.prim_func} {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%c : memref<?x?x?xf32>)
  return
}

// -----

// Elements that are widened have no such entry: the product stands in a loop.
// CHECK-LABEL: func.func @widened(
// CHECK: scf.for
// CHECK: func.call @relax.gemm.f16.f32
// CHECK-NOT: @relax.gemm.f16.f32.batch
func.func @widened(%a: memref<?x?x?xf16>, %b: memref<?x?x?xf16>, %c: memref<?x?x?xf32>) attributes {relax.prim_func} {
  linalg.batch_matmul ins(%a, %b : memref<?x?x?xf16>, memref<?x?x?xf16>) outs(%c : memref<?x?x?xf32>)
  return
}
