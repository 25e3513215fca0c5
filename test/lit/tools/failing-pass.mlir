// A failing pass: diagnostics with places, the pass, and a reproducer, which does it again.
// RUN: rm -rf %t && not relax-opt %s --cse --one-shot-bufferize --allow-unregistered-dialect --dump-failures=%t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=DUMP < %t/failed-one-shot-bufferize-0.mlir

// CHECK: failing-pass.mlir:15:8: error: op was not bufferized
// CHECK-NEXT: %0 = "test.op"(%t)
// CHECK-NEXT: {{^}}       ^
// CHECK: relax-opt: error: pass 'one-shot-bufferize' failed: op was not bufferized
// CHECK-NEXT: to reproduce: relax-opt --run-reproducer {{.*}}failed-one-shot-bufferize-0.mlir
// RUN: not relax-opt --run-reproducer %t/failed-one-shot-bufferize-0.mlir --dump-failures=%t/again 2>&1 | filecheck %s --check-prefix=AGAIN
// AGAIN: failing-pass.mlir:15:8: error: op was not bufferized
// AGAIN: relax-opt: error: pass 'one-shot-bufferize' failed: op was not bufferized
// DUMP: "test.op"
func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
