// A reproducer in MLIR's own form: its passes run with its options.
// RUN: relax-opt --run-reproducer %s | filecheck %s
// RUN: not relax-opt --run-reproducer --cse %s 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not relax-opt --run-reproducer %S/crash.mlir 2>&1 | filecheck %s --check-prefix=NONE

// RUN: relax-opt --run-reproducer %S/Inputs/stock-reproducer.mlir | filecheck %s --check-prefix=STOCK
// RUN: not relax-opt --run-reproducer %S/Inputs/bad-reproducer.mlir 2>&1 | filecheck %s --check-prefix=SYNTAX

// What `mlir-opt --mlir-generate-reproducer` writes, weights included.
// STOCK-LABEL: func.func @f
// STOCK-NEXT: %[[W:.*]] = arith.constant dense_resource<weights> : tensor<4xf32>
// STOCK-NEXT: return %[[W]], %[[W]] :
// STOCK: dialect_resources
// STOCK: weights: "0x0400000001000000020000000300000004000000"
// STOCK-NOT: mlir_reproducer
// SYNTAX: relax-opt: error: '{{.*}}bad-reproducer.mlir': line 6: unexpected '}' in the resources of the module

// CHECK-LABEL: func.func @f
// CHECK-NEXT: %[[S:.*]] = arith.addi
// CHECK-NEXT: return %[[S]], %[[S]] :
// TWICE: relax-opt: error: --run-reproducer takes the passes from the file: give no others
// NONE: relax-opt: error: '{{.*}}crash.mlir' is no reproducer
func.func @f(%a: i32) -> (i32, i32) {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  return %0, %1 : i32, i32
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(canonicalize,cse)",
      disable_threading: true,
      verify_each: true
    },
    relax_reproducer: {
      disabled_pass: "canonicalize"
    }
  }
#-}
