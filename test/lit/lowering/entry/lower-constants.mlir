// RUN: relax-opt --lower-constants --split-input-file %s | filecheck %s
// constants.py: entry K of the table, 8 bytes each, becomes a contiguous memref; the table is as long as the last K.

func.func private @relax.constant.0() -> memref<3x4xf32> attributes {relax.constant = 0 : i64}
func.func private @relax.constant.2() -> memref<f32> attributes {relax.constant = 2 : i64}
func.func private @use(memref<3x4xf32>, memref<f32>)

// CHECK-NOT: @relax.constant
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[TABLE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_constants : !llvm.ptr
// CHECK-NEXT: %[[FIRST:[A-Za-z0-9_]+]] = llvm.getelementptr %[[TABLE]][0] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT: %[[DATA:[A-Za-z0-9_]+]] = llvm.load %[[FIRST]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[ALLOCATED:[A-Za-z0-9_]+]] = llvm.insertvalue %[[DATA]], %{{[A-Za-z0-9_]+}}[0]
// CHECK-NEXT: %[[ALIGNED:[A-Za-z0-9_]+]] = llvm.insertvalue %[[DATA]], %[[ALLOCATED]][1]
// CHECK-NEXT: %[[OFFSET:[a-z0-9_]+]] = arith.constant 0 : i64
// CHECK-NEXT: llvm.insertvalue %[[OFFSET]], %[[ALIGNED]][2]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = arith.constant 4 : i64
// CHECK-NEXT: llvm.insertvalue %[[COLUMNS]], %{{[A-Za-z0-9_]+}}[3, 1]
// CHECK: %[[ROWS:[a-z0-9_]+]] = arith.constant 3 : i64
// CHECK-NEXT: llvm.insertvalue %[[ROWS]], %{{[A-Za-z0-9_]+}}[3, 0]
// CHECK: %[[STRIDE:[a-z0-9_]+]] = arith.constant 4 : i64
// CHECK-NEXT: %[[STRUCT:[A-Za-z0-9_]+]] = llvm.insertvalue %[[STRIDE]], %{{[A-Za-z0-9_]+}}[4, 0]
// CHECK-NEXT: %[[MATRIX:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[STRUCT]] : {{.*}} to memref<3x4xf32>
// CHECK: llvm.getelementptr %{{[A-Za-z0-9_]+}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: %[[SCALAR:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[A-Za-z0-9_]+}} : !llvm.struct<(ptr, ptr, i64)> to memref<f32>
// CHECK-NEXT: call @use(%[[MATRIX]], %[[SCALAR]])
// CHECK: llvm.mlir.global external @__relax_constants() {{.*}}: !llvm.array<3 x ptr>
func.func @main() {
  %0 = call @relax.constant.0() : () -> memref<3x4xf32>
  %1 = call @relax.constant.2() : () -> memref<f32>
  call @use(%0, %1) : (memref<3x4xf32>, memref<f32>) -> ()
  return
}
// -----
// A declaration without the attribute is an ordinary function, as is a function with a body, and without constants there
// is no table.
// CHECK-LABEL: func.func private @defined
// CHECK-LABEL: func.func @none
// CHECK-NEXT: call @elsewhere()
// CHECK-NOT: @__relax_constants
func.func private @defined(%x: memref<4xf32>) -> memref<4xf32> attributes {relax.constant = 0 : i64} {
  return %x : memref<4xf32>
}
func.func private @elsewhere() -> memref<4xf32>
func.func @none() -> memref<4xf32> {
  %0 = call @elsewhere() : () -> memref<4xf32>
  return %0 : memref<4xf32>
}
