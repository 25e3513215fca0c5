// What follows a call_packed reads the tensors that it may have changed.
// RUN: relax-opt %s --explicit-effects --cse | filecheck %s

// CHECK-LABEL: func.func @around(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[A:[0-9]+]] = "relax.exp"(%[[X]])
// CHECK: %[[ARGS:[0-9]+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK: "relax.call_packed"(%[[ARGS]])
// CHECK-NEXT: %[[NEW:[0-9]+]] = "relax.updated"(%[[X]])
// CHECK-NEXT: %[[B:[0-9]+]] = "relax.exp"(%[[NEW]])
// CHECK-NEXT: "relax.add"(%[[A]], %[[B]])
func.func @around(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %a = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %args = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %none = "relax.call_packed"(%args) {func = "change", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tuple<>
  %b = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %r = "relax.add"(%a, %b) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %r : tensor<?xf32, #relax.shape<["n"]>>
}
