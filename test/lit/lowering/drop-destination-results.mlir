// RUN: relax-opt --drop-destination-results --split-input-file %s | filecheck %s
// bufferize.py: results that are arguments go; the call's users take the argument.

// CHECK: memref.global
memref.global "private" constant @table : memref<2xf32> = dense<0.0>

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
// CHECK-NEXT: memref.copy %[[A]], %[[B]] :
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
  %v = arith.constant 1.0 : f32
  %0 = scf.for %i = %zero to %n step %one iter_args(%b = %x) -> (memref<4xf32>) {
    memref.store %v, %b[%i] : memref<4xf32>
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
// -----
// All elements of a buffer in their order are the buffer; a part of one is not.
// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<4xf32>, %[[B:[a-z0-9_]+]]: memref<4xf32>)
// CHECK: %[[P:[A-Za-z0-9_]+]] = memref.subview %[[A]][
// CHECK: %[[Q:[A-Za-z0-9_]+]] = memref.subview %[[A]][
// CHECK-NEXT: memref.copy %[[P]], %[[Q]] :
// CHECK-NOT: memref.copy
// CHECK: return{{$}}
func.func @views(%a: memref<4xf32>, %b: memref<4xf32>) -> memref<4xf32> {
  %c = memref.cast %a : memref<4xf32> to memref<?xf32>
  memref.copy %c, %a : memref<?xf32> to memref<4xf32>
  %p = memref.subview %a[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  %q = memref.subview %a[2] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  memref.copy %p, %q : memref<2xf32, strided<[1]>> to memref<2xf32, strided<[1], offset: 2>>
  %e = memref.expand_shape %b [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  %r = memref.collapse_shape %e [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  memref.copy %r, %b : memref<4xf32> to memref<4xf32>
  return %r : memref<4xf32>
}
// -----
// Destinations are the last buffers, whatever numbers are among the parameters.
// CHECK-LABEL: func.func private @numbers
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<?xf32>, %[[B:[a-z0-9_]+]]: memref<?xf32>, %{{[a-z0-9_]+}}: index)
// CHECK: linalg.copy {{.*}}ins(%[[A]] : memref<?xf32>) outs(%[[B]] : memref<?xf32>)
func.func private @numbers(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> memref<?xf32> attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 0.0 : f32
  memref.store %x, %a[%c0] : memref<?xf32>
  return %a : memref<?xf32>
}
func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %n: i64) attributes {relax.exposes = {callee = @numbers, written = array<i64: 1>}} {
  return
}
// -----
// More results than buffers, a destination of another type, a prim func that has no entry.
// CHECK-LABEL: func.func private @more
// CHECK-NOT: linalg.copy
// CHECK: return
func.func private @more(%a: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>) attributes {relax.prim_func} {
  return %a, %a : memref<?xf32>, memref<?xf32>
}
// CHECK-LABEL: func.func private @types
// CHECK-NOT: linalg.copy
// CHECK: return
func.func private @types(%a: memref<4xf32>, %b: memref<?xf32>) -> memref<4xf32> attributes {relax.prim_func} {
  return %a : memref<4xf32>
}
// CHECK-LABEL: func.func private @inner
// CHECK-NOT: linalg.copy
// CHECK: return
func.func private @inner(%a: memref<?xf32>, %b: memref<?xf32>) -> memref<?xf32> attributes {relax.prim_func} {
  return %a : memref<?xf32>
}
// CHECK-LABEL: func.func private @integer
// CHECK-NOT: linalg.copy
// CHECK: return %{{.*}} : index
func.func private @integer(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> (memref<?xf32>, index) attributes {relax.prim_func} {
  return %a, %n : memref<?xf32>, index
}
func.func @first(%a: memref<?xf32>) attributes {relax.exposes = {callee = @more, written = array<i64>}} {
  return
}
func.func @second(%a: memref<4xf32>, %b: memref<?xf32>) attributes {relax.exposes = {callee = @types, written = array<i64>}} {
  return
}
func.func @third(%a: memref<?xf32>, %b: memref<?xf32>, %n: i64) attributes {relax.exposes = {callee = @integer, written = array<i64>}} {
  return
}
// -----
// The first result is in its destination, the second one is not.
// CHECK-LABEL: func.func private @second
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<?xf32>, %[[B:[a-z0-9_]+]]: memref<?xf32>, %[[C:[a-z0-9_]+]]: memref<?xf32>)
// CHECK-NEXT: linalg.copy {{.*}}ins(%[[A]] : memref<?xf32>) outs(%[[C]] : memref<?xf32>)
// CHECK-NEXT: return
func.func private @second(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>) attributes {relax.prim_func} {
  return %b, %a : memref<?xf32>, memref<?xf32>
}
func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) attributes {relax.exposes = {callee = @second, written = array<i64: 1, 2>}} {
  return
}
// -----
// A call that has given nothing but a buffer gives nothing.
// CHECK-LABEL: func.func @caller
// CHECK-SAME: (%[[A:[a-z0-9_]+]]: memref<4xf32>) {
// CHECK-NEXT: call @same(%[[A]]) : (memref<4xf32>) -> ()
// CHECK-NEXT: call @use(%[[A]])
// CHECK-NEXT: return{{$}}
func.func private @use(memref<4xf32>)
func.func private @same(%a: memref<4xf32>) -> memref<4xf32> {
  return %a : memref<4xf32>
}
func.func @caller(%a: memref<4xf32>) {
  %0 = call @same(%a) : (memref<4xf32>) -> memref<4xf32>
  call @use(%0) : (memref<4xf32>) -> ()
  return
}
