// RUN: not relax-opt %s --lower-symbolic-shapes --split-input-file 2>&1 | filecheck %s

// calls.py
// CHECK: error: {{[^ ]+}}:7:8: call_tir of 'two': 2 arguments (outputs and tir_vars included), the prim func takes 3
func.func @call(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @two, tir_vars = []} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @two(%x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  return %o : tensor<4xf32>
}
// -----
// calls.py: a prim func takes no handle.
// CHECK: error: {{[^ ]+}}:{{[0-9]+}}:8: call_tir of 'one': argument 0 is Tensor(?, "float32"); prim funcs take tensors of known rank and dtype: match_shape it first
func.func @unknown(%x: tensor<*xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<*xf32> to tuple<tensor<*xf32>>
  %1 = "relax.call_tir"(%0) {callee = @one, tir_vars = []} : (tuple<tensor<*xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @one(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  return %o : tensor<4xf32>
}
// -----
// calls.py: other functions than prim funcs have another way to be called.
// CHECK: error: {{[^ ]+}}:{{[0-9]+}}:8: relax.call_tir: 'relax_function' is a Relax function, not a prim func (it has no attribute relax.prim_func); relax.call calls it
func.func private @relax_function(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}
func.func @call_tir_of_relax_function(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_tir"(%0) {callee = @relax_function, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// CHECK: error: {{[^ ]+}}:{{[0-9]+}}:8: relax.call: 'prim' is no Relax function; relax.call_tir calls prim funcs
func.func private @prim(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  return %o : tensor<4xf32>
}
func.func @call_of_prim_func(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x, %x : tensor<4xf32>, tensor<4xf32> to tuple<tensor<4xf32>, tensor<4xf32>>
  %1 = "relax.call"(%0) {callee = @prim, pure} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
