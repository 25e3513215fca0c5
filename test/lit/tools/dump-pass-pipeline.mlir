// The pipeline that is run, named ones taken apart, without what is disabled or of a higher level.
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse,canonicalize),symbol-dce)' --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: relax-opt %s --relax-to-calls --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=CALLS
// RUN: relax-opt %s --relax-to-calls --opt-level=0 --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=LEVEL0
// RUN: relax-opt %s --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not relax-opt %s --dump-pass-pipelines 2>&1 | filecheck %s --check-prefix=TYPO

// NESTED: Pass Manager with 3 passes:
// NESTED-NEXT: builtin.module(
// NESTED-NEXT: {{^}}  func.func(cse),{{$}}
// NESTED-NEXT: {{^}}  func.func(canonicalize),{{$}}
// NESTED-NEXT: {{^}}  symbol-dce{{$}}
// NESTED-NEXT: {{^}}){{$}}
// CALLS: Pass Manager with {{[0-9]+}} passes:
// CALLS: {{^}}  fold-constant,
// CALLS: {{^}}  check-legality{level=relax},
// CALLS: {{^}}  legalize-ops{target={{.*}}},
// CALLS: {{^}}  fuse-ops,
// CALLS: {{^}}  check-legality{level=calls}{{$}}
// LEVEL0-NOT: fold-constant
// LEVEL0: legalize-ops
// LEVEL0-NOT: fuse-ops
// NONE: Pass Manager with 0 passes:
// NONE-NEXT: builtin.module()
// TYPO: unknown option or pass '--dump-pass-pipelines'; did you mean '--dump-pass-pipeline'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
