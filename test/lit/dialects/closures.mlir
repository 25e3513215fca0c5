// Functions as values: both forms survive, and wrong ones are refused at their location.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.lambda"() ({
// CHECK-NEXT: ^bb0(%[[Z:[a-z0-9_]+]]: tensor<2xf32>):
// CHECK-NEXT: %[[SUM:[A-Za-z0-9_]+]] = "relax.add"(%[[Z]], %[[X]])
// CHECK-NEXT: "relax.lambda_return"(%[[SUM]])
// CHECK: }) {names = ["z"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
// CHECK: "relax.invoke_pure_closure"(%[[F]], %{{[A-Za-z0-9_]+}})
// CHECK: %[[G:[A-Za-z0-9_]+]] = "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @g} : (tuple<tensor<2xf32>>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
// CHECK: "relax.invoke_closure"(%[[G]], %{{[A-Za-z0-9_]+}})
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    %s = "relax.add"(%z, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%s) : (tensor<2xf32>) -> ()
  }) {names = ["z"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  %g = "relax.make_closure"(%t) {callee = @g} : (tuple<tensor<2xf32>>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  %b = "relax.invoke_closure"(%g, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, false>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
func.func private @g(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
// -----
func.func @type(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lambda: its type is Callable([Tensor((2,), "float32")], Tensor((3,), "float32")), but its body gives Callable([Tensor((2,), "float32")], Tensor((2,), "float32"))}}
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    "relax.lambda_return"(%z) : (tensor<2xf32>) -> ()
  }) {names = ["z"]} : () -> !relax.callable<[tensor<2xf32>], tensor<3xf32>, false>
  return %x : tensor<2xf32>
}
// -----
func.func @names(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lambda: 0 names for 1 parameters}}
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    "relax.lambda_return"(%z) : (tensor<2xf32>) -> ()
  }) {names = []} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  return %x : tensor<2xf32>
}
// -----
func.func @attributes(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lambda: function_attrs is 3 : i64, expected a dictionary of attributes}}
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    "relax.lambda_return"(%z) : (tensor<2xf32>) -> ()
  }) {names = ["z"], function_attrs = 3} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  return %x : tensor<2xf32>
}
// -----
func.func @end(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lambda: the body is one block that ends in relax.lambda_return}}
  %f = "relax.lambda"() ({
    "relax.output"(%x) : (tensor<2xf32>) -> ()
  }) {names = []} : () -> !relax.callable<[], tensor<2xf32>, false>
  return %x : tensor<2xf32>
}
// -----
func.func private @impure(%f: !relax.callable<[], tensor<2xf32>, false>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{invoke_pure_closure: the function is Callable([], Tensor((2,), "float32")), which may have effects: use invoke_closure}}
  %a = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[], tensor<2xf32>, false>, tuple<>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
func.func private @count(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{invoke_closure: 0 arguments given, the function takes 1}}
  %a = "relax.invoke_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, false>, tuple<>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
func.func private @value(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{invoke_closure: operand 'closure' is Tensor((2,), "float32"), expected a function}}
  %a = "relax.invoke_closure"(%x, %t) : (tensor<2xf32>, tuple<>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
func.func @named(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{lambda: 'names' has 0 : i64, expected the name of a parameter}}
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    "relax.lambda_return"(%z) : (tensor<2xf32>) -> ()
  }) {names = [0]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  return %x : tensor<2xf32>
}
