// RUN: relax-opt < %s | filecheck %s
// RUN: relax-opt - < %s | filecheck %s
// RUN: relax-opt %s -o %t.mlir && filecheck %s < %t.mlir
// RUN: relax-opt %s -o=%t2.mlir && filecheck %s < %t2.mlir
// RUN: not relax-opt %s -o %s/impossible.mlir 2>&1 | filecheck %s --check-prefix=BAD

// BAD: relax-opt: error: cannot write output file
// CHECK-LABEL: func.func @f
func.func @f() { return }
