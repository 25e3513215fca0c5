// RUN: relax-opt %s --vectorize-loops="target='cpu -mcpu=skylake-avx512'" --canonicalize --cse | filecheck %s
// vectorize_loops.py

// Twenty iterations: 16, then 4. What is the same for all is read once; a sum of products in place may be fused.
// CHECK-LABEL: func.func private @constant
// CHECK: %[[X:[a-z0-9_]+]] = memref.load
// CHECK: %[[S:[a-z0-9_]+]] = vector.broadcast %[[X]] : f32 to vector<16xf32>
// CHECK: arith.mulf %[[S]], %{{[a-z0-9_]+}} fastmath<contract> : vector<16xf32>
// CHECK: arith.addf {{.*}} fastmath<contract> : vector<16xf32>
// CHECK: vector.store {{.*}} : memref<20xf32>, vector<16xf32>
// CHECK: vector.store {{.*}} : memref<20xf32>, vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: return
func.func private @constant(%a: memref<?xf32>, %b: memref<20xf32>, %c: memref<20xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  scf.for %i = %c0 to %c20 step %c1 {
    %x = memref.load %a[%c0] : memref<?xf32>
    %y = memref.load %b[%i] : memref<20xf32>
    %z = memref.load %c[%i] : memref<20xf32>
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %z, %p : f32
    memref.store %s, %c[%i] : memref<20xf32>
  } {relax.loop = "vectorized"}
  return
}

// Any number: four vectors at a time, single ones, and a mask for what is left.
// CHECK-LABEL: func.func private @open
// CHECK: scf.for
// CHECK: vector.store {{.*}} vector<64xf32>
// CHECK: scf.for
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func private @open(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    memref.store %x, %b[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// No more than 32, of a buffer that is seen by nobody else: it is stored to as a whole, with what was there.
// CHECK-LABEL: func.func private @bounded
// CHECK: memref.alloc
// CHECK: scf.if
// CHECK: %[[OLD:[a-z0-9_]+]] = vector.load
// CHECK: %[[NEW:[a-z0-9_]+]] = arith.select %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[OLD]]
// CHECK: vector.store %[[NEW]]
// CHECK: vector.maskedstore
func.func private @bounded(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %end = arith.minsi %n, %c32 : index
  %own = memref.alloc() : memref<32xf32>
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %own[%i] : memref<32xf32>
  } {relax.loop = "vectorized"}
  scf.for %i = %c0 to %end step %c1 {
    %x = memref.load %own[%i] : memref<32xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// Elements of 16 bits have no cheap masks: the rest is done one by one.
// CHECK-LABEL: func.func private @short
// CHECK: vector<128xi16>
// CHECK: vector<32xi16>
// CHECK-NOT: vector.masked
// CHECK: scf.for
// CHECK: memref.store
// CHECK: return
func.func private @short(%a: memref<?xi16>, %v: i16) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xi16>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<?xi16>
  } {relax.loop = "vectorized"}
  return
}

// A condition that differs is a mask; what is read under it is read where it holds.
// CHECK-LABEL: func.func private @condition
// CHECK: %[[X:[a-z0-9_]+]] = vector.load
// CHECK: %[[M:[a-z0-9_]+]] = arith.cmpf ogt, %[[X]]
// CHECK: vector.maskedload %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %[[M]]
// CHECK: %[[ANY:[a-z0-9_]+]] = vector.reduction <or>, %[[M]]
// CHECK: scf.if %[[ANY]]
// CHECK: vector.maskedstore %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %[[M]]
func.func private @condition(%a: memref<16xf32>, %b: memref<16xf32>, %s: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c16 step %c1 {
    %x = memref.load %a[%i] : memref<16xf32>
    %m = arith.cmpf ogt, %x, %zero : f32
    scf.if %m {
      %y = memref.load %b[%i] : memref<16xf32>
      %z = memref.load %s[%c0] : memref<?xf32>
      %t = arith.addf %y, %z : f32
      memref.store %t, %b[%i] : memref<16xf32>
    }
  } {relax.loop = "vectorized"}
  return
}

// An inner loop stays one, on vectors; elements that are not side by side are read one by one.
// CHECK-LABEL: func.func private @columns
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK: vector.from_elements
// CHECK: vector.store {{.*}} vector<4xf32>
// CHECK: return
func.func private @columns(%a: memref<4x?xf32>, %b: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %a, %c1 : memref<4x?xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      %x = memref.load %a[%i, %j] : memref<4x?xf32>
      %y = memref.load %b[%i] : memref<4xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %b[%i] : memref<4xf32>
    }
  } {relax.loop = "vectorized"}
  return
}

// A buffer of each iteration has a lane of its own; booleans are bytes.
// CHECK-LABEL: func.func private @own
// CHECK: memref.alloc() : memref<1x16xi32>
// CHECK: arith.extui %{{[a-z0-9_]+}} : vector<16xi1> to vector<16xi8>
// CHECK: vector.store {{.*}} : memref<16xi8>, vector<16xi8>
func.func private @own(%a: memref<16xi32>, %b: memref<16xi1>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %own = memref.alloc() : memref<1xi32>
    %x = memref.load %a[%i] : memref<16xi32>
    memref.store %x, %own[%c0] : memref<1xi32>
    %y = memref.load %own[%c0] : memref<1xi32>
    %m = arith.cmpi sgt, %x, %y : i32
    memref.store %m, %b[%i] : memref<16xi1>
  } {relax.loop = "vectorized"}
  return
}

// Loops for threads are marked as independent where they are, before the loops in them change.
// CHECK-LABEL: func.func private @rows
// CHECK: vector.store
// CHECK: } {relax.independent, relax.loop = "parallel"}
// CHECK-LABEL: func.func private @one_row
// CHECK: vector.store
// CHECK: } {relax.loop = "parallel"}
func.func private @rows(%a: memref<?x16xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %a, %c0 : memref<?x16xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      memref.store %v, %a[%i, %j] : memref<?x16xf32>
    } {relax.loop = "vectorized"}
  } {relax.loop = "parallel"}
  return
}
func.func private @one_row(%a: memref<?x16xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %a, %c0 : memref<?x16xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      memref.store %v, %a[%c0, %j] : memref<?x16xf32>
    } {relax.loop = "vectorized"}
  } {relax.loop = "parallel"}
  return
}
