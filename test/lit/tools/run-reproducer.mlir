// A reproducer in MLIR's own form: its passes run with its options.
// RUN: relax-opt --run-reproducer %s | filecheck %s
// RUN: not relax-opt --run-reproducer --cse %s 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not relax-opt --run-reproducer %S/crash.mlir 2>&1 | filecheck %s --check-prefix=NONE

// CHECK-LABEL: func.func @f
// CHECK-NEXT: %[[S:.*]] = arith.addi
// CHECK-NEXT: return %[[S]], %[[S]]
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
      verify_each: true,
      disabled_pass: "canonicalize"
    }
  }
#-}
