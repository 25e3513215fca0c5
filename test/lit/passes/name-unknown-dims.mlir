// RUN: relax-opt --name-unknown-dims %s | filecheck %s

// Unknown dimensions get symbols that no other has, also in dataflow blocks and branches; what is yielded and
// returned keeps its type.
// CHECK-LABEL: func.func @named(
// CHECK-SAME: -> tensor<?x4xf32>
// CHECK: %[[X:.*]] = "relax.match_shape"(%x) {pattern = ["d1", 4], result_dtype}
// CHECK: %[[D:.*]] = "relax.dataflow"
// CHECK: "relax.exp"(%[[X]]) : (tensor<?x4xf32, #relax.shape<["d1", 4]>>) -> tensor<?x4xf32, #relax.shape<["d1", 4]>>
// CHECK: -> tensor<?x4xf32, #relax.shape<["d1", 4]>>
// CHECK: %[[IF:.*]] = scf.if %{{.*}} -> (tensor<?x4xf32>)
// CHECK: "relax.exp"(%[[D]])
// CHECK: %[[V:.*]] = "relax.match_shape"({{.*}}) {pattern = ["?", 4], result_dtype}
// CHECK: scf.yield %[[V]] : tensor<?x4xf32>
// CHECK: %[[Y:.*]] = "relax.match_shape"(%[[IF]]) {pattern = ["d2", 4], result_dtype}
// CHECK: "relax.exp"(%[[Y]])
// CHECK: %[[R:.*]] = "relax.match_shape"({{.*}}) {pattern = ["?", 4], result_dtype}
// CHECK: return %[[R]] : tensor<?x4xf32>
func.func @named(%x: tensor<?x4xf32> {relax.name = "x"}, %d: tensor<?xf32, #relax.shape<["d0"]>> {relax.name = "d"},
                 %c: i1) -> tensor<?x4xf32> {
  %0 = "relax.dataflow"() ({
    %1 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    "relax.output"(%1) : (tensor<?x4xf32>) -> ()
  }) : () -> tensor<?x4xf32>
  %2 = scf.if %c -> tensor<?x4xf32> {
    %3 = "relax.exp"(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %3 : tensor<?x4xf32>
  } else {
    scf.yield %0 : tensor<?x4xf32>
  }
  %4 = "relax.exp"(%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %4 : tensor<?x4xf32>
}

// Two unknown dimensions need not be equal: such an op keeps its operands. Nothing is named for returns alone, nor what
// has no known rank or dtype.
// CHECK-LABEL: func.func @kept(
// CHECK-NOT: match_shape
// CHECK: "relax.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-NOT: match_shape
// CHECK: return
func.func @kept(%x: tensor<?xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "y"},
                %z: tensor<*xf32> {relax.name = "z"}) -> tuple<tensor<?xf32>, tensor<*xf32>> {
  %0 = "relax.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.exp"(%z) : (tensor<*xf32>) -> tensor<*xf32>
  %2 = builtin.unrealized_conversion_cast %0, %1 : tensor<?xf32>, tensor<*xf32> to tuple<tensor<?xf32>, tensor<*xf32>>
  return %2 : tuple<tensor<?xf32>, tensor<*xf32>>
}

// Nor is anything named where the dtype is unknown, though the rank is known.
// CHECK-LABEL: func.func @any_dtype(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x!relax.any>
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]]) : (tensor<?x!relax.any>) -> tensor<?x!relax.any>
// CHECK-NEXT: return %[[E]]
func.func @any_dtype(%x: tensor<?x!relax.any> {relax.name = "x"}) -> tensor<?x!relax.any> {
  %0 = "relax.exp"(%x) : (tensor<?x!relax.any>) -> tensor<?x!relax.any>
  return %0 : tensor<?x!relax.any>
}
