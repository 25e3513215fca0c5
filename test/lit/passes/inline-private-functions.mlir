// Bodies of private functions replace calls, with the call's dimensions; what nothing calls then goes.
// RUN: relax-opt %s --split-input-file --inline-private-functions --mlir-print-debuginfo | filecheck %s

// CHECK-NOT: @double
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["3*n"]>>
// CHECK: "relax.dataflow"() ({
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[X]]) : ({{.*}}) -> tensor<?xf32, #relax.shape<["3*n"]>> loc(#[[CALLSITE:loc[0-9]+]])
// CHECK-NEXT: "relax.output"(%[[R]])
// CHECK: #[[CALLSITE]] = loc(callsite(
func.func private @double(%x: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.add"(%x, %x) : (tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>>
    "relax.output"(%1) : (tensor<?xf32, #relax.shape<["m"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["m"]>>
  return %0 : tensor<?xf32, #relax.shape<["m"]>>
}
func.func @main(%x: tensor<?xf32, #relax.shape<["3*n"]>>, %y: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["3*n"]>> {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["3*n"]>> to tuple<tensor<?xf32, #relax.shape<["3*n"]>>>
    %1 = "relax.call"(%t) {callee = @double} : (tuple<tensor<?xf32, #relax.shape<["3*n"]>>>) -> tensor<?xf32, #relax.shape<["3*n"]>>
    "relax.output"(%1) : (tensor<?xf32, #relax.shape<["3*n"]>>) -> ()
  }) : () -> tensor<?xf32, #relax.shape<["3*n"]>>
  return %0 : tensor<?xf32, #relax.shape<["3*n"]>>
}

// -----

// A conditional cannot go into a dataflow block; public functions are not inlined.
// CHECK-LABEL: func.func private @choose(
// CHECK-LABEL: func.func @public(
// CHECK-LABEL: func.func @main(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @choose}
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @public}
func.func private @choose(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %0 -> tensor<2xf32> {
    scf.yield %x : tensor<2xf32>
  } else {
    %2 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}
func.func @public(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {
  %0 = "relax.dataflow"() ({
    %t = builtin.unrealized_conversion_cast %x, %c : tensor<2xf32>, tensor<i1> to tuple<tensor<2xf32>, tensor<i1>>
    %1 = "relax.call"(%t) {callee = @choose} : (tuple<tensor<2xf32>, tensor<i1>>) -> tensor<2xf32>
    "relax.output"(%1) : (tensor<2xf32>) -> ()
  }) : () -> tensor<2xf32>
  %u = builtin.unrealized_conversion_cast %0 : tensor<2xf32> to tuple<tensor<2xf32>>
  %2 = "relax.call"(%u) {callee = @public} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// What binds a symbol of the callee comes first, whatever the order of its parameters.
// CHECK-LABEL: func.func @in_order(
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["n_1"]
// CHECK: "relax.match_shape"(%{{[A-Za-z0-9_]+}}) {pattern = ["2*n_1 - 1"]
// CHECK-NOT: "relax.call"
func.func private @formula(%x: tensor<?xf32, #relax.shape<["2*n - 1"]>>, %s: !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["2*n - 1"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["2*n - 1"]>>) -> tensor<?xf32, #relax.shape<["2*n - 1"]>>
  return %0 : tensor<?xf32, #relax.shape<["2*n - 1"]>>
}
func.func @in_order(%x: tensor<?xf32>, %s: !relax.shape_value<["?"]>, %n: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x, %s : tensor<?xf32>, !relax.shape_value<["?"]> to tuple<tensor<?xf32>, !relax.shape_value<["?"]>>
  %0 = "relax.call"(%t) {callee = @formula} : (tuple<tensor<?xf32>, !relax.shape_value<["?"]>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// A parameter tells n by a formula; match_shape cannot, so the call stays.
// CHECK-LABEL: func.func @by_formula(
// CHECK: "relax.call"(%{{[A-Za-z0-9_]+}}) {callee = @twice}
func.func private @twice(%x: tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["2*n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["2*n"]>>) -> tensor<?xf32, #relax.shape<["2*n"]>>
  return %0 : tensor<?xf32, #relax.shape<["2*n"]>>
}
func.func @by_formula(%x: tensor<?xf32>) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %0 = "relax.call"(%t) {callee = @twice} : (tuple<tensor<?xf32>>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
