// RUN: relax-opt %s --split-input-file --materialize-results | filecheck %s

// A prim func without entries: a result in memory of its own goes into the destination, as does that of a call.

// CHECK-LABEL: func.func private @own
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: tensor<?xf32>, %[[B:[a-z0-9_]+]]: tensor<?xf32>, %[[C:[a-z0-9_]+]]: tensor<?xf32>)
// CHECK: %[[FILLED:[A-Za-z0-9_]+]] = linalg.fill
// CHECK: %[[CALLED:[A-Za-z0-9_]+]] = call @reads
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[FILLED]] in %[[B]] :
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[CALLED]] in %[[C]] :
// CHECK: return %[[FIRST]], %[[SECOND]] :
func.func private @own(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
    attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = func.call @reads(%a, %c) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// What is in another parameter stays there: callers on tensors know where the result is.

// CHECK-LABEL: func.func private @reads
// CHECK-NOT: materialize_in_destination
// CHECK: return
func.func private @reads(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
// With an entry it goes into the destination.

// CHECK-LABEL: func.func private @entered
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: tensor<?xf32>, %[[B:[a-z0-9_]+]]: tensor<?xf32>)
// CHECK: %[[FILLED:[A-Za-z0-9_]+]] = linalg.fill
// CHECK: %[[MOVED:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[FILLED]] in %[[B]] :
// CHECK: return %[[MOVED]] :
func.func private @entered(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @entered.memory(%a: memref<?xf32>, %b: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @entered, written = array<i64: 1>}} {
  return
}

// Through loops, insertions and casts it is in its destination already.

// CHECK-LABEL: func.func private @carried
// CHECK-NOT: {{materialize_in_destination|alloc_tensor}}
// CHECK: return
func.func private @carried(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %0 = tensor.cast %b : tensor<?xf32> to tensor<4xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %0) -> (tensor<4xf32>) {
    %s = tensor.extract %a[%i] : tensor<?xf32>
    %u = tensor.insert %s into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  %2 = tensor.cast %1 : tensor<4xf32> to tensor<?xf32>
  return %2 : tensor<?xf32>
}
func.func private @carried.memory(%a: memref<?xf32>, %b: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @carried, written = array<i64: 1>}} {
  return
}

// A loop that carries something else from round to round does not leave it in the destination.

// CHECK-LABEL: func.func private @exchanged
// CHECK: %[[LAST:[A-Za-z0-9_]+]]:2 = scf.for
// CHECK: bufferization.materialize_in_destination %[[LAST]]#1 in
func.func private @exchanged(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b) -> (tensor<?xf32>, tensor<?xf32>) {
    scf.yield %t, %s : tensor<?xf32>, tensor<?xf32>
  }
  return %0#1 : tensor<?xf32>
}
func.func private @exchanged.memory(%a: memref<?xf32>, %b: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @exchanged, written = array<i64: 1>}} {
  return
}
// -----
// Two results that lie in each other's destination are copied before one is overwritten.

// CHECK-LABEL: func.func private @swapped
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: tensor<?xf32>, %[[B:[a-z0-9_]+]]: tensor<?xf32>, %[[C:[a-z0-9_]+]]: tensor<?xf32>)
// CHECK: %[[X:[A-Za-z0-9_]+]] = bufferization.alloc_tensor() copy(%[[C]])
// CHECK: %[[Y:[A-Za-z0-9_]+]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK: bufferization.materialize_in_destination %[[X]] in %[[B]] :
// CHECK: bufferization.materialize_in_destination %[[Y]] in %[[C]] :
func.func private @swapped(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
    attributes {relax.prim_func} {
  return %c, %b : tensor<?xf32>, tensor<?xf32>
}
func.func private @swapped.memory(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @swapped, written = array<i64: 1, 2>}} {
  return
}
// -----
// What is no prim func, returns no tensor or has no body is left alone.

// CHECK-LABEL: func.func private @elsewhere(tensor<?xf32>)
// CHECK-LABEL: func.func @main
// CHECK-NOT: materialize_in_destination
func.func private @elsewhere(tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func}
func.func @main(%n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
func.func private @number(%a: tensor<?xf32>, %n: index) -> index attributes {relax.prim_func} {
  return %n : index
}

// CHECK-LABEL: func.func @same_types
// CHECK-NOT: materialize_in_destination
// CHECK-LABEL: func.func private @other_type
// CHECK-NOT: materialize_in_destination
func.func @same_types(%n: index, %b: tensor<?xf32>) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
func.func private @other_type(%b: tensor<?xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  %e = tensor.empty() : tensor<4xf32>
  return %e : tensor<4xf32>
}
// -----
// Destinations are the last tensors, whatever comes after them, and also if they are the only ones.

// CHECK-LABEL: func.func private @size_last
// CHECK: bufferization.materialize_in_destination %{{[a-z0-9_]+}} in %b
func.func private @size_last(%a: tensor<?xf32>, %b: tensor<?xf32>, %n: index) -> tensor<?xf32> attributes {relax.prim_func} {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}
// CHECK-LABEL: func.func private @alone
// CHECK: bufferization.materialize_in_destination %{{[a-z0-9_]+}} in %b
func.func private @alone(%n: index, %b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}

// Without entries, results in each other's destination stay, and so do results of ops that have no memory yet.

// CHECK-LABEL: func.func private @swapped_inside
// CHECK-NEXT: return %c, %b
func.func private @swapped_inside(%b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
    attributes {relax.prim_func} {
  return %c, %b : tensor<?xf32>, tensor<?xf32>
}
// CHECK-LABEL: func.func private @elements
// CHECK-NEXT: tensor.from_elements
// CHECK-NEXT: return
func.func private @elements(%x: f32, %b: tensor<1xf32>) -> tensor<1xf32> attributes {relax.prim_func} {
  %e = tensor.from_elements %x : tensor<1xf32>
  return %e : tensor<1xf32>
}
// -----
// Each of two results is in its destination, through a loop, an op with two results, or the insertion of a slice.

// CHECK-LABEL: func.func private @two
// CHECK-NOT: {{materialize_in_destination|alloc_tensor}}
// CHECK-LABEL: func.func private @two.memory
#each = affine_map<(i) -> (i)>
func.func private @two(%a: tensor<4xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
    attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %x = arith.constant 1.0 : f32
  %0:2 = linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]}
      outs(%b, %c : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%p: f32, %q: f32):
    linalg.yield %x, %q : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  %1 = tensor.insert_slice %a into %0#0[0] [4] [1] : tensor<4xf32> into tensor<?xf32>
  %2:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %1, %t = %0#1) -> (tensor<?xf32>, tensor<?xf32>) {
    %u = tensor.insert %x into %s[%i] : tensor<?xf32>
    %v = tensor.insert %x into %t[%i] : tensor<?xf32>
    scf.yield %u, %v : tensor<?xf32>, tensor<?xf32>
  }
  return %2#0, %2#1 : tensor<?xf32>, tensor<?xf32>
}
func.func private @two.memory(%a: memref<4xf32>, %b: memref<?xf32>, %c: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @two, written = array<i64: 1, 2>}} {
  return
}

// CHECK-LABEL: func.func private @only_outputs
// CHECK-NOT: {{materialize_in_destination|alloc_tensor}}
// CHECK-LABEL: func.func private @only_outputs.memory
func.func private @only_outputs(%b: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %x = arith.constant 1.0 : f32
  %0 = linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%b : tensor<?xf32>) {
  ^bb0(%p: f32):
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @only_outputs.memory(%b: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @only_outputs, written = array<i64: 0>}} {
  return
}
