// RUN: not relax-opt %s --check-prim-funcs --split-input-file 2>&1 | filecheck %s
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

// CHECK: prim func 'gigabytes': arith.constant: a constant of 1073741825 elements is too large for code: use linalg.fill
func.func private @gigabytes(%a: tensor<?xf32>) attributes {relax.prim_func} {
  %x = arith.constant dense<3.0> : tensor<1073741825xf32>
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
// -----
// All problems of this module; the 21st is not shown.
// CHECK: prim func 'blocks': its body has several blocks: write scf.if, scf.for and scf.while
// CHECK: prim func 'blocks': cf.br is not part of prim funcs: a packed function can do what prim funcs cannot
func.func private @blocks(%a: memref<4xf32>) attributes {relax.prim_func} {
  cf.br ^bb1
^bb1:
  return
}

// CHECK: prim func 'returns': it works on memrefs, and returns something: write to its last buffers
func.func private @returns(%a: memref<4xf32>) -> index attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  return %c0 : index
}

// CHECK: prim func 'integer': parameter 1 is i32, expected a tensor, a memref or an index
func.func private @integer(%a: memref<4xf32>, %n: i32) attributes {relax.prim_func} {
  return
}

// CHECK: prim func 'space': parameter 0 is memref<4xf32, 1>: buffers are in row-major order, without strides or offsets
func.func private @space(%a: memref<4xf32, 1>) attributes {relax.prim_func} {
  return
}

// CHECK: prim func 'declared': 'A' is memref<4x?xf32>, but relax.params declares (3, n)
// CHECK: prim func 'declared': 'B' is memref<4xf32>, but relax.params declares (4, 4)
// CHECK: prim func 'declared': 'N' is index, but is declared otherwise in relax.params
// CHECK: prim func 'declared': 'C' is memref<4xf32>, but is declared otherwise in relax.params
func.func private @declared(%a: memref<4x?xf32>, %b: memref<4xf32>, %n: index, %c: memref<4xf32>) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = [3, "n"], dtype = "float32"}, {name = "B", shape = [4, 4], dtype = "float32"}, {name = "N", shape = [4], dtype = "float32"}, {name = "C"}]
} {
  return
}

// CHECK: prim func 'marked': arith.constant has the attribute relax.bounded, which the lowering makes: leave it out
// CHECK: prim func 'marked': arith.constant has the attribute llvm.something, which the lowering makes: leave it out
func.func private @marked(%a: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant {relax.bounded} 0 : index
  %c1 = arith.constant {llvm.something} 1 : index
  return
}

// CHECK: prim func 'meaning': arith.fptosi: it has no meaning for i1: compare with zero
func.func private @meaning(%a: memref<4xf32>, %i: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  %0 = arith.fptosi %x : f32 to i1
  return
}

// CHECK: prim func 'carried': scf.for: gives a buffer that depends on the control flow: branch around what uses it instead
// CHECK: prim func 'carried': scf.for: carries a buffer from round to round: carry numbers, or use one buffer
func.func private @carried(%a: memref<4xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> memref<4xf32> {
    scf.yield %b : memref<4xf32>
  }
  return
}

// CHECK: prim func 'views': memref.expand_shape: its operand has strides: copy it into a buffer of its own first
// CHECK: prim func 'views': memref.cast: it changes the layout
// CHECK: prim func 'views': memref.cast: memref<*xf32> is no type of prim funcs, whose numbers are f16, bf16, f32, f64, i1, i8, i16, i32, i64, index
// CHECK: prim func 'views': memref.cast: it changes the layout
// CHECK: prim func 'views': memref.cast: it changes the layout
func.func private @views(%a: memref<4x6xf32>) attributes {relax.prim_func} {
  %0 = memref.subview %a[0, 0] [4, 3] [1, 1] : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1]>>
  %1 = memref.expand_shape %0 [[0, 1], [2]] output_shape [2, 2, 3] : memref<4x3xf32, strided<[6, 1]>> into memref<2x2x3xf32, strided<[12, 6, 1]>>
  %2 = memref.cast %0 : memref<4x3xf32, strided<[6, 1]>> to memref<4x3xf32, strided<[?, ?], offset: ?>>
  %3 = memref.cast %a : memref<4x6xf32> to memref<*xf32>
  %4 = memref.cast %3 : memref<*xf32> to memref<4x6xf32>
  return
}

// CHECK: prim func 'layouts': memref.alloc: a buffer has a plain layout
func.func private @layouts(%n: index) attributes {relax.prim_func} {
  %0 = memref.alloc() : memref<4x4xf32, strided<[8, 1]>>
  %1 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(i)[s] -> (i + s)>>
  return
}
// CHECK: relax-opt: error: prim funcs hold what cannot be compiled
// -----
// Declarations, and recursion by another.
// CHECK: prim func 'rank': 'A' is memref<4x4xf32>, but relax.params declares (4)
func.func private @rank(%a: memref<4x4xf32>) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = [4], dtype = "float32"}]
} {
  return
}

// CHECK: prim func 'extern': it has no body: define it, or call a packed function
func.func private @extern(%a: memref<4xf32>) attributes {relax.prim_func}

// CHECK: prim func 'first': the call of 'second' leads back here: write a loop
func.func private @first(%a: memref<4xf32>) attributes {relax.prim_func} {
  call @second(%a) : (memref<4xf32>) -> ()
  call @plain(%a) : (memref<4xf32>) -> ()
  return
}
// CHECK: prim func 'second': the call of 'first' leads back here: write a loop
func.func private @second(%a: memref<4xf32>) attributes {relax.prim_func} {
  call @first(%a) : (memref<4xf32>) -> ()
  call @plain(%a) : (memref<4xf32>) -> ()
  call @other(%a) : (memref<4xf32>) -> ()
  return
}
func.func private @other(%a: memref<4xf32>) attributes {relax.prim_func} {
  call @plain(%a) : (memref<4xf32>) -> ()
  return
}
func.func private @third(%a: memref<4xf32>) attributes {relax.prim_func} {
  call @first(%a) : (memref<4xf32>) -> ()
  return
}
func.func private @plain(%a: memref<4xf32>) attributes {relax.prim_func} {
  return
}
// CHECK: relax-opt: error: prim funcs hold what cannot be compiled
// -----
// CHECK: prim func 'claimed': has the attribute relax.proved, which legalize-ops makes: leave it out
func.func private @claimed(%a: memref<4xf32>) attributes {relax.prim_func, relax.proved = ["BoundsError"]} {
  return
}
// CHECK: relax-opt: error: prim funcs hold what cannot be compiled
// -----
// A call that expects more results than there are.
// CHECK: call of prim func 'two', which works on tensors and returns 1, where 2 are expected: it returns what it writes, in order
func.func private @two(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %b : tensor<?xf32>
}
!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @main(%x: !n) -> tuple<!n, !n> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @two, tir_vars = []} : (tuple<!n>) -> tuple<!n, !n>
  return %1 : tuple<!n, !n>
}
// CHECK: relax-opt: error: prim funcs do not fit their calls
