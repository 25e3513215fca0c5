// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s
// arg_reduce.py: what is marked as argmax becomes a sweep for the best value, and one through the block that has it.

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @argmax
// CHECK-NOT: linalg
// CHECK: scf.for
// CHECK: arith.maximumf %{{[a-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : vector<8xf32>
// CHECK: vector.reduction <maximumf>
// CHECK: arith.cmpf oeq
// CHECK: vector.reduction <minsi>
// CHECK: memref.store %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xi64
func.func @argmax(%x: memref<?x?xf32>, %best: memref<?xf32>, %at: memref<?xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%best, %at : memref<?xf32>, memref<?xi64>) attrs = {relax.arg_reduce = "max"} {
  ^bb0(%a: f32, %b: f32, %p: i64):
    linalg.yield %a, %p : f32, i64
  }
  return
}
// -----
// Over another axis the body runs as it is.
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @columns
// CHECK-NOT: vector.reduction
// CHECK: return
func.func @columns(%x: memref<?x?xf32>, %best: memref<?xf32>, %at: memref<?xi64>) {
  linalg.generic {indexing_maps = [#all, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%best, %at : memref<?xf32>, memref<?xi64>) attrs = {relax.arg_reduce = "max"} {
  ^bb0(%a: f32, %b: f32, %p: i64):
    linalg.yield %a, %p : f32, i64
  }
  return
}
