// Dialects of an IRDL file are known, and their constraints hold.
// RUN: relax-opt %s --irdl-file=%S/Inputs/complex.irdl.mlir --cse | filecheck %s
// RUN: not relax-opt %s 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: not relax-opt %S/Inputs/wrong-norm.mlir --irdl-file=%S/Inputs/complex.irdl.mlir 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not relax-opt %s --irdl-file=absent.irdl.mlir 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not relax-opt %s --irdl-file=%S/stdin-and-output.mlir 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --irdl-file=%S/Inputs/bad.irdl.mlir 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not relax-opt %s --irdl-file=%S/Inputs/taken.irdl.mlir 2>&1 | filecheck %s --check-prefix=TAKEN

// RUN: not relax-opt %s --irdl-file=%S/Inputs/unknown-type.irdl.mlir 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not relax-opt %s --irdl-file= 2>&1 | filecheck %s --check-prefix=EMPTY
// RUN: not relax-opt %s -o 2>&1 | filecheck %s --check-prefix=FILE

// TYPE: relax-opt: error: '{{.*}}unknown-type.irdl.mlir' is no valid IRDL file
// TYPE-NEXT: unknown-type.irdl.mlir:3:{{[0-9]+}}: error: no registered type with name !nope.t
// EMPTY: relax-opt: error: --irdl-file needs a value: --irdl-file=<file>
// FILE: relax-opt: error: -o needs a value: -o <file>
// WITHOUT: irdl-file.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}type created with unregistered dialect
// WRONG: wrong-norm.mlir:2:8: error: expected 'f32' but got 'f64'
// ABSENT: relax-opt: error: cannot open IRDL file 'absent.irdl.mlir': No such file or directory
// OTHER: relax-opt: error: '{{.*}}stdin-and-output.mlir' is no IRDL file: it has no irdl.dialect
// SYNTAX: relax-opt: error: '{{.*}}bad.irdl.mlir' is no valid IRDL file
// SYNTAX-NEXT: bad.irdl.mlir:2:{{[0-9]+}}: error:
// TAKEN: relax-opt: error: '{{.*}}taken.irdl.mlir' defines dialect 'relax', which is there already

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %p: !cmath.complex<f32>
// CHECK-NEXT: %n = "cmath.norm"(%p) : (!cmath.complex<f32>) -> f32
func.func @f(%p: !cmath.complex<f32>) -> f32 {
  %n = "cmath.norm"(%p) : (!cmath.complex<f32>) -> f32
  return %n : f32
}
