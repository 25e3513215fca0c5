// RUN: rm -rf %t && relax-opt %s --cse --canonicalize --dump-stages=%t -o /dev/null
// RUN: python -c "import os; print(*sorted(os.listdir(r'%t')))" | filecheck %s --check-prefix=FILES
// RUN: filecheck %s --check-prefix=INPUT < %t/000-input.mlir
// RUN: filecheck %s --check-prefix=CSE < %t/001-cse.mlir

// FILES: 000-input.mlir 001-cse.mlir 002-canonicalize.mlir
// INPUT: arith.addi
// INPUT: arith.addi
// CSE: arith.addi
// CSE-NOT: arith.addi
func.func @main(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.addi %a, %a : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}
