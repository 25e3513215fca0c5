// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=haswell'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: relax-opt --linalg-to-loops="target='cpu -mcpu=neoverse-n1'" --canonicalize --split-input-file %s | filecheck %s --check-prefixes=CHECK,NEON
// elementwise.py (nest.py, loops.py, body.py, operands.py): which loops there are.

// A row that is repeated keeps the loop over rows, and is read at the column only.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<8x64xf32>, %[[R:[a-z0-9]+]]: memref<64xf32>, %[[O:[a-z0-9]+]]: memref<8x64xf32>)
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// AVX2: %[[A:[0-9]+]] = vector.load %[[X]][%[[I]], %[[J]]] : memref<8x64xf32>, vector<8xf32>
// AVX2-NEXT: %[[B:[0-9]+]] = vector.load %[[R]][%[[J]]] : memref<64xf32>, vector<8xf32>
// AVX2-NEXT: %[[S:[0-9]+]] = arith.addf %[[A]], %[[B]] : vector<8xf32>
// AVX2: vector.store %[[S]], %[[O]][%[[I]], %[[J]]]
// NEON: arith.addf %{{[0-9]+}}, %{{[0-9]+}} : vector<4xf32>
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

// A function without linalg is left alone.
// CHECK-LABEL: func.func @nothing
// CHECK-NEXT: memref.load
// CHECK-NEXT: return
func.func @nothing(%x: memref<4xf32>, %i: index) -> f32 {
  %0 = memref.load %x[%i] : memref<4xf32>
  return %0 : f32
}
