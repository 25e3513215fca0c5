// A crash in C++ ends as a message that names the pass, not as a signal.
// RUN: not relax-opt %s --pass-pipeline='builtin.module(func.func(convert-scf-to-spirv))' 2>&1 | filecheck %s

// CHECK: relax-opt: error: crashed (SIG{{[A-Z]+}}) while pass 'func.func(convert-scf-to-spirv)' ran
func.func @f() { return }
