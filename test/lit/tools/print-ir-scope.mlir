// Around passes on functions only functions are printed, unless the module is asked for.
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse),symbol-dce)' --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=LOCAL
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-all --mlir-print-ir-module-scope -o /dev/null 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix=CHANGE

// RUN: relax-opt --load-pass-plugin=%S/Inputs/plugin.py %s --change-exp --mlir-print-ir-before-all -o /dev/null 2>&1 | filecheck %s --check-prefix=PYTHON

// RUN: relax-opt %s --cse --mlir-disable-threading --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=THREAD
// RUN: not relax-opt %s --mlir-disable-threading=two 2>&1 | filecheck %s --check-prefix=THREADS

// Files in a tree, named and numbered as those of mlir-opt.
// RUN: rm -rf %t && relax-opt %s --pass-pipeline='builtin.module(func.func(cse),symbol-dce)' --mlir-print-ir-before-all --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t/new/tree -o /dev/null 2>&1 | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: find %t/new/tree -type f | sort | filecheck %s --check-prefix=FILES
// RUN: filecheck %s --check-prefix=CSE < %t/new/tree/builtin_module_no-symbol-name/func_func_f/0_1_cse.mlir
// RUN: not relax-opt %s --cse --mlir-print-ir-tree-dir=%t/none 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not ls %t/none

// LOCAL: IR Dump After func.func(cse) ('func.func' operation: @f) //----- //
// LOCAL-NEXT: func.func @f
// LOCAL-NOT: func.func @g
// LOCAL: IR Dump After func.func(cse) ('func.func' operation: @g) //----- //
// LOCAL-NEXT: func.func @g
// LOCAL-NOT: func.func @f
// LOCAL: IR Dump After symbol-dce //----- //
// LOCAL-NEXT: module {
// MODULE: IR Dump After func.func(cse) //----- //
// MODULE-NEXT: module {
// MODULE: func.func @f
// MODULE: func.func @g
// MODULE-NOT: IR Dump
// CHANGE-NOT: @g
// CHANGE: IR Dump After func.func(cse) ('func.func' operation: @f)
// CHANGE-NOT: @g
// PYTHON: IR Dump Before change-exp ('func.func' operation: @f) //----- //
// PYTHON-NEXT: func.func @f
// PYTHON: IR Dump Before change-exp ('func.func' operation: @g) //----- //
// PYTHON-NEXT: func.func @g
// THREAD: IR Dump After cse
// THREAD: %sum = arith.addi
// THREAD-NOT: arith.addi
// THREADS: relax-opt: error: --mlir-disable-threading is on or off (1 or 0), got 'two'
// SILENT-NOT: IR Dump
// FILES-DAG: new/tree/builtin_module_no-symbol-name/1_symbol-dce.mlir
// FILES-DAG: new/tree/builtin_module_no-symbol-name/2_symbol-dce.mlir
// FILES-DAG: new/tree/builtin_module_no-symbol-name/func_func_f/0_0_cse.mlir
// FILES-DAG: new/tree/builtin_module_no-symbol-name/func_func_f/0_1_cse.mlir
// FILES-DAG: new/tree/builtin_module_no-symbol-name/func_func_g/0_0_cse.mlir
// FILES-DAG: new/tree/builtin_module_no-symbol-name/func_func_g/0_1_cse.mlir
// CSE: IR Dump After func.func(cse)
// CSE: %sum = arith.addi
// CSE-NEXT: arith.muli %sum, %sum
// ALONE: relax-opt: error: --mlir-print-ir-tree-dir says where dumps go: give --mlir-print-ir-after-all
func.func @f(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i32
  %again = arith.addi %a, %b : i32
  %product = arith.muli %sum, %again : i32
  return %product : i32
}
func.func @g() {
  return
}
