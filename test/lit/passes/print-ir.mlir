// The module goes to the standard error, as script where there is one, and stays as it is.
// RUN: relax-opt %s --print-ir="header=between" 2>&1 >/dev/null | filecheck %s --check-prefix=SHOWN
// RUN: relax-opt %s --print-ir | filecheck %s
// RUN: not relax-opt %s --print-ir="title=between" 2>&1 | filecheck %s --check-prefix=ERROR

// SHOWN: # between
// SHOWN: def main(arg0: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
// SHOWN-NOT: func.func
// CHECK: func.func @main(
// ERROR: unknown option of pass 'print-ir' 'title'; known: header
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
