// Functions inside functions become private functions: what they capture comes behind their own parameters.
// RUN: relax-opt %s --lambda-lift --split-input-file | filecheck %s

// A captured tensor is a parameter, a captured constant is made inside.
// CHECK-LABEL: func.func @captures(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32> {relax.name = "x"}
// CHECK-NOT: relax.lambda
// CHECK: %[[HELD:[0-9]+]] = builtin.unrealized_conversion_cast %[[X]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: %[[F:[0-9]+]] = "relax.make_closure"(%[[HELD]]) {callee = @captures_lambda}
// CHECK: "relax.invoke_pure_closure"(%[[F]],
// CHECK: func.func private @captures_lambda(%[[Z:[a-z0-9]+]]: tensor<2xf32> {relax.name = "z"}, %[[Y:[a-z0-9]+]]: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> {
// CHECK-NEXT: %[[C:[0-9]+]] = "relax.constant"()
// CHECK-NEXT: %[[S:[0-9]+]] = "relax.add"(%[[Z]], %[[Y]])
// CHECK-NEXT: %[[R:[0-9]+]] = "relax.add"(%[[S]], %[[C]])
// CHECK-NEXT: return %[[R]]
func.func @captures(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> {
  %c = "relax.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    %s = "relax.add"(%z, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %r = "relax.add"(%s, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%r) : (tensor<2xf32>) -> ()
  }) {names = ["z"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// -----

// A symbol that no parameter defines comes as a shape.
// CHECK-LABEL: func.func @sizes(
// CHECK: %[[N:[0-9]+]] = "relax.shape_expr"() {values = ["n"]}
// CHECK-NEXT: %[[HELD:[0-9]+]] = builtin.unrealized_conversion_cast %[[N]]
// CHECK-NEXT: "relax.make_closure"(%[[HELD]]) {callee = @sizes_lambda}
// CHECK: func.func private @sizes_lambda(%{{[a-z0-9]+}}: !relax.shape_value<["n"]> {relax.name = "sizes"}) -> !relax.shape_value<["2*n"]>
func.func @sizes(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %f = "relax.lambda"() ({
    %s = "relax.shape_expr"() {values = ["2*n"]} : () -> !relax.shape_value<["2*n"]>
    "relax.lambda_return"(%s) : (!relax.shape_value<["2*n"]>) -> ()
  }) {names = []} : () -> !relax.callable<[], !relax.shape_value<["2*n"]>, true>
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}

// -----

// Without functions inside functions nothing changes.
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %[[R:[0-9]+]] = "relax.exp"
// CHECK-NEXT: return %[[R]]
func.func @plain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
