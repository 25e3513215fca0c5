// RUN: relax-opt %s --merge-composite-functions --split-input-file | filecheck %s

!t = tensor<?xf32, #relax.shape<["n"]>>

// Two that follow each other become one; what is used beside gives a second result.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}})
// CHECK-NEXT: %[[ARGS:[a-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]] :
// CHECK-NEXT: %[[BOTH:[a-z0-9_]+]] = "relax.call"(%[[ARGS]]) {callee = @[[F:[a-z0-9_]+]]}
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 0 : i64}
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = "relax.tuple_get_item"(%[[BOTH]]) {index = 1 : i64}
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = "relax.add"(%[[A]], %[[B]])
// CHECK-NEXT: return %[[S]] :
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
// -----
// Functions that are composite themselves come first here.
!t = tensor<?xf32, #relax.shape<["n"]>>
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

// Three in a row: only the last result is used.
// CHECK-LABEL: func.func @row
// CHECK: %[[R:[a-z0-9_]+]] = "relax.call"({{.*}}) {callee = @[[ROW:[a-z0-9_]+]]} : ({{.*}}) -> tensor
// CHECK-NEXT: return %[[R]] :
func.func @row(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %cx = builtin.unrealized_conversion_cast %b : !t to tuple<!t>
  %c = "relax.call"(%cx) {callee = @two} : (tuple<!t>) -> !t
  return %c : !t
}

// No result is used: the function gives the last one.
// CHECK-LABEL: func.func @unused
// CHECK: "relax.call"({{.*}}) {callee = @[[UNUSED:[a-z0-9_]+]]} : ({{.*}}) -> tensor
// CHECK-NEXT: return %x
func.func @unused(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %cx = builtin.unrealized_conversion_cast %b : !t to tuple<!t>
  %c = "relax.call"(%cx) {callee = @two} : (tuple<!t>) -> !t
  return %x : !t
}

// A tuple for a call of another library as well, or for nothing, needs the first result outside.
// CHECK-LABEL: func.func @tuple_used_twice
// CHECK: -> tuple<
// CHECK: return
// CHECK-LABEL: func.func @tuple_unused
// CHECK: -> tuple<
// CHECK: return
func.func @tuple_used_twice(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %c = "relax.call"(%bx) {callee = @another} : (tuple<!t>) -> !t
  %s = "relax.add"(%b, %c) : (!t, !t) -> !t
  return %s : !t
}
func.func @tuple_unused(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @two} : (tuple<!t>) -> !t
  %cx = builtin.unrealized_conversion_cast %a, %x : !t, !t to tuple<!t, !t>
  return %b : !t
}

// Two ops are between the calls.
// CHECK-LABEL: func.func @more_between
// CHECK: "relax.call"
// CHECK-NEXT: "relax.exp"
// CHECK-NEXT: "relax.sin"
// CHECK: "relax.call"
func.func @more_between(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %e = "relax.exp"(%a) : (!t) -> !t
  %f = "relax.sin"(%e) : (!t) -> !t
  %bx = builtin.unrealized_conversion_cast %f, %a : !t, !t to tuple<!t, !t>
  %b = "relax.call"(%bx) {callee = @three} : (tuple<!t, !t>) -> !t
  return %b : !t
}

// What a packed function may change between the calls is between them.
// CHECK-LABEL: func.func @changed_between
// CHECK: %[[A:[a-z0-9_]+]] = "relax.call"
// CHECK: "relax.call_packed"
// CHECK-NEXT: %{{[a-z0-9_]+}} = "relax.updated"(%[[A]])
// CHECK: "relax.call"
func.func @changed_between(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %c = "relax.call_packed"(%bx) {func = "f.change", arg_spec = [unit]} : (tuple<!t>) -> tuple<>
  %cx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%cx) {callee = @two} : (tuple<!t>) -> !t
  return %b : !t
}

// CHECK: func.func private @[[ROW]](
// CHECK: func.func private @[[UNUSED]](
// CHECK: {callee = @two}
// CHECK: %[[LAST:[a-z0-9_]+]] = "relax.call"({{.*}}) {callee = @two}
// CHECK-NEXT: return %[[LAST]] :
