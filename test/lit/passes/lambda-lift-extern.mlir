// RUN: relax-opt %s --lambda-lift | filecheck %s

// A packed function as a value becomes a closure of a private function that calls it, one for all its uses; one that
// nothing uses goes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[A-Za-z0-9_]+]]:
// CHECK-NOT: relax.extern_func
// CHECK: %[[E:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast to tuple<>
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.make_closure"(%[[E]]) {callee = @my_negate}
// CHECK: "relax.invoke_pure_closure"(%[[F]],
// CHECK: "relax.make_closure"(%{{[A-Za-z0-9_]+}}) {callee = @my_negate}
// CHECK-NOT: @my_negate_
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %unused = "relax.extern_func"() {func = "my.unused"} : () -> !relax.callable<unit, unit, false>
  %f = "relax.extern_func"() {func = "my.negate"} : () -> !f
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<tensor<2xf32>>) -> tensor<2xf32>
  %g = "relax.extern_func"() {func = "my.negate"} : () -> !f
  %u = builtin.unrealized_conversion_cast %r : tensor<2xf32> to tuple<tensor<2xf32>>
  %s = "relax.invoke_pure_closure"(%g, %u) : (!f, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// CHECK-LABEL: func.func private @my_negate
// CHECK-SAME: (%[[A:[A-Za-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] :
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.call_pure_packed"(%[[T]]) {arg_spec = [unit], func = "my.negate"}
// CHECK-NEXT: return %[[R]] :
