// gemm_narrow.py: products of few columns read both operands where they lie.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=NEON

// Nothing is packed: tiles of one, two and three vectors of columns, and columns beyond whole vectors as dot products.
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow(
// CHECK-NOT: call @relax.gemm.f32.pack_
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow.part(
// CHECK-NOT: call @relax.gemm.f32.pack_
// CHECK: func.call @relax.gemm.f32.unpacked_two_whole(
// CHECK: func.call @relax.gemm.f32.unpacked_one(
// CHECK: func.call @relax.gemm.f32.unpacked_two(
// CHECK: func.call @relax.gemm.f32.unpacked_three(

// A tile that may end in part of a vector reads it with a mask; the one of two whole vectors does not.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_one(
// CHECK: vector.maskedload
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_two_whole(
// CHECK-NOT: vector.maskedload
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_three(

// A B whose columns have unit stride is transposed first.
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow_transposed(
// CHECK: %[[MEMORY:[A-Za-z0-9_]+]] = memref.alloc(
// CHECK: call @relax.gemm.f32.pack_transpose({{.*}}%[[MEMORY]]
// CHECK: call @relax.gemm.f32.narrow(
// CHECK: memref.dealloc %[[MEMORY]]

// NEON cannot read vectors in part, so there is no such way.
// NEON-NOT: @relax.gemm.f32.narrow
// NEON: func.func private @relax.gemm.f32.packed(
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
