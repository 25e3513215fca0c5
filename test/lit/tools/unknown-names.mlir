// Names that do not exist stop the tool before it reads anything: the input file does not exist either.
// RUN: not relax-opt absent.mlir --canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not relax-opt absent.mlir --verify-diagnostic 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relax-opt absent.mlir --pass-pipeline='builtin.module(func.func(legalise-ops))' 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not relax-opt absent.mlir --canonicalize='top-dwn=false' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not relax-opt absent.mlir --pass-pipeline='cse' 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not relax-opt absent.mlir --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not relax-opt absent.mlir --cse --pass-pipeline='builtin.module(cse)' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not relax-opt absent.mlir --cse --mlir-print-ir-after=csee 2>&1 | filecheck %s --check-prefix=AROUND
// RUN: not relax-opt absent.mlir 2>&1 | filecheck %s --check-prefix=ABSENT

// PASS: relax-opt: error: unknown option or pass '--canonicalise'; did you mean '--canonicalize'
// OPTION: relax-opt: error: unknown option or pass '--verify-diagnostic'; did you mean '--verify-diagnostics'
// PIPELINE: relax-opt: error: unknown pass 'legalise-ops'; did you mean 'legalize-ops'
// AROUND: relax-opt: error: unknown pass 'csee'; did you mean 'cse'
// VALUE: relax-opt: error: pass 'canonicalize': {{.*}}no such option top-dwn
// FORM: relax-opt: error: --pass-pipeline must be of the form 'builtin.module(...)', got 'cse'
// SYNTAX: relax-opt: error: pass pipeline: this '(' is never closed
// SYNTAX-NEXT: builtin.module(cse
// SYNTAX-NEXT: {{^ *}}^
// BOTH: relax-opt: error: --pass-pipeline and passes as flags exclude each other
// ABSENT: relax-opt: error: cannot open input file 'absent.mlir': No such file or directory
