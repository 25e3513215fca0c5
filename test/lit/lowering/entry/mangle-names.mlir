// RUN: relax-opt --mangle-names %s | filecheck %s
// to_llvm.py: functions with a body get a prefix, and all calls of them follow; declarations are of other libraries.

// CHECK: func.func private @log(f32) -> f32
func.func private @log(f32) -> f32

// CHECK: func.func private @relax.fn.exp(
// CHECK-NEXT: call @log(
func.func private @exp(%x: f32) -> f32 {
  %0 = func.call @log(%x) : (f32) -> f32
  return %0 : f32
}

// Names that begin with relax. cannot clash.
// CHECK: func.func private @relax.gemm.f32(
func.func private @relax.gemm.f32(%x: f32) -> f32 { return %x : f32 }

// CHECK: func.func @relax.fn.main(
// CHECK: scf.if
// CHECK-NEXT: func.call @relax.fn.exp(
// CHECK: else
// CHECK-NEXT: func.call @relax.gemm.f32(
func.func @main(%x: f32, %c: i1) -> f32 {
  %0 = scf.if %c -> f32 {
    %1 = func.call @exp(%x) : (f32) -> f32
    scf.yield %1 : f32
  } else {
    %2 = func.call @relax.gemm.f32(%x) : (f32) -> f32
    scf.yield %2 : f32
  }
  return %0 : f32
}

// Declarations and names that begin with relax. get no prefix, nor do calls of them; what checks their sizes neither.
// CHECK: func.func private @relax.gemm.f32.shapes(
// CHECK-NOT: @relax.fn.log
// CHECK-NOT: @relax.fn.relax.
// CHECK-LABEL: func.func @relax.fn.kept(
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]] = call @log(
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = call @relax.gemm.f32(%[[L]])
// CHECK-NEXT: call @relax.gemm.f32.shapes()
// CHECK-NEXT: return %[[R]] :
func.func private @relax.gemm.f32.shapes() { return }
func.func @kept(%x: f32) -> f32 {
  %0 = func.call @log(%x) : (f32) -> f32
  %1 = func.call @relax.gemm.f32(%0) : (f32) -> f32
  func.call @relax.gemm.f32.shapes() : () -> ()
  return %1 : f32
}

// Globals keep their names.
// CHECK: llvm.mlir.global external @table()
llvm.mlir.global external @table() : !llvm.ptr
