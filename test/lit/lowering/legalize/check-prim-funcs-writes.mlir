// RUN: not relax-opt %s --check-prim-funcs 2>&1 | filecheck %s
// prim_call_sites.py: a pure call changes none of its inputs, by whatever way.

!n = tensor<?xf32, #relax.shape<["n"]>>

// CHECK: prim func 'stores' stores into 'A' by memref.store, but call_tir at {{.*}} gives it as an input{{.*}} call_tir_inplace with its number, 0
func.func private @stores(%a: memref<?xf32>, %b: memref<?xf32>) attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %x = memref.load %b[%c0] : memref<?xf32>
  %view = memref.subview %a[0] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1]>>
  memref.store %x, %view[%c0] : memref<1xf32, strided<[1]>>
  return
}

// CHECK: prim func 'copies' stores into argument 0 by memref.copy
func.func private @copies(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  memref.copy %b, %a : memref<?xf32> to memref<?xf32>
  return
}

// CHECK: prim func 'fills' stores into argument 0 by linalg.fill
func.func private @fills(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  %x = arith.constant 0.0 : f32
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  return
}

// CHECK: prim func 'calls' stores into argument 0 by func.call
func.func private @calls(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  call @fills(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}

// In place, it may.
// CHECK-NOT: call_tir_inplace at
func.func @main(%x: !n) -> tuple<!n, !n, !n, !n, !n> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @stores, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.call_tir"(%0) {callee = @copies, tir_vars = []} : (tuple<!n>) -> !n
  %3 = "relax.call_tir"(%0) {callee = @fills, tir_vars = []} : (tuple<!n>) -> !n
  %4 = "relax.call_tir"(%0) {callee = @calls, tir_vars = []} : (tuple<!n>) -> !n
  %5 = builtin.unrealized_conversion_cast %x, %x : !n, !n to tuple<!n, !n>
  %6 = "relax.call_tir_inplace"(%5) {callee = @fills, inplace_indices = [0], tir_vars = []} : (tuple<!n, !n>) -> !n
  %7 = builtin.unrealized_conversion_cast %1, %2, %3, %4, %6 : !n, !n, !n, !n, !n to tuple<!n, !n, !n, !n, !n>
  return %7 : tuple<!n, !n, !n, !n, !n>
}
