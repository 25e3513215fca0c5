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

// -----

// A function that returns a closure in a tuple returns what the closure holds; its caller calls the function with that.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]]
// CHECK-NEXT: %[[P:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @adder} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
// CHECK-NEXT: %[[P_0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK-NEXT: %[[P_1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P_0]]) {index = 0 : i64}
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[P_1]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @adder(
// CHECK-SAME: %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = "relax.negative"(%[[Y]])
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[N]]
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]], %[[V0]]
// CHECK-NEXT: return %[[V1]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]]
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
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]]
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[V0]]
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V1]], %[[V2]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @both_add_exp} : (tuple<tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]]
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]], %[[V4]]
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V5]], %[[V6]]
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.call"(%[[V7]]) {callee = @both_add_exp} : (tuple<tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[S]], %[[V8]]
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V9]], %[[V10]]
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.call"(%[[V11]]) {callee = @both_exp_exp} : (tuple<tuple<tensor<2xf32>, tuple<>>, tuple<>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[Q]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @both_add_exp(
// CHECK-SAME: %[[P:[A-Za-z0-9_]+]]: tuple<tensor<2xf32>, tuple<tensor<2xf32>>>, %[[G:[A-Za-z0-9_]+]]: tuple<>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V1]]) {index = 0 : i64}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[V2]]
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V4]]
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.call"(%[[V5]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V6]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @both_exp_exp(
// CHECK-SAME: %[[P:[A-Za-z0-9_]+]]: tuple<tensor<2xf32>, tuple<>>, %[[G:[A-Za-z0-9_]+]]: tuple<>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]]
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V2]]
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V4]]
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
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[I]]
// CHECK-NEXT: %[[R_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_exp} : (tuple<tuple<>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[R_0]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[I]]
// CHECK-NEXT: %[[R_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_sqrt} : (tuple<tuple<>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[R_0]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = scf.if %[[D]] -> (tensor<2xf32>) {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]]
// CHECK-NEXT: %[[S_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[S_0]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[R]]
// CHECK-NEXT: %[[S_0:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @sqrt} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: scf.yield %[[S_0]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: return %[[S]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @sqrt(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[X]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_exp(
// CHECK-SAME: %[[F:[A-Za-z0-9_]+]]: tuple<>, %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @exp} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_sqrt(
// CHECK-SAME: %[[F:[A-Za-z0-9_]+]]: tuple<>, %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @sqrt} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]]
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
  %t = builtin.unrealized_conversion_cast %f, %i#0 : !f, !v to tuple<!f, !v>
  %r = "relax.call"(%t) {callee = @apply} : (tuple<!f, !v>) -> !v
  %u = builtin.unrealized_conversion_cast %r : !v to tuple<!v>
  %s = "relax.invoke_pure_closure"(%i#1, %u) : (!f, tuple<!v>) -> !v
  return %s : !v
}
func.func private @apply(%f: !f, %v: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %v : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  return %r : !v
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

// CHECK-NOT: func.func
// Functions without function values keep their dataflow blocks, and those that nobody calls; the effects are explicit.
// CHECK-LABEL: func.func @without(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: "relax.output"(%[[E]])
// CHECK-NEXT: })
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func @in_dataflow(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V0]]) {callee = @add} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func @changed(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.call_packed"(%[[T]]) {arg_spec = [unit], func = "f"}
// CHECK-NEXT: %[[C_0:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.subtract"(%[[C_0]], %[[Y]])
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @add(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<2xf32>, %[[Y:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[Y]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @uncalled(
// CHECK-SAME: %[[V:[A-Za-z0-9_]+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[V]]
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

// What a closure holds has the sizes of the function that it is given to: k, twice k, and a new symbol.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["m"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[Y]], %[[Z]]
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V0]], %[[X]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V1]]) {callee = @apply_holds} : (tuple<tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["2*n"]>>>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @holds(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["m"]>>, %[[Z:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.add"(%[[A]], %[[X]])
// CHECK-NEXT: return %[[V0]]
// CHECK-NOT: func.func
// CHECK-LABEL: func.func private @apply_holds(
// CHECK-SAME: %[[F:[A-Za-z0-9_]+]]: tuple<tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["2*k"]>>>, %[[V:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 0 : i64}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 1 : i64}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[F]]) {index = 2 : i64}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V]], %[[V0]], %[[V1]], %[[V2]]
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call"(%[[V3]]) {callee = @holds} : (tuple<tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["k"]>>, tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["2*k"]>>>) -> tensor<?xf32, #relax.shape<["k"]>>
// CHECK-NEXT: return %[[R]]
// CHECK-NOT: func.func
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
!nn = tensor<?xf32, #relax.shape<["2*n"]>>
!g = !relax.callable<[tensor<?xf32, #relax.shape<["n"]>>], tensor<?xf32, #relax.shape<["n"]>>, true>
!k = !relax.callable<[tensor<?xf32, #relax.shape<["k"]>>], tensor<?xf32, #relax.shape<["k"]>>, true>
func.func @sizes(%x: !n, %y: !m, %z: !nn) -> !n {
  %h = builtin.unrealized_conversion_cast %x, %y, %z : !n, !m, !nn to tuple<!n, !m, !nn>
  %f = "relax.make_closure"(%h) {callee = @holds} : (tuple<!n, !m, !nn>) -> !g
  %t = builtin.unrealized_conversion_cast %f, %x : !g, !n to tuple<!g, !n>
  %r = "relax.call"(%t) {callee = @apply} : (tuple<!g, !n>) -> !n
  return %r : !n
}
func.func private @holds(%a: !n, %x: !n, %y: !m, %z: !nn) -> !n {
  %0 = "relax.add"(%a, %x) : (!n, !n) -> !n
  return %0 : !n
}
func.func private @apply(%f: !k, %v: tensor<?xf32, #relax.shape<["k"]>>) -> tensor<?xf32, #relax.shape<["k"]>> {
  %t = builtin.unrealized_conversion_cast %v : tensor<?xf32, #relax.shape<["k"]>> to tuple<tensor<?xf32, #relax.shape<["k"]>>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!k, tuple<tensor<?xf32, #relax.shape<["k"]>>>) -> tensor<?xf32, #relax.shape<["k"]>>
  return %r : tensor<?xf32, #relax.shape<["k"]>>
}
