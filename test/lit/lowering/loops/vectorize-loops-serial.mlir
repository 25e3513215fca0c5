// RUN: relax-opt %s --vectorize-loops="target='cpu -mcpu=haswell'" --explain-loops -o %t 2>%t.report
// RUN: filecheck %s < %t
// RUN: filecheck %s --check-prefix=WHY < %t.report
// RUN: relax-opt %s --vectorize-loops="target='cpu -mcpu=x86-64-v2'" --explain-loops -o %t 2>&1 | filecheck %s --check-prefix=NO-MASKS
// vectorize_loops.py, dependence.py, report.py: loops that are not proved to be independent stay, and say why.

// CHECK-NOT: vector.
// CHECK-NOT: relax.loop =

// WHY: ===== Loops =====
// WHY: serial     chain: T.vectorized, but parameter 0 is stored where other iterations may access it, at
// WHY: serial     total: T.vectorized, but parameter 1 is stored where other iterations may access it, at
// WHY: serial     checked: T.vectorized, but it holds an assert, at
// WHY: serial     triangle: T.vectorized, but a loop in it has another length in each iteration, at
// WHY: serial     callee: T.vectorized, but parameter 0 is stored where other iterations may access it, at
// WHY: serial     carries: T.vectorized, but an iteration gives values to the next, at
// WHY: serial     halves: T.vectorized, but its step is not 1, at
// WHY: vectorized light: 32 iterations at once, at
// WHY: vectorized with_function: 16 iterations at once, at
// WHY: vectorized with_loop: 16 iterations at once, at
// WHY: vectorized most_ops: 32 iterations at once, at
// WHY: vectorized many_ops: 16 iterations at once, at
// WHY: vectorized short: 128 iterations at once, at
// WHY: vectorized booleans: 128 iterations at once, at
// WHY: vectorized wide_buffer: 16 iterations at once, at
// WHY: vectorized shared_only: 32 iterations at once, at
// WHY: vectorized fifths: 8 iterations at once, at
// WHY: vectorized fourths: 32 iterations at once, at
// WHY: vectorized to_halves: 8 iterations at once, at
// WHY: vectorized columns: 8 iterations at once, at
// WHY: vectorized backwards: 8 iterations at once, at
// WHY: vectorized one: one iteration, at
// WHY: vectorized few: 16 iterations at once, at
// WHY: vectorized from_halves: 32 iterations at once, at
// WHY: vectorized shifted: 32 iterations at once, at
// WHY: vectorized to_ten: 32 iterations at once, at
// WHY: vectorized three: 2 iterations at once, at
// WHY: vectorized seven: 8 iterations at once, at
// WHY: vectorized forty: 32 iterations at once, at
// WHY: vectorized seven_bytes: 8 iterations at once, at
// WHY: vectorized numbers: 8 iterations at once, at
// WHY-NEXT: 25 as their kind says, 16 serial

// NO-MASKS: vectorized three: 2 iterations at once, at
// NO-MASKS: vectorized seven: 4 iterations at once, at
// NO-MASKS: vectorized forty: 16 iterations at once, at

// CHECK-LABEL: func.func private @chain
// CHECK: relax.loop_note = "vectorized: parameter 0 is stored where other iterations may access it"
func.func private @chain(%a: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %x = memref.load %a[%before] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// CHECK-LABEL: func.func private @total
// CHECK: relax.loop_note
func.func private @total(%a: memref<?xf32>, %sum: memref<1xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %s = memref.load %sum[%c0] : memref<1xf32>
    %t = arith.addf %s, %x : f32
    memref.store %t, %sum[%c0] : memref<1xf32>
  } {relax.loop = "vectorized"}
  return
}

// CHECK-LABEL: func.func private @checked
// CHECK: relax.loop_note
func.func private @checked(%a: memref<?xi32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %a, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xi32>
    %good = arith.cmpi sge, %x, %zero : i32
    cf.assert %good, "negative"
    memref.store %zero, %a[%i] : memref<?xi32>
  } {relax.loop = "vectorized"}
  return
}

// CHECK-LABEL: func.func private @triangle
// CHECK: relax.loop_note
func.func private @triangle(%a: memref<?x?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      memref.store %v, %a[%i, %j] : memref<?x?xf32>
    }
  } {relax.loop = "vectorized"}
  return
}

// Both parameters may be one buffer, since a prim func calls it so.
// CHECK-LABEL: func.func private @callee
// CHECK: relax.loop_note
func.func private @callee(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %x = memref.load %a[%before] : memref<?xf32>
    memref.store %x, %b[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @caller(%a: memref<?xf32>) attributes {relax.prim_func} {
  call @callee(%a, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}

// CHECK-LABEL: func.func private @carries
// CHECK: relax.loop_note
func.func private @carries(%a: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %x = memref.load %a[%i] : memref<?xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  } {relax.loop = "vectorized"}
  memref.store %sum, %a[%c0] : memref<?xf32>
  return
}

// Every second element: vectors would take those between, too.
// CHECK-LABEL: func.func private @halves
// CHECK: scf.for %{{[a-z0-9_]+}} = %{{[a-z0-9_]+}} to %{{[a-z0-9_]+}} step %c2
// CHECK: relax.loop_note = "vectorized: its step is not 1"
func.func private @halves(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c2 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// What cannot be done in lanes: a check, another call, vectors, other ops, buffers that are too large or of unknown size,
// and parts of buffers.
func.func private @relax.check.0(i1) attributes {relax.check = {kind = "ValueError", message = "no"}}
func.func private @other(f32)
// CHECK-LABEL: func.func private @check
// CHECK: relax.loop_note = "vectorized: it holds a check"
func.func private @check(%a: memref<?xf32>, %v: f32, %b: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.check.0(%b) : (i1) -> ()
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @call
// CHECK: relax.loop_note = "vectorized: it calls 'other'"
func.func private @call(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    func.call @other(%v) : (f32) -> ()
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @vectors
// CHECK: relax.loop_note = "vectorized: it holds vectors already"
func.func private @vectors(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %w = vector.broadcast %v : f32 to vector<4xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @copies
// CHECK: relax.loop_note = "vectorized: it holds memref.copy"
func.func private @copies(%a: memref<?xf32>, %v: f32, %b: memref<4xf32>, %c: memref<4xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.copy %b, %c : memref<4xf32> to memref<4xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @large
// CHECK: relax.loop_note = "vectorized: each iteration has a buffer of its own, of more than 256 elements"
func.func private @large(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<257xf32>
    memref.store %v, %own[%c0] : memref<257xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @open_size
// CHECK: relax.loop_note = "vectorized: each iteration has a buffer of its own, of more than 256 elements"
func.func private @open_size(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %own[%c0] : memref<?xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @part_of_own
// CHECK: relax.loop_note = "vectorized: each iteration has a buffer of its own, and sees a part of it as a whole"
func.func private @part_of_own(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<4x64xf32>
    %part = memref.subview %own[0, 0] [1, 64] [1, 1] : memref<4x64xf32> to memref<1x64xf32, strided<[64, 1]>>
    memref.store %v, %part[%c0, %c0] : memref<1x64xf32, strided<[64, 1]>>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @parts
// CHECK: relax.loop_note = "vectorized: iterations see different parts of a buffer as a whole"
func.func private @parts(%a: memref<?xf32>, %v: f32, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %part = memref.subview %b[%i] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
    %x = memref.load %part[%c0] : memref<1xf32, strided<[1], offset: ?>>
    memref.store %x, %a[%i] : memref<?xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// CHECK-LABEL: func.func private @length
// CHECK: relax.loop_note = "vectorized: a loop in it has another length in each iteration"
func.func private @length(%a: memref<?xf32>, %v: f32, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %t = memref.alloc() : memref<4xindex>
  scf.for %i = %c0 to %n step %c1 {
    %m = memref.load %t[%i] : memref<4xindex>
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    }
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
// A buffer of 256 elements for each iteration is not too large, and may be seen with its sizes.
// CHECK-LABEL: func.func private @as_large
// CHECK-NOT: relax.loop_note
// CHECK: return
func.func private @as_large(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<4x64xf32>
    memref.store %v, %own[%c0, %c0] : memref<4x64xf32>
    %m = memref.dim %own, %c0 : memref<4x64xf32>
    %x = memref.load %own[%c0, %m] : memref<4x64xf32>
    memref.store %x, %a[%i] : memref<?xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// How many iterations run at once on a target with 16 registers of 32 bytes: four vectors of a light body, two of one with
// functions, loops or more than 24 operations. The widest element in memory counts. Where lanes are not side by side, it
// is one vector, unless they are loaded at a stride of up to 4.
func.func private @light(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @with_function(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %e = math.exp %v : f32
    memref.store %e, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @with_loop(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    }
  } {relax.loop = "vectorized"}
  return
}
func.func private @most_ops(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x0 = arith.addf %v, %v : f32
    %x1 = arith.addf %x0, %v : f32
    %x2 = arith.addf %x1, %v : f32
    %x3 = arith.addf %x2, %v : f32
    %x4 = arith.addf %x3, %v : f32
    %x5 = arith.addf %x4, %v : f32
    %x6 = arith.addf %x5, %v : f32
    %x7 = arith.addf %x6, %v : f32
    %x8 = arith.addf %x7, %v : f32
    %x9 = arith.addf %x8, %v : f32
    %x10 = arith.addf %x9, %v : f32
    %x11 = arith.addf %x10, %v : f32
    %x12 = arith.addf %x11, %v : f32
    %x13 = arith.addf %x12, %v : f32
    %x14 = arith.addf %x13, %v : f32
    %x15 = arith.addf %x14, %v : f32
    %x16 = arith.addf %x15, %v : f32
    %x17 = arith.addf %x16, %v : f32
    %x18 = arith.addf %x17, %v : f32
    %x19 = arith.addf %x18, %v : f32
    %x20 = arith.addf %x19, %v : f32
    %x21 = arith.addf %x20, %v : f32
    memref.store %x21, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @many_ops(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x0 = arith.addf %v, %v : f32
    %x1 = arith.addf %x0, %v : f32
    %x2 = arith.addf %x1, %v : f32
    %x3 = arith.addf %x2, %v : f32
    %x4 = arith.addf %x3, %v : f32
    %x5 = arith.addf %x4, %v : f32
    %x6 = arith.addf %x5, %v : f32
    %x7 = arith.addf %x6, %v : f32
    %x8 = arith.addf %x7, %v : f32
    %x9 = arith.addf %x8, %v : f32
    %x10 = arith.addf %x9, %v : f32
    %x11 = arith.addf %x10, %v : f32
    %x12 = arith.addf %x11, %v : f32
    %x13 = arith.addf %x12, %v : f32
    %x14 = arith.addf %x13, %v : f32
    %x15 = arith.addf %x14, %v : f32
    %x16 = arith.addf %x15, %v : f32
    %x17 = arith.addf %x16, %v : f32
    %x18 = arith.addf %x17, %v : f32
    %x19 = arith.addf %x18, %v : f32
    %x20 = arith.addf %x19, %v : f32
    %x21 = arith.addf %x20, %v : f32
    %x22 = arith.addf %x21, %v : f32
    memref.store %x22, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @short(%a: memref<?xi8>, %v: i8) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xi8>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<?xi8>
  } {relax.loop = "vectorized"}
  return
}
func.func private @booleans(%a: memref<?xi1>, %v: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xi1>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i] : memref<?xi1>
  } {relax.loop = "vectorized"}
  return
}
func.func private @wide_buffer(%a: memref<?xf32>, %v: f32, %w: f64) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<1xf64>
    memref.store %w, %own[%c0] : memref<1xf64>
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @shared_only(%a: memref<?xf32>, %v: f32, %b: memref<1xf64>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %b[%c0] : memref<1xf64>
    %y = arith.truncf %x : f64 to f32
    memref.store %y, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @fifths(%a: memref<?xf32>, %v: f32, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.muli %i, %c5 : index
    %x = memref.load %b[%j] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @fourths(%a: memref<?xf32>, %v: f32, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.muli %i, %c4 : index
    %x = memref.load %b[%j] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @to_halves(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.muli %i, %c2 : index
    memref.store %v, %a[%j] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @columns(%a: memref<?x4xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %a[%i, %c1] : memref<?x4xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @backwards(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.subi %n, %i : index
    memref.store %v, %a[%j] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @one(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @few(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c9 = arith.constant 9 : index
  %end = arith.minsi %n, %c9 : index
  scf.for %i = %c0 to %end step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @from_halves(%a: memref<?xf32>, %v: f32, %b: memref<?xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.muli %i, %c2 : index
    %x = memref.load %b[%j] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @shifted(%a: memref<?xf32>, %v: f32, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %j = arith.addi %i, %m : index
    memref.store %v, %a[%j] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @to_ten(%a: memref<?xf32>, %v: f32, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %c10 = arith.constant 10 : index
  scf.for %i = %m to %c10 step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// The widest vector that runs is reported: three iterations are vectors of 2 and 1 lanes, seven are one masked vector of 8,
// or without masks vectors of 4, 2 and 1. Behind whole vectors, the rest does not count.
func.func private @three(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %c3 step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @seven(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}
func.func private @forty(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  scf.for %i = %c0 to %c40 step %c1 {
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// A buffer of a parallel iteration is no other thread's, so bytes of it may be stored under a mask, as a whole vector.
func.func private @seven_bytes(%a: memref<?xi8>, %v: i8) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %n = memref.dim %a, %c0 : memref<?xi8>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<7xi8>
    scf.for %j = %c0 to %c7 step %c1 {
      memref.store %v, %own[%j] : memref<7xi8>
    } {relax.loop = "vectorized"}
    %x = memref.load %own[%c1] : memref<7xi8>
    memref.store %x, %a[%i] : memref<?xi8>
  } {relax.loop = "parallel"}
  return
}
// The numbers of the iterations are not multiplied by a step of 1.
// CHECK-LABEL: func.func private @numbers
// CHECK: %[[STEPS:[0-9a-z_]+]] = vector.step
// CHECK-NOT: arith.muli
// CHECK: arith.addi %{{[0-9a-z_]+}}, %[[STEPS]] :
func.func private @numbers(%a: memref<?xi32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = arith.index_cast %i : index to i32
    memref.store %x, %a[%i] : memref<?xi32>
  } {relax.loop = "vectorized"}
  return
}
