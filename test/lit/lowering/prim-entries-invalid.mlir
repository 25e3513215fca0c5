// RUN: not relax-opt %s --check-prim-funcs 2>&1 | filecheck %s
// prim_funcs.py: entries of prim funcs have the parameters of these, and no body.

func.func private @f(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %x : tensor<?xf32>
}

// CHECK: prim func 'other_types': has the attribute relax.exposes, but its parameters are not those of the prim func: leave it out
func.func private @other_types(%x: memref<?xf32>, %out: memref<4xf32>) attributes {
  relax.prim_func, relax.exposes = {callee = @f, written = array<i64: 1>}
} {
  return
}

// CHECK: prim func 'other_result': has the attribute relax.exposes, but the prim func works on tensors, and writes its last ones
func.func private @other_result(%x: memref<?xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func, relax.exposes = {callee = @f, written = array<i64: 0>}
} {
  return
}

// CHECK: prim func 'with_body': has the attribute relax.exposes, but it has a body of its own
func.func private @with_body(%x: memref<?xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func, relax.exposes = {callee = @f, written = array<i64: 1>}
} {
  %c0 = arith.constant 0 : index
  return
}

// CHECK: prim func 'nobody': has the attribute relax.exposes, but it names no prim func
func.func private @nobody(%x: memref<?xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func, relax.exposes = {callee = 3 : i64}
} {
  return
}
