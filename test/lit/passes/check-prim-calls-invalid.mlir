// RUN: not relax-opt %s --check-prim-calls --split-input-file 2>&1 | filecheck %s

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

// -----

// The result has the memory of the argument, which has other sizes: a matched copy would not be that memory.
func.func private @into(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]
} {
  return %b : tensor<?xf32>
}

// CHECK: error: {{.*}}: call_tir_inplace of 'into': 'B' dimension 0 is m, but it is declared n (n = n by 'A' dimension 0); match_shape
func.func @inplace(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = builtin.unrealized_conversion_cast %x, %y : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir_inplace"(%0) {callee = @into, inplace_indices = [1], tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
