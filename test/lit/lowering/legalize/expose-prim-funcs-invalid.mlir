// RUN: not relax-opt %s --expose-prim-funcs --split-input-file 2>&1 | filecheck %s
// CHECK: error: {{.*}}:3:1: prim func 'f' has the global_symbol 'main', which another function is called
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.prim_attrs = {global_symbol = "main"}, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
// -----
// CHECK: prim func 'f': parameter 'A: Tensor((m*n,), "float32")' uses symbol 'm', which no dimension of a buffer defines
func.func private @f(%n: index, %m: index, %a: memref<?xf32>) attributes {relax.prim_func, relax.params = [{name = "n"}, {name = "m"}, {name = "A", shape = ["n*m"], dtype = "float32"}]} { return }
// -----
// Not as the pass writes it: no dictionary, no callee, a string for one, another function, one that is not there.
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = unit} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = "f", written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @main, written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @none, written = array<i64>}} {
  return
}
// -----
// Other parameters that it writes, another entry, other parameters, a body.
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64: 0>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>, more = 1}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<3xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  %0 = "relax.exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  %0 = "relax.match_shape"(%x) {pattern = [2], result_dtype} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// A prim func without a body, and one that declares nothing and that no other calls.
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]}
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func} { return }
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  return
}
// -----
// CHECK: function 'main' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @f(%n: index, %a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "n"}, {name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%n: i64 {relax.name = "n"}, %x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  %m = arith.addi %n, %n : i64
  return
}
