// gemv.py, gemm_small_m.py: products with at most four rows, or one column, stream their matrix as it lies in memory; so do
// somewhat larger ones with a result no wider than a vector, unless tiles read both operands where they lie, and dot
// products of long lines.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s --check-prefix=AVX512

// CHECK: func.func private @relax.gemm.f32.finished(%[[A:[a-z0-9_]+]]: {{.*}}, %[[B:[a-z0-9_]+]]: {{.*}}, %[[C:[a-z0-9_]+]]: {{.*}}, %[[ADD:[a-z0-9_]+]]: i1,
// CHECK: %[[SIZES:[a-z0-9_]+]]:2, %{{.*}} = memref.extract_strided_metadata %[[C]] :
// CHECK: %[[FEW:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[SIZES]]#0, %c4{{[_0-9]*}} : index
// CHECK: %[[LOW:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[SIZES]]#0, %c8{{[_0-9]*}} : index
// CHECK: %[[NARROW:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[SIZES]]#1, %c8{{[_0-9]*}} : index
// CHECK-NEXT: %[[SMALL:[A-Za-z0-9_]+]] = arith.andi %[[LOW]], %[[NARROW]] : i1
// CHECK: %[[TILED:[A-Za-z0-9_]+]] = arith.xori %{{[A-Za-z0-9_]+}}, %true
// CHECK-NEXT: %[[THIN:[A-Za-z0-9_]+]] = arith.andi %[[SMALL]], %[[TILED]] : i1
// CHECK: arith.cmpi uge, %{{.*}}, %c64{{[_0-9]*}} : index
// CHECK: %[[EITHER:[A-Za-z0-9_]+]] = arith.ori %[[FEW]], %[[THIN]] : i1
// CHECK-NEXT: %[[UNPACKED:[A-Za-z0-9_]+]] = arith.ori %[[EITHER]],
// CHECK: scf.if %[[UNPACKED]] {
// CHECK-NEXT: call @relax.gemm.f32.skinny(%[[A]], %[[B]], %[[C]], %[[ADD]])
// CHECK: else
// CHECK: call @relax.gemm.f32.narrow(%[[A]], %[[B]], %[[C]], %[[ADD]],
// CHECK: call @relax.gemm.f32.packed(%[[A]], %[[B]], %[[C]], %[[ADD]],
//
// B with unit stride along its rows: rows are added, scaled. Along its columns: scalar products.
// CHECK: func.func private @relax.gemm.f32.skinny(
// CHECK: func.func private @relax.gemm.f32.rows_2(
// CHECK-NOT: vector.reduction
// Two rows by four columns go side by side, as their sums fill a vector; then one row, or column, at a time.
// CHECK: func.func private @relax.gemm.f32.dots(
// CHECK-COUNT-8: vector.fma
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}} vector<4xf32>
// CHECK: vector.reduction <add>, %{{[a-z0-9#]+}} {{.*}}: vector<8xf32> into f32
// CHECK: func.func private @relax.gemm.f32.rows_1(
// CHECK-NOT: vector.reduction
//
// One row, known here, has an entry of its own, which packs nothing.
// CHECK: func.func private @relax.gemm.f32.row.finished(%[[A:[a-z0-9_]+]]: {{.*}}, %[[B:[a-z0-9_]+]]: {{.*}}, %[[C:[a-z0-9_]+]]: {{.*}}, %[[ADD:[a-z0-9_]+]]: i1,
// CHECK: call @relax.gemm.f32.skinny_row(%[[A]], %[[B]], %[[C]], %[[ADD]])
// CHECK: func.func private @relax.gemm.f32.skinny_row(
// CHECK-NOT: call @relax.gemm.f32.packed
// CHECK: call @relax.gemm.f32.dots(
// CHECK: call @relax.gemm.f32.rows_1(
// CHECK-NOT: func.func
//
// AVX512: func.func private @relax.gemm.f32.dots(
// AVX512-COUNT-16: vector.fma
// AVX512: vector.shuffle
// AVX512: vector.reduction <add>, %{{[a-z0-9#]+}} {{.*}}: vector<16xf32> into f32
func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
func.func @matvec(%a: memref<?x?xf32>, %x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.matvec ins(%a, %x : memref<?x?xf32>, memref<?xf32>) outs(%y : memref<?xf32>)
  return
}
