// Code generators of a Python file: a rule for each call of a composite function, or the name of a packed function.
// RUN: relax-opt --load-pass-plugin=%S/Inputs/codegens.py %s --run-codegen --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s

!t = tensor<4xf32>

// The argument tuples of the calls are gone. The last op of a rule has the name of the call, all have its location.
// A private function is inlined, a public one is called as before; the attributes are gone.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = "relax.exp"(%x) : {{.*}} loc("{{.*}}registered.mlir":{{[0-9]+}}:14){{$}}
// CHECK-NEXT: %product = "relax.nn_relu"(%0) : {{.*}} loc("product"("{{.*}}":{{[0-9]+}}:14)){{$}}
// CHECK-NEXT: %ab = builtin.unrealized_conversion_cast %product
// CHECK-NEXT: %b = "relax.call"(%ab) {callee = @g}
// CHECK-NEXT: return %b
// A call of a packed function that is named has the location of the function, as has the return.
// CHECK-LABEL: func.func @g
// CHECK-NOT: relax.codegen
// CHECK: %[[ARGS:[0-9]+]] = builtin.unrealized_conversion_cast %x : {{.*}} loc("{{.*}}registered.mlir":[[# @LINE + 19]]:1){{$}}
// CHECK-NEXT: %[[R:[0-9]+]] = "relax.call_dps_packed"(%[[ARGS]]) {arg_spec = [unit], func = "my.packed"} : {{.*}} loc("{{.*}}registered.mlir":[[# @LINE + 18]]:1){{$}}
// CHECK-NEXT: return %[[R]] : {{.*}} loc("{{.*}}registered.mlir":[[# @LINE + 17]]:1){{$}}
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  %ab = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%ab) {callee = @g} : (tuple<!t>) -> !t
  return %b : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "mine"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %0 = "relax.multiply"(%x, %x) : (!t, !t) -> !t
  return %0 : !t
}
func.func @g(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "named"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}

// A composite function without a code generator is inlined; its symbol gets a name that is free in the caller.
// CHECK-LABEL: func.func @left
// CHECK: pattern = [1, "k"]
// CHECK: pattern = [1, "k_1"]
// CHECK: pattern = [1, "k_2"]
!k = tensor<1x?xi64, #relax.shape<[1, "k"]>>
func.func @left(%x: !t, %y: tensor<1x?xi64>) -> !k {
  %k = "relax.match_shape"(%y) {pattern = [1, "k"], result_dtype = i64} : (tensor<1x?xi64>) -> !k
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @indices} : (tuple<!t>) -> tensor<1x?xi64>
  %b = "relax.call"(%ax) {callee = @indices} : (tuple<!t>) -> tensor<1x?xi64>
  return %k : !k
}
func.func private @indices(%x: !t {relax.name = "x"}) -> tensor<1x?xi64> attributes {relax.composite = "mine.indices"} {
  %0 = "relax.nonzero"(%x) : (!t) -> tensor<1x?xi64>
  %1 = "relax.match_shape"(%0) {pattern = [1, "k"], result_dtype = i64} : (tensor<1x?xi64>) -> !k
  return %0 : tensor<1x?xi64>
}

// Rules see arguments and constants, but no value that is computed inside. A tuple of results stays; a packed function
// may be given as a value.
// CHECK-LABEL: func.func @more
// CHECK: %[[TWO:[a-z0-9]+]] = "relax.constant"() {value = dense<2.0
// CHECK-NEXT: %[[SCALED:[a-z0-9]+]] = "relax.multiply"(%x, %[[TWO]])
// CHECK-NEXT: %[[PAIR:[a-z0-9]+]] = builtin.unrealized_conversion_cast %[[SCALED]], %x
// CHECK: %[[ARGS:[a-z0-9]+]] = builtin.unrealized_conversion_cast %x
// CHECK-NEXT: %[[R:[a-z0-9]+]] = "relax.call_dps_packed"(%[[ARGS]]) {arg_spec = [unit], func = "my.extern"}
// CHECK-NEXT: return %[[PAIR]], %[[R]] :
!pair = tuple<!t, !t>
func.func @more(%x: !t) -> (!pair, !t) {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @scaled} : (tuple<!t>) -> !pair
  %b = "relax.call"(%ax) {callee = @packed} : (tuple<!t>) -> !t
  return %a, %b : !pair, !t
}
func.func private @scaled(%x: !t {relax.name = "x"}) -> !pair attributes {relax.codegen = "scaling"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %0 = "relax.call"(%ax) {callee = @exp_twice} : (tuple<!t>) -> !t
  %1 = builtin.unrealized_conversion_cast %0, %x : !t, !t to !pair
  return %1 : !pair
}
func.func private @exp_twice(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "scaling.exp_twice"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.exp"(%x) : (!t) -> !t
  %1 = "relax.multiply"(%0, %two) : (!t, tensor<f32>) -> !t
  return %1 : !t
}
func.func private @packed(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "extern"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
