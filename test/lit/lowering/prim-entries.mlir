// RUN: relax-opt %s --relax-to-memrefs | filecheck %s
// RUN: relax-opt %s --legalize-ops | relax-opt --relax-to-memrefs | filecheck %s
// prim_funcs.py: a prim func on memory that chooses between one on memory and one on tensors.

!n = tensor<?xf32, #relax.shape<["n"]>>

// CHECK-LABEL: func.func private @by_size(
// CHECK: scf.if
// CHECK: call @doubles(
// CHECK: else
// CHECK: call @negates.memory(
func.func private @by_size(%x: memref<?xf32>, %out: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c4 = arith.constant 4 : index
  %few = arith.cmpi sle, %n, %c4 : index
  scf.if %few {
    func.call @doubles(%x, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  } else {
    func.call @negates.memory(%x, %out) : (memref<?xf32>, memref<?xf32>) -> ()
  }
  return
}

func.func private @doubles(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : memref<?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}

func.func private @negates(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
  } ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// The entry calls its prim func, which is on memory now.
// CHECK-LABEL: func.func private @negates.memory(
// CHECK-NOT: relax.exposes
// CHECK: call @negates(%{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}) : (memref<?xf32>, memref<?xf32>) -> ()
// CHECK: return
func.func private @negates.memory(%x: memref<?xf32>, %out: memref<?xf32>) attributes {
  relax.prim_func, relax.exposes = {callee = @negates, written = array<i64: 1>}
} {
  return
}

func.func @main(%x: !n) -> !n {
  %0 = builtin.unrealized_conversion_cast %x : !n to tuple<!n>
  %1 = "relax.call_tir"(%0) {callee = @by_size, tir_vars = ["n"]} : (tuple<!n>) -> !n
  return %1 : !n
}
