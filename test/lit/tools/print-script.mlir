// Relax functions as script.
// RUN: relax-opt %s --print-script | filecheck %s

// CHECK: @I.ir_module
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function
// CHECK-NEXT:     def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
// CHECK-NEXT:         lv: R.Tensor(("n",), "float32") = R.exp(x)
// CHECK-NEXT:         return lv
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
