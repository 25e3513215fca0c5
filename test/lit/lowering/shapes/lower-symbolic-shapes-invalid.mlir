// RUN: not relax-opt %s --lower-symbolic-shapes --split-input-file 2>&1 | filecheck %s

// match.py: results are allocated before the call.
// CHECK: error: match: result is Tensor((n, 4), "float32"), whose size n is no formula of the parameters' symbols; native code allocates results before the call: declare the symbol in a parameter
func.func @match(%x: tensor<?x?xf32> {relax.name = "x"}) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n", 4], result_dtype} : (tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// -----

// calls.py
// CHECK: error: {{[^ ]+}}:16:8: call_tir of 'two': 2 arguments (outputs and tir_vars included), the prim func takes 3
func.func @call(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @two, tir_vars = []} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @two(%x: tensor<4xf32>, %y: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  return %o : tensor<4xf32>
}

// -----

// leaves.py
// CHECK: error: rank: 'x' is Tensor(?, "float32"); native code passes tensors of known rank and dtype: declare them
func.func @rank(%x: tensor<*xf32> {relax.name = "x"}) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}
