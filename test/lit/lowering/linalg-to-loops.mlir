// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --split-input-file %s | filecheck %s

// Both axes are contiguous in both operands: one loop over vectors, and one masked vector.
// CHECK-LABEL: func.func @relu
// CHECK-NOT: linalg
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = arith.muli
// CHECK: scf.for %[[I:[a-z0-9_]+]] = %{{[a-z0-9_]+}} to %{{[A-Za-z0-9_]+}} step %{{[a-z0-9_]+}}
// CHECK: vector.load %{{[a-z0-9_]+}}[%[[I]]]
// CHECK: arith.maximumf %{{[A-Za-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<8xf32>
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
// CHECK: return
func.func @relu(%x: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %a, %zero : f32
    linalg.yield %r : f32
  }
  return
}
// -----
// A row sum has vector accumulators.
// CHECK-LABEL: func.func @sum
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} fastmath<contract> : vector<8xf32>
// CHECK: vector.reduction <add>, %{{[A-Za-z0-9_]+}} fastmath<reassoc> : vector<8xf32> into f32
// CHECK: memref.store
func.func @sum(%x: memref<?x?xf32>, %o: memref<?xf32>) {
  linalg.reduce {arith.addf} ins(%x : memref<?x?xf32>) outs(%o : memref<?xf32>) dimensions = [1]
  return
}
// -----
// Copies need no runtime library; buffers of i1 hold bytes.
// CHECK-LABEL: func.func @copy
// CHECK-NOT: memref.copy
// CHECK: builtin.unrealized_conversion_cast %{{[a-z0-9_]+}} : memref<?xi1, strided<[1], offset: ?>> to memref<?xi8, strided<[1], offset: ?>>
// CHECK: vector.store %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xi8, strided<[1], offset: ?>>, vector<32xi8>
func.func @copy(%x: memref<?xi1>, %o: memref<?xi1>) {
  memref.copy %x, %o : memref<?xi1> to memref<?xi1>
  return
}
// -----
// A copy reads its first operand and writes the second one; a copy of a buffer to itself does nothing. An index that is a
// sum of loops is left to upstream's loops.
// CHECK-LABEL: func.func @copied(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: memref<8xf32>, %[[O:[a-z0-9_]+]]: memref<8xf32>, %[[W:[a-z0-9_]+]]: memref<2x3xf32>)
// CHECK: %[[FROM:[A-Za-z0-9_]+]], %{{.*}} = memref.extract_strided_metadata %[[X]] :
// CHECK: %[[READ:[A-Za-z0-9_]+]] = memref.reinterpret_cast %[[FROM]] to
// CHECK: %[[TO:[A-Za-z0-9_]+]], %{{.*}} = memref.extract_strided_metadata %[[O]] :
// CHECK: %[[WRITTEN:[A-Za-z0-9_]+]] = memref.reinterpret_cast %[[TO]] to
// CHECK: %[[V:[A-Za-z0-9_]+]] = vector.load %[[READ]][%{{[a-z0-9_]+}}]
// CHECK-NEXT: vector.store %[[V]], %[[WRITTEN]][%{{[a-z0-9_]+}}]
// CHECK-NOT: vector.store
// CHECK: scf.for %[[I:[a-z0-9_]+]] =
// CHECK-NEXT: scf.for %[[J:[a-z0-9_]+]] =
// CHECK: %[[SUM:[A-Za-z0-9_]+]] = affine.apply #{{[a-z0-9]+}}(%[[I]], %[[J]])
// CHECK: %[[E:[A-Za-z0-9_]+]] = memref.load %[[X]][%[[SUM]]]
// CHECK: memref.store %[[E]], %[[W]][%[[I]], %[[J]]]
// CHECK-NOT: linalg
// CHECK: return
func.func @copied(%x: memref<8xf32>, %o: memref<8xf32>, %w: memref<2x3xf32>) {
  memref.copy %x, %o : memref<8xf32> to memref<8xf32>
  memref.copy %o, %o : memref<8xf32> to memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8xf32>) outs(%w : memref<2x3xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}
// -----
// A copy of a buffer to itself is gone; the one after it is a loop.
// CHECK-LABEL: func.func @self_copy(
// CHECK-NOT: memref.copy
// CHECK: vector.store
// CHECK-NOT: memref.copy
// CHECK: return
func.func @self_copy(%x: memref<8xf32>, %o: memref<8xf32>) {
  memref.copy %x, %x : memref<8xf32> to memref<8xf32>
  memref.copy %x, %o : memref<8xf32> to memref<8xf32>
  return
}
