// call_tir_inplace: results in the memory of arguments; wrong ones are refused at their location.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: "relax.call_tir_inplace"(%[[ARGS]]) {callee = @twice, inplace_indices = [0], tir_vars = []}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %y = "relax.call_tir_inplace"(%t) {callee = @twice, inplace_indices = [0], tir_vars = []} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// -----
func.func @count(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{call_tir_inplace: 2 inplace_indices for 1 results}}
  %y = "relax.call_tir_inplace"(%t) {callee = @f, inplace_indices = [0, -1], tir_vars = []} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
func.func @fresh(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{call_tir_inplace: no result is in place; that is a call_tir}}
  %y = "relax.call_tir_inplace"(%t) {callee = @f, inplace_indices = [-1], tir_vars = []} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
func.func @range(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{call_tir_inplace: result 0 takes argument 1, but there are 1 arguments}}
  %y = "relax.call_tir_inplace"(%t) {callee = @f, inplace_indices = [1], tir_vars = []} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
func.func @type(%x: tensor<3xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<3xf32> to tuple<tensor<3xf32>>
  // expected-error @below {{call_tir_inplace: result 0 is Tensor((2,), "float32"), but argument 0 is Tensor((3,), "float32")}}
  %y = "relax.call_tir_inplace"(%t) {callee = @f, inplace_indices = [0], tir_vars = []} : (tuple<tensor<3xf32>>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
// -----
func.func @twice(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{call_tir_inplace: two results take argument 0}}
  %y = "relax.call_tir_inplace"(%t) {callee = @f, inplace_indices = [0, 0], tir_vars = []} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  return %y : tuple<tensor<2xf32>, tensor<2xf32>>
}
