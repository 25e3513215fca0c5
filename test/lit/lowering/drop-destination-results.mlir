// RUN: relax-opt --drop-destination-results --split-input-file %s | filecheck %s
// bufferize.py: results that are arguments go; the call's users take the argument.

// CHECK-LABEL: func.func private @fill
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>, %[[N:[a-z0-9_]+]]: index) -> index
// CHECK-NEXT: return %[[N]] : index
func.func private @fill(%x: memref<4xf32>, %n: index) -> (memref<4xf32>, index) {
  return %x, %n : memref<4xf32>, index
}
func.func private @use(memref<4xf32>, index)

// A copy of a buffer to itself goes, one to another buffer stays.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<4xf32>, %[[B:[a-z0-9_]+]]: memref<4xf32>, %[[N:[a-z0-9_]+]]: index) {
// CHECK-NEXT: %[[M:[A-Za-z0-9_]+]] = call @fill(%[[A]], %[[N]]) : (memref<4xf32>, index) -> index
// CHECK-NEXT: call @use(%[[A]], %[[M]])
// CHECK-NEXT: memref.copy %[[A]], %[[B]]
// CHECK-NEXT: return
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>, %n: index) -> memref<4xf32> {
  %0:2 = call @fill(%a, %n) : (memref<4xf32>, index) -> (memref<4xf32>, index)
  call @use(%0#0, %0#1) : (memref<4xf32>, index) -> ()
  memref.copy %0#0, %a : memref<4xf32> to memref<4xf32>
  memref.copy %0#0, %b : memref<4xf32> to memref<4xf32>
  return %b : memref<4xf32>
}

// -----

// Results that are no buffers stay; so do those of functions of others.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: (%[[N:[a-z0-9_]+]]: index) -> index
// CHECK-NEXT: %[[BUFFER:[A-Za-z0-9_]+]] = call @elsewhere() : () -> memref<4xf32>
// CHECK: return %[[N]] : index
func.func private @elsewhere() -> memref<4xf32>
func.func private @use(memref<4xf32>)
func.func @kept(%n: index) -> index {
  %0 = call @elsewhere() : () -> memref<4xf32>
  call @use(%0) : (memref<4xf32>) -> ()
  return %n : index
}

// -----

// A loop that carries the buffer as it is gives it back.
// CHECK-LABEL: func.func private @carried
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>, %[[N:[a-z0-9_]+]]: index) {
// CHECK: scf.for
// CHECK: return{{$}}
func.func private @carried(%x: memref<4xf32>, %n: index) -> memref<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0 = scf.for %i = %zero to %n step %one iter_args(%b = %x) -> (memref<4xf32>) {
    scf.yield %b : memref<4xf32>
  }
  return %0 : memref<4xf32>
}

// -----

// A prim func that is called from outside: what it returns of an input goes into its destination, at the end.
// CHECK-LABEL: func.func private @copied
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<?xf32>, %[[B:[a-z0-9_]+]]: memref<?xf32>, %[[C:[a-z0-9_]+]]: memref<?xf32>)
// CHECK: linalg.copy {cast = #linalg.type_fn<cast_signed>} ins(%[[A]] : memref<?xf32>) outs(%[[B]] : memref<?xf32>)
// CHECK-NOT: linalg.copy
// CHECK: return
func.func private @copied(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>) attributes {relax.prim_func} {
  return %a, %c : memref<?xf32>, memref<?xf32>
}
func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) attributes {relax.exposes = {callee = @copied, written = array<i64: 1, 2>}} {
  return
}
