// RUN: relax-opt --lower-constants --split-input-file %s | filecheck %s
// constants.py: entry K of the table, 8 bytes each, becomes a contiguous memref; the table is as long as the last K.

func.func private @relax.constant.0() -> memref<3x4xf32> attributes {relax.constant = 0 : i64}
func.func private @relax.constant.2() -> memref<f32> attributes {relax.constant = 2 : i64}
func.func private @use(memref<3x4xf32>, memref<f32>)

// CHECK-NOT: @relax.constant
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[TABLE:[0-9]+]] = llvm.mlir.addressof @__relax_constants : !llvm.ptr
// CHECK-NEXT: %[[FIRST:[0-9]+]] = llvm.getelementptr %[[TABLE]][0] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT: %[[DATA:[0-9]+]] = llvm.load %[[FIRST]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[ALLOCATED:[0-9]+]] = llvm.insertvalue %[[DATA]], %{{[0-9]+}}[0]
// CHECK-NEXT: llvm.insertvalue %[[DATA]], %[[ALLOCATED]][1]
// CHECK: %[[COLUMNS:[a-z0-9_]+]] = arith.constant 4 : i64
// CHECK-NEXT: llvm.insertvalue %[[COLUMNS]], %{{[0-9]+}}[3, 1]
// CHECK: %[[ROWS:[a-z0-9_]+]] = arith.constant 3 : i64
// CHECK-NEXT: llvm.insertvalue %[[ROWS]], %{{[0-9]+}}[3, 0]
// CHECK: %[[STRIDE:[a-z0-9_]+]] = arith.constant 4 : i64
// CHECK-NEXT: %[[STRUCT:[0-9]+]] = llvm.insertvalue %[[STRIDE]], %{{[0-9]+}}[4, 0]
// CHECK-NEXT: %[[MATRIX:[0-9]+]] = builtin.unrealized_conversion_cast %[[STRUCT]] : {{.*}} to memref<3x4xf32>
// CHECK: llvm.getelementptr %{{[0-9]+}}[16] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: %[[SCALAR:[0-9]+]] = builtin.unrealized_conversion_cast %{{[0-9]+}} : !llvm.struct<(ptr, ptr, i64)> to memref<f32>
// CHECK-NEXT: call @use(%[[MATRIX]], %[[SCALAR]])
// CHECK: llvm.mlir.global external @__relax_constants() {{.*}}: !llvm.array<3 x ptr>
func.func @main() {
  %0 = call @relax.constant.0() : () -> memref<3x4xf32>
  %1 = call @relax.constant.2() : () -> memref<f32>
  call @use(%0, %1) : (memref<3x4xf32>, memref<f32>) -> ()
  return
}

// -----

// A declaration without the attribute is an ordinary function, and without constants there is no table.
// CHECK-LABEL: func.func @none
// CHECK-NEXT: call @elsewhere()
// CHECK-NOT: @__relax_constants
func.func private @elsewhere() -> memref<4xf32>
func.func @none() -> memref<4xf32> {
  %0 = call @elsewhere() : () -> memref<4xf32>
  return %0 : memref<4xf32>
}
