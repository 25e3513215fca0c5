// What follows a call_packed reads the tensors that it may have changed.
// RUN: relax-opt %s --explicit-effects --cse | filecheck %s

// CHECK-LABEL: func.func @around(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK: "relax.call_packed"(%[[ARGS]])
// CHECK-NEXT: %[[NEW:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.exp"(%[[NEW]])
// CHECK-NEXT: "relax.add"(%[[A]], %[[B]])
func.func @around(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %a = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %args = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %none = "relax.call_packed"(%args) {func = "change", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tuple<>
  %b = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %r = "relax.add"(%a, %b) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %r : tensor<?xf32, #relax.shape<["n"]>>
}

// Tensors that CSE might make one are kept apart.
// CHECK-LABEL: func.func @equal_arguments(
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.exp"
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.distinct"(%[[B]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[B]], %[[D]] :
// CHECK-NEXT: "relax.call_packed"(%[[T]])
// CHECK-NEXT: %[[NEW_B:[A-Za-z0-9_]+]] = "relax.updated"(%[[B]])
// CHECK-NEXT: %[[NEW_C:[A-Za-z0-9_]+]] = "relax.updated"(%[[D]])
// CHECK-NEXT: "relax.add"(%[[NEW_B]], %[[NEW_C]])
func.func @equal_arguments(%x: tensor<2xf32>) -> tensor<2xf32> {
  %b = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %t = builtin.unrealized_conversion_cast %b, %c : tensor<2xf32>, tensor<2xf32> to tuple<tensor<2xf32>, tensor<2xf32>>
  %0 = "relax.call_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tuple<>
  %1 = "relax.add"(%b, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
