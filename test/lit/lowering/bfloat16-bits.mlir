// RUN: relax-opt %s --split-input-file --bfloat16-bits | filecheck %s
// RUN: relax-opt %s --split-input-file --bfloat16-bits | filecheck %s --check-prefix=NONE

// bf16 that is only moved becomes i16: types, constants by their bits, and casts that do nothing any more.

// CHECK: llvm.mlir.global private constant @c(dense<[16256, -16384]> : tensor<2xi16>)
// CHECK-SAME: !llvm.array<2 x i16>
llvm.mlir.global private constant @c(dense<[1.0, -2.0]> : tensor<2xbf16>) : !llvm.array<2 x bf16>

// CHECK: llvm.mlir.global private constant @empty(dense<> : tensor<0xi16>)
llvm.mlir.global private constant @empty(dense<> : tensor<0xbf16>) : !llvm.array<0 x bf16>

// Attributes of another type, and casts to one of another width, stay.
// CHECK-LABEL: llvm.func @moved
// CHECK: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {scale = 2.000000e+00 : f32} : !llvm.ptr -> i16
// CHECK: llvm.br ^[[NEXT:.*]](%[[X]] : i16)
// CHECK: ^[[NEXT]](%[[Y:.*]]: i16):
// CHECK-NOT: llvm.bitcast
// CHECK: llvm.add %[[Y]], %[[ONE]] : i16
// CHECK: llvm.bitcast %{{.*}} : vector<2xi16> to i32
// NONE-LABEL: llvm.func @moved
// NONE-NOT: bf16
// NONE-LABEL: llvm.func @computed
llvm.func @moved(%p: !llvm.ptr) -> i16 {
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %x = llvm.load %p {scale = 2.0 : f32} : !llvm.ptr -> bf16
  llvm.br ^next(%x : bf16)
^next(%y: bf16):
  %bits = llvm.bitcast %y : bf16 to i16
  %other = llvm.bitcast %one : bf16 to i16
  %sum = llvm.add %bits, %other : i16
  %pair = llvm.load %p : !llvm.ptr -> vector<2xbf16>
  %word = llvm.bitcast %pair : vector<2xbf16> to i32
  llvm.store %word, %p : i32, !llvm.ptr
  llvm.return %sum : i16
}
// -----
// A module that computes in bf16 is for a target that can: nothing changes.

// CHECK-LABEL: llvm.func @computed
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> bf16
// CHECK: llvm.fpext %{{.*}} : bf16 to f32
llvm.func @computed(%p: !llvm.ptr) -> f32 {
  %x = llvm.load %p : !llvm.ptr -> bf16
  %y = llvm.fpext %x : bf16 to f32
  llvm.return %y : f32
}
// -----
// A module without a value of bf16 is not changed.

// CHECK: llvm.mlir.global private constant @table({{.*}} : tensor<2xbf16>)
// CHECK-LABEL: llvm.func @none
// NONE-LABEL: llvm.func @none
llvm.mlir.global private constant @table(dense<[1.0, -2.0]> : tensor<2xbf16>) : !llvm.array<2 x bf16>
llvm.func @none() {
  llvm.return
}
