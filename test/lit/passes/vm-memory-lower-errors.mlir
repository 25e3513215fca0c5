// What passes before should have removed is refused, and so are views of unknown shape.
// RUN: not relax-opt %s --vm-memory-lower --split-input-file 2>&1 | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>
func.func @call(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  // CHECK: call: relax.call_dps_packed is left; run call-tir-rewrite before vm-memory-lower
  %1 = "relax.call_dps_packed"(%0) {func = "f", arg_spec = [unit]} : (tuple<!n>) -> !n
  return %1 : !n
}
// -----
func.func @view(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  // CHECK: relax.flatten gives Tensor((?,), "float32"); its shape must be known: match_shape its operand first
  %0 = "relax.flatten"(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
