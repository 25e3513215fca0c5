// RUN: relax-opt %s --expand-bools | filecheck %s

// CHECK-LABEL: func.func @element(
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: memref<?xi1, strided<[?], offset: ?>>, %[[I:[a-z0-9]+]]: index
// CHECK: %[[BYTES:[0-9]+]] = builtin.unrealized_conversion_cast %[[MASK]] :
// CHECK-SAME: to memref<?xi8, strided<[?], offset: ?>>
// CHECK-NEXT: %[[BYTE:[0-9]+]] = memref.load %[[BYTES]][%[[I]]]
// CHECK-NEXT: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i8
// CHECK-NEXT: %[[TRUE:[0-9]+]] = arith.cmpi ne, %[[BYTE]], %[[ZERO]] : i8
// CHECK-NEXT: return %[[TRUE]] :
func.func @element(%mask: memref<?xi1, strided<[?], offset: ?>>, %i: index) -> i1 {
  %0 = memref.load %mask[%i] : memref<?xi1, strided<[?], offset: ?>>
  return %0 : i1
}

// Other elements are read as they are.
// CHECK-LABEL: func.func @other(
// CHECK-NEXT: memref.load
// CHECK-NEXT: return
func.func @other(%x: memref<?xi8>, %i: index) -> i8 {
  %0 = memref.load %x[%i] : memref<?xi8>
  return %0 : i8
}

// Integers of other widths, floats, and functions that modules share, which have no booleans.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: memref.load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xi32>
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: memref.load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xf32>
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: memref.load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xindex>
// CHECK-LABEL: func.func private @shared(
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: memref.load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xi1>
func.func @kept(%x: memref<?xi32>, %y: memref<?xf32>, %z: memref<?xindex>, %i: index) -> (i32, f32, index) {
  %0 = memref.load %x[%i] : memref<?xi32>
  %1 = memref.load %y[%i] : memref<?xf32>
  %2 = memref.load %z[%i] : memref<?xindex>
  return %0, %1, %2 : i32, f32, index
}
func.func private @shared(%mask: memref<?xi1>, %i: index) -> i1 attributes {relax.support} {
  %0 = memref.load %mask[%i] : memref<?xi1>
  return %0 : i1
}
