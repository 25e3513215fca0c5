// Operands and attributes that an op does not declare, or of another kind: an error at the op, never a trace.
// RUN: relax-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{add: has 1 operands, expected 2}}
  %0 = "relax.add"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @below {{sum: attribute 'keepdims' is missing}}
  %0 = "relax.sum"(%x) {axis = [1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @below {{Cannot cast attribute to BoolAttr (from Attribute(3 : i64))}}
  %0 = "relax.sum"(%x) {axis = [1], keepdims = 3} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{astype: attribute 'dtype' is 3 : i64, expected a type}}
  %0 = "relax.astype"(%x) {dtype = 3} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// -----
func.func @wrong(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @below {{sum: attribute 'axis' is "x", expected an array or unit}}
  %0 = "relax.sum"(%x) {axis = "x", keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @wrong() -> tensor<4xi64> {
  // expected-error @below {{arange: attribute 'start' is [0], expected a string or an integer or a float}}
  %0 = "relax.arange"() {start = [0], end = 4, step = 1, dtype = i64} : () -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// -----
func.func @wrong() -> tensor<4xi64> {
  // expected-error @below {{expected a number, a symbol or '('}}
  %0 = "relax.arange"() {start = 0, end = "n-", step = 1, dtype = i64} : () -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
// -----
func.func @wrong(%x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  // expected-error @below {{call_pure_packed: has 0 results, expected 1}}
  "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<tensor<2xf32>>) -> ()
  return %x : tensor<2xf32>
}
// -----
func.func @wrong(%x: tensor<2xf32>) -> i64 {
  // expected-error @below {{prim_value: attribute 'value' is 99999999999999999999999999, which does not fit 64 bits}}
  %0 = "relax.prim_value"() {value = 99999999999999999999999999 : i128} : () -> i64
  return %0 : i64
}
// -----
func.func @wrong() {
  %size = "relax.shape_expr"() {values = [4]} : () -> !relax.shape_value<[4]>
  // expected-error @below {{memory_alloc_storage: attribute 'device' is 99999999999999999999999999, which does not fit 64 bits}}
  %0 = "relax.memory_alloc_storage"(%size) {device = 99999999999999999999999999 : i128, dtype = ui8, storage_scope = "global"} : (!relax.shape_value<[4]>) -> !relax.object
  return
}
