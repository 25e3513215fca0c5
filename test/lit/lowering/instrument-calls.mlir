// RUN: relax-opt --instrument-calls --split-input-file %s | filecheck %s
// instrument_calls.py: operations and bytes as formulas.

// CHECK: module attributes {relax.profile_sites = [{kind = "function", {{.*}}name = "main", sizes = []},
// CHECK-SAME: bytes = "4*a0_0*a0_1 + 4*a1_0*a1_1 + 4*a2_0*a2_1", flops = "2*a0_0*a0_1*a1_1"
// CHECK-SAME: kind = "prim"{{.*}}name = "product", sizes = ["a0_0", "a0_1", "a1_0", "a1_1", "a2_0", "a2_1"]
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{.*}}name = "until_zero", sizes = ["a0_0"]
// CHECK-SAME: kind = "function", {{.*}}name = "others", sizes = []}, {kind = "packed"{{.*}}name = "my.function", sizes = []}]
// CHECK: func.func @main
// CHECK: %[[WHOLE:.+]] = call @relax.rt.profile_now() : () -> i64
// CHECK: %[[N:.+]] = memref.dim %a
// CHECK: %[[K:.+]] = memref.dim %a
// CHECK: memref.dim %b
// CHECK: %[[M:.+]] = memref.dim %b
// CHECK: %[[START:.+]] = {{.*}}call @relax.rt.profile_now() : () -> i64
// CHECK-NEXT: call @product(
// CHECK-NEXT: %[[TWO:.+]] = arith.constant 2 : i64
// CHECK-NEXT: call @relax.rt.profile_record.6(%[[TWO]], %[[START]], %[[N]], %[[K]], %{{.*}}, %[[M]], %{{.*}}, %{{.*}})
// CHECK: call @until_zero
// CHECK: call @relax.rt.profile_record.1(
// CHECK: call @relax.rt.profile_record.0(%{{.*}}, %[[WHOLE]])
// CHECK-NEXT: return
func.func @main(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  call @main.shapes() : () -> ()
  call @product(%a, %b, %c) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  %zero = arith.constant 0 : index
  %row = memref.subview %a[0, 0] [1, 8] [1, 1] : memref<?x?xf32> to memref<8xf32, strided<[1]>>
  %any = memref.cast %row : memref<8xf32, strided<[1]>> to memref<?xf32, strided<[?], offset: ?>>
  call @until_zero(%any) : (memref<?xf32, strided<[?], offset: ?>>) -> ()
  return
}

// Functions that only check sizes, and prim funcs themselves, stay as they are.
// CHECK: func.func private @main.shapes
// CHECK-NEXT: return
func.func private @main.shapes() {
  return
}

// CHECK: func.func private @product
// CHECK-NEXT: linalg.matmul
func.func private @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// A loop that ends on data has no formula for its operations.
func.func private @until_zero(%x: memref<?xf32, strided<[?], offset: ?>>) attributes {relax.prim_func} {
  %i = arith.constant 0 : index
  %limit = arith.constant 0.0 : f32
  scf.while : () -> () {
    %v = memref.load %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    %more = arith.cmpf ogt, %v, %limit : f32
    scf.condition(%more)
  } do {
    %v = memref.load %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    %half = arith.subf %v, %v : f32
    memref.store %half, %x[%i] : memref<?xf32, strided<[?], offset: ?>>
    scf.yield
  }
  return
}

// Packed functions are recorded under their names; functions of the runtime, and prim funcs that are only declared, are
// not recorded.
// CHECK-LABEL: func.func @others
// CHECK: call @relax.rt.profile_now()
// CHECK-NEXT: call @runtime()
// CHECK-NEXT: call @declared(
// CHECK-NEXT: %[[START:[A-Za-z0-9_]+]] = call @relax.rt.profile_now()
// CHECK-NEXT: call @relax.packed.0(
// CHECK-NEXT: %[[SITE:[A-Za-z0-9_]+]] = arith.constant 5 : i64
// CHECK-NEXT: call @relax.rt.profile_record.0(%[[SITE]], %[[START]])
// CHECK: call @relax.rt.profile_record.0(
// CHECK-NOT: call @relax.rt.profile_record
// CHECK: return
func.func private @runtime()
func.func private @declared(memref<?xf32>) attributes {relax.prim_func}
func.func private @relax.packed.0(memref<?xf32>) attributes {relax.packed = {name = "my.function"}}
func.func @others(%x: memref<?xf32>) {
  call @runtime() : () -> ()
  call @declared(%x) : (memref<?xf32>) -> ()
  call @relax.packed.0(%x) : (memref<?xf32>) -> ()
  return
}

// CHECK: func.func private @relax.rt.profile_record.6(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: index
// CHECK: llvm.atomicrmw add
// -----
// CHECK: module attributes {relax.profile_sites = [{kind = "function"{{.*}}name = "all", sizes = []},
// A function of math is one operation, a fused multiply-add two; tests, signs and integers are none.
// CHECK-SAME: {bytes = "16*a0_0", flops = "16*a0_0", kind = "prim"{{[^}]*}}name = "ops", sizes = ["a0_0"]}
// Loops from 0 with a step of 1 have a formula, others have none.
// CHECK-SAME: {bytes = "4*a0_0", flops = "a1", kind = "prim"{{[^}]*}}name = "loop", sizes = ["a0_0", "a1"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "from_one", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "step_two", sizes = ["a0_0"]}
// What is only loaded counts by its loads, also in a branch; operations in a branch, or in a function that is called,
// have no formula.
// CHECK-SAME: {bytes = "4*a1_0 + 8*a2", flops = "0", kind = "prim"{{[^}]*}}name = "gather", sizes = ["a1_0", "a2"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "branch", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "calls", sizes = ["a0_0"]}
// Sizes of buffers are those of what they are made from; a view with fewer dimensions has none that is known.
// CHECK-SAME: {bytes = "0", flops = "4*a0*a1", kind = "prim"{{[^}]*}}name = "allocated", sizes = ["a0", "a1"]}
// CHECK-SAME: {bytes = "4*a0_0", flops = "a0_0", kind = "prim"{{[^}]*}}name = "cast", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0*a0_1", flops = "a2*a3", kind = "prim"{{[^}]*}}name = "subview", sizes = ["a0_0", "a0_1", "a2", "a3"]}
// CHECK-SAME: {bytes = "4*a0_0*a0_1", kind = "prim"{{[^}]*}}name = "row", sizes = ["a0_0", "a0_1"]}
// CHECK-SAME: {bytes = "4*a0_0*a0_1", flops = "4*a1*a2", kind = "prim"{{[^}]*}}name = "expand", sizes = ["a0_0", "a0_1", "a1", "a2"]}
// CHECK-SAME: {bytes = "12*a0_0*a0_1", flops = "3*a0_0*a0_1", kind = "prim"{{[^}]*}}name = "collapse", sizes = ["a0_0", "a0_1"]}
// Bounds are sums, products, differences and selections of sizes.
// CHECK-SAME: {bytes = "4*a0_0", flops = "a0_0*a2 + a1*a2 + -1*a2", kind = "prim"{{[^}]*}}name = "indices", sizes = ["a0_0", "a1", "a2"]}
// CHECK-SAME: {bytes = "4*a0_0", flops = "a1", kind = "prim"{{[^}]*}}name = "selected", sizes = ["a0_0", "a1"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "selected_other", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", flops = "0", kind = "prim"{{[^}]*}}name = "no_work", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "unknown_dim", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "triangle", sizes = ["a0_0"]}
// CHECK-SAME: {bytes = "4*a0_0", flops = "0", kind = "prim"{{[^}]*}}name = "nothing", sizes = ["a0_0"]}
// A size that is an argument is given as it is. The record has four words and the sizes.
// CHECK-LABEL: func.func @all(
// CHECK: %[[DIM:.+]] = memref.dim %p1, %{{.+}}
// CHECK: call @loop(%p1, %p2)
// CHECK: call @relax.rt.profile_record.2(%{{.+}}, %{{.+}}, %[[DIM]], %p2)
// CHECK-LABEL: func.func private @relax.rt.profile_record.2(
// CHECK: %[[WORDS:.+]] = arith.constant 6 : i64
// CHECK-NEXT: llvm.atomicrmw add %{{.+}}, %[[WORDS]] acq_rel
// CHECK: %[[ROW:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}]
// CHECK: llvm.getelementptr %[[ROW]][8]
// CHECK: llvm.getelementptr %[[ROW]][16]
// CHECK: llvm.getelementptr %[[ROW]][24]
// CHECK: llvm.getelementptr %[[ROW]][32]
// CHECK: llvm.getelementptr %[[ROW]][40]
#each = affine_map<(i) -> (i)>
#pair = affine_map<(i, j) -> (i, j)>
#three = affine_map<(i, j, k) -> (i, j, k)>
func.func private @elsewhere()
func.func @all(%p0: memref<?x4xf32>, %p1: memref<?xf32>, %p2: index, %p3: i1, %p4: memref<?x?xf32>, %p5: memref<?x?x3xf32>) {
  call @ops(%p0) : (memref<?x4xf32>) -> ()
  call @loop(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @from_one(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @step_two(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @gather(%p1, %p1, %p2, %p3) : (memref<?xf32>, memref<?xf32>, index, i1) -> ()
  call @branch(%p1, %p3) : (memref<?xf32>, i1) -> ()
  call @calls(%p1) : (memref<?xf32>) -> ()
  call @allocated(%p2, %p2) : (index, index) -> ()
  call @cast(%p1) : (memref<?xf32>) -> ()
  call @subview(%p4, %p2, %p2, %p2) : (memref<?x?xf32>, index, index, index) -> ()
  call @row(%p4, %p2, %p2) : (memref<?x?xf32>, index, index) -> ()
  call @expand(%p4, %p2, %p2) : (memref<?x?xf32>, index, index) -> ()
  call @collapse(%p5) : (memref<?x?x3xf32>) -> ()
  call @indices(%p1, %p2, %p2) : (memref<?xf32>, index, index) -> ()
  call @selected(%p1, %p2, %p3) : (memref<?xf32>, index, i1) -> ()
  call @selected_other(%p1, %p2, %p3) : (memref<?xf32>, index, i1) -> ()
  call @no_work(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @unknown_dim(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @triangle(%p1, %p2) : (memref<?xf32>, index) -> ()
  call @nothing(%p1, %p2) : (memref<?xf32>, index) -> ()
  return
}
func.func private @ops(%x: memref<?x4xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [#pair], iterator_types = ["parallel", "parallel"]} outs(%x : memref<?x4xf32>) {
  ^bb0(%o: f32):
    %a = arith.mulf %o, %o : f32
    %b = math.exp %a : f32
    %c = math.fma %a, %b, %o : f32
    %d = math.copysign %c, %o : f32
    %e = math.isnan %d : f32
    %k = arith.constant 3 : i32
    %f = math.absi %k : i32
    %r = arith.select %e, %d, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @loop(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @from_one(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @step_two(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @gather(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %f: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %f {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = memref.load %x[%c0] : memref<?xf32>
      memref.store %a, %y[%i] : memref<?xf32>
      memref.store %b, %y[%i] : memref<?xf32>
    }
  }
  return
}
func.func private @branch(%x: memref<?xf32>, %f: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  scf.if %f {
    %a = memref.load %x[%c0] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%c0] : memref<?xf32>
  }
  return
}
func.func private @calls(%x: memref<?xf32>) attributes {relax.prim_func} {
  func.call @elsewhere() : () -> ()
  return
}
func.func private @allocated(%n: index, %m: index) attributes {relax.prim_func} {
  %b = memref.alloc(%n, %m) : memref<?x4x?xf32>
  linalg.generic {indexing_maps = [#three], iterator_types = ["parallel", "parallel", "parallel"]} outs(%b : memref<?x4x?xf32>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  memref.dealloc %b : memref<?x4x?xf32>
  return
}
func.func private @cast(%x: memref<?xf32>) attributes {relax.prim_func} {
  %b = memref.cast %x : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
  linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%b : memref<?xf32, strided<[?], offset: ?>>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @subview(%x: memref<?x?xf32>, %p: index, %n: index, %m: index) attributes {relax.prim_func} {
  %b = memref.subview %x[%p, %p] [%n, %m] [1, 1] : memref<?x?xf32> to memref<?x?xf32, strided<[?, 1], offset: ?>>
  linalg.generic {indexing_maps = [#pair], iterator_types = ["parallel", "parallel"]} outs(%b : memref<?x?xf32, strided<[?, 1], offset: ?>>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @row(%x: memref<?x?xf32>, %p: index, %n: index) attributes {relax.prim_func} {
  %b = memref.subview %x[%p, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%b : memref<?xf32, strided<[1], offset: ?>>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @expand(%x: memref<?x?xf32>, %n: index, %m: index) attributes {relax.prim_func} {
  %b = memref.expand_shape %x [[0, 1], [2]] output_shape [%n, 4, %m] : memref<?x?xf32> into memref<?x4x?xf32>
  linalg.generic {indexing_maps = [#three], iterator_types = ["parallel", "parallel", "parallel"]} outs(%b : memref<?x4x?xf32>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @collapse(%x: memref<?x?x3xf32>) attributes {relax.prim_func} {
  %b = memref.collapse_shape %x [[0], [1, 2]] : memref<?x?x3xf32> into memref<?x?xf32>
  linalg.generic {indexing_maps = [#pair], iterator_types = ["parallel", "parallel"]} outs(%b : memref<?x?xf32>) {
  ^bb0(%o: f32):
    %r = arith.addf %o, %o : f32
    linalg.yield %r : f32
  }
  return
}
func.func private @indices(%x: memref<?xf32>, %n: index, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %x, %c0 : memref<?xf32>
  %more = arith.addi %size, %n : index
  %twice = arith.muli %more, %m : index
  %less = arith.subi %twice, %m : index
  scf.for %i = %c0 to %less step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @selected(%x: memref<?xf32>, %n: index, %f: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.select %f, %n, %c0 : index
  scf.for %i = %c0 to %end step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @selected_other(%x: memref<?xf32>, %n: index, %f: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.select %f, %n, %c1 : index
  scf.for %i = %c0 to %end step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @no_work(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c1 = arith.constant 1 : index
  %v = arith.constant 0.0 : f32
  scf.for %i = %c1 to %n step %c1 {
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @unknown_dim(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = memref.dim %x, %n : memref<?xf32>
  scf.for %i = %c0 to %end step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
func.func private @triangle(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %j = %c0 to %n step %c1 {
    scf.for %i = %c0 to %j step %c1 {
      %a = memref.load %x[%i] : memref<?xf32>
      %b = arith.addf %a, %a : f32
    }
  }
  return
}
func.func private @nothing(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %less = arith.subi %n, %n : index
  scf.for %i = %c0 to %less step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  return
}
// -----
// The size of a buffer is no access. What a loop reads that ends on data is read as a whole. Windows have the sizes of
// their result and of the window.
// CHECK: {bytes = "4*a1", flops = "0", kind = "prim"{{[^}]*}}name = "size_and_load", sizes = ["a1"]}
// CHECK-SAME: {bytes = "4*a0_0", kind = "prim"{{[^}]*}}name = "once_and_until", sizes = ["a0_0"]}
// CHECK-SAME: flops = "a1_0*a2_0", kind = "prim"{{[^}]*}}name = "windows"
func.func @main(%x: memref<?xf32>, %n: index) {
  call @size_and_load(%x, %n) : (memref<?xf32>, index) -> ()
  call @once_and_until(%x) : (memref<?xf32>) -> ()
  call @windows(%x, %x, %x) : (memref<?xf32>, memref<?xf32>, memref<?xf32>) -> ()
  return
}
func.func private @size_and_load(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
  }
  %last = memref.dim %x, %c0 : memref<?xf32>
  return
}
func.func private @once_and_until(%x: memref<?xf32>) attributes {relax.prim_func} {
  %i = arith.constant 0 : index
  %limit = arith.constant 0.0 : f32
  %once = memref.load %x[%i] : memref<?xf32>
  scf.while : () -> () {
    %v = memref.load %x[%i] : memref<?xf32>
    %twice = arith.addf %v, %v : f32
    %more = arith.cmpf ogt, %twice, %limit : f32
    scf.condition(%more)
  } do {
    scf.yield
  }
  return
}
func.func private @windows(%x: memref<?xf32>, %w: memref<?xf32>, %o: memref<?xf32>) attributes {relax.prim_func} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]} ins(%x, %w : memref<?xf32>, memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.maximumf %a, %c : f32
    linalg.yield %r : f32
  }
  return
}
