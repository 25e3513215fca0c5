// What a level does not allow is named, and nothing else.
// RUN: relax-opt %s --check-legality=level=relax | filecheck %s --check-prefix=LEGAL
// RUN: not relax-opt %s --check-legality=level=calls 2>&1 | filecheck %s
// RUN: not relax-opt %s --check-legality=level=calling 2>&1 | filecheck %s --check-prefix=UNKNOWN

!n = tensor<?xf32, #relax.shape<["n"]>>
// LEGAL: "relax.exp"
// CHECK-NOT: has a symbolic shape
// CHECK: relax.exp is not allowed at level calls (calls of prim funcs)
// CHECK-NOT: has a symbolic shape
// UNKNOWN: unknown level 'calling'; did you mean 'calls'
func.func @main(%x: !n) -> !n {
  %0 = "relax.exp"(%x) : (!n) -> !n
  return %0 : !n
}
