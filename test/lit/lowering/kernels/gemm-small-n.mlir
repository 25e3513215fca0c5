// gemm_small_n.py: products of few columns read both
// operands where they lie.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=AVX2
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=neoverse-n1'" --link-kernels="target='cpu -mcpu=neoverse-n1'" | filecheck %s --check-prefix=NEON

// Nothing is packed: tiles of one to three vectors of columns (with AVX2 of two at most). Few columns beyond
// whole vectors are dot products, for which lines of them are made, or sums of tall tiles, which are transposed.
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow(
// CHECK-NOT: call @relax.gemm.f32.pack_
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow.part(
// CHECK-NOT: call @relax.gemm.f32.pack_
// CHECK: %[[LINES:[A-Za-z0-9_]+]] = memref.alloca() {{.*}} : memref<8x1040xf32>
// CHECK: vector.store {{.*}}, %[[LINES]][
// CHECK: func.call @relax.gemm.f32.unpacked_three(
// CHECK: func.call @relax.gemm.f32.unpacked_one(
// CHECK: func.call @relax.gemm.f32.unpacked_two(
// CHECK: func.call @relax.gemm.f32.unpacked_three(
// CHECK: func.call @relax.gemm.f32.unpacked_two(
// CHECK: func.call @relax.gemm.f32.unpacked_two(
// CHECK: func.call @relax.gemm.f32.dots(
// CHECK: func.call @relax.gemm.f32.unpacked_tall(
// CHECK: func.call @relax.gemm.f32.unpacked_tall_write(

// 8 rows of three vectors: 24 sums, three vectors of B, and an element of A for each row. Where elements of a row of A
// are apart, lines of it are asked for some steps ahead, those of the first row and of the last.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_three(
// CHECK: scf.for
// CHECK: scf.if %{{.*}} -> (vector<16xf32>
// CHECK: scf.if %{{.*}} -> (vector<16xf32>
// CHECK: %[[STEPS:[A-Za-z0-9_]+]] = arith.constant 5 : index
// CHECK-NEXT: arith.muli %arg2, %[[STEPS]] : index
// CHECK-COUNT-2: memref.prefetch {{.*}}, read, locality<3>, data
// CHECK-COUNT-24: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK: scf.for
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-24: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK: scf.yield

// A tile may end in part of a vector, which it reads and writes with a mask.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_two(
// CHECK: vector.maskedload {{.*}} into vector<16xf32>
// CHECK: vector.maskedstore {{.*}} vector<16xf32>
// CHECK-NOT: @relax.gemm.f32.unpacked_finish

// A tall tile has vectors of rows; four columns of each row are written at a time. Its lines of A are asked for, too.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_tall(
// CHECK-NOT: vector.masked
// CHECK-COUNT-5: memref.prefetch {{.*}}, read, locality<3>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_tall_write(
// CHECK: vector.shuffle
// CHECK: vector.maskedstore {{.*}} vector<4xf32>

// With AVX2 that takes long: sums are written in pieces, and one tile has whole vectors only.
// AVX2-LABEL: func.func private @relax.gemm.f32.unpacked_two_whole(
// AVX2-NOT: vector.masked
// AVX2-NOT: call @relax.gemm.f32.unpacked_finish
// AVX2-LABEL: func.func private @relax.gemm.f32.unpacked_one(
// AVX2: vector.maskedload {{.*}} into vector<8xf32>
// AVX2: call @relax.gemm.f32.unpacked_finish(

// A B whose columns have unit stride is transposed first.
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow_transposed(
// CHECK: %[[MEMORY:[A-Za-z0-9_]+]] = memref.alloc(
// CHECK: call @relax.gemm.f32.pack_transpose({{.*}}%[[MEMORY]],
// CHECK: call @relax.gemm.f32.narrow(
// CHECK: memref.dealloc %[[MEMORY]] :

// A large A whose columns have unit stride is transposed block by block.
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow_left.part(
// CHECK: %[[BLOCK:[A-Za-z0-9_]+]] = memref.alloc(
// CHECK: call @relax.gemm.f32.pack_transpose({{.*}}%[[BLOCK]],
// CHECK: call @relax.gemm.f32.narrow.part(
// CHECK: memref.dealloc %[[BLOCK]] :

// NEON cannot read vectors in part, so there is no such way.
// NEON-NOT: @relax.gemm.f32.narrow
// NEON: func.func private @relax.gemm.f32.packed(
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
