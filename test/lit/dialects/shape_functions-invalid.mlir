// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @equal(%a: !relax.shape_value<["n"]>, %b: tensor<f32>) -> tensor<i1> {
  // expected-error@+1 {{shape_equal: operand 'b' is Tensor((), "float32"), expected a shape value}}
  %0 = "relax.shape_equal"(%a, %b) : (!relax.shape_value<["n"]>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
// -----
func.func @equal_result(%a: !relax.shape_value<["n"]>) -> tensor<f32> {
  // expected-error@+1 {{shape_equal: result 0 is Tensor((), "float32"), but its operands give Tensor((), "bool")}}
  %0 = "relax.shape_equal"(%a, %a) : (!relax.shape_value<["n"]>, !relax.shape_value<["n"]>) -> tensor<f32>
  return %0 : tensor<f32>
}
// -----
func.func @integer(%a: i64) -> i64 {
  // expected-error@+1 {{match_shape: the pattern of an integer is one symbol or expression, such as (n,), not (k, m)}}
  %0 = "relax.match_shape"(%a) {pattern = ["k", "m"], result_dtype} : (i64) -> i64
  return %0 : i64
}
