// RUN: not relax-opt %s --split-input-file --call-exposed-prim-funcs 2>&1 | filecheck %s

// CHECK: error: {{.*}}:5:1: prim func 'f' cannot be called from outside: its parameters are declared as (memref<3xf32>), but it takes (memref<2xf32>)

func.func private @f.prim(%a: memref<2xf32>) attributes {relax.prim_func} { return }
func.func @f(%a: memref<3xf32>) attributes {relax.exposes = {callee = @f.prim}} { return }
// -----
// CHECK: error: {{.*}}: function 'f' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func @f(%a: memref<3xf32>) attributes {relax.exposes = {callee = @g}} { return }
// -----
// CHECK: error: {{.*}}: function 'f' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func @f(%a: memref<3xf32>) attributes {relax.exposes} { return }
// -----
// CHECK: error: {{.*}}: function 'other' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @g(%a: memref<3xf32>) { return }
func.func @other(%a: memref<3xf32>) attributes {relax.exposes = {callee = @g}} { return }
// -----
// CHECK: error: {{.*}}: function 'nothing' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func @nothing(%a: memref<3xf32>) attributes {relax.exposes = {written = array<i64: 0>}} { return }
// -----
// CHECK: error: {{.*}}: function 'text' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @g(%a: memref<3xf32>) attributes {relax.prim_func} { return }
func.func @text(%a: memref<3xf32>) attributes {relax.exposes = {callee = "g"}} { return }
// -----
// CHECK: error: {{.*}}: function 'gives' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @g(%a: memref<3xf32>) attributes {relax.prim_func} { return }
func.func @gives(%a: memref<3xf32>) -> memref<3xf32> attributes {relax.exposes = {callee = @g}} { return %a : memref<3xf32> }
// -----
// CHECK: error: {{.*}}: function 'calls' has an attribute relax.exposes that expose-prim-funcs has not made: leave it out
func.func private @g(%a: memref<3xf32>) -> memref<3xf32> attributes {relax.prim_func} { return %a : memref<3xf32> }
func.func @calls(%a: memref<3xf32>) attributes {relax.exposes = {callee = @g}} { return }
