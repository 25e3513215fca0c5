// RUN: relax-opt %s --unroll-loops --canonicalize --explain-loops 2>&1 | filecheck %s
// unroll_loops.py, loop_annotations.py

// The report says how many iterations there are.
// CHECK: unroll nested: 3 iterations, at
// CHECK-NEXT: unroll nested: 2 iterations, at
// CHECK-NEXT: unroll empty: 0 iterations, at
// CHECK-NEXT: unroll bounded: 2 iterations at most, at
// CHECK: unroll once: one iteration, at

// Inner loops first: six stores, at constant places.
// CHECK-LABEL: func.func private @nested
// CHECK-NOT: scf.for
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c0, %c1]
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c0, %c3]
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c0, %c5]
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c1, %c1]
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c1, %c3]
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%c1, %c5]
// CHECK-NEXT: return
func.func private @nested(%a: memref<2x8xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c1 to %c7 step %c2 {
      memref.store %v, %a[%i, %j] : memref<2x8xf32>
    } {relax.loop = "unroll"}
  } {relax.loop = "unroll"}
  return
}

// CHECK-LABEL: func.func private @empty
// CHECK-NEXT: return
func.func private @empty(%a: memref<8xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %c0 step %c1 {
    memref.store %v, %a[%i] : memref<8xf32>
  } {relax.loop = "unroll"}
  return
}

// No more than two: each under a condition.
// CHECK-LABEL: func.func private @bounded
// CHECK-NOT: scf.for
// CHECK-COUNT-2: scf.if
// CHECK: return
func.func private @bounded(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c2 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "unroll"}
  return
}

// CHECK-LABEL: func.func private @long
// CHECK: relax.loop_note = "unroll: it has 65 iterations, more than 64"
// CHECK: relax.loop_note = "unroll: its length has no constant bound"
func.func private @long(%a: memref<65xf32>, %b: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65 = arith.constant 65 : index
  scf.for %i = %c0 to %c65 step %c1 {
    memref.store %v, %a[%i] : memref<65xf32>
  } {relax.loop = "unroll"}
  %n = memref.dim %b, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %b[%i] : memref<?xf32>
  } {relax.loop = "unroll"}
  return
}

// CHECK-LABEL: func.func private @carries
// CHECK: relax.loop_note = "unroll: an iteration gives values to the next"
func.func private @carries(%a: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (f32) {
    %x = memref.load %a[%i] : memref<4xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  } {relax.loop = "unroll"}
  memref.store %sum, %a[%c0] : memref<4xf32>
  return
}

// One iteration, and as many as may be.
// CHECK-LABEL: func.func private @once
// CHECK-COUNT-65: memref.store
// CHECK-NEXT: return
func.func private @once(%a: memref<64xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %a[%i] : memref<64xf32>
  } {relax.loop = "unroll"}
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %v, %a[%i] : memref<64xf32>
  } {relax.loop = "unroll"}
  return
}

// The inner loop becomes 128 operations, a store and a constant each.
// CHECK-LABEL: func.func private @large
// CHECK: relax.loop_note = "unroll: its iterations are 4224 operations, more than 4096"
func.func private @large(%a: memref<64xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c33 = arith.constant 33 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c33 step %c1 {
    scf.for %j = %c0 to %c64 step %c1 {
      memref.store %v, %a[%j] : memref<64xf32>
    } {relax.loop = "unroll"}
  } {relax.loop = "unroll"}
  return
}
