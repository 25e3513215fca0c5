// RUN: relax-opt %s --unroll-loops | filecheck %s
// unroll_loops.py: sums of products in memory become fused multiply-adds, other sums stay exact.

// The element that is stored is the one that is loaded; either side of the sum may be the product.
// CHECK-LABEL: func.func private @sums
// CHECK-NOT: scf.for
// CHECK: %[[P0:[a-z0-9_]+]] = arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9]+}} fastmath<contract> : f32
// CHECK: arith.addf %{{[a-z0-9_]+}}, %[[P0]] fastmath<contract> : f32
// CHECK: %[[P1:[a-z0-9_]+]] = arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9]+}} fastmath<contract> : f32
// CHECK: arith.addf %[[P1]], %{{[a-z0-9_]+}} fastmath<contract> : f32
func.func private @sums(%a: memref<1xf32>, %b: memref<1xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %b[%i] : memref<1xf32>
    %old = memref.load %a[%i] : memref<1xf32>
    %x = memref.load %b[%i] : memref<1xf32>
    %p = arith.mulf %x, %v : f32
    %t = arith.addf %old, %p : f32
    memref.store %t, %a[%i] : memref<1xf32>
    %q = arith.mulf %x, %v : f32
    %old2 = memref.load %b[%i] : memref<1xf32>
    %u = arith.addf %q, %old2 : f32
    memref.store %u, %b[%i] : memref<1xf32>
  } {relax.loop = "unroll"}
  return
}

// Another buffer, another element, a sum without a product, an argument in place of a load or of a product.
// CHECK-LABEL: func.func private @others
// CHECK-NOT: fastmath
// CHECK: return
func.func private @others(%a: memref<4xf32>, %b: memref<4xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %x = memref.load %b[%i] : memref<4xf32>
    %y = memref.load %a[%c2] : memref<4xf32>
    %z = memref.load %a[%i] : memref<4xf32>
    %p = arith.mulf %x, %v : f32
    %1 = arith.addf %x, %p : f32
    memref.store %1, %a[%i] : memref<4xf32>
    %2 = arith.addf %y, %p : f32
    memref.store %2, %a[%i] : memref<4xf32>
    %3 = arith.addf %z, %x : f32
    memref.store %3, %a[%i] : memref<4xf32>
    %4 = arith.addf %v, %p : f32
    memref.store %4, %a[%i] : memref<4xf32>
    %5 = arith.addf %z, %v : f32
    memref.store %5, %a[%i] : memref<4xf32>
    %s = arith.subf %x, %v : f32
    %6 = arith.addf %z, %s : f32
    memref.store %6, %a[%i] : memref<4xf32>
    %7 = arith.mulf %z, %p : f32
    memref.store %7, %a[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  return
}

// The first store is no sum: the second still is looked at.
// CHECK-LABEL: func.func private @second
// CHECK: arith.addf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} fastmath<contract> : f32
func.func private @second(%a: memref<4xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %a[%c1] : memref<4xf32>
    %old = memref.load %a[%i] : memref<4xf32>
    %p = arith.mulf %v, %v : f32
    %t = arith.addf %old, %p : f32
    memref.store %t, %a[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  return
}

// A begin or a step that is no constant, and a step of 0.
// CHECK-LABEL: func.func private @unknown
// CHECK-COUNT-3: relax.loop_note = "unroll: its length has no constant bound"
func.func private @unknown(%a: memref<4xf32>, %b: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %b, %c0 : memref<?xf32>
  scf.for %i = %n to %c4 step %c1 {
    memref.store %v, %a[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  scf.for %i = %c0 to %c4 step %n {
    memref.store %v, %a[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  scf.for %i = %c0 to %c4 step %c0 {
    memref.store %v, %a[%i] : memref<4xf32>
  } {relax.loop = "unroll"}
  return
}
