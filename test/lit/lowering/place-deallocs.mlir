// RUN: relax-opt --place-deallocs --split-input-file %s | filecheck %s

func.func private @use(memref<?xf32>)

// A buffer of the function's own block is freed on every way out; one of a loop's body at its end.
// CHECK-LABEL: func.func private @kernel
// CHECK: %[[A:[a-z0-9_]+]] = memref.alloc(
// CHECK-NEXT: memref.dealloc %[[A]] {relax.defer = "always"}
// CHECK: scf.for
// CHECK: %[[B:[a-z0-9_]+]] = memref.alloc(
// CHECK: memref.store %{{[a-z0-9_]+}}, %[[B]]
// CHECK-NEXT: memref.dealloc %[[B]] : memref<?xf32>
// CHECK-NEXT: }
func.func private @kernel(%n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %a[%c0] : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %b[%i] : memref<?xf32>
  }
  return
}

// -----

// Who frees for himself is left alone.
// CHECK-LABEL: func.func private @careful
// CHECK: memref.alloc
// CHECK-NEXT: memref.dealloc %{{[a-z0-9_]+}} : memref<?xf32>
// CHECK-NEXT: return
func.func private @careful(%n: index) attributes {relax.prim_func} {
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
