// RUN: relax-opt %s --merge-composite-functions | filecheck %s

!t = tensor<?xf32, #relax.shape<["n"]>>

// Two that follow each other become one; what is used beside gives a second result.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}})
// CHECK-NEXT: %[[ARGS:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]]
// CHECK-NEXT: %[[BOTH:[a-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @[[F:[a-z0-9_]+]]}
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 0 : i64}
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 1 : i64}
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = "relax.add"(%[[A]], %[[B]])
// CHECK-NEXT: return %[[S]]
func.func @chain(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %s = "relax.add"(%a, %b) : (!t, !t) -> !t
  return %s : !t
}

// The second call needs something that needs the first: they stay two functions.
// CHECK-LABEL: func.func @something_between
// CHECK: "relax.call"({{.*}}) {callee = @[[G:[a-z0-9_]+]]}
// CHECK-NEXT: "relax.exp"
// CHECK: "relax.call"({{.*}}) {callee = @[[H:[a-z0-9_]+]]}
func.func @something_between(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %e = "relax.exp"(%a) : (!t) -> !t
  %bx = builtin.unrealized_conversion_cast %e, %a : !t, !t to tuple<!t, !t>
  %b = "relax.call"(%bx) {callee = @three} : (tuple<!t, !t>) -> !t
  return %b : !t
}

// What uses the first in front of the second comes behind the function of both.
// CHECK-LABEL: func.func @moved
// CHECK: "relax.call"
// CHECK-NEXT: %[[MA:[a-z0-9_]+]] = "relax.tuple_get_item"
// CHECK-NEXT: %[[ME:[a-z0-9_]+]] = "relax.exp"(%[[MA]])
// CHECK-NEXT: %[[MB:[a-z0-9_]+]] = "relax.tuple_get_item"
// CHECK-NEXT: "relax.add"(%[[ME]], %[[MB]])
func.func @moved(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %e = "relax.exp"(%a) : (!t) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %s = "relax.add"(%e, %b) : (!t, !t) -> !t
  return %s : !t
}

// Functions of two libraries are not put together.
// CHECK-LABEL: func.func @two_libraries
// CHECK: {callee = @[[I:fused_one_lib[a-z0-9_]*]]}
// CHECK: {callee = @[[J:fused_another_other[a-z0-9_]*]]}
func.func @two_libraries(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @another} : (tuple<!t>) -> !t
  return %b : !t
}

func.func private @one(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "lib.one"} {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}
func.func private @two(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "lib.two"} {
  %0 = "relax.cos"(%x) : (!t) -> !t
  return %0 : !t
}
func.func private @three(%x: !t {relax.name = "x"}, %y: !t {relax.name = "y"}) -> !t attributes {relax.composite = "lib.three"} {
  %0 = "relax.multiply"(%x, %y) : (!t, !t) -> !t
  return %0 : !t
}
func.func private @another(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "other.one"} {
  %0 = "relax.tanh"(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK: func.func private @[[F]]({{.*}}) -> tuple<{{.*}}> attributes {relax.codegen = "lib"
// CHECK: {callee = @one}
// CHECK: {callee = @two}
