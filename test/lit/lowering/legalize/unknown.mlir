// Ops on values of which too little is known for native code become calls of the runtime.
// RUN: relax-opt %s --legalize-ops --split-input-file | filecheck %s

// CHECK-LABEL: @unknown_rank
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %{{.*}} : tensor<*xf32> to tuple<tensor<*xf32>>
// CHECK: relax.call_pure_packed"(%[[T]])
// CHECK-SAME: arg_spec = ["relax.exp", "{}", ".", "", "{{.*}}:{{[0-9]+}}:{{[0-9]+}}", unit]
// CHECK-SAME: func = "relax_mlir.run.op"
// CHECK-SAME: -> tensor<*xf32>
// CHECK-NOT: call_tir
func.func @unknown_rank(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "relax.exp"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
// -----
// CHECK-LABEL: @unknown_dimension
// CHECK: relax.call_pure_packed{{.*}}arg_spec = ["relax.sum", "{axis = [0], keepdims = false}"{{.*}}-> tensor<4xf32>
func.func @unknown_dimension(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %0 = "relax.sum"(%x) {axis = [0], keepdims = false} : (tensor<?x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// One operand is enough.
// CHECK-LABEL: @unknown_dtype
// CHECK: relax.call_pure_packed{{.*}}arg_spec = ["relax.add", "{}", ".,.", "",
func.func @unknown_dtype(%x: tensor<4xf32>, %y: tensor<4x!relax.any>) -> tensor<4xf32> {
  %0 = "relax.add"(%x, %y) : (tensor<4xf32>, tensor<4x!relax.any>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// The fields of a tuple are arguments of their own, and so are those of the result.
// CHECK-LABEL: @tuples
// CHECK: relax.call_pure_packed{{.*}}arg_spec = ["relax.concat", "{axis = 0 : i64}", "2", "", "{{.*}}", unit, unit]
// CHECK: relax.call_pure_packed{{.*}}"relax.split"{{.*}} -> tuple<tensor<?xf32>, tensor<?xf32>>
func.func @tuples(%x: tensor<?xf32>) -> tuple<tensor<?xf32>, tensor<?xf32>> {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<?xf32>, tensor<?xf32> to tuple<tensor<?xf32>, tensor<?xf32>>
  %0 = "relax.concat"(%t) {axis = 0} : (tuple<tensor<?xf32>, tensor<?xf32>>) -> tensor<?xf32>
  %1 = "relax.split"(%0) {sections = 2, axis = 0} : (tensor<?xf32>) -> tuple<tensor<?xf32>, tensor<?xf32>>
  return %1 : tuple<tensor<?xf32>, tensor<?xf32>>
}
// -----
// Symbols in attributes come as a shape.
// CHECK-LABEL: @symbols
// CHECK: relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
// CHECK: relax.call_pure_packed{{.*}}"relax.strided_slice"{{.*}}begin = {{.*}}, ".", "n", "{{.*}}", unit, unit]
func.func @symbols(%s: !relax.shape_value<["n"]>, %x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = "relax.strided_slice"(%x) {axes = [0], begin = ["n"], end = [9], strides, assume_inbound = false}
    : (tensor<*xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}
// -----
// A shape of which only the rank is known.
// CHECK-LABEL: @unknown_shape
// CHECK: relax.call_pure_packed{{.*}}"relax.broadcast_to", "{}", ".,."
// CHECK: relax.call_pure_packed{{.*}}"relax.zeros"
func.func @unknown_shape(%x: tensor<4xf32>, %s: !relax.shape_value<["?", "?"]>) -> tensor<?x?xf32> {
  %0 = "relax.broadcast_to"(%x, %s) : (tensor<4xf32>, !relax.shape_value<["?", "?"]>) -> tensor<?x?xf32>
  %1 = "relax.zeros"(%s) {dtype = f32} : (!relax.shape_value<["?", "?"]>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
// -----
// Views of tensors of unknown rank are looked at when they run, the others stay views.
// CHECK-LABEL: @views
// CHECK: relax.call_pure_packed{{.*}}"relax.flatten"
// CHECK: relax.reshape
// CHECK: relax.call_pure_packed{{.*}}func = "relax_mlir.run.tensor_to_shape"
// CHECK: relax.call_pure_packed{{.*}}func = "relax_mlir.run.shape_to_tensor"
func.func @views(%x: tensor<*xf32>, %t: tensor<?xi64>) -> tensor<?xi64> {
  %0 = "relax.flatten"(%x) : (tensor<*xf32>) -> tensor<?xf32>
  %s = "relax.shape_expr"() {values = [2, 2]} : () -> !relax.shape_value<[2, 2]>
  %1 = "relax.reshape"(%0, %s) : (tensor<?xf32>, !relax.shape_value<[2, 2]>) -> tensor<2x2xf32>
  %2 = "relax.tensor_to_shape"(%t) : (tensor<?xi64>) -> !relax.shape_value<unit>
  %3 = "relax.shape_to_tensor"(%2) : (!relax.shape_value<unit>) -> tensor<?xi64>
  return %3 : tensor<?xi64>
}
// -----
// Enough is known: native code.
// CHECK-LABEL: @known
// CHECK-NOT: call_pure_packed
// CHECK: relax.call_tir{{.*}}callee = @exp_f32
func.func @known(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.exp"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// Effects are made explicit; values keep their names; functions as values stay.
// CHECK-LABEL: @known
// CHECK: "relax.call_packed"
// CHECK-NEXT: %[[NEW:.*]] = "relax.updated"
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast %[[NEW]] :
// CHECK-NEXT: %named = "relax.call_tir"(%[[T]])
// CHECK: "relax.make_closure"
func.func @known(%x: tensor<4xf32>) -> (tensor<4xf32>, !relax.callable<[], tensor<4xf32>, true>) {
  %t = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %0 = "relax.call_packed"(%t) {func = "f.change", arg_spec = [unit]} : (tuple<tensor<4xf32>>) -> tuple<>
  %named = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %u = builtin.unrealized_conversion_cast %named : tensor<4xf32> to tuple<tensor<4xf32>>
  %c = "relax.make_closure"(%u) {callee = @same} : (tuple<tensor<4xf32>>) -> !relax.callable<[], tensor<4xf32>, true>
  return %named, %c : tensor<4xf32>, !relax.callable<[], tensor<4xf32>, true>
}
func.func private @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
