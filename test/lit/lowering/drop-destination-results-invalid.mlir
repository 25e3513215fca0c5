// RUN: not relax-opt --drop-destination-results --split-input-file %s 2>&1 | filecheck %s
// bufferize.py: nobody would free such a buffer.

// CHECK: error: {{.*}}:6:1: function 'own': result 1 is a buffer of its own; results must be written into the destinations that the caller gives

func.func @own(%x: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  return %x, %a : memref<4xf32>, memref<4xf32>
}
// -----
// CHECK: function 'swapped': result 0 is in the destination of another one, but each is computed in its own
func.func private @swapped(%a: memref<4xf32>, %b: memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) attributes {relax.prim_func} {
  return %b, %a : memref<4xf32>, memref<4xf32>
}
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>) attributes {relax.exposes = {callee = @swapped, written = array<i64: 0, 1>}} {
  return
}
// -----
// A loop that carries another buffer on.
// CHECK: function 'loop': result 0 is a buffer of its own
func.func @loop(%a: memref<4xf32>, %b: memref<4xf32>, %n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<4xf32>) {
    scf.yield %b : memref<4xf32>
  }
  return %0 : memref<4xf32>
}
// -----
// Views: of a parameter, of what a call returns, in another shape, and of a part.
// CHECK: function 'parameter': result 0 is a buffer of its own
func.func @parameter(%a: memref<2x2xf32>) -> memref<4xf32> {
  %0 = memref.collapse_shape %a [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  return %0 : memref<4xf32>
}
// -----
// CHECK: function 'call': result 0 is a buffer of its own
func.func private @elsewhere(memref<4xf32>) -> memref<2x2xf32>
func.func @call(%a: memref<4xf32>) -> memref<4xf32> {
  %0 = call @elsewhere(%a) : (memref<4xf32>) -> memref<2x2xf32>
  %1 = memref.collapse_shape %0 [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  return %1 : memref<4xf32>
}
// -----
// CHECK: function 'shape': result 0 is a buffer of its own
func.func @shape(%a: memref<8xf32>) -> memref<4x2xf32> {
  %0 = memref.expand_shape %a [[0, 1, 2]] output_shape [2, 2, 2] : memref<8xf32> into memref<2x2x2xf32>
  %1 = memref.collapse_shape %0 [[0, 1], [2]] : memref<2x2x2xf32> into memref<4x2xf32>
  return %1 : memref<4x2xf32>
}
// -----
// CHECK: function 'part': result 0 is a buffer of its own
func.func @part(%a: memref<8xf32>) -> memref<4xf32, strided<[1]>> {
  %0 = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  return %0 : memref<4xf32, strided<[1]>>
}
// -----
// An entry has no other place for a buffer of the prim func.
// CHECK: function 'local': result 0 is a buffer of its own
func.func private @local(%a: memref<4xf32>) -> memref<4xf32> attributes {relax.prim_func} {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}
func.func @main(%a: memref<4xf32>) attributes {relax.exposes = {callee = @local, written = array<i64: 0>}} {
  return
}
