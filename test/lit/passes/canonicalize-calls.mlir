// Calls of pure functions are merged and dropped; calls of functions with effects stay.
// RUN: relax-opt %s --canonicalize-calls --split-input-file | filecheck %s

func.func private @pure(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @merged(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[CALL:[A-Za-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @pure}
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[CALL]], %[[CALL]])
// CHECK-NEXT: return %[[R]] :
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
// -----
func.func private @pure(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Calls with other arguments are other calls, and so are calls with equal fields in another order.
// CHECK-LABEL: func.func @other_arguments(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>, %[[Y:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.call"(%[[T]]) {callee = @pure}
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: "relax.subtract"(%[[A]], %[[B]])
func.func @other_arguments(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %y : tensor<2xf32> to tuple<tensor<2xf32>>
  %b = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %r = "relax.subtract"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A branch uses the calls before the conditional; a call in one branch is not there in the other, nor after both.
// CHECK-LABEL: func.func @branches(
// CHECK-SAME: %[[C:[a-z0-9_]+]]: i1, %[[X:[a-z0-9_]+]]: tensor<2xf32>, %[[Y:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @pure}
// CHECK: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK: scf.if %[[C]] ->
// CHECK-NEXT: %[[THEN:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: %[[SUM:[A-Za-z0-9_]+]] = "relax.add"(%[[THEN]], %[[FIRST]])
// CHECK-NEXT: scf.yield %[[SUM]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ELSE:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: scf.yield %[[ELSE]] :
// CHECK: %[[AFTER:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: "relax.add"(%{{[A-Za-z0-9_]+}}, %[[AFTER]])
func.func @branches(%c: i1, %x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %first = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %y : tensor<2xf32> to tuple<tensor<2xf32>>
  %i = scf.if %c -> (tensor<2xf32>) {
    %a = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %b = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %unused = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    %s = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %s : tensor<2xf32>
  } else {
    %v = builtin.unrealized_conversion_cast %x, %y : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
    %a = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
    scf.yield %a : tensor<2xf32>
  }
  %d = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %r = "relax.add"(%i, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %s = "relax.add"(%r, %first) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// A packed call may change its argument: what follows has another value, so calls before and after differ.
// CHECK-LABEL: func.func @changed(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @pure}
// CHECK: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[NEW]] :
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: "relax.add"(%[[A]], %[[B]])
func.func @changed(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %p = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> tuple<>
  %u = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %b = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
// Two of two are merged, the module holds more than functions, and a tuple that a call gives is no tuple of its operands.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<2xf32>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @pure}
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] :
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[U]]) {callee = @pure}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.add"(%[[A]], %[[B]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[S]], %[[B]])
// CHECK-NEXT: return %[[R]] :
// CHECK-LABEL: func.func @given(
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @acts}
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @acts}
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.call"(%[[P]]) {callee = @pure}
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.call"(%[[Q]]) {callee = @pure}
// CHECK-NEXT: "relax.subtract"(%[[A]], %[[B]])
memref.global "private" @other : memref<2xf32>
func.func private @pure(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @acts(%x: tensor<2xf32>) -> tuple<tensor<2xf32>> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  "relax.print"(%t) {format = "", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> ()
  return %t : tuple<tensor<2xf32>>
}
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %a = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %b = "relax.call"(%t) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %b : tensor<2xf32> to tuple<tensor<2xf32>>
  %c = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %d = "relax.call"(%u) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %s = "relax.add"(%a, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %r = "relax.add"(%s, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
func.func @given(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %p = "relax.call"(%t) {callee = @acts} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>>
  %q = "relax.call"(%t) {callee = @acts} : (tuple<tensor<2xf32>>) -> tuple<tensor<2xf32>>
  %a = "relax.call"(%p) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %b = "relax.call"(%q) {callee = @pure} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  %r = "relax.subtract"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
