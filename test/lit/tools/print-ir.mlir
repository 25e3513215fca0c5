// RUN: relax-opt %s --symbol-dce --cse --symbol-privatize=exclude=main --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: relax-opt %s --cse --canonicalize --mlir-print-ir-before=canonicalize -o /dev/null 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: relax-opt %s --cse --canonicalize --mlir-print-ir-before-all --mlir-print-ir-after=cse -o /dev/null 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: relax-opt %s --cse --canonicalize --mlir-timing --mlir-pass-statistics -o /dev/null 2>&1 | filecheck %s --check-prefix=REPORTS
// RUN: relax-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=DEBUG
// RUN: relax-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: relax-opt %s --mlir-elide-elementsattrs-if-larger=2 | filecheck %s --check-prefix=ELIDED

// CHANGE-NOT: IR Dump After symbol-
// CHANGE: IR Dump After cse
// CHANGE-NOT: IR Dump After symbol-
// BEFORE-NOT: IR Dump Before cse
// BEFORE: IR Dump Before canonicalize
// BOTH: IR Dump Before cse
// BOTH: IR Dump After cse
// BOTH: IR Dump Before canonicalize
// BOTH-NOT: IR Dump After canonicalize
// REPORTS: ===== Pass statistics =====
// REPORTS: -1  cse
// REPORTS: ===== Execution time =====
// REPORTS: {{[0-9.]+}}  100.0  relax-opt
// REPORTS: {{[0-9.]+}} {{[0-9. ]+}}    cse
// REPORTS: total
// DEBUG: loc("{{.*}}":{{[0-9]+}}:{{[0-9]+}})
// GENERIC: "func.func"() <{
// ELIDED: dense_resource<__elided__>
func.func @main(%a: i32) -> (i32, tensor<4xi32>) {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  %3 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %2, %3 : i32, tensor<4xi32>
}
