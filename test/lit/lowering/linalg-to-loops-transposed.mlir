// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell -num-threads=2'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=neoverse-n1'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,NEON
// transposed_tiles.py: work across rows is done in tiles that are transposed in registers.

// Lines of the result are cut in parts for threads. A square of eight lines of eight elements is half a cache line wide: two come behind each other. Squares that do not fit begin earlier; what is too small for one is done in squares of four lines, what is too small for these by elements.
// CHECK-LABEL: func.func @copy
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x?xf32>, %[[O:[a-z0-9_]+]]: memref<?x?xf32>)
// CHECK: scf.if
// CHECK-DAG: %[[FROM:[a-z0-9_]+]] = memref.reinterpret_cast %[[X]] {{.*}} to memref<?x?xf32, strided<[?, 1]>>
// CHECK-DAG: %[[TO:[a-z0-9_]+]] = memref.reinterpret_cast %[[O]] {{.*}} to memref<?x?xf32, strided<[?, 1]>>
// CHECK: scf.for {{.*}} step %[[ROWS:.*]] {
// CHECK-NEXT: call @relax.parallel_cost
// CHECK: scf.for {{.*}} step %c64
// CHECK: scf.for {{.*}} step %c16
// AVX2: scf.for {{.*}} step %c8
// AVX2: scf.for {{.*}} step %c8
// NEON: scf.for {{.*}} step %c4
// NEON: scf.for {{.*}} step %c4
// CHECK: arith.minui
// CHECK: arith.minui
// CHECK: llvm.intr.expect
// CHECK: llvm.intr.expect
// AVX2-COUNT-8: vector.load %[[FROM]][{{.*}} vector<8xf32>
// AVX2-COUNT-24: vector.shuffle
// AVX2-COUNT-8: vector.store {{.*}}, %[[TO]][{{.*}} vector<8xf32>
// NEON-COUNT-4: vector.load %[[FROM]][{{.*}} vector<4xf32>
// NEON-COUNT-8: vector.shuffle
// NEON-COUNT-4: vector.store {{.*}}, %[[TO]][{{.*}} vector<4xf32>
// AVX2-NOT: vector.
// AVX2: scf.if
// AVX2: scf.for {{.*}} step %c64
// AVX2: scf.for {{.*}} step %c16
// AVX2: scf.for {{.*}} step %c4
// AVX2: scf.for {{.*}} step %c4
// AVX2-COUNT-4: vector.load %[[FROM]][{{.*}} vector<4xf32>
// AVX2-COUNT-8: vector.shuffle
// AVX2-COUNT-4: vector.store {{.*}}, %[[TO]][{{.*}} vector<4xf32>
// CHECK-NOT: vector.
// CHECK-NOT: memref.load
// CHECK: } else {
// CHECK-NOT: vector.
// CHECK: call @relax.parallel_cost
// CHECK: memref.load
// CHECK-NEXT: memref.store
// CHECK-NOT: memref.load
// CHECK: return
func.func @copy(%x: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}
// -----
// Sizes that squares cover, overlapping or not, need no small ones. Squares of 16-bit elements have as many lanes as those of 32 bits; floats are moved as integers.
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: scf.if
// CHECK-NOT: memref.load
// AVX2: vector.load {{.*}} vector<8xf16>
// AVX2: vector.shuffle {{.*}} vector<8xi16>
// NEON: vector.load {{.*}} vector<4xf16>
// NEON: vector.shuffle {{.*}} vector<4xi16>
// CHECK: vector.store
// CHECK-NOT: vector.shuffle
// CHECK-NOT: memref.load
// CHECK: return
func.func @sizes(%x: memref<19x33xf16>, %o: memref<33x19xf16>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<19x33xf16>) outs(%o : memref<33x19xf16>) {
  ^bb0(%a: f16, %old: f16):
    linalg.yield %a : f16
  }
  return
}
// -----
// An operand that is not turned is read as the result is written, and may lie where that does: no element is done twice. What is left beside squares is done in smaller ones, then by elements. A batch is a loop around all, which is the one for threads.
// CHECK-LABEL: func.func @sum
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NEXT: call @relax.parallel_cost
// CHECK-NOT: call @relax.parallel_cost
// CHECK: llvm.intr.expect
// CHECK-NOT: arith.minui
// CHECK: vector.load
// AVX2-COUNT-8: arith.addf {{.*}} : vector<8xf32>
// NEON-COUNT-4: arith.addf {{.*}} : vector<4xf32>
// AVX2-COUNT-4: arith.addf {{.*}} : vector<4xf32>
// CHECK-NOT: arith.addf {{.*}} : vector
// CHECK: arith.addf {{.*}} : f32
// CHECK: } else {
// CHECK-NOT: arith.addf {{.*}} : vector
// CHECK: arith.addf {{.*}} : f32
// CHECK: return
func.func @sum(%x: memref<?x?x?xf32>, %y: memref<?x?x?xf32>, %o: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, j, i)>, affine_map<(b, i, j) -> (b, i, j)>,
                                   affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%o : memref<?x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
// -----
// What keeps the last axis needs no squares; too few elements for a square, booleans, bodies with functions, inputs with other strides and reductions have none.
// CHECK-LABEL: func.func @last_axis
// CHECK-NOT: vector.shuffle
// CHECK: vector.load
// CHECK-LABEL: func.func @few
// CHECK-NOT: vector
// CHECK-LABEL: func.func @boolean
// CHECK-NOT: vector
// CHECK-LABEL: func.func @heavy
// CHECK-NOT: vector
// CHECK-LABEL: func.func @stepped
// CHECK-NOT: vector
// CHECK-LABEL: func.func @reduced
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @last_axis(%x: memref<?x?x?xf32>, %o: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<?x?x?xf32>) outs(%o : memref<?x?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}

func.func @few(%x: memref<?x3xf32>, %o: memref<3x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x3xf32>) outs(%o : memref<3x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}

func.func @boolean(%x: memref<?x?xi1>, %o: memref<?x?xi1>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xi1>) outs(%o : memref<?x?xi1>) {
  ^bb0(%a: i1, %old: i1):
    linalg.yield %a : i1
  }
  return
}

func.func @heavy(%x: memref<?x?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  }
  return
}

func.func @stepped(%x: memref<?x?xf32, strided<[?, 2]>>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32, strided<[?, 2]>>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}

func.func @reduced(%x: memref<?x?x?xf32>, %o: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, j, i)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : memref<?x?x?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %a, %old : f32
    linalg.yield %s : f32
  }
  return
}
