// RUN: relax-opt %s --relax-to-memrefs | filecheck %s
// RUN: relax-opt %s --relax-to-llvm | filecheck %s --check-prefix=LLVM

// A prim func with loops keeps its body; the result of its caller is the buffer that it fills.
// CHECK-LABEL: func.func private @scan(
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>)
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[B]][
// CHECK: return
// LLVM: llvm.func {{.*}}@relax.fn.scan
func.func private @scan(%a: memref<?xf32>, %b: memref<?xf32>) attributes {
  relax.prim_func,
  relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]
} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> f32 {
    %x = memref.load %a[%i] : memref<?xf32>
    %next = arith.addf %sum, %x : f32
    memref.store %next, %b[%i] : memref<?xf32>
    scf.yield %next : f32
  }
  return
}

// CHECK-LABEL: func.func @main
// CHECK: call @scan
// CHECK-NOT: relax.call_tir
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_tir"(%0) {callee = @scan, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}
