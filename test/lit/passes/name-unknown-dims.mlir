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
// CHECK-NEXT: return %[[E]] :
func.func @any_dtype(%x: tensor<?x!relax.any> {relax.name = "x"}) -> tensor<?x!relax.any> {
  %0 = "relax.exp"(%x) : (tensor<?x!relax.any>) -> tensor<?x!relax.any>
  return %0 : tensor<?x!relax.any>
}

// What only returns needs no name, so the next one is the first. Known fields of a tuple stay as they are.
// CHECK-LABEL: func.func @fields(
// CHECK-NEXT: %[[Y:.*]] = "relax.match_shape"(%y) {pattern = ["d0"], result_dtype}
// CHECK-NEXT: %[[E:.*]] = "relax.exp"(%[[Y]])
// CHECK-NEXT: builtin.unrealized_conversion_cast %[[E]], %z, %x :
// CHECK-NEXT: %[[V:.*]] = "relax.match_shape"(%[[E]]) {pattern = ["?"], result_dtype}
// CHECK-NEXT: %[[ALL:.*]] = builtin.unrealized_conversion_cast %[[V]], %z, %x :
// CHECK-NEXT: return %[[ALL]] :
func.func @fields(%x: tensor<?xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "y"}, %z: tensor<2xf32> {relax.name = "z"}) -> tuple<tensor<?xf32>, tensor<2xf32>, tensor<?xf32>> {
  %0 = "relax.exp"(%y) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = builtin.unrealized_conversion_cast %0, %z, %x : tensor<?xf32>, tensor<2xf32>, tensor<?xf32> to tuple<tensor<?xf32>, tensor<2xf32>, tensor<?xf32>>
  return %1 : tuple<tensor<?xf32>, tensor<2xf32>, tensor<?xf32>>
}

// Shapes and the fields of tuples get the names, too; not results that are declared with no rank or dtype.
// CHECK-LABEL: func.func @results(
// CHECK: "relax.shape_of"({{.*}}) -> !relax.shape_value<["d1"]>
// CHECK: "relax.shape_of"({{.*}}) -> !relax.shape_value<unit>
// CHECK: "relax.split"({{.*}}) -> tuple<tensor<?x2xf32, #relax.shape<["d0", 2]>>, tensor<?x2xf32, #relax.shape<["d0", 2]>>>
// CHECK: "relax.exp"({{.*}}) -> tensor<*xf32>
// CHECK: "relax.exp"({{.*}}) -> tensor<?x4x!relax.any>
func.func @results(%x: tensor<?x4xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "y"}) -> tensor<?x2xf32> {
  %0 = "relax.shape_of"(%y) : (tensor<?xf32>) -> !relax.shape_value<["?"]>
  %1 = "relax.shape_of"(%y) : (tensor<?xf32>) -> !relax.shape_value<unit>
  %2 = "relax.split"(%x) {sections = 2 : i64, axis = 1 : i64} : (tensor<?x4xf32>) -> tuple<tensor<?x2xf32>, tensor<?x2xf32>>
  %3 = "relax.tuple_get_item"(%2) {index = 0 : i64} : (tuple<tensor<?x2xf32>, tensor<?x2xf32>>) -> tensor<?x2xf32>
  %4 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<*xf32>
  %5 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<?x4x!relax.any>
  return %3 : tensor<?x2xf32>
}

// What loops carry is named in each round.
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %x)
// CHECK-NEXT: %[[N:.*]] = "relax.match_shape"(%[[C]]) {pattern = ["d0"], result_dtype}
// CHECK-NEXT: "relax.exp"(%[[N]])
func.func @loop(%x: tensor<?xf32> {relax.name = "x"}, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<?xf32> {
    %1 = "relax.exp"(%y) : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %1 : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// An op that keeps its operands also keeps those without unknown dimensions.
// CHECK-LABEL: func.func @kept_known(
// CHECK: %[[C:.*]] = "relax.logical_not"(%b)
// CHECK-NEXT: "relax.where"(%[[C]], %x, %y)
func.func @kept_known(%b: tensor<1xi1> {relax.name = "b"}, %x: tensor<?xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "y"}) -> tensor<?xf32> {
  %0 = "relax.logical_not"(%b) : (tensor<1xi1>) -> tensor<1xi1>
  %1 = "relax.where"(%0, %x, %y) : (tensor<1xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// Effects are made explicit first.
// CHECK-LABEL: func.func @effects(
// CHECK: "relax.call_packed"
// CHECK-NEXT: "relax.updated"
func.func @effects(%x: tensor<?xf32> {relax.name = "x"}) -> tensor<?xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<?xf32> to tuple<tensor<?xf32>>
  %0 = "relax.call_packed"(%t) {func = "f.change", arg_spec = [unit]} : (tuple<tensor<?xf32>>) -> tuple<>
  %1 = "relax.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// What is only matched is not named before. A symbol that is matched, though the result does not say so, is taken.
// CHECK-LABEL: func.func @passed_on(
// CHECK-NEXT: "relax.match_shape"(%x) {pattern = [4], result_dtype}
// CHECK-NEXT: return
// CHECK-LABEL: func.func @taken(
// CHECK: "relax.match_shape"(%y) {pattern = ["d1"], result_dtype}
func.func @passed_on(%x: tensor<?xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = "relax.match_shape"(%x) {pattern = [4], result_dtype} : (tensor<?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @taken(%x: tensor<?xf32> {relax.name = "x"}, %y: tensor<?xf32> {relax.name = "y"}) -> tensor<?xf32> {
  %0 = "relax.match_shape"(%x) {pattern = ["d0"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = "relax.exp"(%y) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
