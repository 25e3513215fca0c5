// A function value that is not known before the program runs is refused, with its place.
// RUN: not relax-opt %s --specialize-closures --split-input-file 2>&1 | filecheck %s

// CHECK: main: parameter 'f' is a function; native functions are not called with functions: make 'main' private
func.func @main(%f: !relax.callable<[tensor<2xf32>], tensor<2xf32>, true> {relax.name = "f"}, %x: tensor<2xf32>) -> tensor<2xf32> {
  %t = builtin.unrealized_conversion_cast %x : tensor<2xf32> to tuple<tensor<2xf32>>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, tuple<tensor<2xf32>>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// -----
// CHECK: error: {{.*}}main: its result holds a function; native functions return no functions: return what it computes
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func @main() -> tuple<!f> {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  %t = builtin.unrealized_conversion_cast %f : !f to tuple<!f>
  return %t : tuple<!f>
}
// -----
// CHECK: error: {{.*}}relax.invoke_pure_closure: the function that the conditional at {{.*}} chooses depends on what is computed in a branch; make it, and what it captures, before the conditional
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @add(%x: !v, %y: !v) -> !v {
  %0 = "relax.add"(%x, %y) : (!v, !v) -> !v
  return %0 : !v
}
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func @main(%c: i1, %x: !v) -> !v {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = scf.if %c -> (!f) {
    %n = "relax.negative"(%x) : (!v) -> !v
    %h = builtin.unrealized_conversion_cast %n : !v to tuple<!v>
    %a = "relax.make_closure"(%h) {callee = @add} : (tuple<!v>) -> !f
    scf.yield %a : !f
  } else {
    %b = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
    scf.yield %b : !f
  }
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  return %r : !v
}
// -----
// CHECK: error: {{.*}}relax.call: a conditional chooses a function that is in a tuple; pass it as an argument of its own
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func private @sqrt(%x: !v) -> !v {
  %0 = "relax.sqrt"(%x) : (!v) -> !v
  return %0 : !v
}
func.func private @apply(%p: tuple<!f>, %v: !v) -> !v {
  %f = "relax.tuple_get_item"(%p) {index = 0 : i64} : (tuple<!f>) -> !f
  %t = builtin.unrealized_conversion_cast %v : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  return %r : !v
}
func.func @main(%c: i1, %x: !v) -> !v {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %a = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  %b = "relax.make_closure"(%e) {callee = @sqrt} : (tuple<>) -> !f
  %f = arith.select %c, %a, %b : !f
  %p = builtin.unrealized_conversion_cast %f : !f to tuple<!f>
  %t = builtin.unrealized_conversion_cast %p, %x : tuple<!f>, !v to tuple<tuple<!f>, !v>
  %r = "relax.call"(%t) {callee = @apply} : (tuple<tuple<!f>, !v>) -> !v
  return %r : !v
}
// -----
// CHECK: error: {{.*}}relax.invoke_pure_closure: the conditional at {{.*}} chooses a function that returns a function; native code knows all functions before it runs
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
!g = !relax.callable<[tensor<2xf32>], !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>, true>
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func private @sqrt(%x: !v) -> !v {
  %0 = "relax.sqrt"(%x) : (!v) -> !v
  return %0 : !v
}
func.func private @one(%x: !v) -> !f {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  return %f : !f
}
func.func private @two(%x: !v) -> !f {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @sqrt} : (tuple<>) -> !f
  return %f : !f
}
func.func @main(%c: i1, %x: !v) -> !v {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %a = "relax.make_closure"(%e) {callee = @one} : (tuple<>) -> !g
  %b = "relax.make_closure"(%e) {callee = @two} : (tuple<>) -> !g
  %g = arith.select %c, %a, %b : !g
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %f = "relax.invoke_pure_closure"(%g, %t) : (!g, tuple<!v>) -> !f
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  return %r : !v
}
// -----
// CHECK: error: {{.*}}which function it is about is known only when the program runs; make the function where it is called, or choose between calls by a conditional
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @exp(%x: !v) -> !v {
  %0 = "relax.exp"(%x) : (!v) -> !v
  return %0 : !v
}
func.func @main(%k: index, %x: !v) -> !v {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @exp} : (tuple<>) -> !f
  %g = scf.for %i = %zero to %k step %one iter_args(%last = %f) -> !f {
    scf.yield %last : !f
  }
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%g, %t) : (!f, tuple<!v>) -> !v
  %u = builtin.unrealized_conversion_cast %g, %r : !f, !v to tuple<!f, !v>
  %s = "relax.call"(%u) {callee = @apply} : (tuple<!f, !v>) -> !v
  return %s : !v
}
func.func private @apply(%f: !f, %x: !v) -> !v {
  return %x : !v
}
// -----
// CHECK: error: {{.*}}relax.invoke_pure_closure gives Tensor((2,), "float32"), but 'vague' returns Tensor((?,), "float32")
!v = tensor<2xf32>
!f = !relax.callable<[tensor<2xf32>], tensor<2xf32>, true>
func.func private @vague(%x: !v) -> tensor<?xf32> {
  %0 = "relax.exp"(%x) : (!v) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @main(%x: !v) -> !v {
  %e = builtin.unrealized_conversion_cast to tuple<>
  %f = "relax.make_closure"(%e) {callee = @vague} : (tuple<>) -> !f
  %t = builtin.unrealized_conversion_cast %x : !v to tuple<!v>
  %r = "relax.invoke_pure_closure"(%f, %t) : (!f, tuple<!v>) -> !v
  return %r : !v
}
