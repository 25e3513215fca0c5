// The parts are processed alone: the same name may come twice, and line numbers are those of the file.
// RUN: relax-opt %s --split-input-file | filecheck %s
// RUN: not relax-opt %s 2>&1 | filecheck %s --check-prefix=WHOLE
// RUN: not relax-opt %S/Inputs/second-part-fails.mlir --split-input-file > %t.out 2> %t.err
// RUN: filecheck %s --check-prefix=GOOD < %t.out
// RUN: filecheck %s --check-prefix=LINE < %t.err

// WHOLE: redefinition of symbol named 'f'
// GOOD: func.func @first
// GOOD-NOT: func.func @second
// GOOD: func.func @third
// LINE: second-part-fails.mlir:4:30: error: use of undeclared SSA value name
// LINE-NEXT: func.func @second() { return %x : i32 }
// LINE-NEXT: {{^}}                             ^

// CHECK-LABEL: func.func @f() {
// CHECK: // -----
// CHECK-LABEL: func.func @f() -> i32
func.func @f() { return }

// -----

func.func @f() -> i32 {
  %0 = arith.constant 1 : i32
  return %0 : i32
}
