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
