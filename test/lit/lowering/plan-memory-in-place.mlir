// RUN: relax-opt --plan-memory %s | filecheck %s
// plan_memory.py: which functions may write a result into the memory of an argument.

#rows = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#first = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d0, 0)>

// Reads an element and writes the one at its place.
func.func private @twice(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @elementwise
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @twice(%[[A]], %[[B]])
// CHECK: %[[C:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @twice(%[[B]], %[[C]])
func.func @elementwise(%x: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%a, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%b, %c) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%c, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// What is read later is not written over.
// CHECK-LABEL: func.func @needed_later
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK-NOT: memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: return
func.func @needed_later(%x: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%a, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%b, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%a, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// A part of a buffer does not lie where the result does.
// CHECK-LABEL: func.func @part
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK-NOT: %[[SPACE]][%[[ZERO]]]
// CHECK: return
func.func private @twice_from(%x: memref<?x4xf32, strided<[4, 1], offset: ?>>, %o: memref<?x4xf32>)
    attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32, strided<[4, 1], offset: ?>>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func @part(%x: memref<?x4xf32>, %i: index, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %p = memref.subview %a[%i, 0] [%n, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1], offset: ?>>
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @twice_from(%p, %b) : (memref<?x4xf32, strided<[4, 1], offset: ?>>, memref<?x4xf32>) -> ()
  call @twice(%b, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// Rows: sums are read from the argument before the first element is written.
func.func private @centred(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<?xf32>)
  linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<?x4xf32>, memref<?xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @rows
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @centred(%[[A]], %[[B]])
func.func @rows(%x: memref<?x4xf32>, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @centred(%a, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%b, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// Another element is read than the one that is written; an element is read several times; the result is written
// before the argument is read; a kernel that does not say that it works in place; a product and its epilogue.
func.func private @transposed(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @broadcast(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#column, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @late(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<16x16xf32>)
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @kernel(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func, relax.kernel = "flip"} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
#left = affine_map<(d0, d1, d2) -> (d0, d2)>
#right = affine_map<(d0, d1, d2) -> (d2, d1)>
#both = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func private @product(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16x16xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<16x16xf32>)
  linalg.generic {indexing_maps = [#left, #right, #both], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %x : memref<16x16xf32>, memref<16x16xf32>) outs(%t : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%t, %x : memref<16x16xf32>, memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @loaded(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%o : memref<16x16xf32>) {
  ^bb0(%b: f32):
    %a = memref.load %x[%c0, %c0] : memref<16x16xf32>
    linalg.yield %a : f32
  }
  return
}
func.func private @unknown(memref<16x16xf32>, memref<16x16xf32>) attributes {relax.prim_func}

// Two slots by turns.
// CHECK-LABEL: func.func @never
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[NEXT:[a-z0-9_]+]]]
// CHECK: call @transposed(%[[A]], %[[B]])
// CHECK: %[[C:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @broadcast(%[[B]], %[[C]])
// CHECK: %[[D:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[NEXT]]]
// CHECK: call @late(%[[C]], %[[D]])
// CHECK: %[[E:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @kernel(%[[D]], %[[E]])
// CHECK: %[[F:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[NEXT]]]
// CHECK: call @product(%[[E]], %[[F]])
// CHECK: %[[G:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[ZERO]]]
// CHECK: call @loaded(%[[F]], %[[G]])
// CHECK: %[[H:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[NEXT]]]
// CHECK: call @unknown(%[[G]], %[[H]])
func.func @never(%x: memref<16x16xf32>, %out: memref<16x16xf32>) {
  %a = memref.alloc() : memref<16x16xf32>
  call @unknown(%x, %a) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %b = memref.alloc() : memref<16x16xf32>
  call @transposed(%a, %b) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %c = memref.alloc() : memref<16x16xf32>
  call @broadcast(%b, %c) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %d = memref.alloc() : memref<16x16xf32>
  call @late(%c, %d) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %e = memref.alloc() : memref<16x16xf32>
  call @kernel(%d, %e) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %f = memref.alloc() : memref<16x16xf32>
  call @product(%e, %f) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %g = memref.alloc() : memref<16x16xf32>
  call @loaded(%f, %g) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %h = memref.alloc() : memref<16x16xf32>
  call @unknown(%g, %h) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  call @unknown(%h, %out) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  return
}

// The two sizes are not known to be equal: the result may have more elements than the argument.
// CHECK-LABEL: func.func @other_size
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE:[A-Za-z0-9_]+]][%[[ZERO:[a-z0-9_]+]]]
// CHECK-NOT: %[[SPACE]][%[[ZERO]]]
// CHECK: return
func.func @other_size(%x: memref<?x4xf32>, %m: index, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%m) : memref<?x4xf32>
  call @twice(%a, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%b, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// A view that may begin anywhere in a buffer, though its type has no layout.
// CHECK-LABEL: func.func @view_of_part
// CHECK-SAME: \22slot\22: 0,
// CHECK-SAME: \22slot\22: 1,
func.func private @fill_bytes(memref<?x16xi8>) attributes {relax.prim_func}
func.func @view_of_part(%n: index, %at: index, %out: memref<?x4xf32>) {
  %a = memref.alloc(%n) : memref<?x16xi8>
  call @fill_bytes(%a) : (memref<?x16xi8>) -> ()
  %bytes = memref.collapse_shape %a [[0, 1]] : memref<?x16xi8> into memref<?xi8>
  %p = memref.view %bytes[%at][%n] : memref<?xi8> to memref<?x4xf32>
  %b = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%p, %b) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%b, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// More functions, in the order of their calls: both are seen in another shape, which is the same, another one, or any;
// an element is read besides; the argument is read again; a copy and a reduction write. A kernel over rows may read sums of a row before, but no other
// element than the one that it writes, and so may its prologue; not every kernel works in place; a scan does, if it
// reads the argument itself and writes the second one.
#cube = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func private @reshaped(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %x3 = memref.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 2] : memref<?x4xf32> into memref<?x2x2xf32>
  %o3 = memref.expand_shape %o [[0], [1, 2]] output_shape [%n, 2, 2] : memref<?x4xf32> into memref<?x2x2xf32>
  linalg.generic {indexing_maps = [#cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x3 : memref<?x2x2xf32>) outs(%o3 : memref<?x2x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @other_reshape(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %x3 = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, 1, 4] : memref<?x4xf32> into memref<?x1x4xf32>
  %o3 = memref.expand_shape %o [[0], [1, 2]] output_shape [%n, 1, 4] : memref<?x4xf32> into memref<?x1x4xf32>
  linalg.generic {indexing_maps = [#cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x3 : memref<?x1x4xf32>) outs(%o3 : memref<?x1x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @any_reshape(%x: memref<?x4xf32>, %o: memref<?x4xf32>, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %x3 = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, %m, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  %o3 = memref.expand_shape %o [[0, 1], [2]] output_shape [%m, %n, 4] : memref<?x4xf32> into memref<?x?x4xf32>
  linalg.generic {indexing_maps = [#cube, #cube], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x3 : memref<?x?x4xf32>) outs(%o3 : memref<?x?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @loaded_too(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %f = memref.load %x[%c0, %c0] : memref<?x4xf32>
    %s = arith.addf %a, %f : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @read_again(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @copied(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?x4xf32>
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  memref.copy %t, %o : memref<?x4xf32> to memref<?x4xf32>
  return
}
func.func private @in_turn(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @softmax(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "softmax"} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @softmax_sums(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "softmax"} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<?xf32>)
  linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<?x4xf32>, memref<?xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @softmax_turned(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "softmax"} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<4x?xf32>
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<4x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<4x?xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @softmax_to_turned(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "softmax"} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<4x?xf32>
  linalg.generic {indexing_maps = [#rows, #turned], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<4x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<4x?xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @attention(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "attention"} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @cumsum(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}} {
  linalg.copy ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
func.func private @cumsum_of(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}, relax.kernel_inputs = array<i64: 0>} {
  linalg.copy ins(%x : memref<?x4xf32>) outs(%o : memref<?x4xf32>)
  return
}
// CHECK-LABEL: func.func @more
// CHECK-SAME: \22in_place\22: true,{{[^}]*}}\22op\22: \22reshaped\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22other_reshape\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22any_reshape\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22loaded_too\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22read_again\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22copied\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22in_turn\22
// CHECK-SAME: \22in_place\22: true,{{[^}]*}}\22op\22: \22softmax\22
// CHECK-SAME: \22in_place\22: true,{{[^}]*}}\22op\22: \22softmax_sums\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22softmax_turned\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22softmax_to_turned\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22attention\22
// CHECK-SAME: \22in_place\22: true,{{[^}]*}}\22op\22: \22cumsum\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22cumsum_of\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22cumsum\22
func.func @more(%x: memref<?x4xf32>, %m: index, %out: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %start = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %start) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v0 = memref.alloc(%n) : memref<?x4xf32>
  call @reshaped(%start, %v0) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v1 = memref.alloc(%n) : memref<?x4xf32>
  call @other_reshape(%v0, %v1) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v2 = memref.alloc(%n) : memref<?x4xf32>
  call @any_reshape(%v1, %v2, %m) : (memref<?x4xf32>, memref<?x4xf32>, index) -> ()
  %v3 = memref.alloc(%n) : memref<?x4xf32>
  call @loaded_too(%v2, %v3) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v4 = memref.alloc(%n) : memref<?x4xf32>
  call @read_again(%v3, %v4) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %copy = memref.alloc(%n) : memref<?x4xf32>
  call @copied(%v4, %copy) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %turn = memref.alloc(%n) : memref<?x4xf32>
  call @in_turn(%copy, %turn) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v5 = memref.alloc(%n) : memref<?x4xf32>
  call @softmax(%turn, %v5) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v6 = memref.alloc(%n) : memref<?x4xf32>
  call @softmax_sums(%v5, %v6) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v7 = memref.alloc(%n) : memref<?x4xf32>
  call @softmax_turned(%v6, %v7) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v8 = memref.alloc(%n) : memref<?x4xf32>
  call @softmax_to_turned(%v7, %v8) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v9 = memref.alloc(%n) : memref<?x4xf32>
  call @attention(%v8, %v9) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v10 = memref.alloc(%n) : memref<?x4xf32>
  call @cumsum(%v9, %v10) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v11 = memref.alloc(%n) : memref<?x4xf32>
  call @cumsum_of(%v10, %v11) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %v12 = memref.alloc(%n) : memref<?x4xf32>
  call @cumsum(%v12, %v11) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  call @twice(%v12, %out) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  return
}

// Casts see whole buffers; the record names the op that uses the buffer itself. Scans to another type are not in place,
// nor is what runs beside a loop.
func.func private @of_any_size(%x: memref<?x?xf32>, %o: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x?xf32>) outs(%o : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
func.func private @with_loop(%x: memref<?x4xf32>, %o: memref<?x4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %t[%i] : memref<?xf32>
  }
  linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x4xf32>) outs(%t : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %t : memref<?x4xf32>, memref<?xf32>) outs(%o : memref<?x4xf32>) {
  ^bb0(%a: f32, %m: f32, %b: f32):
    %s = arith.subf %a, %m : f32
    linalg.yield %s : f32
  }
  return
}
func.func private @cumsum_to_integers(%x: memref<?x4xf32>, %o: memref<?x4xi32>) attributes {
    relax.prim_func, relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}} {
  return
}
func.func private @read(memref<?x4xi32>) attributes {relax.prim_func}
// CHECK-LABEL: func.func @casts
// CHECK-SAME: \22in_place\22: true,{{[^}]*}}\22op\22: \22with_loop\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22with_loop\22
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22cumsum_to_integers\22
func.func @casts(%x: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  %a = memref.alloc(%n) : memref<?x4xf32>
  call @twice(%x, %a) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x4xf32>
  %any_a = memref.cast %a : memref<?x4xf32> to memref<?x?xf32>
  %any_b = memref.cast %b : memref<?x4xf32> to memref<?x?xf32>
  call @of_any_size(%any_a, %any_b) : (memref<?x?xf32>, memref<?x?xf32>) -> ()
  %c = memref.alloc(%n) : memref<?x4xf32>
  call @with_loop(%b, %c) : (memref<?x4xf32>, memref<?x4xf32>) -> ()
  %d = memref.alloc(%n) : memref<?x4xi32>
  call @cumsum_to_integers(%c, %d) : (memref<?x4xf32>, memref<?x4xi32>) -> ()
  call @read(%d) : (memref<?x4xi32>) -> ()
  return
}

// An element is written to another place than it is read from.
func.func private @to_turned(%x: memref<16x16xf32>, %o: memref<16x16xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#rows, #turned], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x16xf32>) outs(%o : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @turned_result
// CHECK-SAME: \22in_place\22: false,{{[^}]*}}\22op\22: \22to_turned\22
func.func @turned_result(%x: memref<16x16xf32>, %out: memref<16x16xf32>) {
  %a = memref.alloc() : memref<16x16xf32>
  call @unknown(%x, %a) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  %b = memref.alloc() : memref<16x16xf32>
  call @to_turned(%a, %b) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  call @unknown(%b, %out) : (memref<16x16xf32>, memref<16x16xf32>) -> ()
  return
}
