// Private functions take the fields of tuples; public ones keep their signature.
// RUN: relax-opt %s --expand-tuple-arguments --normalize --canonicalize | filecheck %s

// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: %{{[a-z0-9_]+}}: tensor<2xf32> {relax.name = "t_0"}, %[[B:[a-z0-9_]+]]: tensor<3xf32> {relax.name = "t_1_0"}, %{{[a-z0-9_]+}}: tensor<4xf32> {relax.name = "x"}) ->
// CHECK-NEXT: return %[[B]] : tensor<3xf32>
func.func private @callee(%t: tuple<tensor<2xf32>, tuple<tensor<3xf32>>> {relax.name = "t"}, %x: tensor<4xf32> {relax.name = "x"}) -> tensor<3xf32> {
  %0 = "relax.tuple_get_item"(%t) {index = 1} : (tuple<tensor<2xf32>, tuple<tensor<3xf32>>>) -> tuple<tensor<3xf32>>
  %1 = "relax.tuple_get_item"(%0) {index = 0} : (tuple<tensor<3xf32>>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[T:[a-z0-9_]+]]: tuple<tensor<2xf32>, tuple<tensor<3xf32>>>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK: %[[I:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 1 : i64}
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[I]]) {index = 0 : i64}
// CHECK: builtin.unrealized_conversion_cast %[[A]], %[[C]], %{{[a-z0-9_]+}} : tensor<2xf32>, tensor<3xf32>, tensor<4xf32> to tuple<
func.func @main(%t: tuple<tensor<2xf32>, tuple<tensor<3xf32>>> {relax.name = "t"}, %x: tensor<4xf32> {relax.name = "x"}) -> tensor<3xf32> {
  %a = builtin.unrealized_conversion_cast %t, %x : tuple<tensor<2xf32>, tuple<tensor<3xf32>>>, tensor<4xf32> to tuple<tuple<tensor<2xf32>, tuple<tensor<3xf32>>>, tensor<4xf32>>
  %0 = "relax.call"(%a) {callee = @callee} : (tuple<tuple<tensor<2xf32>, tuple<tensor<3xf32>>>, tensor<4xf32>>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// A function that something else than a call names keeps its parameters, and so does a public one that is called.
// CHECK-LABEL: func.func private @named(
// CHECK-SAME: %{{[a-z0-9_]+}}: tuple<tensor<2xf32>> {relax.name = "t"}) ->
func.func private @named(%t: tuple<tensor<2xf32>> {relax.name = "t"}) -> tensor<2xf32> {
  %0 = "relax.tuple_get_item"(%t) {index = 0} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func.func @public(
// CHECK-SAME: %{{[a-z0-9_]+}}: tuple<tensor<2xf32>> {relax.name = "t"}) ->
func.func @public(%t: tuple<tensor<2xf32>> {relax.name = "t"}) -> tensor<2xf32> {
  %0 = "relax.tuple_get_item"(%t) {index = 0} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func.func @kept(
// CHECK: "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @named}
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @named} : (tuple<tuple<tensor<2xf32>>>)
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @public} : (tuple<tuple<tensor<2xf32>>>)
func.func @kept(%t: tuple<tensor<2xf32>>) -> tensor<2xf32> {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @named} : (tuple<>) -> !relax.callable<[tuple<tensor<2xf32>>], tensor<2xf32>, true>
  %a = builtin.unrealized_conversion_cast %t : tuple<tensor<2xf32>> to tuple<tuple<tensor<2xf32>>>
  %0 = "relax.call"(%a) {callee = @named} : (tuple<tuple<tensor<2xf32>>>) -> tensor<2xf32>
  %1 = "relax.call"(%a) {callee = @public} : (tuple<tuple<tensor<2xf32>>>) -> tensor<2xf32>
  %2 = "relax.invoke_pure_closure"(%f, %a) : (!relax.callable<[tuple<tensor<2xf32>>], tensor<2xf32>, true>, tuple<tuple<tensor<2xf32>>>) -> tensor<2xf32>
  %3 = "relax.add"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = "relax.add"(%2, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// A name that is taken gets a number that no other parameter has.
// CHECK-LABEL: func.func private @names(
// CHECK-SAME: {relax.name = "t_0"}, %{{[a-z0-9_]+}}: tensor<2xf32> {relax.name = "t_0_3"}, %{{[a-z0-9_]+}}: tensor<2xf32> {relax.name = "t_0_1"}, %{{[a-z0-9_]+}}: tensor<2xf32> {relax.name = "t_0_2"})
func.func private @names(%t: tuple<tensor<2xf32>> {relax.name = "t"}, %x: tensor<2xf32> {relax.name = "t_0"}, %y: tensor<2xf32> {relax.name = "t_0_1"}, %z: tensor<2xf32> {relax.name = "t_0_2"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// What a packed function may have changed is read after it.
// CHECK-LABEL: func.func private @changed(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32> {relax.name = "t_0"})
// CHECK: "relax.call_packed"
// CHECK: %[[Y:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK: "relax.exp"(%[[Y]])
func.func private @changed(%t: tuple<tensor<2xf32>> {relax.name = "t"}) -> tensor<2xf32> {
  %x = "relax.tuple_get_item"(%t) {index = 0} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %a = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.call_packed"(%a) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %e = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %e : tensor<2xf32>
}
