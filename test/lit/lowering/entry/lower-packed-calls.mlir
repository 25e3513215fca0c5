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
// CHECK: %[[FOUND:[A-Za-z0-9_]+]] = llvm.icmp "ne" %[[F]],
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
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>, %[[OUT:[a-z0-9_]+]]: memref<4xf32>, %[[N:[a-z0-9_]+]]: index)
// CHECK: call @relax.packed.1(%{{[A-Za-z0-9_]+}}, %[[X]], %[[OUT]], %[[N]]) : (!llvm.ptr, memref<4xf32>, memref<4xf32>, index) -> ()
// CHECK-NEXT: call @use(%[[OUT]])
func.func private @relax.packed.1(memref<4xf32>, memref<4xf32>, index) -> memref<4xf32> attributes {
    relax.packed = {name = "my.dps", style = "dps", args = ["tensor", "tensor", "int"]}}
func.func private @use(memref<4xf32>)
func.func @dps(%x: memref<4xf32>, %out: memref<4xf32>, %n: index) {
  %0 = call @relax.packed.1(%x, %out, %n) : (memref<4xf32>, memref<4xf32>, index) -> memref<4xf32>
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
// -----
// Kinds of arguments and results; dtypes are those of the tensors, in order. A tensor that no kind is given for comes
// last. Of several results the callee gives an Array or List.
// CHECK-LABEL: func.func @many(
// CHECK: message = "many: packed function 'my.many' is not registered (called at an unknown place)
// CHECK: gave back a value 0 that is of type {0:type}, expected result: int
// CHECK: gave back a value 1 that is of type {0:type}, expected result: Shape of rank 2
// CHECK: gave back a value 3 that has dimension 0 of {0}, expected 4 (result: Tensor((4, ?), \22uint8\22))
// CHECK-NOT: that has dimension 1
// CHECK-LABEL: func.func private @relax.packed.0(
// CHECK: %[[RESULT:.+]] = llvm.alloca %c16_i64 x i8
// CHECK: %[[SIZES:.+]] = llvm.alloca %c16_i64 x i8
// CHECK: %[[ROOM:.+]] = llvm.alloca %c112_i64 x i8
// CHECK: memref.dim %arg1, %c0
// CHECK: memref.dim %arg1, %c1
// CHECK: llvm.getelementptr %[[SIZES]][8]
// CHECK: %[[X:.+]] = call @relax.rt.view(%{{.+}}, %[[SIZES]], %c2_i32, %c67590_i32)
// CHECK: %[[Y:.+]] = call @relax.rt.view(%{{.+}}, %{{.+}}, %c0_i32, %c73730_i32)
// CHECK: llvm.store %c70_i64, %[[ROOM]] :
// CHECK: llvm.store %[[X]],
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[ROOM]][16]
// CHECK-NEXT: llvm.store %arg2, %[[AT]] :
// CHECK: llvm.store %arg3,
// CHECK: llvm.store %c1_i64,
// CHECK: llvm.store %c7_i64,
// CHECK: llvm.store %c2_i64,
// CHECK: llvm.store %c1_i64,
// CHECK: llvm.store %c2_i64,
// CHECK: llvm.store %c1_i64,
// CHECK: llvm.store %c2_i64,
// CHECK: llvm.store %c0_i64,
// CHECK: llvm.store %c70_i64,
// CHECK: llvm.store %[[Y]],
// The result is none before the call; an object is owned by the frame afterwards.
// CHECK-NEXT: llvm.store %c0_i64, %[[RESULT]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[RESULT]][8]
// CHECK-NEXT: llvm.store %c0_i64, %[[AT]] :
// CHECK: %[[KIND:.+]] = llvm.load %[[RESULT]] : !llvm.ptr -> i32
// CHECK-NEXT: %[[IS_OBJECT:.+]] = arith.cmpi sge, %[[KIND]], %c64_i32
// CHECK-NEXT: scf.if %[[IS_OBJECT]] {
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[RESULT]][8]
// CHECK-NEXT: %[[OBJECT:.+]] = llvm.load %[[AT]] :
// CHECK-NEXT: call @relax.rt.own(%arg0, %[[OBJECT]])
// Elements are 16 bytes apart; kind and payload of the third are given as they are.
// CHECK: arith.cmpi eq, %{{.+}}, %c4_i64
// CHECK: %[[ELEMENTS:.+]] = llvm.load
// CHECK-NEXT: llvm.load %[[ELEMENTS]] : !llvm.ptr -> i32
// CHECK: llvm.getelementptr %[[ELEMENTS]][16]
// CHECK: %[[THIRD:.+]] = llvm.getelementptr %[[ELEMENTS]][32]
// CHECK-NEXT: %[[KIND:.+]] = llvm.load %[[THIRD]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[THIRD]][8]
// CHECK-NEXT: %[[PAYLOAD:.+]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK: %[[FOURTH:.+]] = llvm.getelementptr %[[ELEMENTS]][48]
// CHECK: call @relax.rt.take(%[[FOURTH]],
// CHECK: %[[ROWS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: arith.cmpi eq, %[[ROWS]], %c4_i64
// CHECK: call @relax.rt.settle(%arg0, %c1_i64,
// CHECK: return %{{.+}}, %{{.+}}, %{{.+}}, %[[KIND]], %[[PAYLOAD]], %{{.+}} : index
func.func private @relax.packed.0(memref<2x3xi8>, i64, i64, memref<f32>) -> (index, index, index, i64, i64, memref<4x?xi8>) attributes {
    relax.packed = {name = "my.many", args = ["tensor", "any", "int:7", "bool:True", "bool:true", "bool:0"],
                    results = ["int", "shape:2", "any", "tensor"], dtypes = ["bool", "float32", "uint8"]}}
func.func @many(%x: memref<2x3xi8>, %k: i64, %p: i64, %y: memref<f32>) -> memref<4x?xi8> {
  %0:6 = call @relax.packed.0(%x, %k, %p, %y) : (memref<2x3xi8>, i64, i64, memref<f32>) -> (index, index, index, i64, i64, memref<4x?xi8>) loc(unknown)
  return %0#5 : memref<4x?xi8>
}
// -----
// Without kinds of results, memrefs are tensors and numbers ints. The first call of a declaration is named. In
// destination-passing style the last tensors are the results. What has a body needs none.
// CHECK-LABEL: func.func @first(
// CHECK: call @relax.packed.2(%{{.+}}, %a, %b, %c) : (!llvm.ptr, memref<3xf32>, memref<4xf32>, memref<5xf32>) -> ()
// CHECK: return %{{.+}}, %{{.+}}, %{{.+}}, %b, %c
// CHECK-LABEL: func.func private @relax.packed.4() attributes {relax.packed
// CHECK-NEXT: return
// CHECK: called at first.py:1:2
// CHECK: has dimension 0 of {0}, expected 0 (result: Tensor((0, ?), \22float32\22))
// CHECK-NOT: second.py
// CHECK-LABEL: func.func private @relax.packed.0(
// CHECK: return %{{.+}} : index
// CHECK-LABEL: func.func private @relax.packed.1(
// CHECK: call @relax.rt.take(
// CHECK: return %{{.+}}, %{{.+}} : memref<0x?xf32>, index
// CHECK-LABEL: func.func private @relax.packed.2(
// CHECK: return
// CHECK-LABEL: func.func private @relax.packed.3(
// CHECK: return
func.func private @relax.packed.9() attributes {relax.packed = {name = "my.unused"}}
func.func private @relax.packed.0(index) -> index attributes {relax.packed = {name = "my.int", args = ["int"]}}
func.func private @relax.packed.1() -> (memref<0x?xf32>, index) attributes {relax.packed = {name = "my.pair"}}
func.func private @relax.packed.2(memref<3xf32>, memref<4xf32>, memref<5xf32>) -> (memref<4xf32>, memref<5xf32>) attributes {relax.packed = {name = "my.dps", style = "dps"}}
func.func private @relax.packed.3() attributes {relax.packed = {name = "my.nothing"}}
func.func @first(%x: index, %a: memref<3xf32>, %b: memref<4xf32>, %c: memref<5xf32>) -> (index, memref<0x?xf32>, index, memref<4xf32>, memref<5xf32>) {
  %0 = call @relax.packed.0(%x) : (index) -> index loc("first.py":1:2)
  %1:2 = call @relax.packed.1() : () -> (memref<0x?xf32>, index)
  %2:2 = call @relax.packed.2(%a, %b, %c) : (memref<3xf32>, memref<4xf32>, memref<5xf32>) -> (memref<4xf32>, memref<5xf32>)
  call @relax.packed.3() : () -> ()
  return %0, %1#0, %1#1, %2#0, %2#1 : index, memref<0x?xf32>, index, memref<4xf32>, memref<5xf32>
}
func.func @second(%x: index) -> index {
  %0 = call @relax.packed.0(%x) : (index) -> index loc("second.py":1:2)
  return %0 : index
}
func.func private @relax.packed.4() attributes {relax.packed = {name = "defined"}} { return }
// -----
// Nothing is declared for a module without packed functions.
// CHECK-LABEL: func.func @none(
// CHECK-NEXT: return
// CHECK-NOT: func.func
func.func @none() { return }
