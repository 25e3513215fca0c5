// RUN: relax-opt %s --check-bounds="mode=all" | filecheck %s
// check_bounds.py: the requirements of each op, the test of what is not proved, and what is proved.

// A declaration is not checked.
func.func private @declared(%i: index) attributes {relax.prim_func}

// The checks, the last one first.
// CHECK: kind = "ShapeError", message = "results: result 1 has {0} along dimension 0, but its destination {1}, at
// CHECK: kind = "ShapeError", message = "windows: argument 0: linalg.generic: dimension 0 is {0}, which its loops of length {1}, {2} leave, at
// CHECK: kind = "ShapeError", message = "loops: linalg.generic: sizes {0} and {1} of operands along one loop differ, at
// CHECK: kind = "ShapeError", message = "expanded: dimension 0 is {0}, which tensor.expand_shape cannot see as ({1}, {2}, {3}), at
// CHECK: kind = "ShapeError", message = "inserted: dimension 0 of what is inserted is {0}, but the slice has {1}, at
// CHECK: kind = "BoundsError", message = "inserted: argument 1: the slice of dimension 1 begins at {0} and has {1} elements with stride {3}, but the dimension has {2}, at
// CHECK: kind = "ShapeError", message = "slices: the stride of dimension 0 is {0}, expected 1 or more, at
// CHECK: kind = "ShapeError", message = "copies: dimension 0 of the source is {0}, of the target {1}, at
// CHECK: kind = "ShapeError", message = "casts: dimension 1 is {0}, but memref.cast says {1}, at
// CHECK: kind = "ShapeError", message = "allocations: no buffer can have the shape (3, {0}, 5): its sizes are negative, or too large, at
// CHECK: kind = "ShapeError", message = "steps: the step of the loop is {0}, expected 1 or more, at
// CHECK: kind = "BoundsError", message = "ranks: argument 0: memref.dim asks for dimension {0} of {1}, at
// CHECK: kind = "BoundsError", message = "accesses: argument 1: index {0} is out of range for dimension 1 of size {1}, at

// Indices of memrefs and tensors; a constant needs a dimension of that size.
// CHECK-LABEL: @accesses(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[I:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C3:[A-Za-z0-9_]+]] = arith.constant 3 : index
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[X_0:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[X]] : memref<?x4xf32>
// CHECK-NEXT: %[[X_1:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[I]], %[[X_0]] : index
// CHECK-NEXT: call @relax.check.0(%[[X_1]], %[[I]], %[[X_0]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[X_2:[A-Za-z0-9_]+]] = memref.load %[[A]][%[[I]], %[[C3]]] : memref<?x4xf32>
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C0]] : memref<?x4xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[I]], %[[DIM]] : index
// CHECK-NEXT: call @relax.check.1(%[[V0]], %[[I]], %[[DIM]]) : (i1, index, index) -> ()
// CHECK-NEXT: memref.store %[[X_2]], %[[A]][%[[I]], %[[C3]]] : memref<?x4xf32>
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[Y_3:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[Y]] : tensor<4x?xf32>
// CHECK-NEXT: %[[Y_4:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[I]], %[[Y_3]] : index
// CHECK-NEXT: call @relax.check.2(%[[Y_4]], %[[I]], %[[Y_3]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[Y_5:[A-Za-z0-9_]+]] = tensor.extract %[[B]][%[[C3]], %[[I]]] : tensor<4x?xf32>
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[C_6:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C]] : tensor<4x?xf32>
// CHECK-NEXT: %[[C_7:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[I]], %[[C_6]] : index
// CHECK-NEXT: call @relax.check.3(%[[C_7]], %[[I]], %[[C_6]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[C_8:[A-Za-z0-9_]+]] = tensor.insert %[[Y_5]] into %[[B]][%[[C3]], %[[I]]] : tensor<4x?xf32>
// CHECK-NEXT: return %[[C_8]] :
func.func private @accesses(%a: memref<?x4xf32>, %b: tensor<4x?xf32>, %i: index) -> tensor<4x?xf32> attributes {relax.prim_func} {
  %c3 = arith.constant 3 : index
  %x = memref.load %a[%i, %c3] : memref<?x4xf32>
  memref.store %x, %a[%i, %c3] : memref<?x4xf32>
  %y = tensor.extract %b[%c3, %i] : tensor<4x?xf32>
  %c = tensor.insert %y into %b[%c3, %i] : tensor<4x?xf32>
  return %c : tensor<4x?xf32>
}

// CHECK-LABEL: @ranks(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[I:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[C2:[A-Za-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C1]] : memref<?x?xf32>
// CHECK-NEXT: %[[C2_0:[A-Za-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[C2]], %[[C2_0]] : index
// CHECK-NEXT: call @relax.check.4(%[[V0]], %[[C2]], %[[C2_0]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[DIM_1:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C2]] : memref<?x?xf32>
// CHECK-NEXT: %[[C2_2:[A-Za-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[I]], %[[C2_2]] : index
// CHECK-NEXT: call @relax.check.5(%[[V1]], %[[I]], %[[C2_2]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[DIM_3:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[I]] : tensor<?x?xf32>
// CHECK-NEXT: %[[BELOW:[A-Za-z0-9_]+]] = arith.constant -1 : index
// CHECK-NEXT: %[[C2_4:[A-Za-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.cmpi ult, %[[BELOW]], %[[C2_4]] : index
// CHECK-NEXT: call @relax.check.6(%[[V2]], %[[BELOW]], %[[C2_4]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[DIM_5:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[BELOW]] : memref<?x?xf32>
// CHECK-NEXT: return
func.func private @ranks(%a: memref<?x?xf32>, %b: tensor<?x?xf32>, %i: index) attributes {relax.prim_func} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = memref.dim %a, %c1 : memref<?x?xf32>
  %1 = memref.dim %a, %c2 : memref<?x?xf32>
  %2 = tensor.dim %b, %i : tensor<?x?xf32>
  %below = arith.constant -1 : index
  %3 = memref.dim %a, %below : memref<?x?xf32>
  return
}

// A step is positive.
// CHECK-LABEL: @steps(
// CHECK-SAME: %[[I:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[C1_0:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[I]], %[[C1_0]] : index
// CHECK-NEXT: call @relax.check.7(%[[V0]], %[[I]], %[[C1_0]]) : (i1, index, index) -> ()
// CHECK-NEXT: scf.for %[[J:[A-Za-z0-9_]+]] = %[[C0]] to %[[I]] step %[[I]] {
// CHECK: %[[C1_1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[C0]], %[[C1_1]] : index
// CHECK-NEXT: call @relax.check.8(%[[V1]], %[[C0]], %[[C1_1]]) : (i1, index, index) -> ()
// CHECK-NEXT: scf.for %[[K:[A-Za-z0-9_]+]] = %[[C0]] to %[[I]] step %[[C0]] {
// CHECK: scf.for %[[L:[A-Za-z0-9_]+]] = %[[C0]] to %[[I]] step %[[C1]] {
// CHECK: %[[J64:[A-Za-z0-9_]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.index_cast %[[J64]] : i64 to index
// CHECK-NEXT: %[[C1_2:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[V2]], %[[C1_2]] : index
// CHECK-NEXT: call @relax.check.9(%[[V3]], %[[V2]], %[[C1_2]]) : (i1, index, index) -> ()
// CHECK-NEXT: scf.for %[[M:[A-Za-z0-9_]+]] = %[[J64]] to %[[J64]] step %[[J64]]  : i64 {
// CHECK: return
func.func private @steps(%i: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %i step %i {
  }
  scf.for %k = %c0 to %i step %c0 {
  }
  scf.for %l = %c0 to %i step %c1 {
  }
  %j64 = arith.index_cast %i : index to i64
  scf.for %m = %j64 to %j64 step %j64 : i64 {
  }
  return
}

// Sizes are not negative, and bytes fit in an address: products as floats, which do not wrap around.
// CHECK-LABEL: @allocations(
// CHECK-SAME: %[[I:[A-Za-z0-9_]+]]:{{.*}}%[[J:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C3:[A-Za-z0-9_]+]] = arith.constant 3 : index
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant 1.200000e+02 : f64
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.sitofp %[[V0]] : i64 to f64
// CHECK-NEXT: %[[CST_0:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V1]], %[[CST_0]] : f64
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.mulf %[[CST]], %[[V1]] : f64
// CHECK-NEXT: %[[CST_1:[A-Za-z0-9_]+]] = arith.constant 0x42E0000000000000 : f64
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpf ole, %[[V3]], %[[CST_1]] : f64
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.andi %[[V2]], %[[V4]] : i1
// CHECK-NEXT: call @relax.check.10(%[[V5]], %[[I]]) : (i1, index) -> ()
// CHECK-NEXT: %[[ALLOC:[A-Za-z0-9_]+]] = memref.alloc(%[[I]]) : memref<3x?x5xf64>
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.addi %[[I]], %[[J]] : index
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.subi %[[V6]], %[[C3]] : index
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.muli %[[V7]], %[[I]] : index
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.maxsi %[[V8]], %[[J]] : index
// CHECK-NEXT: %[[CST_2:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.sitofp %[[V10]] : i64 to f64
// CHECK-NEXT: %[[CST_3:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V11]], %[[CST_3]] : f64
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.mulf %[[CST_2]], %[[V11]] : f64
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = arith.sitofp %[[V14]] : i64 to f64
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = arith.sitofp %[[V16]] : i64 to f64
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = arith.addf %[[V15]], %[[V17]] : f64
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = arith.index_cast %[[C3]] : index to i64
// CHECK-NEXT: %[[V20:[A-Za-z0-9_]+]] = arith.sitofp %[[V19]] : i64 to f64
// CHECK-NEXT: %[[V21:[A-Za-z0-9_]+]] = arith.subf %[[V18]], %[[V20]] : f64
// CHECK-NEXT: %[[V22:[A-Za-z0-9_]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[V23:[A-Za-z0-9_]+]] = arith.sitofp %[[V22]] : i64 to f64
// CHECK-NEXT: %[[V24:[A-Za-z0-9_]+]] = arith.mulf %[[V21]], %[[V23]] : f64
// CHECK-NEXT: %[[V25:[A-Za-z0-9_]+]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: %[[V26:[A-Za-z0-9_]+]] = arith.sitofp %[[V25]] : i64 to f64
// CHECK-NEXT: %[[V27:[A-Za-z0-9_]+]] = arith.maximumf %[[V24]], %[[V26]] : f64
// CHECK-NEXT: %[[CST_4:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V28:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V27]], %[[CST_4]] : f64
// CHECK-NEXT: %[[V29:[A-Za-z0-9_]+]] = arith.mulf %[[V13]], %[[V27]] : f64
// CHECK-NEXT: %[[CST_5:[A-Za-z0-9_]+]] = arith.constant 0x42E0000000000000 : f64
// CHECK-NEXT: %[[V30:[A-Za-z0-9_]+]] = arith.cmpf ole, %[[V29]], %[[CST_5]] : f64
// CHECK-NEXT: %[[V31:[A-Za-z0-9_]+]] = arith.andi %[[V12]], %[[V28]] : i1
// CHECK-NEXT: %[[V32:[A-Za-z0-9_]+]] = arith.andi %[[V31]], %[[V30]] : i1
// CHECK-NEXT: call @relax.check.11(%[[V32]], %[[J]], %[[V9]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[V33:[A-Za-z0-9_]+]] = tensor.empty(%[[J]], %[[V9]]) : tensor<?x?xi1>
// CHECK-NEXT: %[[ALLOC_6:[A-Za-z0-9_]+]] = memref.alloc() : memref<4xf32>
// CHECK-NEXT: return
func.func private @allocations(%i: index, %j: index) attributes {relax.prim_func} {
  %c3 = arith.constant 3 : index
  %0 = memref.alloc(%i) : memref<3x?x5xf64>
  %1 = arith.addi %i, %j : index
  %2 = arith.subi %1, %c3 : index
  %3 = arith.muli %2, %i : index
  %4 = arith.maxsi %3, %j : index
  %5 = tensor.empty(%j, %4) : tensor<?x?xi1>
  %6 = memref.alloc() : memref<4xf32>
  return
}

// What the shapes of arguments say is enough for buffers of their sizes, or of one of them times 128 MiB.
// CHECK-LABEL: @sizes_proved(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @sizes_proved(%a: memref<?x?xf32>) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = ["n", "m"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %0 = memref.alloc(%n) : memref<?x33554432xf32>
  %1 = memref.alloc(%n) : memref<?x16777216xindex>
  %2 = memref.alloc(%n) : memref<?x134217728xi1>
  %3 = memref.alloc(%m, %n) : memref<?x?x16384xf32>
  %4 = memref.cast %3 : memref<?x?x16384xf32> to memref<?x?x?xf32>
  return
}

// More bytes, two of one size, a size that may be negative, and a product of sizes are not proved.
// CHECK-LABEL: @sizes_not_proved(
// CHECK-COUNT-7: call @relax.check
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @sizes_not_proved(%a: memref<?x?xf32>) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = ["n", "m"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %0 = memref.alloc(%n) : memref<?x33554433xf32>
  %1 = memref.alloc(%n) : memref<?x16777217xindex>
  %2 = memref.alloc(%n) : memref<?x134217729xi1>
  %3 = memref.alloc(%m, %n) : memref<?x?x16385xf32>
  %4 = memref.alloc(%n, %n) : memref<?x?xf32>
  %less = arith.subi %n, %c1 : index
  %5 = memref.alloc(%less) : memref<?xf32>
  %product = arith.muli %n, %m : index
  %6 = memref.alloc(%product) : memref<?xf32>
  return
}

// A cast needs a test where it claims a size.
// CHECK-LABEL: @casts(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C1]] : memref<?x?xf32>
// CHECK-NEXT: %[[C7:[A-Za-z0-9_]+]] = arith.constant 7 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM]], %[[C7]] : index
// CHECK-NEXT: call @relax.check.19(%[[V0]], %[[DIM]], %[[C7]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[CAST:[A-Za-z0-9_]+]] = memref.cast %[[A]] : memref<?x?xf32> to memref<?x7xf32>
// CHECK-NEXT: %[[CAST_0:[A-Za-z0-9_]+]] = tensor.cast %[[B]] : tensor<4x?xf32> to tensor<?x?xf32>
// CHECK-NEXT: %[[C1_1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_2:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C1_1]] : tensor<4x?xf32>
// CHECK-NEXT: %[[C3:[A-Za-z0-9_]+]] = arith.constant 3 : index
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM_2]], %[[C3]] : index
// CHECK-NEXT: call @relax.check.20(%[[V1]], %[[DIM_2]], %[[C3]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[CAST_3:[A-Za-z0-9_]+]] = tensor.cast %[[B]] : tensor<4x?xf32> to tensor<4x3xf32>
// CHECK-NEXT: return
func.func private @casts(%a: memref<?x?xf32>, %b: tensor<4x?xf32>) attributes {relax.prim_func} {
  %0 = memref.cast %a : memref<?x?xf32> to memref<?x7xf32>
  %1 = tensor.cast %b : tensor<4x?xf32> to tensor<?x?xf32>
  %2 = tensor.cast %b : tensor<4x?xf32> to tensor<4x3xf32>
  return
}

// CHECK-LABEL: @copies(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C0]] : memref<?x4xf32>
// CHECK-NEXT: %[[C0_0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_1:[A-Za-z0-9_]+]] = memref.dim %[[B]], %[[C0_0]] : memref<?x4xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM]], %[[DIM_1]] : index
// CHECK-NEXT: call @relax.check.21(%[[V0]], %[[DIM]], %[[DIM_1]]) : (i1, index, index) -> ()
// CHECK-NEXT: memref.copy %[[A]], %[[B]] : memref<?x4xf32> to memref<?x4xf32>
// CHECK-NEXT: memref.copy %[[A]], %[[A]] : memref<?x4xf32> to memref<?x4xf32>
// CHECK-NEXT: return
func.func private @copies(%a: memref<?x4xf32>, %b: memref<?x4xf32>) attributes {relax.prim_func} {
  memref.copy %a, %b : memref<?x4xf32> to memref<?x4xf32>
  memref.copy %a, %a : memref<?x4xf32> to memref<?x4xf32>
  return
}

// CHECK-LABEL: @sizes_agree(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @sizes_agree(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"},
    {name = "C", shape = [4], dtype = "float32"}
  ]
} {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  %0 = memref.cast %c : memref<?xf32> to memref<4xf32>
  return
}

// A slice: its strides, and that it ends inside; what is inserted has its sizes, without those of one.
// CHECK-LABEL: @slices(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[I:[A-Za-z0-9_]+]]:{{.*}}%[[J:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[K]], %[[C1]] : index
// CHECK-NEXT: call @relax.check.22(%[[V0]], %[[K]], %[[C1]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = memref.dim %[[A]], %[[C0]] : memref<?xf32>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.subi %[[DIM]], %[[I]] : index
// CHECK-NEXT: %[[C1_0:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.maxsi %[[K]], %[[C1_0]] : index
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.ceildivsi %[[V1]], %[[V2]] : index
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[I]], %[[DIM]] : index
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[J]], %[[V3]] : index
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.andi %[[V4]], %[[V5]] : i1
// CHECK-NEXT: %[[C0_1:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[I]], %[[C0_1]] : index
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[J]], %[[C0_1]] : index
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.andi %[[V7]], %[[V8]] : i1
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.ori %[[V6]], %[[V9]] : i1
// CHECK-NEXT: call @relax.check.23(%[[V10]], %[[I]], %[[J]], %[[DIM]], %[[K]]) : (i1, index, index, index, index) -> ()
// CHECK-NEXT: %[[SUBVIEW:[A-Za-z0-9_]+]] = memref.subview %[[A]][%[[I]]] [%[[J]]] [%[[K]]] : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
// CHECK-NEXT: return
func.func private @slices(%a: memref<?xf32>, %i: index, %j: index, %k: index) attributes {relax.prim_func} {
  %0 = memref.subview %a[%i] [%j] [%k] : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
  return
}

// CHECK-LABEL: @inserted(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C1]] : tensor<8x?xf32>
// CHECK-NEXT: %[[C1_0:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.subi %[[DIM]], %[[C0]] : index
// CHECK-NEXT: %[[C1_1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.maxsi %[[C1_0]], %[[C1_1]] : index
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.ceildivsi %[[V0]], %[[V1]] : index
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[C0]], %[[DIM]] : index
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.cmpi ule, %[[K]], %[[V2]] : index
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.andi %[[V3]], %[[V4]] : i1
// CHECK-NEXT: %[[C0_2:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.cmpi sge, %[[C0]], %[[C0_2]] : index
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[K]], %[[C0_2]] : index
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.andi %[[V6]], %[[V7]] : i1
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.ori %[[V5]], %[[V8]] : i1
// CHECK-NEXT: call @relax.check.24(%[[V9]], %[[C0]], %[[K]], %[[DIM]], %[[C1_0]]) : (i1, index, index, index, index) -> ()
// CHECK-NEXT: %[[C0_3:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_4:[A-Za-z0-9_]+]] = tensor.dim %[[A]], %[[C0_3]] : tensor<?xf32>
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM_4]], %[[K]] : index
// CHECK-NEXT: call @relax.check.25(%[[V10]], %[[DIM_4]], %[[K]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[INSERTED_SLICE:[A-Za-z0-9_]+]] = tensor.insert_slice %[[A]] into %[[B]][2, 0] [1, %[[K]]] [1, 1] : tensor<?xf32> into tensor<8x?xf32>
// CHECK-NEXT: return
func.func private @inserted(%a: tensor<?xf32>, %b: tensor<8x?xf32>, %k: index) attributes {relax.prim_func} {
  %0 = tensor.insert_slice %a into %b[2, 0] [1, %k] [1, 1] : tensor<?xf32> into tensor<8x?xf32>
  return
}

// Static slices, whole dimensions, steps that end at the last element, empty slices, and slices in a loop.
// CHECK-LABEL: @slices_proved(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @slices_proved(%a: memref<9xf32>, %b: memref<?xf32>) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = [9], dtype = "float32"}, {name = "B", shape = ["n + 4"], dtype = "float32"}
  ]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %size = memref.dim %b, %c0 : memref<?xf32>
  %n = arith.subi %size, %c4 : index
  %0 = memref.subview %a[2] [7] [1] : memref<9xf32> to memref<7xf32, strided<[1], offset: 2>>
  %1 = memref.subview %a[1] [3] [3] : memref<9xf32> to memref<3xf32, strided<[3], offset: 1>>
  %2 = memref.subview %a[8] [0] [1] : memref<9xf32> to memref<0xf32, strided<[1], offset: 8>>
  %step = memref.subview %b[0] [2] [3] : memref<?xf32> to memref<2xf32, strided<[3]>>
  %one = memref.subview %b[3] [1] [2] : memref<?xf32> to memref<1xf32, strided<[2], offset: 3>>
  %3 = memref.subview %b[4] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 4>>
  scf.for %i = %c0 to %size step %c1 {
    %4 = memref.subview %b[%i] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
    %5 = memref.subview %b[%i] [1] [2] : memref<?xf32> to memref<1xf32, strided<[2], offset: ?>>
  }
  scf.for %i = %c0 to %c6 step %c1 {
    %4 = memref.subview %a[%i] [2] [3] : memref<9xf32> to memref<2xf32, strided<[3], offset: ?>>
  }
  return
}

// One element too many in each.
// CHECK-LABEL: @slices_not_proved(
// CHECK-COUNT-8: call @relax.check
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @slices_not_proved(%b: memref<?xf32>, %k: index) attributes {
  relax.prim_func, relax.params = [{name = "B", shape = ["n + 4"], dtype = "float32"}, {name = "k"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %size = memref.dim %b, %c0 : memref<?xf32>
  %n = arith.subi %size, %c3 : index
  %1 = memref.subview %b[1] [2] [3] : memref<?xf32> to memref<2xf32, strided<[3], offset: 1>>
  %2 = memref.subview %b[0] [0] [2] : memref<?xf32> to memref<0xf32, strided<[2]>>
  %3 = memref.subview %b[4] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 4>>
  scf.for %i = %c0 to %size step %c1 {
    %4 = memref.subview %b[%i] [2] [1] : memref<?xf32> to memref<2xf32, strided<[1], offset: ?>>
  }
  %5 = memref.subview %b[0] [%k] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  %c5 = arith.constant 5 : index
  %less = arith.subi %size, %c5 : index
  %6 = memref.subview %b[0] [%less] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  scf.for %i = %c0 to %size step %c1 {
    %before = arith.subi %i, %c1 : index
    %7 = memref.subview %b[%before] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
  }
  %8 = memref.subview %b[4] [1] [2] : memref<?xf32> to memref<1xf32, strided<[2], offset: 4>>
  return
}

// In steps of 3 in 10 elements, two begin at 6 at most.
// CHECK-LABEL: @steps_of_three(
// CHECK: scf.for
// CHECK-NEXT: memref.subview
// CHECK: scf.for
// CHECK: call @relax.check
// CHECK-NEXT: memref.subview
// CHECK: return
func.func private @steps_of_three(%a: memref<10xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c7 step %c1 {
    %0 = memref.subview %a[%i] [2] [3] : memref<10xf32> to memref<2xf32, strided<[3], offset: ?>>
  }
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.subview %a[%i] [2] [3] : memref<10xf32> to memref<2xf32, strided<[3], offset: ?>>
  }
  return
}

// A step that is not known, a product as a width, and buffers of sizes that are not known.
// CHECK-LABEL: @slices_unknown(
// CHECK-COUNT-8: call @relax.check
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @slices_unknown(%a: memref<9xf32>, %b: memref<?xf32>, %c: memref<1xindex>, %n: index, %m: index) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = [9], dtype = "float32"}, {name = "B", shape = ["n*m"], dtype = "float32"},
    {name = "C", shape = [1], dtype = "int64"}, {name = "n"}, {name = "m"}
  ]
} {
  %c0 = arith.constant 0 : index
  %0 = memref.subview %a[0] [1] [%n] : memref<9xf32> to memref<1xf32, strided<[?]>>
  %product = arith.muli %n, %m : index
  %1 = memref.subview %b[0] [%product] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  %k = memref.load %c[%c0] : memref<1xindex>
  %2 = tensor.empty(%k) : tensor<?xf32>
  %3 = tensor.extract_slice %2[0] [1] [1] : tensor<?xf32> to tensor<1xf32>
  %4 = tensor.empty(%n) : tensor<?xf32>
  %5 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%2 : tensor<?xf32>) outs(%4 : tensor<?xf32>) {
  ^bb0(%y: f32, %z: f32):
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %6 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%4 : tensor<?xf32>) outs(%2 : tensor<?xf32>) {
  ^bb0(%y: f32, %z: f32):
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return
}

// The sizes of a group are not negative, and their product is that of the dimension.
// CHECK-LABEL: @expanded(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[I:[A-Za-z0-9_]+]]:{{.*}}%[[J:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = tensor.dim %[[A]], %[[C0]] : tensor<?x?xf32>
// CHECK-NEXT: %[[C2:[A-Za-z0-9_]+]] = arith.constant 2 : index
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.index_cast %[[DIM]] : index to i64
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.sitofp %[[V0]] : i64 to f64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.sitofp %[[V2]] : i64 to f64
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.index_cast %[[C2]] : index to i64
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.sitofp %[[V4]] : i64 to f64
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.index_cast %[[J]] : index to i64
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.sitofp %[[V6]] : i64 to f64
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[CST_0:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V3]], %[[CST]] : f64
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.mulf %[[CST_0]], %[[V3]] : f64
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V5]], %[[CST]] : f64
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.andi %[[V8]], %[[V10]] : i1
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.mulf %[[V9]], %[[V5]] : f64
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V7]], %[[CST]] : f64
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = arith.andi %[[V11]], %[[V13]] : i1
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = arith.mulf %[[V12]], %[[V7]] : f64
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[V1]], %[[V15]] : f64
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = arith.andi %[[V14]], %[[V16]] : i1
// CHECK-NEXT: call @relax.check.43(%[[V17]], %[[DIM]], %[[I]], %[[C2]], %[[J]]) : (i1, index, index, index, index) -> ()
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_1:[A-Za-z0-9_]+]] = tensor.dim %[[A]], %[[C1]] : tensor<?x?xf32>
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = arith.index_cast %[[DIM_1]] : index to i64
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = arith.sitofp %[[V18]] : i64 to f64
// CHECK-NEXT: %[[V20:[A-Za-z0-9_]+]] = arith.index_cast %[[K]] : index to i64
// CHECK-NEXT: %[[V21:[A-Za-z0-9_]+]] = arith.sitofp %[[V20]] : i64 to f64
// CHECK-NEXT: %[[CST_2:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[CST_3:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V22:[A-Za-z0-9_]+]] = arith.cmpf oge, %[[V21]], %[[CST_2]] : f64
// CHECK-NEXT: %[[V23:[A-Za-z0-9_]+]] = arith.mulf %[[CST_3]], %[[V21]] : f64
// CHECK-NEXT: %[[V24:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[V19]], %[[V23]] : f64
// CHECK-NEXT: %[[V25:[A-Za-z0-9_]+]] = arith.andi %[[V22]], %[[V24]] : i1
// CHECK-NEXT: call @relax.check.44(%[[V25]], %[[DIM_1]], %[[K]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[EXPANDED:[A-Za-z0-9_]+]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1, 2], [3{{\]\]}} output_shape [%[[I]], 2, %[[J]], %[[K]]] : tensor<?x?xf32> into tensor<?x2x?x?xf32>
// CHECK-NEXT: return
func.func private @expanded(%a: tensor<?x?xf32>, %i: index, %j: index, %k: index) attributes {relax.prim_func} {
  %0 = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [%i, 2, %j, %k] : tensor<?x?xf32> into tensor<?x2x?x?xf32>
  return
}

// CHECK-LABEL: @expanded_proved(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @expanded_proved(%a: tensor<?x12xf32>, %b: tensor<?xf32>) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = ["4*n", 12], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}
  ]
} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %b, %c0 : tensor<?xf32>
  %0 = tensor.expand_shape %a [[0, 1], [2, 3]] output_shape [%n, 4, 3, 4] : tensor<?x12xf32> into tensor<?x4x3x4xf32>
  return
}

// Another product, and a size that may be negative.
// CHECK-LABEL: @expanded_otherwise(
// CHECK-COUNT-2: call @relax.check
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @expanded_otherwise(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>, %m: index) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = ["4*n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"},
    {name = "C", shape = ["2*m"], dtype = "float32"}, {name = "m"}
  ]
} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %b, %c0 : tensor<?xf32>
  %0 = tensor.expand_shape %a [[0, 1]] output_shape [%n, 5] : tensor<?xf32> into tensor<?x5xf32>
  %1 = tensor.expand_shape %c [[0, 1]] output_shape [2, %m] : tensor<?xf32> into tensor<2x?xf32>
  return
}

// Operands of a linalg op have one size along a loop; numbers among them have none.
// CHECK-LABEL: @loops(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[X:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = linalg.fill ins(%[[X]] : f32) outs(%[[A]] : tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C0]] : tensor<?xf32>
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_0:[A-Za-z0-9_]+]] = tensor.dim %[[C]], %[[C1]] : tensor<?x?xf32>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM]], %[[DIM_0]] : index
// CHECK-NEXT: call @relax.check.47(%[[V1]], %[[DIM]], %[[DIM_0]]) : (i1, index, index) -> ()
// CHECK-NEXT: linalg.generic
// CHECK: return
func.func private @loops(%a: tensor<?x?xf32>, %b: tensor<?xf32>, %c: tensor<?x?xf32>) attributes {relax.prim_func} {
  %x = arith.constant 1.0 : f32
  %0 = linalg.fill ins(%x : f32) outs(%a : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%b, %x : tensor<?xf32>, f32) outs(%c : tensor<?x?xf32>) {
  ^bb0(%y: f32, %z: f32, %w: f32):
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return
}

// The last index of an access of several loops, unless one of them is empty.
// CHECK-LABEL: @windows(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[ONE:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = tensor.dim %[[A]], %[[C0]] : tensor<?xf32>
// CHECK-NEXT: %[[C0_0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_1:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C0_0]] : tensor<?x?xf32>
// CHECK-NEXT: %[[C1:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_2:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C1]] : tensor<?x?xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.index_cast %[[DIM]] : index to i64
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = arith.sitofp %[[V0]] : i64 to f64
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = arith.index_cast %[[DIM_1]] : index to i64
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = arith.sitofp %[[V2]] : i64 to f64
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = arith.index_cast %[[DIM_2]] : index to i64
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = arith.sitofp %[[V4]] : i64 to f64
// CHECK-NEXT: %[[CST:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = arith.subf %[[V3]], %[[CST]] : f64
// CHECK-NEXT: %[[CST_3:[A-Za-z0-9_]+]] = arith.constant 2.000000e+00 : f64
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = arith.mulf %[[V6]], %[[CST_3]] : f64
// CHECK-NEXT: %[[CST_4:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = arith.subf %[[V5]], %[[CST_4]] : f64
// CHECK-NEXT: %[[CST_5:[A-Za-z0-9_]+]] = arith.constant 4.000000e+00 : f64
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = arith.divf %[[V8]], %[[CST_5]] : f64
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = math.floor %[[V9]] : f64
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = arith.addf %[[V7]], %[[V10]] : f64
// CHECK-NEXT: %[[CST_6:[A-Za-z0-9_]+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = arith.subf %[[V3]], %[[CST_6]] : f64
// CHECK-NEXT: %[[CST_7:[A-Za-z0-9_]+]] = arith.constant 2.000000e+00 : f64
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = arith.divf %[[V12]], %[[CST_7]] : f64
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = math.floor %[[V13]] : f64
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = arith.addf %[[V11]], %[[V14]] : f64
// CHECK-NEXT: %[[CST_8:[A-Za-z0-9_]+]] = arith.constant 3.000000e+00 : f64
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = arith.addf %[[V15]], %[[CST_8]] : f64
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = arith.cmpf olt, %[[V16]], %[[V1]] : f64
// CHECK-NEXT: %[[CST_9:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[V3]], %[[CST_9]] : f64
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = arith.ori %[[V17]], %[[V18]] : i1
// CHECK-NEXT: %[[CST_10:[A-Za-z0-9_]+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: %[[V20:[A-Za-z0-9_]+]] = arith.cmpf oeq, %[[V5]], %[[CST_10]] : f64
// CHECK-NEXT: %[[V21:[A-Za-z0-9_]+]] = arith.ori %[[V19]], %[[V20]] : i1
// CHECK-NEXT: call @relax.check.48(%[[V21]], %[[DIM]], %[[DIM_1]], %[[DIM_2]]) : (i1, index, index, index) -> ()
// CHECK-NEXT: %[[C0_11:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_12:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C0_11]] : tensor<?x?xf32>
// CHECK-NEXT: %[[C0_13:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_14:[A-Za-z0-9_]+]] = tensor.dim %[[C]], %[[C0_13]] : tensor<?x?xf32>
// CHECK-NEXT: %[[V22:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM_12]], %[[DIM_14]] : index
// CHECK-NEXT: call @relax.check.49(%[[V22]], %[[DIM_12]], %[[DIM_14]]) : (i1, index, index) -> ()
// CHECK-NEXT: %[[C1_15:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_16:[A-Za-z0-9_]+]] = tensor.dim %[[B]], %[[C1_15]] : tensor<?x?xf32>
// CHECK-NEXT: %[[C1_17:[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[DIM_18:[A-Za-z0-9_]+]] = tensor.dim %[[C]], %[[C1_17]] : tensor<?x?xf32>
// CHECK-NEXT: %[[V23:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM_16]], %[[DIM_18]] : index
// CHECK-NEXT: call @relax.check.50(%[[V23]], %[[DIM_16]], %[[DIM_18]]) : (i1, index, index) -> ()
// CHECK-NEXT: linalg.generic
// CHECK: return
func.func private @windows(%a: tensor<?xf32>, %one: tensor<1xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [
      affine_map<(i, j) -> (i * 2 + j floordiv 4 + i floordiv 2 + 3)>, affine_map<(i, j) -> (0)>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>
    ],
    iterator_types = ["parallel", "parallel"]
  } ins(%a, %one, %b : tensor<?xf32>, tensor<1xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) {
  ^bb0(%y: f32, %v: f32, %w: f32, %z: f32):
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return
}

// CHECK-LABEL: @windows_proved(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @windows_proved(%a: tensor<?xf32>, %b: tensor<?x8xf32>) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = ["2*n + 3"], dtype = "float32"}, {name = "B", shape = ["n", 8], dtype = "float32"}
  ]
} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i * 2 + j floordiv 4 + 3)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x8xf32>) {
  ^bb0(%y: f32, %z: f32):
    linalg.yield %y : f32
  } -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: @windows_not_proved(
// CHECK-COUNT-1: call @relax.check
// CHECK-NOT: call @relax.check
// CHECK: return
func.func private @windows_not_proved(%a: tensor<?xf32>, %b: tensor<?x8xf32>) attributes {
  relax.prim_func, relax.params = [
    {name = "A", shape = ["2*n + 2"], dtype = "float32"}, {name = "B", shape = ["n", 8], dtype = "float32"}
  ]
} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i, j) -> (i * 2 + j floordiv 4 + 3)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?xf32>) outs(%b : tensor<?x8xf32>) {
  ^bb0(%y: f32, %z: f32):
    linalg.yield %y : f32
  } -> tensor<?x8xf32>
  return
}

// What a marked function returns has the sizes of the destinations, which are the arguments that the mark names.
// CHECK-LABEL: @results(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:{{.*}}%[[C:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[C0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM:[A-Za-z0-9_]+]] = tensor.dim %[[A]], %[[C0]] : tensor<?xf32>
// CHECK-NEXT: %[[C0_0:[A-Za-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[DIM_1:[A-Za-z0-9_]+]] = tensor.dim %[[C]], %[[C0_0]] : tensor<?xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[DIM]], %[[DIM_1]] : index
// CHECK-NEXT: call @relax.check.52(%[[V0]], %[[DIM]], %[[DIM_1]]) : (i1, index, index) -> ()
// CHECK-NEXT: return %[[B]], %[[A]] :
func.func private @results(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) attributes {
  relax.prim_func, relax.unchecked = array<i64: 1, 2>
} {
  return %b, %a : tensor<?xf32>, tensor<?xf32>
}

// Other functions are not checked.
// CHECK-LABEL: @host(
// CHECK-NOT: call @relax.check
// CHECK: return
func.func @host(%a: memref<?xf32>, %i: index) {
  %0 = memref.load %a[%i] : memref<?xf32>
  return
}
