// Functions whose calls are short where arguments are small are marked, for those who call them from Python.
// RUN: relax-opt %s --lower-symbolic-shapes --split-input-file | filecheck %s

!n = tensor<?xf32, #relax.shape<["n"]>>
// Linear work on tensors as large as an argument.
// CHECK-LABEL: func.func @linear(
// CHECK-SAME: relax.latency_critical
// CHECK-LABEL: func.func private @linear.shapes(
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @linear(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
!nn = tensor<?x?xf32, #relax.shape<["n", "n"]>>
// A result that is larger than the argument.
// CHECK-LABEL: func.func @larger(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @larger.shapes(
func.func private @square(%x: tensor<?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.pattern = "broadcast", relax.prim_func} {
  %0 = linalg.broadcast ins(%x : tensor<?xf32>) outs(%out : tensor<?x?xf32>) dimensions = [0]
  return %0 : tensor<?x?xf32>
}
func.func @larger(%x: !n) -> !nn {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @square, tir_vars = []} : (tuple<!n>) -> !nn
  return %1 : !nn
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
// A prim func of which nothing is known, and a call of a function.
// CHECK-LABEL: func.func @opaque(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func @caller(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @opaque.shapes(
func.func private @prim(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %x : tensor<?xf32>
}
func.func @opaque(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @prim, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func @caller(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call"(%0) {callee = @opaque} : (tuple<!n>) -> !n
  return %1 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
!m = tensor<?xf32, #relax.shape<["m"]>>
// A sum over more than any argument has: n times m products.
// CHECK-LABEL: func.func @products(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @products.shapes(
func.func private @outer_sum(%x: tensor<?xf32>, %y: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "reduction", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%0 : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
func.func @products(%x: !n, %y: !m) -> !n {
  %0 = builtin.unrealized_conversion_cast %x, %y : !n, !m to tuple<!n, !m>
  %1 = "relax.call_tir"(%0) {callee = @outer_sum, tir_vars = []} : (tuple<!n, !m>) -> !n
  return %1 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
// At most 16 calls.
// CHECK-LABEL: func.func @calls_16(
// CHECK-SAME: relax.latency_critical
// CHECK-LABEL: func.func @calls_17(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @calls_16.shapes(
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @calls_16(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %3 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %4 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %5 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %6 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %7 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %8 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %9 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %10 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %11 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %12 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %13 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %14 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %15 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %16 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %16 : !n
}
func.func @calls_17(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %2 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %3 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %4 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %5 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %6 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %7 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %8 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %9 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %10 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %11 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %12 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %13 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %14 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %15 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %16 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  %17 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %17 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
// An argument of unknown size, or one that is no tensor.
// CHECK-LABEL: func.func @unknown_size(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func @no_tensor(
// CHECK-NOT: relax.latency_critical
// A prim func that is defined elsewhere.
// CHECK-LABEL: func.func @external(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @unknown_size.shapes(
func.func private @exp(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func private @elsewhere(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func}
func.func @unknown_size(%x: !n, %y: tensor<?xf32>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func @no_tensor(%x: !n, %y: i64) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @exp, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func @external(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @elsewhere, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
// -----
!a = tensor<2x?x3xf32, #relax.shape<[2, "n", 3]>>
!b = tensor<6x?xf32, #relax.shape<[6, "n"]>>
// As many elements as the argument, in another shape; and 1024, whatever the argument has.
// CHECK-LABEL: func.func @reshaped(
// CHECK-SAME: relax.latency_critical
// CHECK-LABEL: func.func @elements_1024(
// CHECK-SAME: relax.latency_critical
// CHECK-LABEL: func.func @elements_1025(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @reshaped.shapes(
func.func private @fill(%x: tensor<2x?x3xf32>, %out: tensor<6x?xf32>) -> tensor<6x?xf32> attributes {relax.pattern = "injective", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<6x?xf32>) -> tensor<6x?xf32>
  return %0 : tensor<6x?xf32>
}
func.func private @fill_1024(%out: tensor<1024xf32>) -> tensor<1024xf32> attributes {relax.pattern = "injective", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}
func.func private @fill_1025(%out: tensor<1025xf32>) -> tensor<1025xf32> attributes {relax.pattern = "injective", relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<1025xf32>) -> tensor<1025xf32>
  return %0 : tensor<1025xf32>
}
func.func @reshaped(%x: !a) -> !b {
  %0 = builtin.unrealized_conversion_cast %x : !a to tuple<!a>
  %1 = "relax.call_tir"(%0) {callee = @fill, tir_vars = []} : (tuple<!a>) -> !b
  return %1 : !b
}
func.func @elements_1024(%x: !a) -> tensor<1024xf32> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_tir"(%0) {callee = @fill_1024, tir_vars = []} : (tuple<>) -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}
func.func @elements_1025(%x: !a) -> tensor<1025xf32> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_tir"(%0) {callee = @fill_1025, tir_vars = []} : (tuple<>) -> tensor<1025xf32>
  return %1 : tensor<1025xf32>
}
// -----
!n = tensor<?x8xf32, #relax.shape<["n", 8]>>
// A kernel over rows is linear, whatever its loops are.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: relax.latency_critical
// CHECK-LABEL: func.func private @rows.shapes(
func.func private @softmax(%x: tensor<?x8xf32>, %out: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}, relax.pattern = "opaque", relax.prim_func} {
  return %x : tensor<?x8xf32>
}
func.func @rows(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @softmax, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
// -----
!n = tensor<?xf32, #relax.shape<["n"]>>
!nn = tensor<?x?xf32, #relax.shape<["n", "n"]>>
// Loops that are not linalg's, a field that is larger than the argument, and an argument of unknown dtype.
// CHECK-LABEL: func.func @loop(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func @larger_field(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func @unknown_dtype(
// CHECK-NOT: relax.latency_critical
// CHECK-LABEL: func.func private @loop.shapes(
func.func private @scaled(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %out) -> tensor<?xf32> {
    scf.yield %y : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}
func.func private @both(%x: tensor<?xf32>, %out: tensor<?xf32>, %more: tensor<?x?xf32>) -> (tensor<?xf32>, tensor<?x?xf32>) attributes {relax.pattern = "broadcast", relax.prim_func} {
  return %out, %more : tensor<?xf32>, tensor<?x?xf32>
}
func.func private @copy(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.pattern = "elementwise", relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func @loop(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @scaled, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
func.func @larger_field(%x: !n) -> tuple<!n, !nn> {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @both, tir_vars = []} : (tuple<!n>) -> tuple<!n, !nn>
  return %1 : tuple<!n, !nn>
}
func.func @unknown_dtype(%x: !n, %y: tensor<?x!relax.any, #relax.shape<["n"]>>) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @copy, tir_vars = []} : (tuple<!n>) -> !n
  return %1 : !n
}
