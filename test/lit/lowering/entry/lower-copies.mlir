// RUN: relax-opt --lower-copies %s | filecheck %s
// to_llvm.py (sizes from buffers.py): a copy between row-major buffers is one memcpy, the target first.

// CHECK-LABEL: func.func @dense
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?x4xf32>, %[[Y:[a-z0-9_]+]]: memref<?x4xf32>)
// CHECK-NOT: memref.copy
// CHECK: %[[ROW:[a-z0-9_]+]] = arith.constant 16 : index
// CHECK: %[[ROWS:[a-z0-9_]+]] = memref.dim %[[X]],
// CHECK: %[[BYTES:[A-Za-z0-9_]+]] = arith.muli %[[ROW]], %[[ROWS]] : index
// CHECK: %[[TO:[a-z0-9_]+]] = memref.extract_aligned_pointer_as_index %[[Y]] :
// CHECK-NEXT: %[[TO_WORD:[A-Za-z0-9_]+]] = arith.index_cast %[[TO]] :
// CHECK-NEXT: %[[TO_PTR:[A-Za-z0-9_]+]] = llvm.inttoptr %[[TO_WORD]] :
// CHECK-NEXT: %[[FROM:[a-z0-9_]+]] = memref.extract_aligned_pointer_as_index %[[X]] :
// CHECK-NEXT: %[[FROM_WORD:[A-Za-z0-9_]+]] = arith.index_cast %[[FROM]] :
// CHECK-NEXT: %[[FROM_PTR:[A-Za-z0-9_]+]] = llvm.inttoptr %[[FROM_WORD]] :
// CHECK-NEXT: %[[COUNT:[A-Za-z0-9_]+]] = arith.index_cast %[[BYTES]] : index to i64
// CHECK-NEXT: "llvm.intr.memcpy"(%[[TO_PTR]], %[[FROM_PTR]], %[[COUNT]]) <{isVolatile = false}>
// CHECK-NEXT: return
func.func @dense(%x: memref<?x4xf32>, %y: memref<?x4xf32>) {
  memref.copy %x, %y : memref<?x4xf32> to memref<?x4xf32>
  return
}

// Gaps between the rows: the copy stays.
// CHECK-LABEL: func.func @strided
// CHECK-NEXT: memref.copy
// CHECK-NEXT: return
func.func @strided(%x: memref<?x4xf32, strided<[8, 1]>>, %y: memref<?x4xf32>) {
  memref.copy %x, %y : memref<?x4xf32, strided<[8, 1]>> to memref<?x4xf32>
  return
}

// Nor has a buffer of unknown rank a known layout.
// CHECK-LABEL: func.func @unranked
// CHECK-NEXT: memref.copy
// CHECK-NEXT: return
func.func @unranked(%x: memref<*xf32>, %y: memref<*xf32>) {
  memref.copy %x, %y : memref<*xf32> to memref<*xf32>
  return
}
