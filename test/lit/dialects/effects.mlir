// Ops that act: both forms survive, and wrong ones are refused at their location.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[C:[a-z0-9_]+]]: tensor<i1>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[C]] :
// CHECK-NEXT: "relax.assert_op"(%[[ARGS]]) {message = "no", relation, values = []}
// CHECK: "relax.assert_op"(%{{[A-Za-z0-9_]+}}) {message = "", relation = "==", values = ["n % 4", 0]}
// CHECK: %[[SHOWN:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: "relax.print"(%[[SHOWN]]) {arg_spec = ["x", unit], format = "{} = {}"}
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %c: tensor<i1>) -> tensor<i1> {
  %t = builtin.unrealized_conversion_cast %c : tensor<i1> to tuple<tensor<i1>>
  "relax.assert_op"(%t) {relation, values = [], message = "no"} : (tuple<tensor<i1>>) -> ()
  %e = builtin.unrealized_conversion_cast to tuple<>
  "relax.assert_op"(%e) {relation = "==", values = ["n % 4", 0], message = ""} : (tuple<>) -> ()
  %u = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  "relax.print"(%u) {format = "{} = {}", arg_spec = ["x", unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> ()
  return %c : tensor<i1>
}
// -----
func.func @condition(%x: tensor<2xi1>) -> tensor<2xi1> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xi1> to tuple<tensor<2xi1>>
  // expected-error @below {{assert_op: the condition is Tensor((2,), "bool"), expected a bool tensor of rank 0}}
  "relax.assert_op"(%t) {relation, values = [], message = ""} : (tuple<tensor<2xi1>>) -> ()
  return %x : tensor<2xi1>
}
// -----
func.func @relation(%x: tensor<2xi1>) -> tensor<2xi1> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{assert_op: relation '=' is none of <=, >=, ==, !=, <, >}}
  "relax.assert_op"(%t) {relation = "=", values = [1, 1], message = ""} : (tuple<>) -> ()
  return %x : tensor<2xi1>
}
// -----
func.func @shown(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{assert_op: value 0 of the message is Tensor((2,), "float32"), expected an integer or a tensor of rank 0}}
  "relax.assert_op"(%t) {relation = "==", values = [1, 1], message = ""} : (tuple<tensor<2xf32>>) -> ()
  return %x : tensor<2xf32>
}
// -----
func.func @missing(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{assert_op: 'x is {}' shows value 0, but 0 are given}}
  "relax.assert_op"(%t) {relation = "==", values = [1, 1], message = "x is {}"} : (tuple<>) -> ()
  return %x : tensor<2xf32>
}
// -----
func.func @spec(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{print: arg_spec has 1 operands, the op 0}}
  "relax.print"(%t) {format = "", arg_spec = [unit]} : (tuple<>) -> ()
  return %x : tensor<2xf32>
}
// -----
func.func @block(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{dataflow: relax.print is not pure; dataflow blocks hold pure ops without control flow [invariant 4]}}
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast to tuple<>
    "relax.print"(%t) {format = "hello", arg_spec = []} : (tuple<>) -> ()
    "relax.output"(%x) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
