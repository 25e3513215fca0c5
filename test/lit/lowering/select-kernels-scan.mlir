// scan.py: cumsum and cumprod.
// RUN: relax-opt --select-kernels="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// RUN: relax-opt --select-kernels="target='cpu -mcpu=skylake-avx512'" --split-input-file %s | filecheck %s --check-prefix=AVX512

// Along the last axis: two shifted additions per vector of f64, then the carry; what is left goes one by one.
// CHECK-LABEL: func.func private @last_axis
// CHECK-NOT: linalg
// CHECK: scf.for {{.*}} iter_args(%[[CARRY:[a-z0-9_]+]] = %{{.*}}) -> (vector<4xf64>)
// CHECK: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// CHECK: vector.shuffle %{{.*}} [0, 4, 5, 6]
// CHECK: arith.addf
// CHECK: vector.shuffle %{{.*}} [0, 1, 4, 5]
// CHECK: %[[HERE:.*]] = arith.addf
// CHECK: arith.addf %[[CARRY]], %[[HERE]] :
// CHECK: arith.truncf
// CHECK: vector.store
// CHECK: vector.shuffle %[[HERE]], %[[HERE]] [3, 3, 3, 3]
// CHECK: scf.for {{.*}} -> (f64)
func.func private @last_axis(%x: memref<?x?xf32>, %out: memref<?x?xf32>)
    attributes {relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?x?xf32>) outs(%out : memref<?x?xf32>)
  return
}
// -----
// Across the inner dimension: totals of a block of columns lie in scratch memory.
// CHECK-LABEL: func.func private @first_axis
// CHECK: %[[TOTALS:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xi32>
// CHECK: vector.load %[[TOTALS]][
// CHECK: arith.muli %{{.*}} : vector<8xi32>
// CHECK: vector.store %{{.*}}, %[[TOTALS]][
func.func private @first_axis(%x: memref<?x?xi32>, %out: memref<?x?xi32>)
    attributes {relax.prim_func, relax.kernel = "cumprod", relax.kernel_attrs = {axis = 0 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?x?xi32>) outs(%out : memref<?x?xi32>)
  return
}
// -----
// Products of f64 are formed one after the other: those of a vector may overflow where the whole does not.
// CHECK-LABEL: func.func private @doubles
// CHECK-NOT: vector
// CHECK: scf.for {{.*}} -> (f64)
// CHECK: return
func.func private @doubles(%x: memref<?xf64>, %out: memref<?xf64>)
    attributes {relax.prim_func, relax.kernel = "cumprod", relax.kernel_attrs = {axis = 0 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?xf64>) outs(%out : memref<?xf64>)
  return
}
// -----
// Other layouts keep their body.
// CHECK-LABEL: func.func private @strided
// CHECK: linalg.copy
func.func private @strided(%x: memref<?xf32, strided<[?], offset: ?>>, %out: memref<?xf32>)
    attributes {relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 0 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?xf32, strided<[?], offset: ?>>) outs(%out : memref<?xf32>)
  return
}
// -----
// No more than 32 elements are scanned at a time.
// CHECK-LABEL: func.func private @small
// CHECK: scf.for {{.*}} -> (vector<32xi8>)
// AVX512-LABEL: func.func private @small
// AVX512: scf.for {{.*}} -> (vector<32xi8>)
func.func private @small(%x: memref<?x128xi8>, %out: memref<?x128xi8>)
    attributes {relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?x128xi8>) outs(%out : memref<?x128xi8>)
  return
}
