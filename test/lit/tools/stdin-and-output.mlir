// RUN: relax-opt < %s | filecheck %s
// RUN: relax-opt - < %s | filecheck %s
// RUN: relax-opt %s -o %t.mlir && filecheck %s < %t.mlir
// RUN: relax-opt %s -o=%t2.mlir && filecheck %s < %t2.mlir
// RUN: relax-opt %s -o%t3.mlir && filecheck %s < %t3.mlir
// RUN: rm -rf %t.folder && not relax-opt %s -o %t.folder/out.mlir 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not ls %t.folder
// RUN: not relax-opt absent.mlir -o%t.folder/out.mlir 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not relax-opt %s -o%S 2>&1 | filecheck %s --check-prefix=IS_FOLDER
// RUN: not relax-opt %s -one-shot-bufferise 2>&1 | filecheck %s --check-prefix=TYPO
// RUN: not relax-opt %s -o %s/impossible.mlir 2>&1 | filecheck %s --check-prefix=BAD

// A folder that does not exist is an error, before the input is read; none is made. A mistyped pass is no file.
// FOLDER: relax-opt: error: cannot open output file '{{.*}}out.mlir': there is no folder '{{.*}}.folder'
// IS_FOLDER: relax-opt: error: cannot open output file '{{.*}}': it is a folder
// TYPO: relax-opt: error: unknown option or pass '--one-shot-bufferise'; did you mean '--one-shot-bufferize'
// BAD: relax-opt: error: cannot open output file
// CHECK-LABEL: func.func @f
func.func @f() { return }
