// RUN: not relax-opt %s --check-prim-calls --split-input-file 2>&1 | filecheck %s

func.func private @copy(%a: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["n"], dtype = "float32"}]
} {
  return %out : tensor<?xf32>
}

// CHECK: error: {{.*}}: call_tir of 'copy': 'C' dimension 0 is m, but it is declared n (n = n by 'A' dimension 0); match_shape
func.func @destination(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_tir"(%0) {callee = @copy, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
// -----
// The result has the memory of the argument, which has other sizes: a matched copy would not be that memory.
func.func private @into(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]
} {
  return %b : tensor<?xf32>
}

// CHECK: error: {{.*}}: call_tir_inplace of 'into': 'B' dimension 0 is m, but it is declared n (n = n by 'A' dimension 0); match_shape
func.func @inplace(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = builtin.unrealized_conversion_cast %x, %y : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir_inplace"(%0) {callee = @into, inplace_indices = [1], tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
// -----
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

// A size that is wrong is no matter of proof.
// CHECK: call_tir of 'add': 'B' dimension 0 is 4, but it is declared n (n = 3 by 'A' dimension 0){{$}}
func.func @wrong(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3xf32> {
  %0 = builtin.unrealized_conversion_cast %x, %y : tensor<3xf32>, tensor<4xf32> to tuple<tensor<3xf32>, tensor<4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @add, tir_vars = []} : (tuple<tensor<3xf32>, tensor<4xf32>>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
// -----
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

// The arguments are fields of a parameter, which the pass does not take apart.
// CHECK: call_tir of 'add': 'B' dimension 0 is m, but it is declared n {{.*}}; match_shape
func.func @parameter(%t: tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %1 = "relax.call_tir"(%t) {callee = @add, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
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

// CHECK: call_tir of 'add': 'B' dimension 0 is m, but it is declared n {{.*}}; match_shape
func.func @result(%s: tensor<?xf32, #relax.shape<["n"]>>, %u: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %a = builtin.unrealized_conversion_cast %s, %u : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %t = "relax.call_pure_packed"(%a) {func = "f", arg_spec = [unit, unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir"(%t) {callee = @add, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func private @copy(%a: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["m"], dtype = "float32"}]
} {
  return %out : tensor<?xf32>
}

// CHECK: call_tir of 'copy': 'A' dimension 0 is not known to be n; match_shape
func.func @unknown(%x: tensor<?xf32>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %1 = "relax.call_tir"(%0) {callee = @copy, tir_vars = []} : (tuple<tensor<?xf32>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
// -----
func.func private @sized(%n: index, %a: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "n"}, {name = "A", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["n"], dtype = "float32"}]
} {
  return %out : tensor<?xf32>
}

// With a shape among the arguments, their numbers are not those of the parameters.
// CHECK: call_tir of 'sized': 'A' dimension 0 is m, but it is declared n (n = n by argument 'n'); match_shape
func.func @shape(%s: !relax.shape_value<["n"]>, %x: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %s, %x : !relax.shape_value<["n"]>, tensor<?xf32, #relax.shape<["m"]>> to tuple<!relax.shape_value<["n"]>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir"(%0) {callee = @sized, tir_vars = []} : (tuple<!relax.shape_value<["n"]>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
func.func private @four(%a: tensor<?xf32>, %b: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = [4], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}, {name = "C", shape = ["n"], dtype = "float32"}]
} {
  return %out : tensor<?xf32>
}

// Operands of the op that makes the tuple are no arguments.
// CHECK: call_tir of 'four': 'A' dimension 0 is m, but it is declared 4; match_shape
func.func @parts(%y: tensor<?xf32, #relax.shape<["2*m"]>>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %t = "relax.split"(%y) {axis = 0 : i64, sections = 2 : i64} : (tensor<?xf32, #relax.shape<["2*m"]>>) -> tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>>
  %1 = "relax.call_tir"(%t) {callee = @four, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}
