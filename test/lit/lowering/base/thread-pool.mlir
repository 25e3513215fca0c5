// RUN: python -c "from relax_mlir.lowering.base.support import team_text; print(team_text('x86_64'))" | relax-opt | filecheck %s --check-prefixes=CHECK,X86
// RUN: python -c "from relax_mlir.lowering.base.support import team_text; print(team_text('aarch64'))" | relax-opt | filecheck %s --check-prefixes=CHECK,ARM

// CHECK: llvm.mlir.global internal @state()
// CHECK-LABEL: llvm.func @__relax_team_state() -> !llvm.ptr
// CHECK: %[[PARALLEL:.*]] = llvm.mlir.addressof @parallel
// CHECK: llvm.store %[[PARALLEL]],

// A thread looks for a job, then sleeps: the system call is the machine's.
// CHECK-LABEL: llvm.func internal @serve(
// X86: arith.constant 202 : i64
// ARM: arith.constant 98 : i64
// X86: llvm.call_intrinsic "llvm.x86.sse2.pause"()
// ARM: llvm.call_intrinsic "llvm.aarch64.hint"(

// Without the lock the caller does the whole job.
// CHECK-LABEL: llvm.func internal @parallel(
// CHECK-SAME: %[[FUNCTION:.*]]: !llvm.ptr, %[[CONTEXT:.*]]: !llvm.ptr, %[[COUNT:.*]]: i64, %{{.*}}: i64)
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: llvm.call @lead(%[[FUNCTION]], %[[CONTEXT]], %[[COUNT]],
// CHECK: } else {
// CHECK-NEXT: llvm.call %[[FUNCTION]](%[[CONTEXT]], %[[ZERO]], %[[COUNT]])
