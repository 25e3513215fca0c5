// A named pipeline leads to a level, and starts from Relax or from another level.
// RUN: relax-opt %s --relax-to-memrefs=start=tensors | filecheck %s
// RUN: relax-opt %s --relax-to-kernels=start=tensors --mlir-timing -o /dev/null 2>&1 | filecheck %s --check-prefix=PHASES
// RUN: not relax-opt %s --relax-to-memrefs=start=llvm 2>&1 | filecheck %s --check-prefix=PHASE
// RUN: not relax-opt %s --relax-to-llvm=target=toaster 2>&1 | filecheck %s --check-prefix=TARGET

// PHASE: relax-opt: error: unknown level from which 'relax-to-memrefs' starts 'llvm'
// TARGET: relax-opt: error: {{.*}}toaster
// PHASES: relax-opt
// PHASES: relax-to-kernels{start=tensors}
// PHASES: memrefs
// PHASES: one-shot-bufferize
// PHASES: kernels

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[OUT:[a-z0-9_]+]]: memref<4xf32
// CHECK: linalg.fill ins(%{{[a-z0-9_]+}} : f32) outs(%[[OUT]] : memref<4xf32
func.func @main(%out: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 1.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
