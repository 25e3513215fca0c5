// gemv.py: products of depth 1 multiply, and sum nothing.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=AVX2

// The way is chosen where the depth is 1, B has unit stride along its row, and C is not added to.
// CHECK-LABEL: func.func private @relax.gemm.f32.finished(
// CHECK: %[[DEPTH:[A-Za-z0-9_]+]] = arith.cmpi eq, %sizes#1, %c1
// CHECK: %[[NEW:[A-Za-z0-9_]+]] = arith.xori %arg3, %true
// CHECK-NEXT: arith.andi %[[DEPTH]],
// CHECK: func.call @relax.gemm.f32.outer(

// A row of C is an element of A times the row of B, four vectors at a time, then one; the last one ends where the row
// ends. Nothing is done without columns.
// CHECK-LABEL: func.func private @relax.gemm.f32.outer(
// CHECK-SAME: %[[A:[a-z0-9]+]]: {{[^%]*}}%[[B:[a-z0-9]+]]: {{[^%]*}}%[[C:[a-z0-9]+]]: 
// CHECK-NOT: vector.fma
// CHECK: %[[SOME:[A-Za-z0-9_]+]] = arith.cmpi ne, %[[COLUMNS:[A-Za-z0-9_]+]], %c0
// CHECK: scf.if %[[SOME]] {
// CHECK: %[[WIDE:[A-Za-z0-9_]+]] = arith.cmpi uge, %[[COLUMNS]], %c16
// CHECK: scf.if %[[WIDE]] {
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[ELEMENT:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[I]],
// CHECK-NEXT: %[[FACTOR:[A-Za-z0-9_]+]] = vector.broadcast %[[ELEMENT]] :
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[ROW:[A-Za-z0-9_]+]] = vector.load %[[B]][%{{[A-Za-z0-9_]+}}, %[[J]]]
// CHECK-NEXT: %[[PRODUCT:[A-Za-z0-9_]+]] = arith.mulf %[[FACTOR]], %[[ROW]] :
// CHECK-NEXT: vector.store %[[PRODUCT]], %[[C]][%[[I]], %[[J]]]
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: vector.fma
// CHECK-LABEL: func.func private @relax.gemm.f32.narrow(

// AVX2-LABEL: func.func private @relax.gemm.f32.outer(
// AVX2: vector.broadcast %{{[A-Za-z0-9_]+}} : f32 to vector<8xf32>
// AVX2-NOT: vector<16xf32>
// AVX2: func.func private
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
