// RUN: relax-opt %s --merge-composite-functions | filecheck %s
// Calls of other functions, and functions for a code generator, stay as they are.

!t = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func @main
// CHECK: {callee = @plain}
// CHECK: {callee = @ready}
func.func @main(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @plain} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %b = "relax.call"(%bx) {callee = @ready} : (tuple<!t>) -> !t
  return %b : !t
}

// Nor are effects made explicit for them.
// CHECK-LABEL: func.func @effects
// CHECK-NOT: relax.updated
// CHECK: return
func.func @effects(%x: !t) -> !t {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @plain} : (tuple<!t>) -> !t
  %bx = builtin.unrealized_conversion_cast %a : !t to tuple<!t>
  %c = "relax.call_packed"(%bx) {func = "f.change", arg_spec = [unit]} : (tuple<!t>) -> tuple<>
  %b = "relax.call"(%bx) {callee = @plain} : (tuple<!t>) -> !t
  return %b : !t
}

func.func private @plain(%x: !t {relax.name = "x"}) -> !t {
  %0 = "relax.sin"(%x) : (!t) -> !t
  return %0 : !t
}

// CHECK: func.func private @ready({{.*}}) -> {{.*}} attributes {relax.codegen = "lib"
// CHECK-NEXT: builtin.unrealized_conversion_cast
// CHECK-NEXT: {callee = @one}
func.func private @ready(%x: !t {relax.name = "x"}) -> !t attributes {relax.codegen = "lib"} {
  %ax = builtin.unrealized_conversion_cast %x : !t to tuple<!t>
  %a = "relax.call"(%ax) {callee = @one} : (tuple<!t>) -> !t
  return %a : !t
}

func.func private @one(%x: !t {relax.name = "x"}) -> !t attributes {relax.composite = "lib.one"} {
  %0 = "relax.cos"(%x) : (!t) -> !t
  return %0 : !t
}
// CHECK-NOT: attributes {relax.codegen
