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
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]], %[[B]] :
// CHECK: return %[[W]] :
func.func @two_tuples(%t: tuple<!v, !v>, %u: tuple<!v, !v>) -> tuple<!v, !v> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %b = "relax.tuple_get_item"(%u) {index = 1 : i64} : (tuple<!v, !v>) -> !v
  %w = builtin.unrealized_conversion_cast %a, %b : !v, !v to tuple<!v, !v>
  return %w : tuple<!v, !v>
}

// CHECK-LABEL: func.func @some_fields
// CHECK-SAME: (%[[T:[a-z0-9_]+]]:
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[A]] :
// CHECK: return %[[W]] :
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
// CHECK-NEXT: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[S]], %[[U]], %[[Y]] :
func.func @shapes(%s: !relax.shape_value<["n"]>, %t: !relax.shape_value<["m"]>, %x: tensor<?x!relax.any, #relax.shape<["n"]>>) -> tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v> {
  %0 = "relax.match_shape"(%s) {pattern = ["n"], result_dtype = unit} : (!relax.shape_value<["n"]>) -> !relax.shape_value<["n"]>
  %1 = "relax.match_shape"(%t) {pattern = ["n"], result_dtype = unit} : (!relax.shape_value<["m"]>) -> !relax.shape_value<["n"]>
  %2 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype = f32} : (tensor<?x!relax.any, #relax.shape<["n"]>>) -> !v
  %w = builtin.unrealized_conversion_cast %0, %1, %2 : !relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v to tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v>
  return %w : tuple<!relax.shape_value<["n"]>, !relax.shape_value<["n"]>, !v>
}

// A field with another value, in a tuple of the same type.
// CHECK-LABEL: func.func @another_value
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// CHECK: return %[[W]] :
func.func @another_value(%t: tuple<!v, !v>, %x: !v) -> tuple<!v, !v> {
  %a = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  %w = builtin.unrealized_conversion_cast %a, %x : !v, !v to tuple<!v, !v>
  return %w : tuple<!v, !v>
}

// The tuple of the outputs is used in the block, too; the only output of another stays, and so does a part of a result.
// CHECK-LABEL: func.func @used_inside
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call_pure_packed"(%[[T]])
// CHECK: "relax.output"(%[[P]])
// CHECK: %[[D:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.abs"
// CHECK-NEXT: "relax.output"(%[[A]])
// CHECK-NEXT: })
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.dataflow"() ({
// CHECK: "relax.split"
// CHECK: %[[F:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[S]]) {index = 1 : i64}
// CHECK: return %{{[A-Za-z0-9_]+}}, %[[D]], %[[F]] :
func.func @used_inside(%x: !v, %y: tensor<4xf32>) -> (!v, !v, tensor<2xf32>) {
  %c = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n : !v, !v to tuple<!v, !v>
    %p = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, !v>) -> !v
    "relax.output"(%p) : (!v) -> ()
  }) : () -> !v
  %d = "relax.dataflow"() ({
    %a = "relax.abs"(%x) : (!v) -> !v
    "relax.output"(%a) : (!v) -> ()
  }) : () -> !v
  %s = "relax.dataflow"() ({
    %parts = "relax.split"(%y) {axis = 0 : i64, sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
    "relax.output"(%parts) : (tuple<tensor<2xf32>, tensor<2xf32>>) -> ()
  }) : () -> tuple<tensor<2xf32>, tensor<2xf32>>
  %f = "relax.tuple_get_item"(%s) {index = 1 : i64} : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %c, %d, %f : !v, !v, tensor<2xf32>
}

// Both outputs of the tuple, of which one is used after the block, and the tuple in it.
// CHECK-LABEL: func.func @tuple_inside
// CHECK: %[[T:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[E:[A-Za-z0-9_]+]],
// CHECK-NEXT: "relax.call_pure_packed"(%[[T]])
// CHECK-NEXT: "relax.output"(%[[E]])
func.func @tuple_inside(%x: !v) -> !v {
  %c = "relax.dataflow"() ({
    %e = "relax.exp"(%x) : (!v) -> !v
    %n = "relax.negative"(%x) : (!v) -> !v
    %t = builtin.unrealized_conversion_cast %e, %n : !v, !v to tuple<!v, !v>
    %p = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, !v>) -> !v
    "relax.output"(%t) : (tuple<!v, !v>) -> ()
  }) : () -> tuple<!v, !v>
  %0 = "relax.tuple_get_item"(%c) {index = 0 : i64} : (tuple<!v, !v>) -> !v
  return %0 : !v
}

// Tuples of no field, and of results that are no fields; the shape of an integer is itself.
// CHECK-LABEL: func.func @no_fields
// CHECK: builtin.unrealized_conversion_cast to tuple<>
// CHECK: %[[W:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}
// CHECK: "relax.match_shape"
// CHECK: return %{{.*}}, %[[W]] :
func.func @no_fields(%t: tuple<!v, !v>, %i: i64) -> (tuple<>, tuple<!v, !v>) {
  %u = builtin.unrealized_conversion_cast to tuple<>
  %a = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!v, !v>) -> !v
  %w = builtin.unrealized_conversion_cast %a, %a : !v, !v to tuple<!v, !v>
  %k = "relax.match_shape"(%i) {pattern = ["k"], result_dtype} : (i64) -> i64
  return %u, %w : tuple<>, tuple<!v, !v>
}
