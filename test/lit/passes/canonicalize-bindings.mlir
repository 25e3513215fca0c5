// RUN: relax-opt %s --canonicalize-bindings | filecheck %s
// Other names of values, and outputs of dataflow blocks that nobody needs.

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @tuples
// CHECK-SAME: (%[[T:[a-z0-9_]+]]: tuple<tensor<2xf32>, tensor<3xf32>>)
// CHECK-NEXT: return %[[T]] :
func.func @tuples(%t: tuple<tensor<2xf32>, tensor<3xf32>>) -> tuple<tensor<2xf32>, tensor<3xf32>> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2xf32>
  %b = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<3xf32>
  %u = builtin.unrealized_conversion_cast %a, %b : tensor<2xf32>, tensor<3xf32> to tuple<tensor<2xf32>, tensor<3xf32>>
  %c = "relax.tuple_get_item"(%u) {index = 0 : i64} : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2xf32>
  %w = builtin.unrealized_conversion_cast %c, %b : tensor<2xf32>, tensor<3xf32> to tuple<tensor<2xf32>, tensor<3xf32>>
  return %w : tuple<tensor<2xf32>, tensor<3xf32>>
}

// CHECK-LABEL: func.func @matched
// CHECK-NOT: relax.match_shape
// CHECK: return
func.func @matched(%x: tensor<?x?xf32, #relax.shape<["n", "2*n"]>>) -> tensor<?x?xf32, #relax.shape<["n", "2*n"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n", "n + n"], result_dtype = f32} : (tensor<?x?xf32, #relax.shape<["n", "2*n"]>>) -> tensor<?x?xf32, #relax.shape<["n", "2*n"]>>
  return %0 : tensor<?x?xf32, #relax.shape<["n", "2*n"]>>
}

// One output is used by nobody, one twice, one was made in front of the block.
// CHECK-LABEL: func.func @outputs
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: "relax.output"(%[[E]])
// CHECK-NEXT: }) : () -> tensor<?xf32
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.add"(%[[D]], %[[D]])
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.add"(%[[S]], %[[X]])
func.func @outputs(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n, %e, %x : !v, !v, !v, !v to tuple<!v, !v, !v, !v>
    "relax.output"(%t) : (tuple<!v, !v, !v, !v>) -> ()
  }) : () -> tuple<!v, !v, !v, !v>
  %0 = "relax.tuple_get_item"(%d) {index = 0 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %2 = "relax.tuple_get_item"(%d) {index = 2 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %3 = "relax.tuple_get_item"(%d) {index = 3 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %s = "relax.add"(%0, %2) : (!v, !v) -> !v
  %r = "relax.add"(%s, %3) : (!v, !v) -> !v
  return %r : !v
}

// Two of three remain.
// CHECK-LABEL: func.func @two
// CHECK: "relax.output"(%{{[A-Za-z0-9_]+}}) : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>)
// CHECK: "relax.tuple_get_item"(%{{[A-Za-z0-9_]+}}) {index = 0 : i64}
// CHECK: "relax.tuple_get_item"(%{{[A-Za-z0-9_]+}}) {index = 1 : i64}
// CHECK: relax.subtract
func.func @two(%x: !v) -> !v {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %a = "relax.abs"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n, %a : !v, !v, !v to tuple<!v, !v, !v>
    "relax.output"(%t) : (tuple<!v, !v, !v>) -> ()
  }) : () -> tuple<!v, !v, !v>
  %0 = "relax.tuple_get_item"(%d) {index = 0 : i64} : (tuple<!v, !v, !v>) -> !v
  %2 = "relax.tuple_get_item"(%d) {index = 2 : i64} : (tuple<!v, !v, !v>) -> !v
  %s = "relax.subtract"(%0, %2) : (!v, !v) -> !v
  return %s : !v
}

// Outputs that were made before the block: an argument, the result of an op, a tuple.
// CHECK-LABEL: func.func @before
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = "relax.negative"(%[[X]])
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[N]] :
// CHECK: "relax.output"(%[[X]])
// CHECK: "relax.output"(%[[T]])
// CHECK: %[[C:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[E:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK-NEXT: "relax.output"(%[[E]])
// CHECK-NEXT: })
// CHECK-NEXT: return %[[X]], %[[T]], %[[C]], %[[N]] :
func.func @before(%x: !v) -> (!v, tuple<!v, !v>, !v, !v) {
  %n = "relax.negative"(%x) : (!v) -> !v
  %t = builtin.unrealized_conversion_cast %x, %n : !v, !v to tuple<!v, !v>
  %a = "relax.dataflow"() ({
    "relax.output"(%x) : (!v) -> ()
  }) : () -> !v
  %b = "relax.dataflow"() ({
    "relax.output"(%t) : (tuple<!v, !v>) -> ()
  }) : () -> tuple<!v, !v>
  %c = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %u = builtin.unrealized_conversion_cast %e, %n : !v, !v to tuple<!v, !v>
    "relax.output"(%u) : (tuple<!v, !v>) -> ()
  }) : () -> tuple<!v, !v>
  %0 = "relax.tuple_get_item"(%c) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %1 = "relax.tuple_get_item"(%c) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  return %a, %b, %0, %1 : !v, tuple<!v, !v>, !v, !v
}

// A field of a known tuple is the value, and all fields of a tuple of one are the tuple.
// CHECK-LABEL: func.func @fields
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[T:[a-z0-9_]+]]: tuple
// CHECK-NOT: relax.tuple_get_item
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.exp"(%[[X]])
// CHECK: return %[[R]], %[[T]] :
func.func @fields(%x: !v, %y: !v, %t: tuple<!v>) -> (!v, tuple<!v>) {
  %u = builtin.unrealized_conversion_cast %y, %x : !v, !v to tuple<!v, !v>
  %a = "relax.tuple_get_item"(%u) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %r = "relax.exp"(%a) : (!v) -> !v
  %b = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v>) -> !v
  %w = builtin.unrealized_conversion_cast %b : !v to tuple<!v>
  return %r, %w : !v, tuple<!v>
}

// Names are dropped before outputs are looked at, and again after that.
// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[T:[a-z0-9_]+]]: tuple
// CHECK: "relax.output"(%{{[A-Za-z0-9_]+}}) : (tensor
// CHECK: "relax.add"(%[[X]], %{{[A-Za-z0-9_]+}})
// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: return %{{[A-Za-z0-9_]+}}, %[[T]] :
func.func @both(%x: !v, %t: tuple<!v, !v>) -> (!v, tuple<!v, !v>) {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %b = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %c = "relax.dataflow"() ({
    %m = "relax.match_shape"(%x) {pattern = ["n"], result_dtype = unit} : (!v) -> !v
    %e = "relax.exp"(%x) : (!v) -> !v
    %o = builtin.unrealized_conversion_cast %m, %e, %b, %a : !v, !v, !v, !v to tuple<!v, !v, !v, !v>
    "relax.output"(%o) : (tuple<!v, !v, !v, !v>) -> ()
  }) : () -> tuple<!v, !v, !v, !v>
  %0 = "relax.tuple_get_item"(%c) {index = 0 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %1 = "relax.tuple_get_item"(%c) {index = 1 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %2 = "relax.tuple_get_item"(%c) {index = 2 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %3 = "relax.tuple_get_item"(%c) {index = 3 : i64} : (tuple<!v, !v, !v, !v>) -> !v
  %s = "relax.add"(%0, %1) : (!v, !v) -> !v
  %w = builtin.unrealized_conversion_cast %3, %2 : !v, !v to tuple<!v, !v>
  return %s, %w : !v, tuple<!v, !v>
}
