// Each part is refused with its place and the name of the code generator.
// RUN: not relax-opt --load-pass-plugin=%S/Inputs/codegens.py %s --run-codegen --split-input-file 2>&1 | filecheck %s

!t = tensor<4xf32>

// CHECK: unknown code generator 'openblaz'; did you mean 'openblas'
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "openblaz"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
// -----
// CHECK: function 'f' for a code generator holds sin at {{.*}}, which is no call of a composite function: run fuse-ops-by-pattern
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "mine"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
// -----
// CHECK: function 'f' for a code generator holds call at {{.*}}, which is no call of a composite function
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "mine"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @plain} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @plain(%x: !t {relax.name = "x"}) -> !t {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
// -----
// The rule may refuse a call, whose ops are named without constants.
// CHECK: 'mine.product' (multiply) at {{.*}} cannot be generated: no reason
// CHECK-NEXT: while code was generated for 'mine.product' at
// CHECK-NEXT: in the code generator 'refusing', for function 'f'
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "refusing"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (!t, tensor<f32>) -> !t
  return %0 : !t
}
// -----
// CHECK: what the rule for 'mine.product' gives is None (NoneType), expected a value
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "giving_none"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (!t, tensor<f32>) -> !t
  return %0 : !t
}
// -----
// CHECK: the rule for 'mine.product' at {{.*}} gives Tensor((), "float32"), but the call is Tensor((4,), "float32")
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "narrowing"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (!t, tensor<f32>) -> !t
  return %0 : !t
}
// -----
// CHECK: code generator 'with_effects' emits effects for function 'f', which only computes
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "with_effects"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (!t, tensor<f32>) -> !t
  return %0 : !t
}
// -----
// CHECK: what the code generator 'no_value' gives is 3 (int), expected a value, or the name of a packed function
!t = tensor<4xf32>
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @f} : (tuple<!t>) -> !t
  return %a : !t
}
func.func private @f(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "no_value"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %product = "relax.call"(%ax) {callee = @c} : (tuple<!t>) -> !t
  return %product : !t
}
func.func private @c(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "mine.product"} {
  %two = "relax.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "relax.multiply"(%x, %two) : (!t, tensor<f32>) -> !t
  return %0 : !t
}
