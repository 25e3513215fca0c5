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
