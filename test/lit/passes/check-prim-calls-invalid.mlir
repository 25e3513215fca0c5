// RUN: not relax-opt %s --check-prim-calls 2>&1 | filecheck %s

func.func private @copy(%a: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["n"], dtype = "float32"}]
} {
  return %out : tensor<?xf32>
}

// CHECK: error: {{.*}}: call_tir of 'copy': 'C' dimension 0 is m, but it is declared n (n = n by 'A' dimension 0); match_shape
func.func @destination(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_tir"(%0) {callee = @copy, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
