// RUN: relax-opt --lower-packed-calls --split-input-file %s | filecheck %s
// lower_packed_calls.py (runtime_declarations.py, unpack.py, signature.py): declarations get bodies, and calls of them the caller's frame.

func.func private @relax.packed.0(memref<?x4xf32>, index, index, index) -> memref<?x4xf32> attributes {
    relax.packed = {name = "my.fn", style = "alloc",
                    args = ["tensor", "shape:2", "int", "str:hello", "float:0.5", "bool:1"]}}
func.func private @use(memref<?x4xf32>)

// The frame is released on every way out; the result is a memref of the callee's tensor.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x4xf32>, %[[N:[a-z0-9_]+]]: index)
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[FRAME]]) {relax.defer = "always"}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = call @relax.packed.0(%[[FRAME]], %[[X]], %[[N]], %[[N]], %[[N]])
// CHECK-NEXT: call @use(%[[R]])
//
// Errors of the callee's result name caller, callee, place and the expected type.
// CHECK: message = "main: packed function 'my.fn' is not registered (called at {{.+:[0-9]+:8}}); tvm_ffi.register_global_func registers it"
// CHECK: gave back a value that has dimension 1 of {0}, expected 4
//
// CHECK: func.func private @relax.packed.0(%[[FRAME:[a-z0-9_]+]]: !llvm.ptr, %[[X:[a-z0-9_]+]]: memref<?x4xf32>, %[[I:[a-z0-9_]+]]: index, %[[J:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index) -> memref<?x4xf32>
// CHECK: %[[RESULT:[A-Za-z0-9_]+]] = llvm.alloca %c16_i64 x i8
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = llvm.alloca %c96_i64 x i8
// CHECK: %[[F:[A-Za-z0-9_]+]] = call @relax.rt.global(
// CHECK: %[[FOUND:[A-Za-z0-9_]+]] = llvm.icmp "ne" %[[F]]
// CHECK-NEXT: call @relax.check.relax.packed.0.0(%[[FOUND]])
// CHECK: %[[VIEW:[A-Za-z0-9_]+]] = call @relax.rt.view(
// CHECK-NEXT: call @relax.rt.own(%[[FRAME]], %[[VIEW]])
// CHECK: arith.index_cast %[[I]] : index to i64
// CHECK: arith.index_cast %[[J]] : index to i64
// CHECK: %[[SHAPE:[A-Za-z0-9_]+]] = call @relax.rt.construct(
// CHECK-NEXT: call @relax.rt.own(%[[FRAME]], %[[SHAPE]])
// CHECK: %[[INT:[A-Za-z0-9_]+]] = arith.index_cast %[[K]] : index to i64
// CHECK-NEXT: %[[TEXT:[A-Za-z0-9_]+]] = llvm.mlir.addressof @relax.text.{{[0-9a-f]+}}
// CHECK: llvm.store %[[VIEW]],
// CHECK: llvm.store %[[SHAPE]],
// CHECK: llvm.store %[[INT]],
// CHECK: llvm.store %[[TEXT]],
// CHECK: %[[STATUS:[A-Za-z0-9_]+]] = llvm.call @TVMFFIFunctionCall(%[[F]], %[[ARGS]], %c6_i32, %[[RESULT]])
// CHECK-NEXT: call @relax.propagate(%[[STATUS]])
func.func @main(%x: memref<?x4xf32>, %n: index) {
  %0 = call @relax.packed.0(%x, %n, %n, %n) : (memref<?x4xf32>, index, index, index) -> memref<?x4xf32>
  call @use(%0) : (memref<?x4xf32>) -> ()
  return
}

// -----

// In destination-passing style the last memref stands for the result.
// CHECK-LABEL: func.func @dps
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>, %[[OUT:[a-z0-9_]+]]: memref<4xf32>)
// CHECK: call @relax.packed.1(%{{[A-Za-z0-9_]+}}, %[[X]], %[[OUT]]) : (!llvm.ptr, memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT: call @use(%[[OUT]])
func.func private @relax.packed.1(memref<4xf32>, memref<4xf32>) -> memref<4xf32> attributes {
    relax.packed = {name = "my.dps", style = "dps", args = ["tensor", "tensor"]}}
func.func private @use(memref<4xf32>)
func.func @dps(%x: memref<4xf32>, %out: memref<4xf32>) {
  %0 = call @relax.packed.1(%x, %out) : (memref<4xf32>, memref<4xf32>) -> memref<4xf32>
  call @use(%0) : (memref<4xf32>) -> ()
  return
}

// -----

// A hook that nobody calls goes away; a declaration that is none stays.
// CHECK-LABEL: func.func @unused
// CHECK-NOT: @relax.packed
// CHECK: func.func private @elsewhere()
// CHECK-NOT: @relax.packed
func.func private @relax.packed.2() attributes {relax.packed = {name = "never.called", style = "dps"}}
func.func @unused() { return }
func.func private @elsewhere()
