// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=neoverse-n1'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,NEON
// vector_loops.py (loop_nest.py, vector_loops.py, scalar_body.py): which loops there are.

// A row that is repeated keeps the loop over rows, and is read at the column only. Four vectors go side by side, as one.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<8x64xf32>, %[[R:[a-z0-9_]+]]: memref<64xf32>, %[[O:[a-z0-9_]+]]: memref<8x64xf32>)
// CHECK: scf.for %[[I:[a-z0-9_]+]] =
// CHECK: scf.for %[[J:[a-z0-9_]+]] =
// AVX2: %[[A:[A-Za-z0-9_]+]] = vector.load %[[X]][%[[I]], %[[J]]] : memref<8x64xf32>, vector<32xf32>
// AVX2-NEXT: %[[B:[A-Za-z0-9_]+]] = vector.load %[[R]][%[[J]]] : memref<64xf32>, vector<32xf32>
// AVX2-NEXT: %[[S:[A-Za-z0-9_]+]] = arith.addf %[[A]], %[[B]] : vector<32xf32>
// AVX2: vector.store %[[S]], %[[O]][%[[I]], %[[J]]]
// NEON: arith.addf %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : vector<16xf32>
// CHECK: return
func.func @broadcast(%x: memref<8x64xf32>, %r: memref<64xf32>, %o: memref<8x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                   affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r : memref<8x64xf32>, memref<64xf32>) outs(%o : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// Static sizes that fill whole vectors need no mask, and both axes are one loop.
// CHECK-LABEL: func.func @whole
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-NOT: mask
// CHECK: return
func.func @whole(%x: memref<8x16xf32>, %o: memref<8x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x16xf32>) outs(%o : memref<8x16xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// What takes many operations goes side by side for six vectors with 16 registers, for four with 32, then for single ones, then under a mask. Functions of f64 are calls for each lane: one vector at a time. Inputs are asked for 2048 bytes ahead.
// CHECK-LABEL: func.func @heavy
// AVX2: scf.for %[[AT:[a-z0-9_]+]] = {{.*}} step %c48
// AVX2: %[[LATER:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %c512
// AVX2-NEXT: memref.prefetch %[[VIEW:[a-z0-9_]+]][%[[LATER]]], read, locality<2>
// AVX2-NEXT: %[[NEXT_LINE:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %c528
// AVX2-NEXT: memref.prefetch %[[VIEW]][%[[NEXT_LINE]]], read, locality<2>
// AVX2-NEXT: %[[THIRD_LINE:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %c544
// AVX2-NEXT: memref.prefetch %[[VIEW]][%[[THIRD_LINE]]], read, locality<2>
// AVX2-NEXT: vector.load %[[VIEW]][%[[AT]]]
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<48xf32>
// AVX2: scf.for {{.*}} step %c8
// AVX2-NOT: memref.prefetch
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<8xf32>
// AVX2: arith.cmpi sgt, {{.*}} : vector<8xi32>
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<8xf32>
// NEON: math.exp %{{[A-Za-z0-9_]+}} : vector<16xf32>
// NEON: math.exp %{{[A-Za-z0-9_]+}} : vector<4xf32>
// CHECK: return
func.func @heavy(%x: memref<?xf32>, %o: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// Within a row of a kernel nothing is asked for but, where it is said, the next row, if the first-level cache holds both of
// each operand: of three operands, rows of 5461 bytes.
// CHECK-LABEL: func.func @row
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4x?xf32>, %[[Y:[a-z0-9_]+]]: memref<?xf32>, %{{[a-z0-9_]+}}: memref<?xf32>, %[[LENGTH:[a-z0-9_]+]]: index)
// AVX2: %[[SHORT:[A-Za-z0-9_]+]] = arith.cmpi ule, %{{[a-z0-9_]+}}, %c1365
// AVX2: %[[AHEAD:[a-z0-9_]+]] = arith.select %[[SHORT]], %{{[a-z0-9_]+}}, %c0
// AVX2: scf.for %[[AT:[a-z0-9_]+]] = {{.*}} step %c48
// AVX2: %[[THERE:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %[[AHEAD]] :
// AVX2-NEXT: memref.prefetch %{{[a-z0-9_]+}}[%[[THERE]]], read, locality<3>
// AVX2-NEXT: %[[THEN:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %[[AHEAD]] :
// AVX2-NEXT: %[[NEXT_LINE:[A-Za-z0-9_]+]] = arith.addi %[[THEN]], %c16
// AVX2-NEXT: memref.prefetch %{{[a-z0-9_]+}}[%[[NEXT_LINE]]], read, locality<3>
// AVX2-NEXT: %[[THEN_THIRD:[A-Za-z0-9_]+]] = arith.addi %[[AT]], %[[AHEAD]] :
// AVX2-NEXT: %[[THIRD_LINE:[A-Za-z0-9_]+]] = arith.addi %[[THEN_THIRD]], %c32
// AVX2-NEXT: memref.prefetch %{{[a-z0-9_]+}}[%[[THIRD_LINE]]], read, locality<3>
// AVX2-NOT: memref.prefetch
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<48xf32>
// CHECK: return
func.func @row(%x: memref<4x?xf32>, %y: memref<?xf32>, %o: memref<?xf32>, %length: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %row = memref.subview %x[%i, 0] [1, %length] [1, 1] : memref<4x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"], relax.next_row = array<i64: 0>}
        ins(%row, %y : memref<?xf32, strided<[1], offset: ?>>, memref<?xf32>) outs(%o : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32, %old: f32):
      %s = math.exp %a : f32
      %t = arith.addf %s, %b : f32
      linalg.yield %t : f32
    }
  }
  return
}
// -----
// CHECK-LABEL: func.func @heavy_double
// AVX2-NOT: vector<8xf64>
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<4xf64>
// AVX2-NOT: vector<8xf64>
// NEON: math.exp %{{[A-Za-z0-9_]+}} : vector<2xf64>
// CHECK: return
func.func @heavy_double(%x: memref<?xf64>, %o: memref<?xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf64>) outs(%o : memref<?xf64>) {
  ^bb0(%a: f64, %old: f64):
    %s = math.exp %a : f64
    linalg.yield %s : f64
  }
  return
}
// -----
// Sums of several vectors that go side by side are sums of their own until the end; what is left over is added under a
// mask.
// CHECK-LABEL: func.func @heavy_sum
// AVX2: scf.for {{.*}} iter_args(%{{[a-z0-9_]+}} = %{{[a-z0-9_]+}}) -> (vector<16xf32>) {
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<16xf32>
// AVX2: scf.for {{.*}} step %c8
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<8xf32>
// AVX2: %[[MASK:[A-Za-z0-9_]+]] = arith.cmpi sgt, {{.*}} : vector<8xi32>
// AVX2: math.exp %{{[A-Za-z0-9_]+}} : vector<8xf32>
// AVX2: arith.select %[[MASK]],
// AVX2: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xf32>
// AVX2: vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>
// AVX2: vector.reduction <add>
// NEON-COUNT-4: vector.shuffle {{.*}} : vector<16xf32>
// NEON: vector.reduction <add>
// CHECK-NOT: math.exp %{{[A-Za-z0-9_]+}} : f32
// CHECK: return
func.func @heavy_sum(%x: memref<?xf32>, %o: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<?xf32>) outs(%o : memref<f32>) {
  ^bb0(%a: f32, %old: f32):
    %e = math.exp %a : f32
    %s = arith.addf %e, %old : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// A function without linalg is left alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: memref.load
// CHECK-NEXT: return
func.func @nothing(%x: memref<4xf32>, %i: index) -> f32 {
  %0 = memref.load %x[%i] : memref<4xf32>
  return %0 : f32
}
// -----
// Columns of a matrix that is not in one piece are summed up: if there are none, there is no row to go over, and the other way
// around. The loop over four planes is not worth a question.
// CHECK-LABEL: func.func @no_columns
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4x?x?xf32, strided<[?, ?, 1]>>, %[[O:[a-z0-9_]+]]: memref<f32>)
// CHECK: %[[ROWS:[A-Za-z0-9_]+]] = memref.dim %[[X]], %c1
// CHECK: %[[COLUMNS:[A-Za-z0-9_]+]] = memref.dim %[[X]], %c2
// CHECK: %[[NO_ROWS:[0-9]+]] = arith.cmpi eq, %[[ROWS]], %c0
// CHECK: %[[NO_COLUMNS:[0-9]+]] = arith.cmpi eq, %[[COLUMNS]], %c0
// CHECK: %[[NONE:[0-9]+]] = arith.ori %[[NO_ROWS]], %[[NO_COLUMNS]] : i1
// CHECK: %[[GO_ROWS:[0-9]+]] = arith.select %[[NONE]], %c0, %[[ROWS]] : index
// CHECK: %[[GO_COLUMNS:[0-9]+]] = arith.select %[[NONE]], %c0, %[[COLUMNS]] : index
// CHECK: scf.for %[[I:[a-z0-9_]+]] = %c0 to %c4
// CHECK: scf.for %[[J:[a-z0-9_]+]] = %c0 to %[[GO_ROWS]] step
// CHECK: return
func.func @no_columns(%x: memref<4x?x?xf32, strided<[?, ?, 1]>>, %o: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(p, i, j) -> (p, i, j)>, affine_map<(p, i, j) -> ()>],
                  iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%x : memref<4x?x?xf32, strided<[?, ?, 1]>>) outs(%o : memref<f32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %a, %old : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// Parallel loops of a prim func need no such question (see skip-empty-results), those of others do.
// CHECK-LABEL: func.func private @prim
// CHECK-NOT: arith.ori
// CHECK-LABEL: func.func @copies
// CHECK: %[[NONE:[0-9]+]] = arith.ori
// CHECK: arith.select %[[NONE]], %c0,
func.func private @prim(%x: memref<?x?xf32, strided<[?, 1]>>, %o: memref<?x?xf32>) attributes {relax.prim_func, relax.destinations = array<i64: 1>} {
  linalg.copy ins(%x : memref<?x?xf32, strided<[?, 1]>>) outs(%o : memref<?x?xf32>)
  return
}
func.func @copies(%x: memref<?x?xf32, strided<[?, 1]>>, %o: memref<?x?xf32>) {
  linalg.copy ins(%x : memref<?x?xf32, strided<[?, 1]>>) outs(%o : memref<?x?xf32>)
  return
}
