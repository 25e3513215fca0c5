// RUN: python -c "from relax_mlir.export.start_code import start_text; from relax_mlir.target import Target; print(start_text(('f',), (0, 64), Target('cpu -mcpu=x86-64-v3')))" | relax-opt | filecheck %s
// The template library: what an exported library does when it is loaded.

// Where the constants lie in the weights.
// CHECK: llvm.mlir.global internal constant @places(dense<[0, 64]> : tensor<2xi64>)

// What the CPU must have: AVX2, BMI1 and BMI2 among the second word.
// CHECK: llvm.mlir.global internal constant @needed(dense<[{{[0-9]+}}, 296, 0, 0, 0, 32, 6]> : tensor<7xi32>)
// CHECK: llvm.mlir.global internal constant @missing("this CPU lacks what the library is compiled for: cpu -mcpu=x86-64-v3\00")
// CHECK: llvm.mlir.global internal @runs(0 : i8)

// A variable that is no number, or is out of range, is the default.
// CHECK-LABEL: llvm.func internal @setting(
// CHECK: llvm.call @getenv(
// CHECK: llvm.call @strtod(
// CHECK: arith.select

// CHECK-LABEL: llvm.func internal @bind_memory(
// CHECK: llvm.call @__relax_pool_state()
// CHECK-LABEL: llvm.func internal @bind_threads(
// CHECK: llvm.call @__relax_team_state()
// CHECK: llvm.call @pthread_atfork(
// CHECK-LABEL: llvm.func internal @bind_constants(
// CHECK: llvm.mlir.addressof @__relax_weights

// Every word of the CPU has the bits that are needed.
// CHECK-LABEL: llvm.func internal @is_supported() -> i1
// CHECK: llvm.call @__relax_cpu_words(
// CHECK: %[[BOTH:[A-Za-z0-9_]+]] = arith.andi %[[WANTED:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}} : i32
// CHECK: arith.cmpi eq, %[[BOTH]], %[[WANTED]]

// An error is made without a look at the C stack.
// CHECK-LABEL: llvm.func internal @set_error(
// CHECK: llvm.call @TVMFFIErrorCreate(
// CHECK: llvm.call @TVMFFIErrorSetRaised(
// CHECK: llvm.call @TVMFFIObjectDecRef(

// An entry point runs its code if the CPU has been found good.
// CHECK-LABEL: llvm.func @__tvm_ffi_f(
// CHECK: llvm.mlir.addressof @runs
// CHECK: scf.if
// CHECK: llvm.call @__relaxfn_f(
// CHECK: else
// CHECK: llvm.call @refuse()

// CHECK-LABEL: llvm.func @__relax_start()
// CHECK: llvm.call @is_supported()
// CHECK: llvm.call @bind()
// CHECK: llvm.store %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : i8, !llvm.ptr
