// RUN: relax-opt --specialize-closures="keep-unknown=true" --lower-closures %s | filecheck %s
// RUN: relax-opt --specialize-closures="keep-unknown=true" %s | filecheck %s --check-prefix KEPT

// Functions that the module does not make stay function values, as they were.
// KEPT-LABEL: func.func @take(
// KEPT: "relax.invoke_closure"

// A function that users give is an object that is checked, and called by a builtin.
// CHECK-LABEL: func.func @take(
// CHECK-SAME: %[[F:[a-z0-9_]+]]: !relax.object
// CHECK: arg_spec = [unit, "take: parameter 'f'"], func = "vm.builtin.check_func_info"
// CHECK: %[[ARGS:[0-9]+]] = builtin.unrealized_conversion_cast %[[F]], %x :
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]]) {arg_spec = [0, unit, unit], func = "vm.builtin.invoke_closure"}
func.func @take(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, false> {relax.name = "f"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, false>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A function without effects stays one.
// CHECK-LABEL: func.func @pure(
// CHECK: relax.call_pure_packed
func.func @pure(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, true> {relax.name = "f"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A closure is an object.
// CHECK-LABEL: func.func @give(
// CHECK-SAME: -> !relax.object
// CHECK: callee = @add
// CHECK-SAME: !relax.object
func.func @give(%x: tensor<2xf32>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.make_closure"(%t) {callee = @add} : (tuple<tensor<2xf32>>) -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  return %c : !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
}
func.func private @add(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// An empty tuple has nothing to convert.
// CHECK-LABEL: func.func @nothing(
// CHECK-SAME: -> tuple<>
func.func @nothing(%x: tensor<2xf32> {relax.name = "x"}) -> tuple<> {
  %t = builtin.unrealized_conversion_cast to tuple<>
  return %t : tuple<>
}

// Private functions get what the module gives them: their parameters are not checked. Of what a packed function gives,
// functions alone are.
// CHECK-LABEL: func.func private @inner(
// CHECK-NOT: vm.builtin.check_func_info
// CHECK: vm.builtin.invoke_closure
// CHECK-LABEL: func.func @packed(
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call_pure_packed"({{.*}}func = "pair"
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[P]]) {index = 1 : i64}
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[F]] : !relax.object
// CHECK-NEXT: "relax.call_packed"(%[[ARGS]]) {arg_spec = [unit, "packed: result of 'pair' at {{.*}}[1]"], func = "vm.builtin.check_func_info"}
// CHECK-NOT: vm.builtin.check_func_info
// CHECK: return
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @inner(%f: !f {relax.name = "f"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func @packed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %p = "relax.call_pure_packed"(%t) {func = "pair", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>, !f>
  %a = "relax.tuple_get_item"(%p) {index = 0} : (tuple<tensor<2xf32>, !f>) -> tensor<2xf32>
  %f = "relax.tuple_get_item"(%p) {index = 1} : (tuple<tensor<2xf32>, !f>) -> !f
  %u = builtin.unrealized_conversion_cast %f, %a : !f, tensor<2xf32> to tuple<!f, tensor<2xf32>>
  %r = "relax.call"(%u) {callee = @inner} : (tuple<!f, tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A call that could be one of a function is none either, if another function value of the module is not known.
// KEPT-LABEL: func.func @known(
// KEPT: %[[C:[A-Za-z0-9_]+]] = "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @add}
// KEPT: "relax.invoke_pure_closure"(%[[C]],
// KEPT-NEXT: return
// CHECK-LABEL: func.func @known(
// CHECK: func = "vm.builtin.invoke_closure"
func.func @known(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.make_closure"(%t) {callee = @add} : (tuple<tensor<2xf32>>) -> !f
  %r = "relax.invoke_pure_closure"(%c, %t) : (!f, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A function is an object already: its conversion to one goes, nothing else does.
// CHECK-LABEL: func.func @converted(
// CHECK-SAME: %[[F:[a-z0-9_]+]]: !relax.object
// CHECK: scf.if
// CHECK-NEXT: %[[E:[a-z0-9_]+]] = "relax.exp"
// CHECK-NEXT: scf.yield %[[E]] :
// CHECK: return %[[F]],
func.func @converted(%f: !f {relax.name = "f"}, %x: tensor<2xf32> {relax.name = "x"}) -> (!relax.object, tensor<2xf32>) {
  %o = builtin.unrealized_conversion_cast %f : !f to !relax.object
  %c = arith.constant true
  %r = scf.if %c -> tensor<2xf32> {
    %e = "relax.exp"(%x) {} : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %e : tensor<2xf32>
  } else {
    scf.yield %x : tensor<2xf32>
  }
  return %o, %r : !relax.object, tensor<2xf32>
}
