// RUN: relax-opt %s --vectorize-loops="target='cpu -mcpu=skylake-avx512'" --canonicalize --cse | filecheck %s
// vectorize_loops.py

// Every second element of 16: two vectors, the second of which ends with the last of them.
// CHECK-LABEL: func.func private @second
// CHECK: %[[BEHIND:[a-z0-9_]+]] = arith.constant 15 : index
// CHECK: %[[A:[a-z0-9_]+]] = vector.load %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<32xf32>, vector<16xf32>
// CHECK: %[[B:[a-z0-9_]+]] = vector.load %{{[a-z0-9_]+}}[%[[BEHIND]]] : memref<32xf32>, vector<16xf32>
// CHECK: vector.shuffle %[[A]], %[[B]] [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31] : vector<16xf32>, vector<16xf32>
// CHECK-NEXT: vector.store
// CHECK-NOT: memref.load
// CHECK: return
func.func private @second(%a: memref<32xf32>, %b: memref<16xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %j = arith.muli %i, %c2 : index
    %x = memref.load %a[%j] : memref<32xf32>
    memref.store %x, %b[%i] : memref<16xf32>
  } {relax.loop = "vectorized"}
  return
}

// Some of 16: masks of what lies between the first and the last one.
// CHECK-LABEL: func.func private @some
// CHECK: arith.addi %{{[a-z0-9_]+}}, %c-2
// CHECK: vector.maskedload
// CHECK: arith.addi %{{[a-z0-9_]+}}, %c-17
// CHECK: vector.maskedload
// CHECK: arith.addi %{{[a-z0-9_]+}}, %c-32
// CHECK: vector.maskedload
// CHECK-NOT: vector.maskedload
// CHECK: vector.shuffle
// CHECK-NEXT: vector.shuffle
// CHECK-NEXT: vector.maskedstore
// CHECK: return
func.func private @some(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %m = arith.minsi %n, %c16 : index
  scf.for %i = %c0 to %m step %c1 {
    %j = arith.muli %i, %c3 : index
    %x = memref.load %a[%j] : memref<?xf32>
    memref.store %x, %b[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// Every fifth one: one by one, as are stores that are not side by side.
// CHECK-LABEL: func.func private @far
// CHECK-NOT: vector.load
// CHECK-COUNT-16: memref.load
// CHECK: vector.from_elements
// CHECK-LABEL: func.func private @apart
// CHECK: vector.load
// CHECK-COUNT-16: memref.store
func.func private @far(%a: memref<80xf32>, %b: memref<16xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %j = arith.muli %i, %c5 : index
    %x = memref.load %a[%j] : memref<80xf32>
    memref.store %x, %b[%i] : memref<16xf32>
  } {relax.loop = "vectorized"}
  return
}

func.func private @apart(%a: memref<16xf32>, %b: memref<32xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %j = arith.muli %i, %c2 : index
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %b[%j] : memref<32xf32>
  } {relax.loop = "vectorized"}
  return
}
