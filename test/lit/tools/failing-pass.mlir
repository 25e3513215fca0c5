// A failing pass: diagnostics with places, the pass, the module before it, and a command that does it again.
// RUN: rm -rf %t && not relax-opt %s --cse --one-shot-bufferize --allow-unregistered-dialect --dump-failures=%t 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=DUMP < %t/failed-one-shot-bufferize-0.mlir

// CHECK: failing-pass.mlir:13:8: error: op was not bufferized
// CHECK-NEXT: %0 = "test.op"(%t)
// CHECK-NEXT: {{^}}       ^
// CHECK: relax-opt: error: pass 'one-shot-bufferize' failed: op was not bufferized
// CHECK-NEXT: the module before the pass: {{.*}}failed-one-shot-bufferize-0.mlir
// CHECK-NEXT: to reproduce: relax-opt --allow-unregistered-dialect --pass-pipeline='builtin.module(one-shot-bufferize)' {{.*}}failed-one-shot-bufferize-0.mlir
// DUMP: "test.op"
func.func @f(%t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "test.op"(%t) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
