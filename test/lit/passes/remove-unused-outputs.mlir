// Fields that no call takes out are not returned; a result that is used as a whole stays.
// RUN: relax-opt %s --remove-unused-outputs | filecheck %s

// CHECK-LABEL: func.func private @one(
// CHECK-SAME: -> tensor<2xf32>
// CHECK: return %{{[A-Za-z0-9_]+}} : tensor<2xf32>
func.func private @one(%x: tensor<2xf32>) -> tuple<tensor<4xf32>, tensor<2xf32>> {
  %e = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "relax.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %t = builtin.unrealized_conversion_cast %c, %e : tensor<4xf32>, tensor<2xf32> to tuple<tensor<4xf32>, tensor<2xf32>>
  return %t : tuple<tensor<4xf32>, tensor<2xf32>>
}

// CHECK-LABEL: func.func private @whole(
// CHECK-SAME: -> tuple<tensor<2xf32>, tensor<2xf32>>
func.func private @whole(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<tensor<2xf32>, tensor<2xf32>>
}

// CHECK-LABEL: func.func @main(
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @one} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @whole}
// CHECK-NEXT: return %[[R]]
func.func @main(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @one} : (tuple<tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  %1 = "relax.tuple_get_item"(%0) {index = 1} : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @whole} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  return %2 : tuple<tensor<2xf32>, tensor<2xf32>>
}
