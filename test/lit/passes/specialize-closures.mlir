// Calls of function values become calls of functions.
// RUN: relax-opt %s --specialize-closures --split-input-file | filecheck %s
// specialize_closures.py, sources.py, symbols.py, cleanup.py.

// A known closure: a call with the captured values behind the arguments.
// CHECK-LABEL: func.func @known(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>, %[[Y:[a-z0-9_]+]]: tensor<2xf32>
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @add}
// CHECK-NEXT: return %[[R]]
func.func @known(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %h = builtin.unrealized_conversion_cast %y : tensor<2xf32> to tuple<tensor<2xf32>>
  %f = "relax.make_closure"(%h) {callee = @add} : (tuple<tensor<2xf32>>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func private @add(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.add"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A function that is given a closure is cloned for it; one that nobody calls is dropped.
// CHECK-LABEL: func.func @given(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @apply_exp} : (tuple<tuple<>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NOT: @apply(
// CHECK: func.func private @apply_exp(%{{[a-z0-9_]+}}: tuple<>, %[[V:[a-z0-9_]+]]: tensor<2xf32>)
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]]
// CHECK-NEXT: "relax.call"(%[[ARGS]]) {callee = @exp}
func.func @given(%x: tensor<2xf32>) -> tensor<2xf32> {
  %h = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%h) {callee = @exp} : (tuple<>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %t = builtin.unrealized_conversion_cast %f, %x : !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tensor<2xf32> to tuple<!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tensor<2xf32>>
  %r = "relax.call"(%t) {callee = @apply} : (tuple<!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func private @apply(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, %v: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %v : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func private @exp(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Two closures, one of which a condition chooses: a conditional around the calls.
// CHECK-LABEL: func.func @chosen(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: tensor<i1>
// CHECK: %[[FLAG:[a-z0-9_]+]] = tensor.extract %[[C]]
// CHECK: scf.if %[[FLAG]] -> (tensor<2xf32>) {
// CHECK: {callee = @exp}
// CHECK: } else {
// CHECK: {callee = @sqrt}
func.func @chosen(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %h = builtin.unrealized_conversion_cast to tuple<>
  %flag = tensor.extract %c[] : tensor<i1>
  %f = scf.if %flag -> (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>) {
    %a = "relax.make_closure"(%h) {callee = @exp} : (tuple<>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
    scf.yield %a : !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  } else {
    %b = "relax.make_closure"(%h) {callee = @sqrt} : (tuple<>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
    scf.yield %b : !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  }
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func private @exp(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @sqrt(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.sqrt"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Captured values in a tuple that somebody else has made are taken out of it.
// CHECK-LABEL: func.func @captured_tuple(
// CHECK-SAME: %[[T:[a-z0-9_]+]]: tuple<tensor<2xf32>>, %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK-NEXT: %[[V:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[V]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @add}
// CHECK-NEXT: return %[[R]]
func.func @captured_tuple(%t: tuple<tensor<2xf32>>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %f = "relax.make_closure"(%t) {callee = @add} : (tuple<tensor<2xf32>>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  %a = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %a) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func private @add(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.add"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
