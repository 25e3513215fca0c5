// RUN: relax-opt %s --join-fused-indices | filecheck %s
// join_fused_indices.py

// The quotient and the remainder by the last dimension: element %f of the buffer as a row.
// CHECK-LABEL: func.func private @fused
// CHECK: %[[A:[a-z0-9_]+]] = memref.collapse_shape %{{[a-z0-9_]+}} {{\[\[}}0, 1]] : memref<?x?xf32> into memref<?xf32>
// CHECK: scf.for %[[F:[a-z0-9_]+]] =
// CHECK: memref.load %[[A]][%[[F]]]
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[A]][%[[F]]]
func.func private @fused(%a: memref<?x?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %end = arith.muli %n, %m : index
  scf.for %f = %c0 to %end step %c1 {
    %by = arith.maxsi %m, %c1 : index
    %q = arith.floordivsi %f, %by : index
    %none = arith.cmpi eq, %m, %c0 : index
    %i = arith.select %none, %c0, %q : index
    %p = arith.muli %q, %by : index
    %j = arith.subi %f, %p : index
    %x = memref.load %a[%i, %j] : memref<?x?xf32>
    memref.store %x, %a[%i, %j] : memref<?x?xf32>
  } {relax.loop = "vectorized"}
  return
}

// The last two of three dimensions, by a constant.
// CHECK-LABEL: func.func private @constant
// CHECK: %[[A:[a-z0-9_]+]] = memref.collapse_shape %{{[a-z0-9_]+}} {{\[\[}}0], [1, 2]] : memref<4x?x8xf32> into memref<4x?xf32>
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[A]][%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}]
func.func private @constant(%a: memref<4x?x8xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c1 : memref<4x?x8xf32>
  %end = arith.muli %n, %c8 : index
  scf.for %f = %c0 to %end step %c1 {
    %i = arith.floordivsi %f, %c8 : index
    %p = arith.muli %i, %c8 : index
    %j = arith.subi %f, %p : index
    memref.store %v, %a[%c0, %i, %j] : memref<4x?x8xf32>
  } {relax.loop = "vectorized"}
  return
}

// The dimension has another length, or the indices stand the other way round.
// CHECK-LABEL: func.func private @other
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @other(%a: memref<?x16xf32>, %b: memref<8x?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x16xf32>
  scf.for %f = %c0 to %n step %c1 {
    %i = arith.floordivsi %f, %c8 : index
    %p = arith.muli %i, %c8 : index
    %j = arith.subi %f, %p : index
    memref.store %v, %a[%i, %j] : memref<?x16xf32>
    memref.store %v, %b[%j, %i] : memref<8x?xf32>
  } {relax.loop = "vectorized"}
  return
}

// A buffer with a layout: its elements need not be side by side.
// CHECK-LABEL: func.func private @layout
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @layout(%a: memref<?x8xf32, strided<[16, 1]>>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x8xf32, strided<[16, 1]>>
  %end = arith.muli %n, %c8 : index
  scf.for %f = %c0 to %end step %c1 {
    %i = arith.floordivsi %f, %c8 : index
    %p = arith.muli %i, %c8 : index
    %j = arith.subi %f, %p : index
    memref.store %v, %a[%i, %j] : memref<?x8xf32, strided<[16, 1]>>
  } {relax.loop = "vectorized"}
  return
}

// Views are named where they are made: other ops than allocations may give a part of a buffer.
// CHECK-LABEL: func.func private @part
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @part(%b: i1, %a: memref<?x8xf32>, %c: memref<?x8xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x8xf32>
  %end = arith.muli %n, %c8 : index
  %either = arith.select %b, %a, %c : memref<?x8xf32>
  scf.for %f = %c0 to %end step %c1 {
    %i = arith.floordivsi %f, %c8 : index
    %p = arith.muli %i, %c8 : index
    %j = arith.subi %f, %p : index
    memref.store %v, %either[%i, %j] : memref<?x8xf32>
  } {relax.loop = "vectorized"}
  return
}
