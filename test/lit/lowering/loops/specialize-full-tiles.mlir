// RUN: relax-opt %s --specialize-full-tiles --canonicalize --cse | filecheck %s
// specialize_full_tiles.py

// The ends depend on %o alone: the test stands around both loops, and the buffer of the tile is made in both branches.
// CHECK-LABEL: func.func private @tiles
// CHECK: scf.for %[[O:[a-z0-9_]+]]
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.subi
// CHECK: %[[E:[a-z0-9_]+]] = arith.minsi %[[LEFT]], %[[C8:[a-z0-9_]+]]
// CHECK: %[[FULL:[a-z0-9_]+]] = arith.cmpi sge, %[[LEFT]], %[[C8]]
// CHECK: scf.if %[[FULL]] {
// CHECK-NEXT: memref.alloc() : memref<8xf32>
// CHECK: scf.for %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}} to %[[C8]] step
// CHECK: relax.loop = "vectorized"
// CHECK: scf.for %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}} to %[[C8]] step
// CHECK: relax.loop = "unroll"
// CHECK: } else {
// CHECK-NEXT: memref.alloc() : memref<8xf32>
// CHECK: scf.for %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}} to %[[E]] step
// CHECK: scf.for %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}} to %[[E]] step
// CHECK-NOT: scf.if
// CHECK: return
func.func private @tiles(%a: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %tiles = arith.ceildivsi %n, %c8 : index
  scf.for %o = %c0 to %tiles step %c1 {
    %tile = memref.alloc() : memref<8xf32>
    %first = arith.muli %o, %c8 : index
    %left = arith.subi %n, %first : index
    %end = arith.minsi %c8, %left : index
    scf.for %i = %c0 to %end step %c1 {
      %at = arith.addi %first, %i : index
      %x = memref.load %a[%at] : memref<?xf32>
      memref.store %x, %tile[%i] : memref<8xf32>
    } {relax.loop = "vectorized"}
    scf.for %i = %c0 to %end step %c1 {
      %at = arith.addi %first, %i : index
      %x = memref.load %tile[%i] : memref<8xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %a[%at] : memref<?xf32>
    } {relax.loop = "unroll"}
  }
  return
}

// What is behind the last use of the end is no part of it.
// CHECK-LABEL: func.func private @behind
// CHECK: scf.if
// CHECK: } else {
// CHECK: relax.loop = "unroll"
// CHECK: }
// CHECK: }
// CHECK-NEXT: memref.store
// CHECK-NEXT: return
func.func private @behind(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c4 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "unroll"}
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}

// Serial loops, and minima without a constant, stay as they are.
// CHECK-LABEL: func.func private @others
// CHECK-NOT: scf.if
// CHECK: return
func.func private @others(%a: memref<?xf32>, %m: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c4 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  }
  %least = arith.minsi %n, %m : index
  scf.for %i = %c0 to %least step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
