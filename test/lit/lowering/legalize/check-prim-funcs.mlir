// RUN: relax-opt %s --check-prim-funcs | filecheck %s
// check_prim_funcs.py: what needs checks is marked; arithmetic has a value for all operands.

// An index that is loaded is not known: the function is marked, and no longer fused.
// CHECK-LABEL: func.func private @gather
// CHECK-NOT: relax.pattern
// CHECK-SAME: relax.unchecked = array<i64: 2>
func.func private @gather(%a: tensor<?xf32>, %i: tensor<?xi64>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func, relax.pattern = "injective"
} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  } ins(%i : tensor<?xi64>) outs(%out : tensor<?xf32>) {
  ^bb0(%k: i64, %o: f32):
    %at = arith.index_cast %k : i64 to index
    %x = tensor.extract %a[%at] : tensor<?xf32>
    linalg.yield %x : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// All calls give it operands of one size: nothing is to be checked.
// CHECK-LABEL: func.func private @add
// CHECK-SAME: relax.pattern = "elementwise"
// CHECK-NOT: relax.unchecked
// CHECK: linalg.add
func.func private @add(%a: tensor<?xf32>, %b: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func, relax.pattern = "elementwise"
} {
  %0 = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func private @arithmetic
// CHECK: arith.constant 0 : i32
// CHECK: arith.cmpi eq
// CHECK: %[[TRAPS:.*]] = arith.ori
// CHECK: %[[DIVISOR:.*]] = arith.select %[[TRAPS]],
// CHECK: arith.divsi %{{.*}}, %[[DIVISOR]] :
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult
// CHECK: arith.select %[[INSIDE]],
// CHECK: arith.shli
// CHECK: arith.addi %{{[^ ]*}}, %{{[^ ]*}} : i32
// CHECK: arith.addf %{{.*}} fastmath<reassoc,nsz,arcp,contract,afn>
// CHECK-NOT: math.fpowi
// CHECK: memref.alloc()
// CHECK-NOT: memref.alloca
func.func private @arithmetic(%a: memref<4xi32>, %f: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xi32>
  %d = arith.divsi %x, %x : i32
  %s = arith.shli %d, %x : i32
  %t = arith.addi %s, %x overflow<nsw> : i32
  memref.store %t, %a[%c0] : memref<4xi32>
  %g = memref.load %f[%c0] : memref<4xf32>
  %h = arith.addf %g, %g fastmath<fast> : f32
  %p = math.fpowi %h, %x : f32, i32
  %local = memref.alloca() : memref<2xf32>
  memref.store %p, %local[%c0] : memref<2xf32>
  memref.store %p, %f[%c0] : memref<4xf32>
  return
}

// The integer n is one less than a size: places up to it are in the buffer, but it may be -1, and the buffer empty.
// CHECK-LABEL: func.func private @one_less
// CHECK-NOT: relax.unchecked
// CHECK: memref.load
func.func private @one_less(%a: memref<?xf32>, %n: index) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = ["n + 1"], dtype = "float32"}, {name = "n"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %next = arith.addi %i, %c1 : index
    %x = memref.load %a[%i] : memref<?xf32>
    memref.store %x, %a[%next] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func private @maybe_empty
// CHECK-SAME: relax.unchecked
func.func private @maybe_empty(%a: memref<?xf32>, %n: index) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = ["n + 1"], dtype = "float32"}, {name = "n"}]
} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %a[%c0] : memref<?xf32>
  return
}

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x, %x : !n, !n to tuple<!n, !n>
  %1 = "relax.call_tir"(%0) {callee = @add, tir_vars = []} : (tuple<!n, !n>) -> !n
  return %1 : !n
}

// Affine loops become loops of scf; a function that another one calls declares nothing; alignments go.
// CHECK-LABEL: func.func private @affine
// CHECK-SAME: (%{{.*}}: memref<4xf32>) attributes {relax.prim_func} {
// CHECK-NOT: affine.
// CHECK: scf.for
// CHECK: memref.load %{{[a-z]+}}[%{{[a-z]+}}] : memref<4xf32>
// CHECK-NOT: affine.
// CHECK: return
func.func private @affine(%a: memref<4xf32>) attributes {
  relax.prim_func, relax.unchecked = array<i64>, relax.indices_proved, relax.params = [{name = "A", shape = [4], dtype = "float32"}]
} {
  affine.for %i = 0 to 4 {
    %x = memref.load %a[%i] {alignment = 64 : i64} : memref<4xf32>
    memref.store %x, %a[%i] : memref<4xf32>
  }
  return
}
// CHECK-LABEL: func.func private @caller
// CHECK-SAME: relax.params
// CHECK: call @affine
func.func private @caller(%a: memref<4xf32>, %n: index) attributes {
  relax.prim_func, relax.params = [{name = "A", shape = [4], dtype = "float32"}, {name = "n"}]
} {
  call @affine(%a) : (memref<4xf32>) -> ()
  return
}

// Views of plain buffers, kinds of loops, small constants, the largest one, and larger tensors that are none.
// CHECK-LABEL: func.func private @allowed
func.func private @allowed(%a: tensor<4xf32>) attributes {relax.prim_func} {
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = arith.constant dense<1.0> : tensor<1073741824xf32>
  %2 = tensor.empty() : tensor<4294967296xf32>
  return
}
// CHECK-LABEL: func.func private @views
// CHECK: relax.loop = "parallel"
func.func private @views(%a: memref<4x6xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%c0, %c1] : memref<4x6xf32>
    memref.store %x, %a[%c0, %c0] : memref<4x6xf32>
  } {relax.loop = "parallel"}
  %0 = memref.collapse_shape %a [[0, 1]] : memref<4x6xf32> into memref<24xf32>
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [6, 4] : memref<24xf32> into memref<6x4xf32>
  %2 = memref.cast %a : memref<4x6xf32> to memref<?x6xf32>
  return
}

// A kernel that legalize-ops has made keeps its claims; marks and claims of a changed body go.
// CHECK-LABEL: func.func private @changed
// CHECK-SAME: attributes {relax.prim_func} {
func.func private @changed(%a: memref<4xf32>) attributes {
  relax.prim_func, relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}, relax.kernel_seal = "0123456789abcdef"
} {
  return
}

