// RUN: python -c "from relax_mlir.export.start_code import start_text; from relax_mlir.target import Target; print(start_text(('f',), [Target('cpu -mcpu=x86-64-v3'), Target('cpu -mcpu=x86-64')], [(0, 64), (128,)], None))" | relax-opt | filecheck %s
// The template library: what an exported library does when it is loaded.

// CHECK: llvm.mlir.global internal constant @team_name("relax_mlir.team.{{[0-9a-f]+}}")
// CHECK: llvm.mlir.global internal constant @missing("this CPU lacks what the library is compiled for: cpu -mcpu=x86-64-v3 or cpu -mcpu=x86-64\00")
// CHECK: llvm.mlir.global internal @problem()

// A variable that is no number, or is out of range, is the default.
// CHECK-LABEL: llvm.func internal @setting(
// CHECK: llvm.call @getenv(
// CHECK: llvm.call @strtod(
// CHECK: arith.select

// CHECK-LABEL: llvm.func internal @bind_memory(
// CHECK: llvm.call @__relax_pool_state()

// What the FFI's registry gives to others.
// CHECK-LABEL: llvm.func internal @give_team(
// CHECK: llvm.call @__relax_team_state()
// CHECK-LABEL: llvm.func internal @after_fork(
// CHECK: llvm.call @__register_atfork(
// CHECK: else
// CHECK: llvm.call @pthread_atfork(
// CHECK-LABEL: llvm.func internal @start_team(
// CHECK: llvm.call @after_fork(
// CHECK: llvm.call @TVMFFIFunctionSetGlobal(
// CHECK-LABEL: llvm.func internal @find_team(
// CHECK: llvm.call @TVMFFIFunctionGetGlobal(
// CHECK: llvm.call @TVMFFIFunctionCall(
// CHECK: llvm.call @start_team(

// Every word of the CPU has the bits that are needed.
// CHECK-LABEL: llvm.func internal @has(
// CHECK: %[[BOTH:[A-Za-z0-9_]+]] = arith.andi %[[WANTED:[A-Za-z0-9_]+]], %{{[A-Za-z0-9_]+}} : i32
// CHECK: arith.cmpi eq, %[[BOTH]], %[[WANTED]] :

// An error is made without a look at the C stack.
// CHECK-LABEL: llvm.func internal @set_error(
// CHECK: llvm.call @TVMFFIErrorCreate(
// CHECK: llvm.call @TVMFFIErrorSetRaised(
// CHECK: llvm.call @TVMFFIObjectDecRef(

// An entry point runs the code that has been bound to it.
// CHECK: llvm.mlir.global internal @code.f()
// CHECK-LABEL: llvm.func @__tvm_ffi_f(
// CHECK: %[[CODE:[A-Za-z0-9_]+]] = llvm.load
// CHECK: scf.if
// CHECK: llvm.call %[[CODE]](
// CHECK: else
// CHECK: llvm.call @refuse()

// Where the constants of the first level lie in the weights.
// CHECK: llvm.mlir.global internal constant @places(dense<[0, 64]> : tensor<2xi64>)
// What the CPU must have: AVX2, BMI1 and BMI2 among the second word.
// CHECK: llvm.mlir.global internal constant @needed(dense<[{{[0-9]+}}, 296, 0, 0, 0, 32, 6]> : tensor<7xi32>)
// CHECK-LABEL: llvm.func internal @bind(
// CHECK: llvm.mlir.addressof @__relax00_f :
// CHECK-LABEL: llvm.func internal @try(
// CHECK: llvm.call @has(
// CHECK: llvm.call @bind(

// The second level, which any CPU can run.
// CHECK: llvm.mlir.global internal constant @places.level1(dense<128> : tensor<1xi64>)
// CHECK: llvm.mlir.global internal constant @needed.level1(dense<0> : tensor<7xi32>)
// CHECK-LABEL: llvm.func internal @bind.level1(
// CHECK: llvm.mlir.addressof @__relax01_f :

// CHECK-LABEL: llvm.func @__relax_start()
// CHECK: llvm.call @__relax_cpu_words(
// CHECK: llvm.call @find_weights()
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = llvm.call @try(
// CHECK: llvm.call @try.level1(%[[FIRST]],
