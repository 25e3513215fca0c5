// Calls of pure functions are merged and dropped; calls of functions with effects stay.
// RUN: relax-opt %s --canonicalize-calls --split-input-file | filecheck %s

func.func private @pure(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @merged(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: %[[CALL:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @pure}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[CALL]], %[[CALL]])
// CHECK-NEXT: return %[[R]]
func.func @merged(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %b = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %unused = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// An effect anywhere below makes a function impure, unless its user vouches for it.
func.func private @acts(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  "relax.print"(%t) {format = "", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> ()
  return %x : tensor<2xf32>
}
func.func private @calls(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @acts} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
func.func private @vouched(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relax.force_pure} {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @acts} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}

// CHECK-LABEL: func.func @kept(
// CHECK-COUNT-2: {callee = @calls}
// CHECK-NOT: {callee = @vouched}
// CHECK: return
func.func @kept(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @calls} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %b = "relax.call"(%t) {callee = @calls} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %c = "relax.call"(%t) {callee = @vouched} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %x : tensor<2xf32>
}
