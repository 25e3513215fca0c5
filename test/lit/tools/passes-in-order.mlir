// Passes run in the order given, from flags as from a pipeline.
// RUN: relax-opt %s --canonicalize='top-down=false' --cse --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=ORDER
// RUN: relax-opt %s --cse | filecheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse),symbol-dce)' | filecheck %s
// RUN: relax-opt %s --cse --disable-pass=cse | filecheck %s --check-prefix=DISABLED

// ORDER: IR Dump After canonicalize{top-down=false}
// ORDER: IR Dump After cse

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[A:[^ :]+]]: i32
// CHECK-NEXT: %[[SUM:.+]] = arith.addi %[[A]], %[[A]] : i32
// CHECK-NEXT: %[[PRODUCT:.+]] = arith.muli %[[SUM]], %[[SUM]] : i32
// CHECK-NEXT: return %[[PRODUCT]] : i32

// DISABLED-LABEL: func.func @main(
// DISABLED: arith.addi
// DISABLED: arith.addi
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
