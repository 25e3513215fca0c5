// RUN: not relax-opt %s --check-prim-funcs 2>&1 | filecheck %s
// check_prim_funcs.py: all problems at once, each with its place and what to write instead.

// CHECK: prim func 'views': memref.reinterpret_cast is not part of prim funcs: take a memref.subview
// CHECK: prim func 'views': vector.load is not part of prim funcs: write loops or linalg on elements
func.func private @views(%a: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %b = memref.reinterpret_cast %a to offset: [8], sizes: [4], strides: [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: 8>>
  %v = vector.load %a[%c0] : memref<?xf32>, vector<4xf32>
  return
}

// CHECK: prim func 'types': arith.constant: i7 is no type of prim funcs
func.func private @types(%a: memref<?xf32>) attributes {relax.prim_func} {
  %x = arith.constant 3 : i7
  return
}

// CHECK: prim func 'gigabytes': arith.constant: a constant of 4294967296 elements is too large for code: use linalg.fill
func.func private @gigabytes(%a: tensor<?xf32>) attributes {relax.prim_func} {
  %x = arith.constant dense<3.0> : tensor<4294967296xf32>
  return
}

// CHECK: prim func 'chosen': arith.select: gives a buffer that depends on the control flow
func.func private @chosen(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  %t = arith.constant true
  %c = arith.select %t, %a, %b : memref<?xf32>
  return
}

// CHECK: prim func 'mixed': its parameters are tensors and memrefs
func.func private @mixed(%a: tensor<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  return
}

// CHECK: prim func 'strided': parameter 0 is memref<?xf32, strided<[2]>>: buffers are in row-major order
func.func private @strided(%a: memref<?xf32, strided<[2]>>) attributes {relax.prim_func} {
  return
}

// CHECK: prim func 'again': the call of 'again' leads back here: write a loop
func.func private @again(%a: memref<?xf32>) attributes {relax.prim_func} {
  call @again(%a) : (memref<?xf32>) -> ()
  return
}

// CHECK: prim func 'host': calls 'abort', which is no prim func
func.func private @abort()
func.func private @host(%a: memref<?xf32>) attributes {relax.prim_func} {
  call @abort() : () -> ()
  return
}

// CHECK: prim func 'reversed': linalg.generic: an access is no sum of loop variables
func.func private @reversed(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
