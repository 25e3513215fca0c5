// RUN: relax-opt %s --join-fused-indices --split-input-file | filecheck %s
// unroll_loops.py

// The quotient and the remainder by the last dimension: element %f of the buffer as a row.
// CHECK-LABEL: func.func private @fused
// CHECK: %[[A:[a-z0-9_]+]] = memref.collapse_shape %{{[a-z0-9_]+}} {{\[\[}}0, 1]] : memref<?x?xf32> into memref<?xf32>
// CHECK: scf.for %[[F:[a-z0-9_]+]] =
// CHECK: memref.load %[[A]][%[[F]]]
// CHECK-NEXT: memref.store %{{[a-z0-9_]+}}, %[[A]][%[[F]]]
// CHECK-NEXT: }
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
// -----
// Without quotients a function is not touched, not even what it computes twice.
// CHECK-LABEL: func.func private @plain
// CHECK-NEXT: arith.constant 1
// CHECK-NEXT: arith.constant 1
func.func private @plain(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c1 = arith.constant 1 : index
  %begin = arith.constant 1 : index
  scf.for %f = %begin to %n step %c1 {
    memref.store %v, %a[%f] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// A value that is computed twice is one.
// CHECK-LABEL: func.func private @twice
// CHECK: %[[A:[a-z0-9_]+]] = memref.collapse_shape
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[A]][
func.func private @twice(%a: memref<?x8xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i0 = %c0 to %n step %c1 {
    %f = arith.addi %i0, %n : index
    %same = arith.addi %i0, %n : index
    %i = arith.floordivsi %f, %c8 : index
    %q = arith.floordivsi %same, %c8 : index
    %p = arith.muli %q, %c8 : index
    %j = arith.subi %same, %p : index
    memref.store %v, %a[%i, %j] : memref<?x8xf32>
  } {relax.loop = "vectorized"}
  return
}

// The first two of three dimensions, of an allocation: the view comes after it.
// CHECK-LABEL: func.func private @first_two
// CHECK: %[[B:[a-z0-9_]+]] = memref.alloc
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = memref.collapse_shape %[[B]] {{\[\[}}0, 1], [2]] : memref<?x8x4xf32> into memref<?x4xf32>
// CHECK: scf.for %[[F:[a-z0-9_]+]] =
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[A]][%[[F]], %k]
func.func private @first_two(%n: index, %k: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %b = memref.alloc(%n) : memref<?x8x4xf32>
  scf.for %f = %c0 to %n step %c1 {
    %i = arith.floordivsi %f, %c8 : index
    %p = arith.muli %i, %c8 : index
    %j = arith.subi %f, %p : index
    memref.store %v, %b[%i, %j, %k] : memref<?x8x4xf32>
  } {relax.loop = "vectorized"}
  return
}

// Three digits of one value: all dimensions become one.
// CHECK-LABEL: func.func private @three
// CHECK: %[[A:[a-z0-9_]+]] = memref.collapse_shape %a {{\[\[}}0, 1, 2]] : memref<?x4x8xf32> into memref<?xf32>
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[A]][%f]
// The size of a dimension between them is not known.
// CHECK-LABEL: func.func private @three_unknown
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @three(%a: memref<?x4x8xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %f = %c0 to %n step %c1 {
    %q = arith.floordivsi %f, %c8 : index
    %p = arith.muli %q, %c8 : index
    %k = arith.subi %f, %p : index
    %i = arith.floordivsi %q, %c4 : index
    %r = arith.muli %i, %c4 : index
    %j = arith.subi %q, %r : index
    memref.store %v, %a[%i, %j, %k] : memref<?x4x8xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @three_unknown(%sizes: memref<index>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %size = memref.load %sizes[] : memref<index>
  %a = memref.alloc(%n, %size) : memref<?x?x8xf32>
  scf.for %f = %c0 to %n step %c1 {
    %q = arith.floordivsi %f, %c8 : index
    %p = arith.muli %q, %c8 : index
    %k = arith.subi %f, %p : index
    %i = arith.floordivsi %q, %c4 : index
    %r = arith.muli %i, %c4 : index
    %j = arith.subi %q, %r : index
    memref.store %v, %a[%i, %j, %k] : memref<?x?x8xf32>
  } {relax.loop = "vectorized"}
  return
}

// The last digit is not the one of the units, the first is of another value, the last dimension or the divisor is not
// known: nothing is joined.
// CHECK-LABEL: func.func private @not_joined
// CHECK-NOT: memref.collapse_shape
// CHECK: return
func.func private @not_joined(%a: memref<?x4xf32>, %b: memref<?x8xf32>, %sizes: memref<index>, %n: index, %other: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %size = memref.load %sizes[] : memref<index>
  %c = memref.alloc(%n, %size) : memref<?x?xf32>
  scf.for %f = %c0 to %n step %c1 {
    %half = arith.floordivsi %f, %c2 : index
    %i = arith.floordivsi %half, %c4 : index
    %p = arith.muli %i, %c4 : index
    %j = arith.subi %half, %p : index
    memref.store %v, %a[%i, %j] : memref<?x4xf32>
    %q = arith.floordivsi %f, %c8 : index
    %r = arith.muli %q, %c8 : index
    %k = arith.subi %f, %r : index
    memref.store %v, %b[%other, %k] : memref<?x8xf32>
    memref.store %v, %c[%q, %k] : memref<?x?xf32>
    %u = arith.floordivsi %f, %size : index
    memref.store %v, %c[%u, %u] : memref<?x?xf32>
  } {relax.loop = "vectorized"}
  return
}
