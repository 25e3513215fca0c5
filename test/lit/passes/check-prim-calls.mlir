// RUN: relax-opt %s --check-prim-calls --split-input-file --verify-diagnostics | filecheck %s

// A top-level op that is no function.
// CHECK: memref.global
memref.global "private" constant @table : memref<2xf32> = dense<0.0>

func.func private @add(%a: tensor<?xf32>, %b: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [
    {name = "A", shape = ["n"], dtype = "float32"},
    {name = "B", shape = ["n"], dtype = "float32"},
    {name = "C", shape = ["n"], dtype = "float32"}
  ]
} {
  return %out : tensor<?xf32>
}

// Equal by their types: nothing is checked.
// CHECK-LABEL: func.func @proved
// CHECK-NEXT: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// CHECK-NEXT: "relax.call_tir"(%[[ARGS]])
func.func @proved(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %x, %x : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_tir"(%0) {callee = @add, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}

// The second argument may have another size.
// CHECK-LABEL: func.func @unproved
// CHECK: %[[Y:[A-Za-z0-9_]+]] = "relax.match_shape"(%y) {pattern = ["n"], result_dtype}
// CHECK: %[[ARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %x, %[[Y]] :
// CHECK: "relax.call_tir"(%[[ARGS]])
func.func @unproved(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %x, %y : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir"(%0) {callee = @add, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}

// Calls of another number of arguments, and of functions that are not there, are not checked.
// CHECK-LABEL: func.func @others
// CHECK-NOT: relax.match_shape
// CHECK: {callee = @add
// CHECK-NOT: relax.match_shape
// CHECK: {callee = @none
func.func @others(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = builtin.unrealized_conversion_cast %x : tensor<3xf32> to tuple<tensor<3xf32>>
  %1 = "relax.call_tir"(%0) {callee = @add, tir_vars = []} : (tuple<tensor<3xf32>>) -> tensor<3xf32>
  %2 = "relax.call_tir"(%0) {callee = @none, tir_vars = []} : (tuple<tensor<3xf32>>) -> tensor<3xf32>
  return %1, %2 : tensor<3xf32>, tensor<3xf32>
}
