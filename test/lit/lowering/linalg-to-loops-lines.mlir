// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=skylake-avx512'" --split-input-file %s | filecheck %s
// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s --check-prefix=AVX2
// vector_loops.py: where a vector fills a cache line, long results are written from the beginning of one on.

// What lies before it is done first, with a mask, in each row.
// CHECK-LABEL: func.func @add
// CHECK: scf.for %[[ROW:[A-Za-z0-9_]+]] =
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: arith.andi %{{.*}}, %c63
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = arith.divui
// CHECK: scf.if
// CHECK: vector.maskedstore %{{.*}}[%[[ROW]], %c0{{.*}}]{{.*}} vector<16xf32>
// CHECK: scf.for %{{.*}} = %[[FIRST]] to
// CHECK: vector.store
// AVX2-LABEL: func.func @add
// AVX2-NOT: extract_aligned_pointer_as_index
// AVX2: return
func.func @add(%x: memref<?x301xf32, strided<[303, 1], offset: 1>>, %out: memref<?x301xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x301xf32, strided<[303, 1], offset: 1>>) outs(%out : memref<?x301xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}
// -----
// Short rows, bodies that take their time, results narrower than what they are made of, and sums are as everywhere.
// CHECK-LABEL: func.func @short
// CHECK-NOT: extract_aligned_pointer_as_index
// CHECK-LABEL: func.func @heavy
// CHECK-NOT: extract_aligned_pointer_as_index
// CHECK-LABEL: func.func @narrower
// CHECK-NOT: extract_aligned_pointer_as_index
// CHECK-LABEL: func.func @sums
// CHECK-NOT: extract_aligned_pointer_as_index
// CHECK: return
func.func @short(%x: memref<?x101xf32, strided<[103, 1]>>, %out: memref<?x101xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x101xf32, strided<[103, 1]>>) outs(%out : memref<?x101xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @heavy(%x: memref<?x301xf32, strided<[303, 1]>>, %out: memref<?x301xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x301xf32, strided<[303, 1]>>) outs(%out : memref<?x301xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  return
}
func.func @narrower(%x: memref<?x301xf64, strided<[303, 1]>>, %out: memref<?x301xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x301xf64, strided<[303, 1]>>) outs(%out : memref<?x301xf32>) {
  ^bb0(%a: f64, %old: f32):
    %0 = arith.truncf %a : f64 to f32
    linalg.yield %0 : f32
  }
  return
}
func.func @sums(%x: memref<4x301xf32>, %out: memref<301xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                  iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<4x301xf32>) outs(%out : memref<301xf32>) {
  ^bb0(%a: f32, %old: f32):
    %0 = arith.addf %a, %old : f32
    linalg.yield %0 : f32
  }
  return
}
