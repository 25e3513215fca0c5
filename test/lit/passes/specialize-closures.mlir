// Calls of function values become calls of functions.
// RUN: relax-opt %s --specialize-closures --split-input-file | filecheck %s
// specialize_closures.py.

// A known closure: a call with the captured values behind the arguments.
// CHECK-LABEL: func.func @known(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>, %[[Y:[a-z0-9_]+]]: tensor<2xf32>
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @add}
// CHECK-NEXT: return %[[R]] :
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
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]] :
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
// CHECK: %[[FLAG:[a-z0-9_]+]] = tensor.extract %[[C]][
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
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[V]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @add}
// CHECK-NEXT: return %[[R]] :
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
// -----
// A function that returns a closure in a tuple returns what the closure holds; its caller calls the function with that.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @adder} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
// CHECK-NEXT: %[[P_0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK-NEXT: %[[P_1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P_0]]) {index = 0 : i64}
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[P_1]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @adder(
// CHECK-SAME: %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = "relax.negative"(%[[Y]])
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[N]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]], %[[V0]] :
// CHECK-NEXT: return %[[V1]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>

func.func @returned(%x: !v, %y: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %p = "relax.call"(%t) {callee = @adder} : (tuple<!v>) -> tuple<!v, !f>
  %f = "relax.tuple_get_item"(%p) {index = 1 : i64} : (tuple<!v, !f>) -> !f
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %a) : (!f, tuple<!v>) -> !v
  return %r : !v
}
func.func private @adder(%y: !v) -> tuple<!v, !f> {
  %n = "relax.negative"(%y) : (!v) -> !v
  %h = builtin.unrealized_conversion_cast %n : !v to tuple<!v>
  %f = "relax.make_closure"(%h) {callee = @add} : (tuple<!v>) -> !f
  %t = builtin.unrealized_conversion_cast %y, %f : !v, !f to tuple<!v, !f>
  return %t : tuple<!v, !f>
}
func.func private @add(%x: !v, %y: !v) -> !v {
  %0 = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %0 : !v
}
// -----
// Closures in tuples, in both fields: one clone for each pair of functions, whatever they hold; the function itself goes.
// CHECK-LABEL: func.func @tuples(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[V0]] :
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V1]], %[[V2]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @both_add_exp} : (tuple<tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]], %[[V4]] :
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V5]], %[[V6]] :
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.call"(%[[V7]]) {callee = @both_add_exp} : (tuple<tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[S]], %[[V8]] :
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V9]], %[[V10]] :
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.call"(%[[V11]]) {callee = @both_exp_exp} : (tuple<tuple<tensor<2xf32>, tuple<>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[Q]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @both_add_exp(
// CHECK-SAME: %[[P:[A-Za-z0-9_]+]]: tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, %[[G:[A-Za-z0-9_]+]]: tuple<>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V1]]) {index = 0 : i64}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[V2]] :
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V4]] :
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.call"(%[[V5]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V6]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @both_exp_exp(
// CHECK-SAME: %[[P:[A-Za-z0-9_]+]]: tuple<tensor<2xf32>, tuple<>>, %[[G:[A-Za-z0-9_]+]]: tuple<>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]] :
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V2]] :
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V4]] :
// CHECK-NOT: func.func
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func @tuples(%x: !v, %y: !v) -> !v {
  %h = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
  %f = "relax.make_closure"(%h) {callee = @add} : (tuple<!v>) -> !f
  %e = builtin.unrealized_conversion_cast to tuple<>
  %g = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  %i = builtin.unrealized_conversion_cast %x, %f : !v, !f to tuple<!v, !f>
  %t = builtin.unrealized_conversion_cast %i, %g : tuple<!v, !f>, !f to tuple<tuple<!v, !f>, !f>
  %r = "relax.call"(%t) {callee = @both} : (tuple<tuple<!v, !f>, !f>) -> !v
  %j = builtin.unrealized_conversion_cast %r, %f : !v, !f to tuple<!v, !f>
  %u = builtin.unrealized_conversion_cast %j, %g : tuple<!v, !f>, !f to tuple<tuple<!v, !f>, !f>
  %s = "relax.call"(%u) {callee = @both} : (tuple<tuple<!v, !f>, !f>) -> !v
  %k = builtin.unrealized_conversion_cast %s, %g : !v, !f to tuple<!v, !f>
  %w = builtin.unrealized_conversion_cast %k, %g : tuple<!v, !f>, !f to tuple<tuple<!v, !f>, !f>
  %q = "relax.call"(%w) {callee = @both} : (tuple<tuple<!v, !f>, !f>) -> !v
  return %q : !v
}
func.func private @both(%p: tuple<!v, !f>, %g: !f) -> !v {
  %x = "relax.tuple_get_item"(%p) {index = 0 : i64} : (tuple<!v, !f>) -> !v
  %f = "relax.tuple_get_item"(%p) {index = 1 : i64} : (tuple<!v, !f>) -> !f
  %a = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %0 = "relax.invoke_pure_closure"(%f, %a) : (!f, tuple<!v>) -> !v
  %b = builtin.unrealized_conversion_cast %0 : !v to tuple<!v>
  %1 = "relax.invoke_pure_closure"(%g, %b) : (!f, tuple<!v>) -> !v
  return %1 : !v
}
func.func private @add(%x: !v, %y: !v) -> !v {
  %0 = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %0 : !v
}
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
// -----
// Closures that a condition chooses, as an argument and to be called: a conditional around two calls. One that yields
// another value, too, yields that alone.
// CHECK-LABEL: func.func @chosen_argument(
// CHECK-SAME: %[[C:[A-Za-z0-9_]+]]: i1, %[[D:[A-Za-z0-9_]+]]: i1, %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[I:[A-Za-z0-9_]+]] = scf.if %[[D]] -> (tensor<2xf32>) {
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = "relax.negative"(%[[X]])
// CHECK-NEXT: scf.yield %[[N]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[X]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = scf.if %[[C]] -> (tensor<2xf32>) {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[I]], %[[V0]], %[[X]] :
// CHECK-NEXT: %[[R_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_exp} : (tuple<tensor<2xf32>, tuple<>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[R_0]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[I]], %[[V0]], %[[X]] :
// CHECK-NEXT: %[[R_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_sqrt} : (tuple<tensor<2xf32>, tuple<>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[R_0]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = scf.if %[[D]] -> (tensor<2xf32>) {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]] :
// CHECK-NEXT: %[[S_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[S_0]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]] :
// CHECK-NEXT: %[[S_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @sqrt} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[S_0]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[S]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @sqrt(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[X]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_exp(
// CHECK-SAME: %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[F:[A-Za-z0-9_]+]]: tuple<>, %[[W:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.subtract"(%[[R]], %[[W]])
// CHECK-NEXT: return %[[S]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_sqrt(
// CHECK-SAME: %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[F:[A-Za-z0-9_]+]]: tuple<>, %[[W:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @sqrt} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.subtract"(%[[R]], %[[W]])
// CHECK-NEXT: return %[[S]] :
// CHECK-NOT: func.func
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func @chosen_argument(%c: i1, %d: i1, %x: !v) -> !v {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %a = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  %b = "relax.make_closure"(%e) {callee = @sqrt} : (tuple<>) -> !f
  %f = arith.select %c, %a, %b : !f
  %i:2 = scf.if %d -> (!v, !f) {
    %n = "relax.negative"(%x) : (!v) -> !v
    scf.yield %n, %a : !v, !f
  } else {
    scf.yield %x, %b : !v, !f
  }
  %t = builtin.unrealized_conversion_cast %i#0, %f, %x : !v, !f, !v to tuple<!v, !f, !v>
  %r = "relax.call"(%t) {callee = @apply} : (tuple<!v, !f, !v>) -> !v
  %u = builtin.unrealized_conversion_cast %r : !v to tuple<!v>
  %s = "relax.invoke_pure_closure"(%i#1, %u) : (!f, tuple<!v>) -> !v
  return %s : !v
}
func.func private @apply(%v: !v, %f: !f, %w: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %v : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  %s = "relax.subtract"(%r, %w) : (!v, !v) -> !v
  return %s : !v
}
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func private @sqrt(%x: !v) -> !v {
  %0 = "relax.sqrt"(%x) : (!v) -> !v
  return %0 : !v
}
// -----
// Functions without function values keep their dataflow blocks, also if nothing calls them; the effects are explicit.
// CHECK-LABEL: func.func @without(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: "relax.output"(%[[E]])
// CHECK-NEXT: })
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func @in_dataflow(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func @changed(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[C_0:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.subtract"(%[[C_0]], %[[Y]])
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @uncalled(
// CHECK-SAME: %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V]] :
// CHECK-NOT: func.func
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
memref.global "private" @other : memref<2xf32>
func.func @without(%x: !v) -> !v {
  %0 = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    "relax.output"(%e) : (!v) -> ()
  }) : () -> !v
  return %0 : !v
}
func.func @in_dataflow(%x: !v, %y: !v) -> !v {
  %0 = "relax.dataflow"() ({
    %h = builtin.unrealized_conversion_cast %y : !v to tuple<!v>
    %f = "relax.make_closure"(%h) {callee = @add} : (tuple<!v>) -> !f
    %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
    %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
    "relax.output"(%r) : (!v) -> ()
  }) : () -> !v
  return %0 : !v
}
func.func @changed(%x: !v, %y: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %r = "relax.subtract"(%x, %y) : (!v, !v) -> !v
  return %r : !v
}
func.func private @add(%x: !v, %y: !v) -> !v {
  %0 = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %0 : !v
}
func.func private @unused(%f: !f, %v: !v) -> !v {
  return %v : !v
}
func.func private @uncalled(%v: !v) -> !v {
  return %v : !v
}
// -----
// What a closure holds has the sizes of the function that it is given to: k, twice k, new symbols, and twice one of these.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["m"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*n"]>>, %[[W:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*m"]>>, %[[T:[A-Za-z0-9_]+]]: tuple<!relax.shape_value<["m", 3]>, tensor<?xf32>>, %[[U:[A-Za-z0-9_]+]]: tensor<*xf32>, %[[O:[A-Za-z0-9_]+]]: !relax.object) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[W]], %[[Z]], %[[Y]], %[[T]], %[[U]], %[[O]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[X]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_holds} : (tuple<tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["2*m"]>>, tensor<?xf32, #relax.shape<["2*n"]>>, tensor<?xf32, #relax.shape<["m"]>>, tuple<!relax.shape_value<["m", 3]>, tensor<?xf32>>, tensor<*xf32>, !relax.object>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @holds(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[W:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*m"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["m"]>>, %[[T:[A-Za-z0-9_]+]]: tuple<!relax.shape_value<["m", 3]>, tensor<?xf32>>, %[[U:[A-Za-z0-9_]+]]: tensor<*xf32>, %[[O:[A-Za-z0-9_]+]]: !relax.object) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[A]], %[[X]])
// CHECK-NEXT: return %[[V0]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_holds(
// CHECK-SAME: %[[F:[A-Za-z0-9_]+]]: tuple<tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["2*m"]>>, tensor<?xf32, #relax.shape<["2*k"]>>, tensor<?xf32, #relax.shape<["m"]>>, tuple<!relax.shape_value<["m", 3]>, tensor<?xf32>>, tensor<*xf32>, !relax.object>, %[[V:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 2 : i64}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 3 : i64}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 4 : i64}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 5 : i64}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 6 : i64}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]], %[[V0]], %[[V1]], %[[V2]], %[[V3]], %[[V4]], %[[V5]], %[[V6]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V7]]) {callee = @holds} : (tuple<tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["2*m"]>>, tensor<?xf32, #relax.shape<["2*k"]>>, tensor<?xf32, #relax.shape<["m"]>>, tuple<!relax.shape_value<["m", 3]>, tensor<?xf32>>, tensor<*xf32>, !relax.object>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
!nn = tensor<?xf32, #relax.shape<["2*n"]>>
!mm = tensor<?xf32, #relax.shape<["2*m"]>>
!k = tensor<?xf32, #relax.shape<["k"]>>
!s = !relax.shape_value<["m", 3]>
!g = !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true>
!kk = !relax.callable<[tensor<?xf32, #relax.shape<["k"]>>], tensor<?xf32, #relax.shape<["k"]>>, true>
!held = tuple<!n, !mm, !nn, !m, tuple<!s, tensor<?xf32>>, tensor<*xf32>, !relax.object>
func.func @sizes(%x: !n, %y: !m, %z: !nn, %w: !mm, %t: tuple<!s, tensor<?xf32>>, %u: tensor<*xf32>, %o: !relax.object) -> !n {
  %h = builtin.unrealized_conversion_cast %x, %w, %z, %y, %t, %u, %o : !n, !mm, !nn, !m, tuple<!s, tensor<?xf32>>, tensor<*xf32>, !relax.object to !held
  %f = "relax.make_closure"(%h) {callee = @holds} : (!held) -> !g
  %a = builtin.unrealized_conversion_cast %f, %x : !g, !n to tuple<!g, !n>
  %r = "relax.call"(%a) {callee = @apply} : (tuple<!g, !n>) -> !n
  return %r : !n
}
func.func private @holds(%a: !n, %x: !n, %w: !mm, %z: !nn, %y: !m, %t: tuple<!s, tensor<?xf32>>, %u: tensor<*xf32>, %o: !relax.object) -> !n {
  %0 = "relax.add"(%a, %x) : (!n, !n) -> !n
  return %0 : !n
}
func.func private @apply(%f: !kk, %v: !k) -> !k {
  %t = builtin.unrealized_conversion_cast %v : !k to tuple<!k>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!kk, tuple<!k>) -> !k
  return %r : !k
}
// -----
// Sizes that are formulas of symbols that the clone does not have are new symbols. That they fit the function is checked
// when the program runs.
// CHECK-LABEL: func.func @formulas(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?x?xf32, #relax.shape<["m", "n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?x3xf32, #relax.shape<["m*n", 3]>>, %[[T:[A-Za-z0-9_]+]]: tuple<tensor<?xf32, #relax.shape<["2*m*n"]>>, !relax.object>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["3*m*n", 5]}
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Z]], %[[T]], %[[S]] :
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[Y]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_holds} : (tuple<tuple<tensor<?x3xf32, #relax.shape<["m*n", 3]>>, tuple<tensor<?xf32, #relax.shape<["2*m*n"]>>, !relax.object>, !relax.shape_value<["3*m*n", 5]>>, tensor<?xf32, #relax.shape<["k"]>>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: return %[[R]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @holds(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?x3xf32, #relax.shape<["p", 3]>>, %[[T:[A-Za-z0-9_]+]]: tuple<tensor<?xf32, #relax.shape<["2*p"]>>, !relax.object>, %[[S:[A-Za-z0-9_]+]]: !relax.shape_value<["3*p", 5]>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: return %[[A]] :
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_holds(
// CHECK-SAME: %[[F:[A-Za-z0-9_]+]]: tuple<tensor<?x3xf32, #relax.shape<["size", 3]>>, tuple<tensor<?xf32, #relax.shape<["size_1"]>>, !relax.object>, !relax.shape_value<["size_2", 5]>>, %[[V:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 2 : i64}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[V0]]) {pattern = ["?", 3], result_dtype}
// CHECK-NEXT: %[[R_0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V1]]) {index = 0 : i64}
// CHECK-NEXT: %[[R_1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V1]]) {index = 1 : i64}
// CHECK-NEXT: %[[R_2:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[R_0]]) {pattern = ["?"], result_dtype}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R_2]], %[[R_1]] :
// CHECK-NEXT: %[[R_3:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[V2]]) {pattern = ["?", 5], result_dtype}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]], %[[R]], %[[V3]], %[[R_3]] :
// CHECK-NEXT: %[[R_4:[A-Za-z0-9_]+]] = "relax.call"(%[[V4]]) {callee = @holds} : (tuple<tensor<?xf32, #relax.shape<["k"]>>, tensor<?x3xf32>, tuple<tensor<?xf32>, !relax.object>, !relax.shape_value<["?", 5]>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: return %[[R_4]] :
// CHECK-NOT: func.func
!k = tensor<?xf32, #relax.shape<["k"]>>
!z = tensor<?x3xf32, #relax.shape<["m*n", 3]>>
!t = tuple<tensor<?xf32, #relax.shape<["2*m*n"]>>, !relax.object>
!s = !relax.shape_value<["3*m*n", 5]>
!g = !relax.callable<[tensor<?xf32, #relax.shape<["k"]>>], tensor<?xf32, #relax.shape<["k"]>>, true>
!held = tuple<!z, !t, !s>
!p = tensor<?x3xf32, #relax.shape<["p", 3]>>
!pp = tuple<tensor<?xf32, #relax.shape<["2*p"]>>, !relax.object>
!ppp = !relax.shape_value<["3*p", 5]>
func.func @formulas(%x: tensor<?x?xf32, #relax.shape<["m", "n"]>>, %y: !k, %z: !z, %t: !t) -> !k {
  %s = "relax.shape_expr"() {values = ["3*m*n", 5]} : () -> !s
  %h = builtin.unrealized_conversion_cast %z, %t, %s : !z, !t, !s to !held
  %f = "relax.make_closure"(%h) {callee = @holds} : (!held) -> !g
  %a = builtin.unrealized_conversion_cast %f, %y : !g, !k to tuple<!g, !k>
  %r = "relax.call"(%a) {callee = @apply} : (tuple<!g, !k>) -> !k
  return %r : !k
}
func.func private @holds(%a: !k, %z: !p, %t: !pp, %s: !ppp) -> !k {
  return %a : !k
}
func.func private @apply(%f: !g, %v: !k) -> !k {
  %t = builtin.unrealized_conversion_cast %v : !k to tuple<!k>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!g, tuple<!k>) -> !k
  return %r : !k
}
