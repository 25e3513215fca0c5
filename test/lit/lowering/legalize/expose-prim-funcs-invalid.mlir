// RUN: not relax-opt %s --expose-prim-funcs 2>&1 | filecheck %s
// CHECK: error: {{.*}}:3:1: prim func 'f' has the global_symbol 'main', which another function is called
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.prim_attrs = {global_symbol = "main"}, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
