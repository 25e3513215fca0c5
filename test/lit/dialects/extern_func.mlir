// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @value
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.extern_func"() {func = "my.f"} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
// CHECK-NEXT: return %[[F]] :
func.func @value() -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true> {
  %f = "relax.extern_func"() {func = "my.f"} : () -> !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
  return %f : !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
}
// -----
func.func @no_function() -> i64 {
  // expected-error @+1 {{extern_func: its result is Prim("int64"), expected a Callable}}
  %f = "relax.extern_func"() {func = "my.f"} : () -> i64
  return %f : i64
}
