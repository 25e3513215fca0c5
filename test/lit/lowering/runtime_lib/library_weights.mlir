// RUN: python -c "from relax_mlir.export.start_code import start_text; from relax_mlir.lowering.runtime_lib.library import WeightsFile; from relax_mlir.target import Target; print(start_text(('f',), [Target('cpu -mcpu=sapphirerapids')], [(0,)], WeightsFile('a b.safetensors', 4224, 128)))" | relax-opt | filecheck %s
// The template library_weights: weights in a file beside the library; and code that asks for AMX tiles.

// CHECK: llvm.mlir.global internal constant @weights_name("a b.safetensors\00")

// The folder is that of the library, or that of the program where its name has none.
// CHECK-LABEL: llvm.func internal @find_path(
// CHECK: llvm.call @dladdr(
// CHECK: llvm.call @readlink(
// CHECK: llvm.call @snprintf(

// Nothing is mapped that has another size; nothing is used that has another header.
// CHECK-LABEL: llvm.func internal @map_weights(
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = arith.constant 4224 : i64
// CHECK: %[[FOUND:[A-Za-z0-9_]+]] = llvm.call @lseek(
// CHECK: arith.cmpi eq, %[[FOUND]], %[[SIZE]] :
// CHECK: llvm.call @mmap(
// CHECK: llvm.call @memcmp(
// CHECK: llvm.getelementptr %{{[A-Za-z0-9_]+}}[128]

// CHECK-LABEL: llvm.func internal @find_weights(
// CHECK: llvm.call @find_path(
// CHECK: llvm.call @open(
// CHECK: llvm.call @map_weights(
// CHECK: llvm.call @close(

// CHECK-LABEL: llvm.func internal @try(
// CHECK: llvm.call @syscall(
// CHECK: scf.if
// CHECK: llvm.call @bind(
