// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// vector_loops.py, emit.py: sums of columns. Long rows are added four at a time to the results in memory; of short ones, columns are
// summed in registers.

#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @columns
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x?xf32>, %[[OUT:[a-z0-9_]+]]: memref<?xf32>)
// CHECK: %[[LONG:[A-Za-z0-9_]+]] = arith.cmpi uge, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : index
// CHECK-NEXT: scf.if %[[LONG]] {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[OLD:[A-Za-z0-9_]+]] = vector.load
// CHECK-COUNT-4: arith.addf %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} fastmath<contract> : vector<8xf32>
// CHECK: vector.store
// CHECK: } else {
// CHECK: iter_args
// CHECK: return
func.func @columns(%x: memref<?x?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  }
  return
}
// -----
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @short
// CHECK-NOT: arith.cmpi uge
// CHECK: iter_args
// CHECK: return
func.func @short(%x: memref<?x64xf32>, %out: memref<64xf32>) {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x64xf32>) outs(%out : memref<64xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %r = arith.addf %sum, %a : f32
    linalg.yield %r : f32
  }
  return
}
