// The module goes to the standard error, as script where there is one, and stays as it is.
// RUN: relax-opt %s --print-ir="header=between" --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=SHOWN
// RUN: relax-opt %s --print-ir --split-input-file 2>&1 | filecheck %s
// RUN: not relax-opt %s --print-ir="title=between" 2>&1 | filecheck %s --check-prefix=ERROR

// SHOWN: # between
// SHOWN: def main(arg0: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
// SHOWN-NOT: func.func
// CHECK-NOT: {{^}}# {{$}}
// CHECK: class Module:
// CHECK: func.func @main(
// ERROR: unknown option of pass 'print-ir' 'title'; known: header
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// Attributes of a module that are no dictionary have no script.
// SHOWN: # between
// SHOWN-NEXT: module attributes {relax.module_attrs = 3 : i64}
module attributes {relax.module_attrs = 3} {
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }
}
