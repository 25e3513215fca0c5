// RUN: relax-opt %s --specialize-full-tiles --canonicalize --cse | filecheck %s
// unroll_loops.py

// The ends depend on %o alone: the test stands around both loops, and the buffer of the tile is made in both branches.
// CHECK-LABEL: func.func private @tiles
// CHECK: scf.for %[[O:[a-z0-9_]+]]
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.subi
// CHECK: %[[E:[a-z0-9_]+]] = arith.minsi %[[LEFT]], %[[C8:[a-z0-9_]+]]
// CHECK: %[[FULL:[a-z0-9_]+]] = arith.cmpi sge, %[[LEFT]], %[[C8]] :
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

// What depends on the end, also by way of other values, is part of it.
// CHECK-LABEL: func.func private @dependent
// CHECK: scf.if
// CHECK: arith.addi
// CHECK-NEXT: %[[T:[a-z0-9_]+]] = arith.index_cast
// CHECK-NEXT: memref.store %[[T]],
// CHECK: } else {
// CHECK: arith.addi
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = arith.index_cast
// CHECK-NEXT: memref.store %[[E]],
// CHECK-NEXT: }
// CHECK-NEXT: memref.store
// CHECK-NEXT: return
func.func private @dependent(%a: memref<?xf32>, %t: memref<4xi64>, %m: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c4 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "unroll"}
  %more = arith.addi %end, %m : index
  %word = arith.index_cast %more : index to i64
  memref.store %word, %t[%c0] : memref<4xi64>
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}

// An end that the loop around does not change: the test is before that loop.
// CHECK-LABEL: func.func private @invariant
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
func.func private @invariant(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %o = %c0 to %n step %c1 {
    %end = arith.minsi %n, %c4 : index
    scf.for %i = %c0 to %end step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    } {relax.loop = "unroll"}
  }
  return
}

// Nine ends of nine nested loops would make 512 copies of the body: the function grows to 2,000 operations, which the
// tests of the outermost loops take up.
// CHECK-LABEL: func.func private @growth
// CHECK-COUNT-63: scf.if
// CHECK-NOT: scf.if
func.func private @growth(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %end2 = arith.minsi %n, %c2 : index
  %end3 = arith.minsi %n, %c3 : index
  %end4 = arith.minsi %n, %c4 : index
  %end5 = arith.minsi %n, %c5 : index
  %end6 = arith.minsi %n, %c6 : index
  %end7 = arith.minsi %n, %c7 : index
  %end8 = arith.minsi %n, %c8 : index
  %end9 = arith.minsi %n, %c9 : index
  %end10 = arith.minsi %n, %c10 : index
  scf.for %i2 = %c0 to %end2 step %c1 {
    scf.for %i3 = %c0 to %end3 step %c1 {
      scf.for %i4 = %c0 to %end4 step %c1 {
        scf.for %i5 = %c0 to %end5 step %c1 {
          scf.for %i6 = %c0 to %end6 step %c1 {
            scf.for %i7 = %c0 to %end7 step %c1 {
              scf.for %i8 = %c0 to %end8 step %c1 {
                scf.for %i9 = %c0 to %end9 step %c1 {
                  scf.for %i10 = %c0 to %end10 step %c1 {
                    memref.store %v, %a[%i10] : memref<?xf32>
                  } {relax.loop = "unroll"}
                } {relax.loop = "unroll"}
              } {relax.loop = "unroll"}
            } {relax.loop = "unroll"}
          } {relax.loop = "unroll"}
        } {relax.loop = "unroll"}
      } {relax.loop = "unroll"}
    } {relax.loop = "unroll"}
  } {relax.loop = "unroll"}
  return
}

// A buffer that is read later is made before, once.
// CHECK-LABEL: func.func private @read_later
// CHECK: memref.alloc() : memref<4xf32>
// CHECK: scf.if
// CHECK-NOT: memref.alloc
// CHECK: return
func.func private @read_later(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %own = memref.alloc() : memref<4xf32>
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c4 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %own[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  memref.store %v, %a[%c0] : memref<?xf32>
  %x = memref.load %own[%c0] : memref<4xf32>
  memref.store %x, %a[%c1] : memref<?xf32>
  return
}

// Serial loops, minima without a constant, and minima that begin a loop stay as they are.
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
  scf.for %i = %end to %n step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
