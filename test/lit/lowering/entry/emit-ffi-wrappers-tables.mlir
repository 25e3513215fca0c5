// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// emit_ffi_wrappers.py (ffi_wrapper.py, signature.py, support_arguments.mlir): where calls are long, support functions read
// tensors, as the rows of a table say, into records.

func.func private @add.shapes(%n: index) -> index { return %n : index }

// Reading checks the type, then device, dtype, rank and pointer, then the sizes; what is wrong is found out apart.
// CHECK-LABEL: func.func private @relax.rt.take(
// CHECK-SAME: %[[SLOT:[a-z0-9_]+]]: !llvm.ptr, %[[ROW:[a-z0-9_]+]]: !llvm.ptr, %[[RECORD:[a-z0-9_]+]]: !llvm.ptr, %[[SIZES:[a-z0-9_]+]]: !llvm.ptr
// CHECK: %[[WANTED:[A-Za-z0-9_]+]] = llvm.load %[[ROW]] : !llvm.ptr -> i64
// CHECK: call @relax.rt.flaw_of(%[[SLOT]], %[[ROW]])
// CHECK: arith.cmpi slt, %{{[A-Za-z0-9_]+}}, %c0_i64
// CHECK: call @relax.rt.flaw_of(%[[SLOT]], %[[ROW]])
// CHECK: llvm.icmp "ne" %[[SIZES]],
// CHECK: call @relax.rt.given_flaw(
// A tensor that overlaps a given result is copied, as if it were not contiguous; results that overlap are an error.
// CHECK-LABEL: func.func private @relax.rt.apart(
// CHECK: llvm.store %c0_i8, %{{[A-Za-z0-9_]+}} : i8
// CHECK: call @relax.rt.overlap(
// CHECK-LABEL: func.func private @relax.rt.settle(
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = call @relax.rt.compact(
// CHECK-NEXT: llvm.store %[[COPY]],

// A row: rank, dtype, size of an element, role, name, what is expected. The texts follow the rows.
// CHECK: llvm.mlir.global internal constant @[[TABLE:relax.table.[0-9a-f]+]]("\01\00\00\00\02 \01\00\04\00\00\00\00\00\00\00@\00\00\00E\00\00\00S\00\00\00\00\00\00\00
// CHECK-SAME: add: parameter 'x'\00x: Tensor((n,), \22float32\22)\00add: the given result 0\00
// CHECK-SAME: {addr_space = 0 : i32, alignment = 8 : i64}

// CHECK: func.func @__tvm_ffi_add(%{{[a-z0-9_]+}}: !llvm.ptr, %[[ARGS:[a-z0-9_]+]]: !llvm.ptr, %[[N:[a-z0-9_]+]]: i32, %[[RET:[a-z0-9_]+]]: !llvm.ptr) attributes {relax.inputs = 1 : i64}
// CHECK: %[[GIVEN:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[N]], %c2_i32 : i32
// CHECK: call @relax.check.ffi.add.0(
// CHECK: %[[ROWS:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[TABLE]] :
// CHECK-NEXT: %[[PLAIN:[A-Za-z0-9_]+]] = call @relax.rt.take(%[[ARGS]], %[[ROWS]], %[[RECORDS:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}})
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = call @add.shapes(
// CHECK-NEXT: %[[WANTED:[A-Za-z0-9_]+]] = arith.index_cast %[[SIZE]] : index to i64
// CHECK-NEXT: llvm.store %[[WANTED]], %[[ROOM:[A-Za-z0-9_]+]]
// Results that the caller gave are checked, all before any other is allocated.
// CHECK: %[[APART:[A-Za-z0-9_]+]] = scf.if %[[GIVEN]] ->
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = llvm.getelementptr %[[ARGS]][16]
// CHECK: call @relax.rt.take(%[[SECOND]], %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}, %[[ROOM]])
// CHECK: call @relax.rt.apart(
// CHECK: %[[OUT:[A-Za-z0-9_]+]]:2 = scf.if %[[GIVEN]] ->
// CHECK: else
// CHECK: call @relax.rt.tensor(%[[ROOM]],
// CHECK: call @relax.rt.drop(%[[OUT]]#1) {relax.defer = "error"}
// CHECK: %[[ALL:[A-Za-z0-9_]+]] = arith.andi %[[PLAIN]], %[[APART]] : i1
// CHECK-NEXT: scf.if %[[ALL]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: call @relax.rt.settle(%{{[A-Za-z0-9_]+}}, %c1_i64, %[[ROWS]], %[[RECORDS]])
// CHECK: llvm.load %[[RECORDS]] :
// CHECK: call @add(
func.func @add(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.signature = {
    name = "add", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
