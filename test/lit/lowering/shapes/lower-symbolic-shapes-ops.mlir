// RUN: relax-opt %s --lower-symbolic-shapes --split-input-file | filecheck %s

// control.py: branches yield tensors; the result, which may be an argument, is copied to its destination.
// CHECK-LABEL: func.func @conditional(
// CHECK-SAME: %[[T:[a-z0-9_]+]]: tensor<i1>, %[[X:[a-z0-9_]+]]: tensor<?xf32>, %[[Y:[a-z0-9_]+]]: tensor<?xf32>, %[[OUT:[a-z0-9_]+]]: tensor<?xf32>)
// CHECK: %[[C:[a-z0-9_]+]] = tensor.extract %[[T]][] : tensor<i1>
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = scf.if %[[C]] -> (tensor<?xf32>)
// CHECK-NEXT: scf.yield %[[X]] :
// CHECK-NEXT: else
// CHECK-NEXT: scf.yield %[[Y]] :
// CHECK: %[[COPY:[A-Za-z0-9_]+]] = bufferization.alloc_tensor() copy(%[[R]])
// CHECK-NEXT: bufferization.materialize_in_destination %[[COPY]] in %[[OUT]] :
func.func @conditional(%t: tensor<i1> {relax.name = "c"}, %x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}, %y: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "y"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  %c = tensor.extract %t[] : tensor<i1>
  %0 = scf.if %c -> tensor<?xf32, #relax.shape<["n"]>> {
    scf.yield %x : tensor<?xf32, #relax.shape<["n"]>>
  } else {
    scf.yield %y : tensor<?xf32, #relax.shape<["n"]>>
  }
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}
// -----
// structure.py: every dimension is checked where the op stands, not at entry.
// CHECK: @relax.check.1({{.*}} message = "match: match_shape at {{[^ ]+}}: dimension 1 is {0}, expected 4 (expected (n, 4), got ({1}, {2}))"
// CHECK: @relax.check.0({{.*}} dimension 0 is {0}, but n = {1}, taken from parameter 's' value 0
// CHECK-LABEL: func.func @match(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>, %[[N:[a-z0-9_]+]]: index,
// CHECK: %[[SAME:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[ROWS:[a-z0-9_]+]], %[[N]] : index
// CHECK-NEXT: call @relax.check.0(%[[SAME]], %[[ROWS]], %[[N]], %[[ROWS]], %[[COLUMNS:[a-z0-9_]+]])
// CHECK: call @relax.check.1(%{{[A-Za-z0-9_]+}}, %[[COLUMNS]], %[[ROWS]], %[[COLUMNS]])
// CHECK-NEXT: tensor.cast %[[X]] : tensor<?x?xf32> to tensor<?x4xf32>
// CHECK-LABEL: func.func private @match.shapes(
// CHECK-NOT: relax.check
// CHECK: return
func.func @match(%x: tensor<?x?xf32> {relax.name = "x"}, %s: !relax.shape_value<["n"]> {relax.name = "s"}) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n", 4], result_dtype} : (tensor<?x?xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}
// -----
// shapes.py: as many elements before as after; then the tensor is looked at in another way.
// CHECK: @relax.check.1({{.*}} cannot make shape ({4}, {5}) = (k, 4) of ({2}, {3}) = (n, m): {0} elements are not {1}"
// CHECK-LABEL: func.func @view(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>, %[[K:[a-z0-9_]+]]: index,
// CHECK: %[[NEW:[A-Za-z0-9_]+]] = arith.muli %[[K]],
// CHECK: call @relax.check.0({{.*}}, %[[K]])
// CHECK: %[[SAME:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[OLD:[A-Za-z0-9_]+]], %[[NEW]] : index
// CHECK-NEXT: call @relax.check.1(%[[SAME]], %[[OLD]], %[[NEW]],
// CHECK-NEXT: %[[FLAT:[a-z0-9_]+]] = tensor.collapse_shape %[[X]] [
// CHECK-SAME: [0, 1]
// CHECK-NEXT: tensor.expand_shape %[[FLAT]] [
// CHECK-SAME: output_shape [%[[K]], 4] : tensor<?xf32> into tensor<?x4xf32>
func.func @view(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>> {relax.name = "x"}, %s: !relax.shape_value<["k"]> {relax.name = "s"}) -> tensor<?x4xf32, #relax.shape<["k", 4]>> {
  %s1 = "relax.shape_expr"() {values = ["k", 4]} : () -> !relax.shape_value<["k", 4]>
  %0 = "relax.reshape"(%x, %s1) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, !relax.shape_value<["k", 4]>) -> tensor<?x4xf32, #relax.shape<["k", 4]>>
  return %0 : tensor<?x4xf32, #relax.shape<["k", 4]>>
}
// -----
// structure.py, body.py: small constants stay in the text; a shape is one index per value.
// CHECK-LABEL: func.func @constant(
// CHECK-SAME: %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: index, %[[OUT:[a-z0-9_]+]]: tensor<2xf32>)
// CHECK-NEXT: %[[C:[a-z0-9_]+]] = arith.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-NEXT: bufferization.materialize_in_destination %[[C]] in %[[OUT]] :
func.func @constant(%s: !relax.shape_value<["n", 4]> {relax.name = "s"}) -> tensor<2xf32> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<2xf32>} : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// structure.py: a large constant whose elements are all the same is filled, and no data of the code.
// CHECK-LABEL: func.func @large_constant(
// CHECK: %[[TWO:[A-Za-z0-9_]+]] = tensor.extract %{{[a-z0-9_]+}}[] : tensor<f32>
// CHECK: %[[EMPTY:[A-Za-z0-9_]+]] = tensor.empty() : tensor<1073741824xf32>
// CHECK: linalg.fill ins(%[[TWO]] : f32) outs(%[[EMPTY]] : tensor<1073741824xf32>)
func.func @large_constant() -> tensor<1073741824xf32> {
  %0 = "relax.constant"() {value = dense<2.0> : tensor<1073741824xf32>} : () -> tensor<1073741824xf32>
  return %0 : tensor<1073741824xf32>
}
// -----
// create.py: the values of a shape are the elements of its tensor, constants among them.
// CHECK-LABEL: func.func @shape_as_tensor(
// CHECK: %[[N:[A-Za-z0-9_]+]] = arith.index_cast %{{[a-z0-9_]+}} : index to i64
// CHECK: tensor.from_elements %[[N]], %{{[a-z0-9_]+}} : tensor<2xi64>
func.func @shape_as_tensor(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<2xi64> {
  %0 = "relax.shape_of"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> !relax.shape_value<["n", 4]>
  %1 = "relax.shape_to_tensor"(%0) : (!relax.shape_value<["n", 4]>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}
