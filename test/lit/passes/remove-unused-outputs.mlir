// Fields that no call takes out are not returned; a result that is used as a whole stays.
// RUN: relax-opt %s --remove-unused-outputs | filecheck %s

// CHECK-LABEL: func.func private @one(
// CHECK-SAME: -> tensor<2xf32>
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"
// CHECK-NEXT: "relax.constant"
// CHECK-NEXT: return %[[E]] : tensor<2xf32>
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
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @whole}
// CHECK-NEXT: return %[[R]] :
func.func @main(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @one} : (tuple<tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  %1 = "relax.tuple_get_item"(%0) {index = 1} : (tuple<tensor<4xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @whole} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  return %2 : tuple<tensor<2xf32>, tensor<2xf32>>
}

// Public functions, and functions that something else than a call names, return what they returned.
// CHECK-LABEL: func.func @public(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[X]] :
// CHECK-NEXT: return %[[T]] :
func.func @public(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<tensor<2xf32>, tensor<2xf32>>
}
// CHECK-LABEL: func.func private @named(
// CHECK-SAME: -> tuple<tensor<2xf32>, tensor<2xf32>>
func.func private @named(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<tensor<2xf32>, tensor<2xf32>>
}
// CHECK-LABEL: func.func @kept(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @public} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
// CHECK: "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @named}
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @named} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
func.func @kept(%x: tensor<2xf32>) -> !relax.callable<[tensor<2xf32>], tuple<tensor<2xf32>, tensor<2xf32>>, true> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @public} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = "relax.tuple_get_item"(%0) {index = 0} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @named} : (tuple<>) -> !relax.callable<[tensor<2xf32>], tuple<tensor<2xf32>, tensor<2xf32>>, true>
  %u = builtin.unrealized_conversion_cast %1 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @named} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %3 = "relax.tuple_get_item"(%2) {index = 0} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %f : !relax.callable<[tensor<2xf32>], tuple<tensor<2xf32>, tensor<2xf32>>, true>
}

// A field that only a dropped field needed goes in the next round: the callee stands before its caller.
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK: return %[[E]] :
func.func private @inner(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %e = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %x, %e : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<tensor<2xf32>, tensor<2xf32>>
}
// CHECK-LABEL: func.func private @outer(
// CHECK-SAME: -> tensor<2xf32>
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @inner} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK: return %[[R]] :
func.func private @outer(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @inner} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %a = "relax.tuple_get_item"(%0) {index = 0} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %b = "relax.tuple_get_item"(%0) {index = 1} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %a, %b : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  return %u : tuple<tensor<2xf32>, tensor<2xf32>>
}
// CHECK-LABEL: func.func @rounds(
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @outer} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]] :
func.func @rounds(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %0 = "relax.call"(%t) {callee = @outer} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = "relax.tuple_get_item"(%0) {index = 1} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Of three fields two are left, with new indices; a field that is taken out in vain does not count. A tuple that is no
// list of values is taken apart, for the fields that are left.
!three = tuple<tensor<2xf32>, tensor<3xf32>, tensor<4xf32>>
// CHECK-LABEL: func.func private @three(
// CHECK-NEXT: %[[A:[0-9]+]] = "relax.tuple_get_item"(%[[T:[a-z0-9]+]]) {index = 0 : i64}
// CHECK-NEXT: %[[C:[0-9]+]] = "relax.tuple_get_item"(%[[T]]) {index = 2 : i64}
// CHECK-NEXT: %[[PAIR:[0-9]+]] = builtin.unrealized_conversion_cast %[[A]], %[[C]] :
// CHECK-NEXT: return %[[PAIR]] : tuple<tensor<2xf32>, tensor<4xf32>>
func.func private @three(%t: !three) -> !three {
  return %t : !three
}
// CHECK-LABEL: func.func @two_of_three(
// CHECK: %[[CALL:[0-9]+]] = "relax.call"({{.*}}) {callee = @three} : {{.*}} -> tuple<tensor<2xf32>, tensor<4xf32>>
// CHECK-NEXT: %[[A:[0-9]+]] = "relax.tuple_get_item"(%[[CALL]]) {index = 0 : i64}
// CHECK-NEXT: %[[C:[0-9]+]] = "relax.tuple_get_item"(%[[CALL]]) {index = 1 : i64}
// CHECK-NEXT: return %[[A]], %[[C]] :
func.func @two_of_three(%t: !three) -> (tensor<2xf32>, tensor<4xf32>) {
  %args = builtin.unrealized_conversion_cast %t : !three to tuple<!three>
  %0 = "relax.call"(%args) {callee = @three} : (tuple<!three>) -> !three
  %1 = "relax.tuple_get_item"(%0) {index = 0} : (!three) -> tensor<2xf32>
  %2 = "relax.tuple_get_item"(%0) {index = 1} : (!three) -> tensor<3xf32>
  %3 = "relax.tuple_get_item"(%0) {index = 2} : (!three) -> tensor<4xf32>
  return %1, %3 : tensor<2xf32>, tensor<4xf32>
}

// Nothing is dropped of no tuple, of an empty one, and of one whose fields are all used; of one that no call uses, the
// first field is left.
!pair = tuple<tensor<2xf32>, tensor<3xf32>>
// CHECK-LABEL: func.func private @tensor(
// CHECK-SAME: -> tensor<2xf32>
// CHECK-LABEL: func.func private @empty(
// CHECK-SAME: -> tuple<>
// CHECK-LABEL: func.func private @pair(
// CHECK-SAME: -> tuple<tensor<2xf32>, tensor<3xf32>>
// CHECK-LABEL: func.func private @in_vain(
// CHECK-SAME: -> tensor<2xf32>
func.func private @tensor(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func private @empty(%x: tensor<2xf32>) -> tuple<> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  return %0 : tuple<>
}
func.func private @pair(%t: !pair) -> !pair {
  return %t : !pair
}
func.func private @in_vain(%t: !pair) -> !pair {
  return %t : !pair
}
func.func @calls(%x: tensor<2xf32>, %t: !pair) -> (tensor<2xf32>, tensor<3xf32>) {
  %x_args = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %t_args = builtin.unrealized_conversion_cast %t : !pair to tuple<!pair>
  %0 = "relax.call"(%x_args) {callee = @tensor} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %1 = "relax.call"(%x_args) {callee = @empty} : (tuple<tensor<2xf32>>) -> tuple<>
  %2 = "relax.call"(%t_args) {callee = @in_vain} : (tuple<!pair>) -> !pair
  %3 = "relax.call"(%t_args) {callee = @pair} : (tuple<!pair>) -> !pair
  %4 = "relax.tuple_get_item"(%3) {index = 0} : (!pair) -> tensor<2xf32>
  %5 = "relax.tuple_get_item"(%3) {index = 1} : (!pair) -> tensor<3xf32>
  return %4, %5 : tensor<2xf32>, tensor<3xf32>
}

// What a packed function may change is read after it.
// CHECK-LABEL: func.func @effect(
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"
// CHECK-NEXT: return %[[NEW]] :
func.func @effect(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %none = "relax.call_packed"(%t) {func = "change", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  return %x : tensor<2xf32>
}
