// RUN: relax-opt %s --canonicalize-bindings | filecheck %s
// What stays: checks that are not proved, symbols that are defined, tuples in another order, whole tuples.

!v = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @checked
// CHECK: "relax.match_shape"(%{{.*}}) {pattern = ["n"]
// CHECK: "relax.match_shape"(%{{.*}}) {pattern = ["m"]
func.func @checked(%x: !v, %y: tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.match_shape"(%y) {pattern = ["n"], result_dtype = unit} : (tensor<?xf32>) -> !v
  %1 = "relax.match_shape"(%0) {pattern = ["m"], result_dtype = unit} : (!v) -> tensor<?xf32, #relax.shape<["m"]>>
  return %1 : tensor<?xf32, #relax.shape<["m"]>>
}

// CHECK-LABEL: func.func @swapped
// CHECK: builtin.unrealized_conversion_cast
func.func @swapped(%t: tuple<!v, !v>) -> tuple<!v, !v> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %b = "relax.tuple_get_item"(%t) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %u = builtin.unrealized_conversion_cast %b, %a : !v, !v to tuple<!v, !v>
  return %u : tuple<!v, !v>
}

// CHECK-LABEL: func.func @whole
// CHECK: relax.exp
// CHECK: relax.negative
// CHECK: relax.output
func.func @whole(%x: !v) -> tuple<!v, !v> {
  %d = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n : !v, !v to tuple<!v, !v>
    "relax.output"(%t) : (tuple<!v, !v>) -> ()
  }) : () -> tuple<!v, !v>
  return %d : tuple<!v, !v>
}

// A field of a tuple that is at hand is another name of what the tuple is made of, whenever it is taken.
// CHECK-LABEL: func.func @effect
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: %[[Y:[A-Za-z0-9_]+]] = "relax.updated"(%[[X]])
// CHECK: "relax.add"(%[[Y]], %[[Y]])
func.func @effect(%x: !v) -> !v {
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %c = "relax.call_packed"(%t) {func = "f", arg_spec = [unit]} : (tuple<!v>) -> tuple<>
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v>) -> !v
  %r = "relax.add"(%a, %x) : (!v, !v) -> !v
  return %r : !v
}

// Fields of two tuples, and some of the fields of one, are a tuple of their own.
// CHECK-LABEL: func.func @two_tuples
// CHECK-SAME: (%[[T:[a-z0-9_]+]]: tuple<{{.*}}>, %[[U:[a-z0-9_]+]]: tuple<{{.*}}>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[U]]) {index = 1 : i64}
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]]
// CHECK: return %[[W]]
func.func @two_tuples(%t: tuple<!v, !v>, %u: tuple<!v, !v>) -> tuple<!v, !v> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %b = "relax.tuple_get_item"(%u) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %w = builtin.unrealized_conversion_cast %a, %b : !v, !v to tuple<!v, !v>
  return %w : tuple<!v, !v>
}

// CHECK-LABEL: func.func @some_fields
// CHECK-SAME: (%[[T:[a-z0-9_]+]]:
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]]
// CHECK: return %[[W]]
func.func @some_fields(%t: tuple<!v, !v>) -> tuple<!v> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %w = builtin.unrealized_conversion_cast %a : !v to tuple<!v>
  return %w : tuple<!v>
}

// A shape that is known to be the pattern needs no check; another one does, and so does a dtype that is not known.
// CHECK-LABEL: func.func @shapes
// CHECK-SAME: (%[[S:[a-z0-9_]+]]: !relax.shape_value<["n"]>, %[[T:[a-z0-9_]+]]: !relax.shape_value<["m"]>, %[[X:[a-z0-9_]+]]: tensor
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[T]]) {pattern = ["n"]
// CHECK-NEXT: %[[Y:[A-Za-z0-9_]+]] = "relax.match_shape"(%[[X]]) {pattern = ["n"], result_dtype = f32}
// CHECK-NEXT: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[S]], %[[U]], %[[Y]]
func.func @shapes(%s: !relax.shape_value<["n"]>, %t: !relax.shape_value<["m"]>, %x: tensor<?x!relax.any, #relax.shape<["n"]>>) -> tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v> {
  %0 = "relax.match_shape"(%s) {pattern = ["n"], result_dtype = unit} : (!relax.shape_value<["n"]>) -> !relax.shape_value<["n"]>
  %1 = "relax.match_shape"(%t) {pattern = ["n"], result_dtype = unit} : (!relax.shape_value<["m"]>) -> !relax.shape_value<["n"]>
  %2 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype = f32} : (tensor<?x!relax.any, #relax.shape<["n"]>>) -> !v
  %w = builtin.unrealized_conversion_cast %0, %1, %2 : !relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v to tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v>
  return %w : tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v>
}
