// gemm.py, gemm_micro.py: results narrower than their sums are rounded in the registers of a tile, if the sums are
// complete there; else sums of some rows are kept, and rounded tile by tile.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" --link-kernels="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" | filecheck %s --check-prefix=DOTS

// CHECK: func.func private @relax.gemm.bf16.round(
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK-NOT: call_intrinsic
// CHECK: func.func private @relax.gemm.bf16(
// CHECK-SAME: %{{[a-z0-9_]+}}: memref{{.*}}, %{{[a-z0-9_]+}}: memref{{.*}}, %{{[a-z0-9_]+}}: memref{{.*}}, %[[ADD:[a-z0-9_]+]]: i1)
// CHECK: %[[NONE:[a-z_0-9]+]] = constant @relax.gemm.nothing :
// CHECK: arith.xori %[[ADD]],
// CHECK: scf.if
// CHECK: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[NONE]], %{{[a-z_0-9]+}}, %{{true[_0-9]*}})
// CHECK-NEXT: } else {
// CHECK: memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK: %[[ROUND:[a-z_0-9]+]] = func.constant @relax.gemm.bf16.round :
// CHECK: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[ROUND]], %{{[a-z_0-9]+}}, %{{false[_0-9]*}})
// A tile of full height rounds in registers, the others where they write what a matrix has left.
// CHECK: func.func private @relax.gemm.bf16.f32.tile_finish({{.*}}, %[[ADD:[a-z0-9_]+]]: i1, %[[ROUNDS:[a-z0-9_]+]]: i1)
// CHECK: scf.if %[[ROUNDS]] {
// CHECK: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK: func.func private @relax.gemm.bf16.f32.tile_12(
// CHECK-NOT: arith.trunci
// CHECK: func.func private @relax.gemm.bf16.f32.tile_14({{.*}}, %[[ADD:[a-z0-9_]+]]: i1, %[[ROUNDS:[a-z0-9_]+]]: i1, %{{[a-z0-9_]+}}: index)
// CHECK: %[[SO:[A-Za-z0-9_]+]] = arith.andi %{{[A-Za-z0-9_]+}}, %[[ROUNDS]] :
// CHECK-NEXT: scf.if %[[SO]] {
// CHECK-COUNT-28: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK-NOT: arith.trunci

// The instruction that rounds takes subnormal numbers for zeros, as the one that multiplies pairs does; products of few rows have other sums.
// DOTS: func.func private @relax.gemm.bf16.round(
// DOTS: arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// DOTS: func.func private @relax.gemm.bf16.round_dots(
// DOTS: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{[A-Za-z0-9_]+}}) : (vector<16xf32>) -> vector<16xbf16>
// What is left over at the end of a row:
// DOTS: arith.trunci {{.*}} : i32 to i16
// DOTS: func.func private @relax.gemm.bf16(
// DOTS: %[[FEW:[A-Za-z0-9_]+]] = arith.cmpi ule, %{{[A-Za-z0-9_]+}}, %c4{{[_0-9]*}} : index
// DOTS-NEXT: scf.if %[[FEW]] {
// DOTS: %[[EXACT:[a-z_0-9]+]] = func.constant @relax.gemm.bf16.round :
// DOTS: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[EXACT]], %{{[a-z_0-9]+}}, %{{false[_0-9]*}})
// DOTS: } else {
// DOTS: %[[QUICK:[a-z_0-9]+]] = func.constant @relax.gemm.bf16.round_dots :
// DOTS: func.call @relax.gemm.bf16.f32.finished({{.*}}, %[[QUICK]], %{{[a-z_0-9]+}}, %{{false[_0-9]*}})
// DOTS: func.func private @relax.gemm.bf16.f32.tile_14(
// DOTS-COUNT-28: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{[0-9#]+}}) : (vector<16xf32>) -> vector<16xbf16>
func.func @matmul(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xbf16>) {
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xbf16>)
  return
}
