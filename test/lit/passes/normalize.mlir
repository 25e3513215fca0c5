// Results get the best types that their operands give; fields of tuples at hand are taken.
// RUN: relax-opt %s --normalize | filecheck %s
// passes/shapes.py, type_inference.py.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK-NOT: relax.tuple_get_item
// CHECK: return %[[A]] :
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32> {
  %a = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32>
  %t = builtin.unrealized_conversion_cast %x, %a : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32>>
  %r = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32>>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
