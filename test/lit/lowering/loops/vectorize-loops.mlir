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
// CHECK: %[[NEW:[a-z0-9_]+]] = arith.select %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[OLD]] :
// CHECK: vector.store %[[NEW]],
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
// CHECK: %[[M:[a-z0-9_]+]] = arith.cmpf ogt, %[[X]],
// CHECK: vector.maskedload %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %[[M]],
// CHECK: %[[ANY:[a-z0-9_]+]] = vector.reduction <or>, %[[M]] :
// CHECK: scf.if %[[ANY]] ->
// CHECK: vector.maskedstore %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}], %[[M]],
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

// Indices that grow by a constant stay scalar until their lanes are needed, also those that fall.
// CHECK-LABEL: func.func private @steps(
// CHECK-NEXT: %w = arith.constant dense<2> : vector<4xindex>
// CHECK-NEXT: %less = arith.constant -5 : index
// CHECK-NEXT: %x = arith.constant 6 : index
// CHECK-NEXT: %x_0 = arith.constant 7 : index
// CHECK-NEXT: %x_1 = arith.constant 8 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c9 = arith.constant 9 : index
// CHECK-NEXT: %x_2 = memref.load %a[%c9]
// CHECK-NEXT: %x_3 = memref.load %a[%x_1]
// CHECK-NEXT: %x_4 = memref.load %a[%x_0]
// CHECK-NEXT: %x_5 = memref.load %a[%x]
// CHECK-NEXT: %x_6 = vector.from_elements %x_2, %x_3, %x_4, %x_5 : vector<4xf32>
// CHECK-NEXT: vector.store %x_6, %b[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: %less_7 = arith.addi %n, %less
// CHECK-NEXT: %v = vector.broadcast %less_7 : index to vector<4xindex>
// CHECK-NEXT: %v_8 = vector.step : vector<4xindex>
// CHECK-NEXT: %v_9 = arith.addi %v, %v_8
// CHECK-NEXT: %v_10 = arith.index_cast %v_9
// CHECK-NEXT: vector.store %v_10, %c[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: %w_11 = vector.broadcast %n : index to vector<4xindex>
// CHECK-NEXT: %w_12 = arith.muli %v_8, %w
// CHECK-NEXT: %w_13 = arith.addi %w_11, %w_12
// CHECK-NEXT: %w_14 = arith.index_cast %w_13
// CHECK-NEXT: vector.store %w_14, %c[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: return
func.func private @steps(%a: memref<16xf32>, %b: memref<4xf32>, %c: memref<4xi32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %down = arith.subi %c9, %i : index
    %x = memref.load %a[%down] : memref<16xf32>
    memref.store %x, %b[%i] : memref<4xf32>
    %double = arith.muli %c2, %i : index
    %sum = arith.addi %double, %n : index
    %back = arith.subi %sum, %i : index
    %less = arith.subi %back, %c5 : index
    %v = arith.index_cast %less : index to i32
    memref.store %v, %c[%i] : memref<4xi32>
    %w = arith.index_cast %sum : index to i32
    memref.store %w, %c[%i] : memref<4xi32>
  } {relax.loop = "vectorized"}
  return
}

// Products with what is no constant are vectors.
// CHECK-LABEL: func.func private @products(
// CHECK-NEXT: %q = arith.constant dense<5> : vector<4xindex>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %p = vector.step : vector<4xindex>
// CHECK-NEXT: %p_0 = vector.broadcast %n : index to vector<4xindex>
// CHECK-NEXT: %p_1 = arith.muli %p, %p_0
// CHECK-NEXT: %q_2 = arith.muli %p_1, %q
// CHECK-NEXT: %r = arith.addi %q_2, %p
// CHECK-NEXT: %v = arith.index_cast %r
// CHECK-NEXT: vector.store %v, %a[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: return
func.func private @products(%a: memref<4xi32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %p = arith.muli %i, %n : index
    %q = arith.muli %p, %c5 : index
    %r = arith.addi %q, %i : index
    %v = arith.index_cast %r : index to i32
    memref.store %v, %a[%i] : memref<4xi32>
  } {relax.loop = "vectorized"}
  return
}

// Booleans are bytes in memory; one that all lanes share is read as it is.
// CHECK-LABEL: func.func private @booleans(
// CHECK-NEXT: %cst = arith.constant dense<0> : vector<4xi8>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %own = memref.alloc() : memref<2x4xi8>
// CHECK-NEXT: %x = builtin.unrealized_conversion_cast %a
// CHECK-NEXT: %x_0 = vector.load %x[%c0] : memref<4xi8>, vector<4xi8>
// CHECK-NEXT: %x_1 = arith.cmpi ne, %x_0, %cst
// CHECK-NEXT: %y = memref.load %b[%c0]
// CHECK-NEXT: %z = vector.broadcast %y : i1 to vector<4xi1>
// CHECK-NEXT: %z_2 = arith.andi %x_1, %z
// CHECK-NEXT: %0 = arith.extui %z_2
// CHECK-NEXT: vector.store %0, %own[%c1, %c0] : memref<2x4xi8>, vector<4xi8>
// CHECK-NEXT: %w = vector.load %own[%c1, %c0] : memref<2x4xi8>, vector<4xi8>
// CHECK-NEXT: %w_3 = arith.cmpi ne, %w, %cst
// CHECK-NEXT: %1 = builtin.unrealized_conversion_cast %c
// CHECK-NEXT: %2 = arith.extui %w_3
// CHECK-NEXT: vector.store %2, %1[%c0] : memref<4xi8>, vector<4xi8>
// CHECK-NEXT: return
func.func private @booleans(%a: memref<4xi1>, %b: memref<1xi1>, %c: memref<4xi1>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %own = memref.alloc() : memref<2xi1>
    %x = memref.load %a[%i] : memref<4xi1>
    %y = memref.load %b[%c0] : memref<1xi1>
    %z = arith.andi %x, %y : i1
    memref.store %z, %own[%c1] : memref<2xi1>
    %w = memref.load %own[%c1] : memref<2xi1>
    memref.store %w, %c[%i] : memref<4xi1>
  } {relax.loop = "vectorized"}
  return
}

// A condition that all lanes share stays a branch, which gives vectors and scalars.
// CHECK-LABEL: func.func private @shared_condition(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: %0 = scf.if %m -> (vector<4xf32>) {
// CHECK-NEXT: %s = arith.addf %v, %v
// CHECK-NEXT: %r = vector.broadcast %s : f32 to vector<4xf32>
// CHECK-NEXT: vector.store %x, %b[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: scf.yield %r : vector<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %r = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: scf.yield %r : vector<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %u = arith.mulf %0, %0
// CHECK-NEXT: vector.store %u, %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: return
func.func private @shared_condition(%a: memref<4xf32>, %b: memref<4xf32>, %m: i1, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i] : memref<4xf32>
    %r:2 = scf.if %m -> (f32, f32) {
      %s = arith.addf %v, %v : f32
      scf.yield %x, %s : f32, f32
    } else {
      %t = arith.mulf %x, %v : f32
      scf.yield %t, %v : f32, f32
    }
    scf.if %m {
      memref.store %r#0, %b[%i] : memref<4xf32>
    }
    %u = arith.mulf %r#1, %r#1 : f32
    memref.store %u, %a[%i] : memref<4xf32>
  } {relax.loop = "vectorized"}
  return
}

// Under a condition of each lane both branches run, under masks; what they give is selected. Divisors are 1 in lanes that
// do not take part.
// CHECK-LABEL: func.func private @masks(
// CHECK-NEXT: %small = arith.constant dense<0> : vector<4xi32>
// CHECK-NEXT: %o = arith.constant 1 : i32
// CHECK-NEXT: %q = arith.constant dense<1> : vector<4xi32>
// CHECK-NEXT: %cst = arith.constant dense<true> : vector<4xi1>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: %m = vector.broadcast %n : i32 to vector<4xi32>
// CHECK-NEXT: %m_0 = arith.cmpi sgt, %x, %m
// CHECK-NEXT: %r = arith.xori %m_0, %cst
// CHECK-NEXT: %q_1 = arith.select %m_0, %x, %q
// CHECK-NEXT: %q_2 = arith.divsi %m, %q_1
// CHECK-NEXT: %o_3 = vector.reduction <or>, %m_0
// CHECK-NEXT: %o_4 = arith.select %o_3, %n, %o
// CHECK-NEXT: %o_5 = arith.divsi %n, %o_4
// CHECK-NEXT: %p = vector.broadcast %o_5 : i32 to vector<4xi32>
// CHECK-NEXT: %p_6 = arith.addi %q_2, %p
// CHECK-NEXT: %small_7 = arith.cmpi slt, %x, %small
// CHECK-NEXT: %0 = arith.andi %r, %small_7
// CHECK-NEXT: vector.maskedstore %b[%c0], %0, %m : memref<4xi32>, vector<4xi1>, vector<4xi32>
// CHECK-NEXT: %r_8 = arith.select %m_0, %p_6, %x
// CHECK-NEXT: %d = arith.divsi %r_8, %x
// CHECK-NEXT: vector.store %d, %a[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: return
func.func private @masks(%a: memref<4xi32>, %b: memref<4xi32>, %n: i32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %q0 = arith.constant 0 : i32
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i] : memref<4xi32>
    %m = arith.cmpi sgt, %x, %n : i32
    %r = scf.if %m -> i32 {
      %q = arith.divsi %n, %x : i32
      %o = arith.divsi %n, %n : i32
      %p = arith.addi %q, %o : i32
      scf.yield %p : i32
    } else {
      %small = arith.cmpi slt, %x, %q0 : i32
      scf.if %small {
        memref.store %n, %b[%i] : memref<4xi32>
      }
      scf.yield %x : i32
    }
    %d = arith.divsi %r, %x : i32
    memref.store %d, %a[%i] : memref<4xi32>
  } {relax.loop = "vectorized"}
  return
}

// Elements far apart are read and written one by one, under a mask each if there is one; so is one that all share.
// CHECK-LABEL: func.func private @apart_masked(
// CHECK-NEXT: %cst = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c5 = arith.constant 5 : index
// CHECK-NEXT: %x = vector.load %f[%c0] : memref<2xf32>, vector<2xf32>
// CHECK-NEXT: %m = vector.broadcast %v : f32 to vector<2xf32>
// CHECK-NEXT: %m_0 = arith.cmpf ogt, %x, %m
// CHECK-NEXT: %y = vector.extract %m_0[0]
// CHECK-NEXT: %y_1 = scf.if %y -> (f32) {
// CHECK-NEXT: %y_9 = memref.load %a[%c0]
// CHECK-NEXT: scf.yield %y_9 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst : f32
// CHECK-NEXT: }
// CHECK-NEXT: %y_2 = vector.extract %m_0[1]
// CHECK-NEXT: %y_3 = scf.if %y_2 -> (f32) {
// CHECK-NEXT: %y_9 = memref.load %a[%c5]
// CHECK-NEXT: scf.yield %y_9 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst : f32
// CHECK-NEXT: }
// CHECK-NEXT: %y_4 = vector.from_elements %y_1, %y_3 : vector<2xf32>
// CHECK-NEXT: %z = vector.reduction <or>, %m_0
// CHECK-NEXT: %z_5 = scf.if %z -> (f32) {
// CHECK-NEXT: %z_9 = memref.load %s[%c0]
// CHECK-NEXT: scf.yield %z_9 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst : f32
// CHECK-NEXT: }
// CHECK-NEXT: %t = vector.broadcast %z_5 : f32 to vector<2xf32>
// CHECK-NEXT: %t_6 = arith.addf %y_4, %t
// CHECK-NEXT: scf.if %y {
// CHECK-NEXT: %0 = vector.extract %t_6[0]
// CHECK-NEXT: memref.store %0, %b[%c0]
// CHECK-NEXT: }
// CHECK-NEXT: scf.if %y_2 {
// CHECK-NEXT: %0 = vector.extract %t_6[1]
// CHECK-NEXT: memref.store %0, %b[%c5]
// CHECK-NEXT: }
// CHECK-NEXT: %u = scf.if %y -> (f32) {
// CHECK-NEXT: %u_9 = memref.load %a[%c0]
// CHECK-NEXT: scf.yield %u_9 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst : f32
// CHECK-NEXT: }
// CHECK-NEXT: %u_7 = scf.if %y_2 -> (f32) {
// CHECK-NEXT: %u_9 = memref.load %a[%c2]
// CHECK-NEXT: scf.yield %u_9 : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %cst : f32
// CHECK-NEXT: }
// CHECK-NEXT: %u_8 = vector.from_elements %u, %u_7 : vector<2xf32>
// CHECK-NEXT: vector.maskedstore %f[%c0], %m_0, %u_8 : memref<2xf32>, vector<2xi1>, vector<2xf32>
// CHECK-NEXT: return
func.func private @apart_masked(%a: memref<20xf32>, %b: memref<20xf32>, %s: memref<1xf32>, %f: memref<2xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %x = memref.load %f[%i] : memref<2xf32>
    %m = arith.cmpf ogt, %x, %v : f32
    scf.if %m {
      %at = arith.muli %i, %c5 : index
      %y = memref.load %a[%at] : memref<20xf32>
      %z = memref.load %s[%c0] : memref<1xf32>
      %t = arith.addf %y, %z : f32
      memref.store %t, %b[%at] : memref<20xf32>
      %twice = arith.muli %i, %c2 : index
      %u = memref.load %a[%twice] : memref<20xf32>
      memref.store %u, %f[%i] : memref<2xf32>
    }
  } {relax.loop = "vectorized"}
  return
}

// Sums of inner loops are vectors, counters are not.
// CHECK-LABEL: func.func private @carried(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %r = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: %r_0 = vector.broadcast %w : i32 to vector<4xi32>
// CHECK-NEXT: %r_1:2 = scf.for %r_2 = %c0 to %n step %c1 iter_args(%r_3 = %r, %r_4 = %r_0) -> (vector<4xf32>, vector<4xi32>) {
// CHECK-NEXT: %x = vector.load %a[%r_2, %c0] : memref<?x4xf32>, vector<4xf32>
// CHECK-NEXT: %t = arith.addf %r_3, %x
// CHECK-NEXT: %l = arith.addi %r_4, %r_0
// CHECK-NEXT: scf.yield %t, %l : vector<4xf32>, vector<4xi32>
// CHECK-NEXT: } {relax.note}
// CHECK-NEXT: vector.store %r_1#0, %b[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: vector.store %r_1#1, %c[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: return
func.func private @carried(%a: memref<?x4xf32>, %b: memref<4xf32>, %c: memref<4xi32>, %v: f32, %w: i32, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %v, %k = %w) -> (f32, i32) {
      %x = memref.load %a[%j, %i] : memref<?x4xf32>
      %t = arith.addf %s, %x : f32
      %l = arith.addi %k, %w : i32
      scf.yield %t, %l : f32, i32
    } {relax.note}
    memref.store %r#0, %b[%i] : memref<4xf32>
    memref.store %r#1, %c[%i] : memref<4xi32>
  } {relax.loop = "vectorized"}
  return
}

// Each lane has its part of a buffer: elements at an index of the lane are read and written one by one.
// CHECK-LABEL: func.func private @own_elements(
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %c2 = arith.constant 2 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %own = memref.alloc() : memref<4x4xf32>
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: %0 = vector.extract %x[0]
// CHECK-NEXT: memref.store %0, %own[%c0, %c0]
// CHECK-NEXT: %1 = vector.extract %x[1]
// CHECK-NEXT: memref.store %1, %own[%c1, %c1]
// CHECK-NEXT: %2 = vector.extract %x[2]
// CHECK-NEXT: memref.store %2, %own[%c2, %c2]
// CHECK-NEXT: %3 = vector.extract %x[3]
// CHECK-NEXT: memref.store %3, %own[%c3, %c3]
// CHECK-NEXT: %y = memref.load %own[%c0, %c0]
// CHECK-NEXT: %y_0 = memref.load %own[%c1, %c1]
// CHECK-NEXT: %y_1 = memref.load %own[%c2, %c2]
// CHECK-NEXT: %y_2 = memref.load %own[%c3, %c3]
// CHECK-NEXT: %y_3 = vector.from_elements %y, %y_0, %y_1, %y_2 : vector<4xf32>
// CHECK-NEXT: %z = vector.load %own[%n, %c0] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT: %s = arith.addf %y_3, %z
// CHECK-NEXT: vector.store %s, %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: return
func.func private @own_elements(%a: memref<4xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %own = memref.alloc() : memref<4xf32>
    %x = memref.load %a[%i] : memref<4xf32>
    memref.store %x, %own[%i] : memref<4xf32>
    %y = memref.load %own[%i] : memref<4xf32>
    %z = memref.load %own[%n] : memref<4xf32>
    %s = arith.addf %y, %z : f32
    memref.store %s, %a[%i] : memref<4xf32>
  } {relax.loop = "vectorized"}
  return
}

// Seven iterations are eight lanes under a mask; five are four and one.
// CHECK-LABEL: func.func private @seven(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %cst = arith.constant dense<[true, true, true, true, true, true, true, false]> : vector<8xi1>
// CHECK-NEXT: %0 = vector.broadcast %v : f32 to vector<8xf32>
// CHECK-NEXT: vector.maskedstore %a[%c0], %cst, %0 : memref<7xf32>, vector<8xi1>, vector<8xf32>
// CHECK-NEXT: return
func.func private @seven(%a: memref<7xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {
    memref.store %v, %a[%i] : memref<7xf32>
  } {relax.loop = "vectorized"}
  return
}

// CHECK-LABEL: func.func private @five(
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %0 = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: vector.store %0, %a[%c4] : memref<16xf32>, vector<4xf32>
// CHECK-NEXT: memref.store %v, %a[%c8]
// CHECK-NEXT: return
func.func private @five(%a: memref<16xf32>, %v: f32) attributes {relax.prim_func} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  scf.for %i = %c4 to %c9 step %c1 {
    memref.store %v, %a[%i] : memref<16xf32>
  } {relax.loop = "vectorized"}
  return
}

// Up to twenty lanes are one vector under a mask, which has one lane at least.
// CHECK-LABEL: func.func private @one_at_least(
// CHECK-NEXT: %cst = arith.constant dense<[0, 1, 2, {{.*}}]> : vector<32xi32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c20 = arith.constant 20 : index
// CHECK-NEXT: %least = arith.maxsi %n, %c1
// CHECK-NEXT: %end = arith.minsi %least, %c20
// CHECK-NEXT: %0 = arith.index_cast %end
// CHECK-NEXT: %1 = vector.broadcast %0 : i32 to vector<32xi32>
// CHECK-NEXT: %2 = arith.cmpi sgt, %1, %cst
// CHECK-NEXT: %3 = vector.broadcast %v : f32 to vector<32xf32>
// CHECK-NEXT: vector.maskedstore %a[%c0], %2, %3 : memref<20xf32>, vector<32xi1>, vector<32xf32>
// CHECK-NEXT: return
func.func private @one_at_least(%a: memref<20xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %least = arith.maxsi %n, %c1 : index
  %end = arith.minsi %least, %c20 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<20xf32>
  } {relax.loop = "vectorized"}
  return
}

// Without masks, no more lanes than iterations.
// CHECK-LABEL: func.func private @ten_at_most(
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c3 = arith.constant 3 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c10 = arith.constant 10 : index
// CHECK-NEXT: %end = arith.minsi %n, %c10
// CHECK-NEXT: %0 = arith.subi %end, %c3
// CHECK-NEXT: %1 = arith.maxsi %0, %c0
// CHECK-NEXT: %2 = arith.divui %1, %c4
// CHECK-NEXT: %3 = arith.muli %2, %c4
// CHECK-NEXT: %4 = arith.addi %3, %c3
// CHECK-NEXT: scf.for %arg3 = %c3 to %4 step %c4 {
// CHECK-NEXT: %5 = vector.broadcast %v : i16 to vector<4xi16>
// CHECK-NEXT: vector.store %5, %a[%arg3] : memref<?xi16>, vector<4xi16>
// CHECK-NEXT: } {loop_annotation = #loop_annotation}
// CHECK-NEXT: scf.for %arg3 = %4 to %end step %c1 {
// CHECK-NEXT: memref.store %v, %a[%arg3]
// CHECK-NEXT: } {loop_annotation = #loop_annotation}
// CHECK-NEXT: return
func.func private @ten_at_most(%a: memref<?xi16>, %n: index, %v: i16) attributes {relax.prim_func} {
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %end = arith.minsi %n, %c10 : index
  scf.for %i = %c3 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xi16>
  } {relax.loop = "vectorized"}
  return
}

// Elements of a buffer of its own within its bounds are written without a mask, and what was there stays.
// CHECK-LABEL: func.func private @within(
// CHECK-NEXT: %cst = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-NEXT: %cst_0 = arith.constant dense<[0, 1, 2, {{.*}}]> : vector<16xi32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c12 = arith.constant 12 : index
// CHECK-NEXT: %end = arith.minsi %n, %c12
// CHECK-NEXT: %few = memref.alloc() : memref<15xf32>
// CHECK-NEXT: %many = memref.alloc() : memref<16xf32>
// CHECK-NEXT: %0 = arith.cmpi sgt, %end, %c0
// CHECK-NEXT: scf.if %0 {
// CHECK-NEXT: %1 = arith.index_cast %end
// CHECK-NEXT: %2 = vector.broadcast %1 : i32 to vector<16xi32>
// CHECK-NEXT: %3 = arith.cmpi sgt, %2, %cst_0
// CHECK-NEXT: %4 = vector.broadcast %v : f32 to vector<16xf32>
// CHECK-NEXT: vector.maskedstore %few[%c0], %3, %4 : memref<15xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NEXT: %x = vector.maskedload %few[%c0], %3, %cst : memref<15xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK-NEXT: %5 = vector.load %many[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: %6 = arith.select %3, %x, %5
// CHECK-NEXT: vector.store %6, %many[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: %y = vector.load %many[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: vector.maskedstore %a[%c0], %3, %y : memref<?xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @within(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %end = arith.minsi %n, %c12 : index
  %few = memref.alloc() : memref<15xf32>
  %many = memref.alloc() : memref<16xf32>
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %few[%i] : memref<15xf32>
    %x = memref.load %few[%i] : memref<15xf32>
    memref.store %x, %many[%i] : memref<16xf32>
    %y = memref.load %many[%i] : memref<16xf32>
    memref.store %y, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// What a condition of each lane chooses is a vector, though both values are shared.
// CHECK-LABEL: func.func private @chosen(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: %m = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: %m_0 = arith.cmpf ogt, %x, %m
// CHECK-NEXT: %e = math.exp %w
// CHECK-NEXT: %r = vector.broadcast %e : f32 to vector<4xf32>
// CHECK-NEXT: %r_1 = arith.select %m_0, %r, %m
// CHECK-NEXT: vector.store %r_1, %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: return
func.func private @chosen(%a: memref<4xf32>, %v: f32, %w: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %a[%i] : memref<4xf32>
    %m = arith.cmpf ogt, %x, %v : f32
    %r = scf.if %m -> f32 {
      %e = math.exp %w : f32
      scf.yield %e : f32
    } else {
      scf.yield %v : f32
    }
    memref.store %r, %a[%i] : memref<4xf32>
  } {relax.loop = "vectorized"}
  return
}

// A difference to what is no constant. Booleans of a lane's buffer, seen as bytes, are these bytes.
// CHECK-LABEL: func.func private @less(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %d = arith.subi %c0, %n
// CHECK-NEXT: %v = vector.broadcast %d : index to vector<4xindex>
// CHECK-NEXT: %v_0 = vector.step : vector<4xindex>
// CHECK-NEXT: %v_1 = arith.addi %v, %v_0
// CHECK-NEXT: %v_2 = arith.index_cast %v_1
// CHECK-NEXT: vector.store %v_2, %a[%c0] : memref<4xi32>, vector<4xi32>
// CHECK-NEXT: %own = memref.alloc() : memref<2x4xi8>
// CHECK-NEXT: %0 = vector.broadcast %m : i1 to vector<4xi1>
// CHECK-NEXT: %1 = arith.extui %0
// CHECK-NEXT: vector.store %1, %own[%c0, %c0] : memref<2x4xi8>, vector<4xi8>
// CHECK-NEXT: %x = vector.load %own[%c0, %c0] : memref<2x4xi8>, vector<4xi8>
// CHECK-NEXT: vector.store %x, %b[%c0] : memref<4xi8>, vector<4xi8>
// CHECK-NEXT: return
func.func private @less(%a: memref<4xi32>, %b: memref<4xi8>, %n: index, %m: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %d = arith.subi %i, %n : index
    %v = arith.index_cast %d : index to i32
    memref.store %v, %a[%i] : memref<4xi32>
    %own = memref.alloc() : memref<2xi1>
    memref.store %m, %own[%c0] : memref<2xi1>
    %bytes = builtin.unrealized_conversion_cast %own : memref<2xi1> to memref<2xi8>
    %x = memref.load %bytes[%c0] : memref<2xi8>
    memref.store %x, %b[%i] : memref<4xi8>
  } {relax.loop = "vectorized"}
  return
}

// Under a condition, elements of own buffers within the bounds need no mask; one before the first does.
// CHECK-LABEL: func.func private @own_masked(
// CHECK-NEXT: %c-1 = arith.constant -1
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %shared = memref.alloc() : memref<4xf32>
// CHECK-NEXT: %own = memref.alloc() : memref<2x4xf32>
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: %m = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: %m_0 = arith.cmpf ogt, %x, %m
// CHECK-NEXT: %0 = vector.load %own[%c0, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %1 = arith.select %m_0, %x, %0
// CHECK-NEXT: vector.store %1, %own[%c0, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %2 = vector.load %own[%c1, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %3 = arith.select %m_0, %m, %2
// CHECK-NEXT: vector.store %3, %own[%c1, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %y = vector.load %own[%c0, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %z = vector.load %own[%c1, %c0] : memref<2x4xf32>, vector<4xf32>
// CHECK-NEXT: %s = arith.addf %y, %z
// CHECK-NEXT: vector.maskedstore %shared[%c-1], %m_0, %s : memref<4xf32>, vector<4xi1>, vector<4xf32>
// CHECK-NEXT: scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NEXT: %x_1 = memref.load %shared[%i]
// CHECK-NEXT: memref.store %x_1, %a[%i]
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @own_masked(%a: memref<4xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %shared = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %own = memref.alloc() : memref<2xf32>
    %x = memref.load %a[%i] : memref<4xf32>
    %m = arith.cmpf ogt, %x, %v : f32
    scf.if %m {
      memref.store %x, %own[%c0] : memref<2xf32>
      memref.store %v, %own[%c1] : memref<2xf32>
      %y = memref.load %own[%c0] : memref<2xf32>
      %z = memref.load %own[%c1] : memref<2xf32>
      %s = arith.addf %y, %z : f32
      %before = arith.subi %i, %c1 : index
      memref.store %s, %shared[%before] : memref<4xf32>
    }
  } {relax.loop = "vectorized"}
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %shared[%i] : memref<4xf32>
    memref.store %x, %a[%i] : memref<4xf32>
  }
  return
}

// Without masks, seven iterations are four, two and one.
// CHECK-LABEL: func.func private @seven_short(
// CHECK-NEXT: %c6 = arith.constant 6 : index
// CHECK-NEXT: %c4 = arith.constant 4 : index
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %0 = vector.broadcast %v : i16 to vector<4xi16>
// CHECK-NEXT: vector.store %0, %a[%c0] : memref<7xi16>, vector<4xi16>
// CHECK-NEXT: %1 = vector.broadcast %v : i16 to vector<2xi16>
// CHECK-NEXT: vector.store %1, %a[%c4] : memref<7xi16>, vector<2xi16>
// CHECK-NEXT: memref.store %v, %a[%c6]
// CHECK-NEXT: return
func.func private @seven_short(%a: memref<7xi16>, %v: i16) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {
    memref.store %v, %a[%i] : memref<7xi16>
  } {relax.loop = "vectorized"}
  return
}

// Elements of type index have 64 bits, of which masks are cheap.
// CHECK-LABEL: func.func private @indices(
// CHECK-NEXT: %cst = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : vector<8xi32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c8 = arith.constant 8 : index
// CHECK-NEXT: %end = arith.minsi %n, %c8
// CHECK-NEXT: %0 = arith.cmpi sgt, %end, %c0
// CHECK-NEXT: scf.if %0 {
// CHECK-NEXT: %1 = arith.index_cast %end
// CHECK-NEXT: %2 = vector.broadcast %1 : i32 to vector<8xi32>
// CHECK-NEXT: %3 = arith.cmpi sgt, %2, %cst
// CHECK-NEXT: %4 = vector.broadcast %n : index to vector<8xindex>
// CHECK-NEXT: vector.maskedstore %a[%c0], %3, %4 : memref<?xindex>, vector<8xi1>, vector<8xindex>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @indices(%a: memref<?xindex>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %end = arith.minsi %n, %c8 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %n, %a[%i] : memref<?xindex>
  } {relax.loop = "vectorized"}
  return
}

// Up to four bodies are in sequence, of more iterations they are a loop; so they are of up to as many iterations.
// CHECK-LABEL: func.func private @four_bodies
// CHECK-NOT: scf.for
// CHECK-COUNT-4: vector.store {{.*}} vector<64xf32>
// CHECK-NEXT: return
func.func private @four_bodies(%a: memref<256xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  scf.for %i = %c0 to %c256 step %c1 {
    memref.store %v, %a[%i] : memref<256xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @five_bodies
// CHECK: scf.for %[[I:[a-z0-9_]+]] = %c1 to %c321 step %c64
// CHECK-NEXT: vector.broadcast
// CHECK-NEXT: vector.store %{{[a-z0-9_]+}}, %{{[a-z]+}}[%[[I]]] : {{.*}} vector<64xf32>
// CHECK: }
// CHECK: vector.store %{{[a-z0-9_]+}}, %{{[a-z]+}}[%c321] : {{.*}} vector<8xf32>
// CHECK: vector.store %{{[a-z0-9_]+}}, %{{[a-z]+}}[%c329] : {{.*}} vector<2xf32>
// CHECK-NEXT: return
func.func private @five_bodies(%a: memref<331xf32>, %v: f32) attributes {relax.prim_func} {
  %c1 = arith.constant 1 : index
  %c331 = arith.constant 331 : index
  scf.for %i = %c1 to %c331 step %c1 {
    memref.store %v, %a[%i] : memref<331xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @up_to_256
// CHECK-NOT: scf.for
// CHECK-COUNT-4: vector.maskedstore {{.*}} vector<64xf32>
// CHECK: return
func.func private @up_to_256(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %end = arith.minsi %n, %c256 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @up_to_257
// CHECK: scf.for
func.func private @up_to_257(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c257 = arith.constant 257 : index
  %end = arith.minsi %n, %c257 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// Numbers that all lanes share are computed once; a row is loaded at a stride, also two elements of it.
// CHECK-LABEL: func.func private @shared_numbers(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %x = vector.load %a[%c1, %c0] : memref<4x32xf32>, vector<2xf32>
// CHECK-NEXT: %x_0 = vector.load %a[%c1, %c1] : memref<4x32xf32>, vector<2xf32>
// CHECK-NEXT: %x_1 = vector.shuffle %x, %x_0 [0, 3]
// CHECK-NEXT: vector.store %x_1, %b[%c0] : memref<2xf32>, vector<2xf32>
// CHECK-NEXT: %s = arith.addi %k, %k
// CHECK-NEXT: %0 = vector.broadcast %s : i32 to vector<2xi32>
// CHECK-NEXT: vector.store %0, %c[%c0] : memref<2xi32>, vector<2xi32>
// CHECK-NEXT: return
func.func private @shared_numbers(%a: memref<4x32xf32>, %b: memref<2xf32>, %c: memref<2xi32>, %k: i32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %j = arith.muli %i, %c2 : index
    %x = memref.load %a[%c1, %j] : memref<4x32xf32>
    memref.store %x, %b[%i] : memref<2xf32>
    %s = arith.addi %k, %k : i32
    memref.store %s, %c[%i] : memref<2xi32>
  } {relax.loop = "vectorized"}
  return
}

// What a global holds is not a buffer of its own.
// CHECK-LABEL: func.func private @global(
// CHECK-NEXT: %cst = arith.constant dense<[0, 1, 2, {{.*}}]> : vector<16xi32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c12 = arith.constant 12 : index
// CHECK-NEXT: %table = memref.get_global @table
// CHECK-NEXT: %end = arith.minsi %n, %c12
// CHECK-NEXT: %0 = arith.cmpi sgt, %end, %c0
// CHECK-NEXT: scf.if %0 {
// CHECK-NEXT: %1 = arith.index_cast %end
// CHECK-NEXT: %2 = vector.broadcast %1 : i32 to vector<16xi32>
// CHECK-NEXT: %3 = arith.cmpi sgt, %2, %cst
// CHECK-NEXT: %4 = vector.broadcast %v : f32 to vector<16xf32>
// CHECK-NEXT: vector.maskedstore %table[%c0], %3, %4 : memref<16xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return
memref.global "private" @table : memref<16xf32>
func.func private @global(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %table = memref.get_global @table : memref<16xf32>
  %end = arith.minsi %n, %c12 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %table[%i] : memref<16xf32>
  } {relax.loop = "vectorized"}
  return
}

// What a branch that all lanes take computes of their elements is a vector. Part of a buffer is the same for all.
// CHECK-LABEL: func.func private @inner(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %seen = memref.subview %b[2] [4] [1]
// CHECK-NEXT: %r = scf.if %m -> (vector<4xf32>) {
// CHECK-NEXT: %x = vector.load %seen[%c0] : memref<4xf32, strided<[1], offset: 2>>, vector<4xf32>
// CHECK-NEXT: %y = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: %y_0 = arith.addf %x, %y
// CHECK-NEXT: scf.yield %y_0 : vector<4xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %r_0 = vector.broadcast %v : f32 to vector<4xf32>
// CHECK-NEXT: scf.yield %r_0 : vector<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: vector.store %r, %a[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT: return
func.func private @inner(%a: memref<4xf32>, %b: memref<8xf32>, %m: i1, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %seen = memref.subview %b[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
    %r = scf.if %m -> f32 {
      %x = memref.load %seen[%i] : memref<4xf32, strided<[1], offset: 2>>
      %y = arith.addf %x, %v : f32
      scf.yield %y : f32
    } else {
      scf.yield %v : f32
    }
    memref.store %r, %a[%i] : memref<4xf32>
  } {relax.loop = "vectorized"}
  return
}

// A diagonal is no row.
// CHECK-LABEL: func.func private @diagonal(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: memref.store %v, %a[%c0, %c0]
// CHECK-NEXT: memref.store %v, %a[%c1, %c1]
// CHECK-NEXT: return
func.func private @diagonal(%a: memref<2x2xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c2 step %c1 {
    memref.store %v, %a[%i, %i] : memref<2x2xf32>
  } {relax.loop = "vectorized"}
  return
}

// From 1 on, the element before the index is within the bounds.
// CHECK-LABEL: func.func private @from_one(
// CHECK-NEXT: %cst = arith.constant dense<[0, 1, 2, {{.*}}]> : vector<16xi32>
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %c12 = arith.constant 12 : index
// CHECK-NEXT: %end = arith.minsi %n, %c12
// CHECK-NEXT: %own = memref.alloc() : memref<16xf32>
// CHECK-NEXT: %0 = arith.cmpi sgt, %end, %c1
// CHECK-NEXT: scf.if %0 {
// CHECK-NEXT: %1 = arith.subi %end, %c1
// CHECK-NEXT: %2 = arith.index_cast %1
// CHECK-NEXT: %3 = vector.broadcast %2 : i32 to vector<16xi32>
// CHECK-NEXT: %4 = arith.cmpi sgt, %3, %cst
// CHECK-NEXT: %5 = vector.broadcast %v : f32 to vector<16xf32>
// CHECK-NEXT: %6 = vector.load %own[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: %7 = arith.select %4, %5, %6
// CHECK-NEXT: vector.store %7, %own[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: %x = vector.load %own[%c0] : memref<16xf32>, vector<16xf32>
// CHECK-NEXT: vector.maskedstore %a[%c1], %4, %x : memref<?xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @from_one(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  %end = arith.minsi %n, %c12 : index
  %own = memref.alloc() : memref<16xf32>
  scf.for %i = %c1 to %end step %c1 {
    %before = arith.subi %i, %c1 : index
    memref.store %v, %own[%before] : memref<16xf32>
    %x = memref.load %own[%before] : memref<16xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// Bodies with functions are as wide where there are 32 registers.
// CHECK-LABEL: func.func private @heavy(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %x = vector.load %a[%c0] : memref<64xf32>, vector<64xf32>
// CHECK-NEXT: %e = math.exp %x
// CHECK-NEXT: vector.store %e, %a[%c0] : memref<64xf32>, vector<64xf32>
// CHECK-NEXT: return
func.func private @heavy(%a: memref<64xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    %x = memref.load %a[%i] : memref<64xf32>
    %e = math.exp %x : f32
    memref.store %e, %a[%i] : memref<64xf32>
  } {relax.loop = "vectorized"}
  return
}

// One iteration at most needs no loop for a rest.
// CHECK-LABEL: func.func private @one_at_most(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %end = arith.minsi %n, %c1
// CHECK-NEXT: %0 = arith.maxsi %end, %c0
// CHECK-NEXT: scf.for %arg3 = %c0 to %0 step %c1 {
// CHECK-NEXT: %1 = vector.broadcast %v : i16 to vector<1xi16>
// CHECK-NEXT: vector.store %1, %a[%arg3] : memref<?xi16>, vector<1xi16>
// CHECK-NEXT: } {loop_annotation = #loop_annotation}
// CHECK-NEXT: return
func.func private @one_at_most(%a: memref<?xi16>, %n: index, %v: i16) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.minsi %n, %c1 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xi16>
  } {relax.loop = "vectorized"}
  return
}
