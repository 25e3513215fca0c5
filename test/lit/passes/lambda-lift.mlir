// Functions inside functions become private functions: what they capture comes behind their own parameters.
// RUN: relax-opt %s --lambda-lift --split-input-file | filecheck %s

// A captured tensor is a parameter, a captured constant is made inside.
// CHECK-LABEL: func.func @captures(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "x"}
// CHECK-NOT: relax.lambda
// CHECK: %[[HELD:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.make_closure"(%[[HELD]]) {callee = @captures_f}
// CHECK: "relax.invoke_pure_closure"(%[[F]],
// CHECK: func.func private @captures_f(%[[Z:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "z"}, %[[Y:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> {
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.constant"()
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.add"(%[[Z]], %[[Y]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[S]], %[[C]])
// CHECK-NEXT: return %[[R]] :
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
// The function has the attributes that are noted for it.
// CHECK-LABEL: func.func @attributes(
// CHECK-NOT: relax.lambda
// CHECK: func.func private @attributes_f(
// CHECK-SAME: attributes {Composite = "my.exp", Primitive = true}
func.func @attributes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    %r = "relax.exp"(%z) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%r) : (tensor<2xf32>) -> ()
  }) {names = ["z"], function_attrs = {Composite = "my.exp", Primitive = true}} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
// A symbol that no parameter defines comes as a shape.
// CHECK-LABEL: func.func @sizes(
// CHECK: %[[N:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n"]}
// CHECK-NEXT: %[[HELD:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[N]] :
// CHECK-NEXT: "relax.make_closure"(%[[HELD]]) {callee = @sizes_f}
// CHECK: func.func private @sizes_f(%{{[a-z0-9_]+}}: !relax.shape_value<["n"]> {relax.name = "sizes"}) -> !relax.shape_value<["2*n"]>
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
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.exp"
// CHECK-NEXT: return %[[R]] :
func.func @plain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// What is given to a packed function in the body is a tuple of the body's own, also where CSE has let it be an equal one
// from around: `relax.updated` reads what the call was given.
// CHECK-LABEL: func.func @tuple_from_outside(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[GIVEN_TO_F:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: %[[HELD:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.make_closure"(%[[HELD]])
// CHECK-NEXT: "relax.invoke_closure"(%[[F]], %[[GIVEN_TO_F]])
// CHECK: func.func private @tuple_from_outside_f(%[[P:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "p"}, %[[Y:[a-z0-9_]+]]: tensor<2xf32> {{.*}}) -> tensor<2xf32> {
// CHECK-NEXT: %[[GIVEN:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: "relax.call_packed"(%[[GIVEN]])
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: return %[[NEW]] :
func.func @tuple_from_outside(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %f = "relax.lambda"() ({
  ^bb0(%p: tensor<2xf32>):
    %c = "relax.call_packed"(%t) {func = "f.change", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
    %u = "relax.updated"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%u) : (tensor<2xf32>) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  %a = "relax.invoke_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, false>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
// A field of a tuple that is made outside is another name of what the tuple was made of: both are updated.
// CHECK-LABEL: func.func @field_from_outside(
// CHECK: func.func private @field_from_outside_f(%[[P:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "p"}, %[[Y:[a-z0-9_]+]]: tensor<2xf32> {{.*}}) -> tensor<2xf32> {
// CHECK-NEXT: %[[GIVEN:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] : tensor<2xf32> to tuple<tensor<2xf32>>
// CHECK-NEXT: "relax.call_packed"(%[[GIVEN]])
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[Y]])
// CHECK-NEXT: %[[SUM:[A-Za-z0-9_]+]] = "relax.add"(%[[NEW]], %[[NEW]])
// CHECK-NEXT: return %[[SUM]] :
func.func @field_from_outside(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %f = "relax.lambda"() ({
  ^bb0(%p: tensor<2xf32>):
    %y = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %g = builtin.unrealized_conversion_cast %y : tensor<2xf32> to tuple<tensor<2xf32>>
    %c = "relax.call_packed"(%g) {func = "f.change", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
    %s = "relax.add"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%s) : (tensor<2xf32>) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, false>
  %a = "relax.invoke_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, false>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
// A captured value that an op gives is a parameter, too; names do not occur twice.
// CHECK-LABEL: func.func @names(
// CHECK: %[[Y:[a-z0-9_]+]] = "relax.exp"
// CHECK-NEXT: %[[HELD:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %x, %[[Y]] :
// CHECK-NEXT: "relax.make_closure"(%[[HELD]])
// CHECK: func.func private @names_f(%{{.+}}: tensor<2xf32> {relax.name = "x"}, %{{.+}}: tensor<2xf32> {relax.name = "x_1"}, %{{.+}}: tensor<2xf32> {relax.name = "y"})
func.func @names(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> {
  %y = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %f = "relax.lambda"() ({
  ^bb0(%z: tensor<2xf32>):
    %s = "relax.add"(%z, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %r = "relax.add"(%s, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "relax.lambda_return"(%r) : (tensor<2xf32>) -> ()
  }) {names = ["x"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// -----
// Sizes that are not parameters: m*n does not tell n where m is 0; an n of the function around is not the one of m*n;
// only the type of a result may name it. What the body matches itself is none.
// CHECK: func.func private @product_f({{.+}} {relax.name = "x"}, {{.+}} {relax.name = "y"}, %{{.+}}: !relax.shape_value<["n"]> {relax.name = "sizes"})
// CHECK: func.func private @outer_symbol_f({{.+}} {relax.name = "x"}, {{.+}} {relax.name = "y"}, %{{.+}}: !relax.shape_value<["n"]> {relax.name = "sizes"})
// CHECK: func.func private @matched_f(%{{[a-z0-9]+}}: tensor<?xf32> {relax.name = "x"})
// CHECK: func.func private @in_type_f({{.+}} {relax.name = "x"}, %{{.+}}: !relax.shape_value<["n"]> {relax.name = "sizes"})
// CHECK: func.func private @nested_g({{.+}} {relax.name = "y"}, %{{.+}}: !relax.shape_value<["m"]> {relax.name = "sizes"})
// CHECK: func.func private @nested_f(%{{[a-z0-9]+}}: {{[^ ]+}} #relax.shape<["m"]>> {relax.name = "x"})
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
!mn = tensor<?xf32, #relax.shape<["m*n"]>>
func.func @product(%x: !m {relax.name = "x"}, %y: !mn {relax.name = "y"}, %z: !n {relax.name = "z"}) -> !m {
  %f = "relax.lambda"() ({
    %a = "relax.add"(%x, %x) : (!m, !m) -> !m
    %b = "relax.add"(%y, %y) : (!mn, !mn) -> !mn
    %s = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
    "relax.lambda_return"(%s) : (!relax.shape_value<["n"]>) -> ()
  }) {names = []} : () -> !relax.callable<[], !relax.shape_value<["n"]>, true>
  return %x : !m
}
func.func @outer_symbol(%z: !n {relax.name = "z"}) -> !n {
  %f = "relax.lambda"() ({
  ^bb0(%x: !m, %y: !mn):
    %s = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
    "relax.lambda_return"(%s) : (!relax.shape_value<["n"]>) -> ()
  }) {names = ["x", "y"]} : () -> !relax.callable<[!m, !mn], !relax.shape_value<["n"]>, true>
  return %z : !n
}
func.func @matched(%z: !n {relax.name = "z"}) -> !n {
  %f = "relax.lambda"() ({
  ^bb0(%x: tensor<?xf32>):
    %y = "relax.match_shape"(%x) {pattern = ["k"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["k"]>>
    %s = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>
    %u = "relax.shape_of"(%y) : (tensor<?xf32, #relax.shape<["k"]>>) -> !relax.shape_value<["k"]>
    %v = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
    "relax.lambda_return"(%v) : (tensor<?xf32>) -> ()
  }) {names = ["x"]} : () -> !relax.callable<[tensor<?xf32>], tensor<?xf32>, true>
  return %z : !n
}
func.func @in_type(%z: !n {relax.name = "z"}) -> !n {
  %f = "relax.lambda"() ({
  ^bb0(%x: tensor<2xf32>):
    %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
    %y = "relax.call_pure_packed"(%t) {func = "f.make", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> !n
    "relax.lambda_return"(%y) : (!n) -> ()
  }) {names = ["x"]} : () -> !relax.callable<[tensor<2xf32>], !n, true>
  return %z : !n
}
func.func @nested(%z: !n {relax.name = "z"}) -> !n {
  %f = "relax.lambda"() ({
  ^bb0(%x: !m):
    %g = "relax.lambda"() ({
    ^bb0(%y: tensor<?x?xf32, #relax.shape<["k", "k*m"]>>):
      %s = "relax.shape_expr"() {values = ["m"]} : () -> !relax.shape_value<["m"]>
      "relax.lambda_return"(%s) : (!relax.shape_value<["m"]>) -> ()
    }) {names = ["y"]} : () -> !relax.callable<[tensor<?x?xf32, #relax.shape<["k", "k*m"]>>], !relax.shape_value<["m"]>, true>
    "relax.lambda_return"(%x) : (!m) -> ()
  }) {names = ["x"]} : () -> !relax.callable<[!m], !m, true>
  return %z : !n
}
// -----
// A value that is no Relax value is computed again inside, with the constant that it needs.
// CHECK: func.func private @condition_f(%[[P:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "p"}, %[[X:[a-z0-9_]+]]: tensor<2xi1> {relax.name = "x"})
// CHECK-NEXT: %[[I:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = tensor.extract %[[X]][%[[I]]]
// CHECK-NEXT: scf.if %[[B]] ->
func.func @condition(%x: tensor<2xi1> {relax.name = "x"}) -> tensor<2xi1> {
  %i = arith.constant 1 : index
  %b = tensor.extract %x[%i] : tensor<2xi1>
  %f = "relax.lambda"() ({
  ^bb0(%p: tensor<2xf32>):
    %r = scf.if %b -> tensor<2xf32> {
      scf.yield %p : tensor<2xf32>
    } else {
      %e = "relax.exp"(%p) : (tensor<2xf32>) -> tensor<2xf32>
      scf.yield %e : tensor<2xf32>
    }
    "relax.lambda_return"(%r) : (tensor<2xf32>) -> ()
  }) {names = ["p"]} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  return %x : tensor<2xi1>
}
