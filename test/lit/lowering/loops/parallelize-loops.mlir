// RUN: relax-opt %s --parallelize-loops --explain-loops 2>&1 | filecheck %s
// parallelize_loops.py, dependence.py

// The report names both kinds of loops.
// CHECK: parallel blocks: jobs of threads
// CHECK-NEXT: serial blocks: T.parallel, but a loop around it runs on several threads

// Iterations have eight rows each; the loop in it is a plain one of its job.
// CHECK-LABEL: func.func private @blocks
// CHECK: %[[PER:[a-z0-9_]+]] = arith.addi %c4
// CHECK-NEXT: %[[COST:[a-z0-9_]+]] = arith.muli %{{[a-z0-9_]+}}, %[[PER]] :
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @relax.parallel_cost(%[[COST]])
// CHECK: scf.for
// CHECK: relax.loop_note = "parallel: a loop around it runs on several threads"
// CHECK: } {relax.parallel}
func.func private @blocks(%a: memref<?x?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %tiles = arith.ceildivsi %n, %c8 : index
  scf.for %o = %c0 to %tiles step %c1 {
    %first = arith.muli %o, %c8 : index
    %left = arith.subi %n, %first : index
    %end = arith.minsi %left, %c8 : index
    scf.for %i = %c0 to %end step %c1 {
      %at = arith.addi %first, %i : index
      scf.for %j = %c0 to %m step %c1 {
        memref.store %v, %a[%at, %j] : memref<?x?xf32>
      } {relax.loop = "parallel"}
    }
  } {relax.loop = "parallel"}
  return
}

// Nine rows each: the ninth is another iteration's first.
// CHECK-LABEL: func.func private @overlapping
// CHECK: relax.loop_note = "parallel: parameter 0 is stored where other iterations may access it"
func.func private @overlapping(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %tiles = arith.ceildivsi %n, %c8 : index
  scf.for %o = %c0 to %tiles step %c1 {
    %first = arith.muli %o, %c8 : index
    scf.for %i = %c0 to %c9 step %c1 {
      %at = arith.addi %first, %i : index
      memref.store %v, %a[%at] : memref<?xf32>
    }
  } {relax.loop = "parallel"}
  return
}

// A buffer that all iterations share is one that they step on; one made inside is their own.
// CHECK-LABEL: func.func private @scratch
// CHECK: relax.loop_note = "parallel: a local buffer is stored where other iterations may access it"
// CHECK: {relax.parallel}
func.func private @scratch(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %shared = memref.alloc() : memref<1xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %shared[%c0] : memref<1xf32>
    %x = memref.load %shared[%c0] : memref<1xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<1xf32>
    memref.store %v, %own[%c0] : memref<1xf32>
    %x = memref.load %own[%c0] : memref<1xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// CHECK-LABEL: func.func private @checked
// CHECK: relax.loop_note = "parallel: a check in it may fail"
func.func private @checked(%a: memref<?xf32>, %good: i1, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    cf.assert %good, "not good"
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// As many rows each as a value says: the inner loops end where it does.
// CHECK-LABEL: func.func private @parts
// CHECK: } {relax.parallel}
// CHECK: relax.loop_note = "parallel: parameter 0 is stored where other iterations may access it"
func.func private @parts(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %size = arith.ceildivsi %n, %c4 : index
  scf.for %o = %c0 to %c4 step %c1 {
    %first = arith.muli %o, %size : index
    %left = arith.subi %n, %first : index
    %end = arith.minsi %size, %left : index
    %tiles = arith.ceildivsi %end, %c8 : index
    scf.for %t = %c0 to %tiles step %c1 {
      %begin = arith.muli %t, %c8 : index
      %rest = arith.subi %end, %begin : index
      %stop = arith.minsi %c8, %rest : index
      scf.for %i = %c0 to %stop step %c1 {
        %j = arith.addi %begin, %i : index
        %at = arith.addi %first, %j : index
        memref.store %v, %a[%at] : memref<?xf32>
      }
    }
  } {relax.loop = "parallel"}
  scf.for %o = %c0 to %c4 step %c1 {
    %first = arith.muli %o, %size : index
    %end = arith.addi %size, %c1 : index
    scf.for %i = %c0 to %end step %c1 {
      %at = arith.addi %first, %i : index
      memref.store %v, %a[%at] : memref<?xf32>
    }
  } {relax.loop = "parallel"}
  return
}

// Tiles whose places are the quotient and the remainder of a fused variable; by a size that may be 0 they are the same.
// CHECK-LABEL: func.func private @fused
// CHECK: } {relax.parallel}
// CHECK: relax.loop_note = "parallel: parameter 0 is stored where other iterations may access it"
func.func private @fused(%a: memref<?x?xf32>, %count: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %end = arith.muli %n, %m : index
  %by = arith.maxsi %m, %c1 : index
  %none = arith.cmpi eq, %m, %c0 : index
  scf.for %f = %c0 to %end step %c1 {
    %quotient = arith.floordivsi %f, %by : index
    %q = arith.select %none, %c0, %quotient : index
    %p = arith.muli %quotient, %by : index
    %r = arith.subi %f, %p : index
    %first = arith.muli %q, %c8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %first, %i : index
      memref.store %v, %a[%at, %r] : memref<?x?xf32>
    }
  } {relax.loop = "parallel"}
  scf.for %f = %c0 to %count step %c1 {
    %quotient = arith.floordivsi %f, %by : index
    %q = arith.select %none, %c0, %quotient : index
    %p = arith.muli %quotient, %by : index
    %r = arith.subi %f, %p : index
    memref.store %v, %a[%q, %r] : memref<?x?xf32>
  } {relax.loop = "parallel"}
  return
}

// A loop that carries values, one that calls a function, and one without the kind stay as they are.
// CHECK-LABEL: func.func private @kept
// CHECK-NOT: relax.parallel
// CHECK: relax.loop_note = "parallel: an iteration gives values to the next"
// CHECK-NOT: relax.parallel
// CHECK: relax.loop_note = "parallel: a check in it may fail"
// CHECK-NOT: relax.parallel
// CHECK: return
func.func private @positive(f32)
func.func private @kept(%a: memref<?xf32>, %b: memref<?xf32>, %zero: f32) -> f32 attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
    %x = memref.load %a[%i] : memref<?xf32>
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    func.call @positive(%x) : (f32) -> ()
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %b[%i] : memref<?xf32>
  }
  return %sum : f32
}

// The cost of an iteration: 1 for the loop, 1 for each op, and 16 for a math function (20, of a hundred).
// CHECK-LABEL: func.func private @ops
// CHECK: %[[COST:[a-z0-9_]+]] = arith.constant 2000 : index
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @relax.parallel_cost(%[[COST]])
// CHECK: } {relax.parallel}
func.func private @ops(%a: memref<?xf32>, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %two = arith.constant 2.0 : f32
    %x = math.exp %v : f32
    %y = math.fma %x, %two, %v : f32
    %z = arith.addf %x, %y : f32
    memref.store %z, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// Of two branches, the one that costs more counts: 17 of its own, 18 with the iteration.
// CHECK-LABEL: func.func private @branches
// CHECK: %[[COST:[a-z0-9_]+]] = arith.constant 1900 : index
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @relax.parallel_cost(%[[COST]])
func.func private @branches(%a: memref<?xf32>, %v: f32, %b: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %x = scf.if %b -> f32 {
      %y = math.exp %v : f32
      scf.yield %y : f32
    } else {
      %y = arith.addf %v, %v : f32
      scf.yield %y : f32
    }
    memref.store %x, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// An inner loop without a known bound counts 8 iterations, one with a bound as many, but 1 at least; each costs 2:
// 1 + 8 * 2 + 3 * 2 + 1 * 2, and three ops for the bounds.
// CHECK-LABEL: func.func private @inner
// CHECK: %[[LENGTH:[a-z0-9_]+]] = arith.ceildivsi
// CHECK-NEXT: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: %[[COUNT:[a-z0-9_]+]] = arith.maxsi %[[LENGTH]], %[[ZERO]] :
// CHECK-NEXT: %[[EACH:[a-z0-9_]+]] = arith.constant 28 : index
// CHECK-NEXT: %[[COST:[a-z0-9_]+]] = arith.muli %[[COUNT]], %[[EACH]] :
// CHECK-NEXT: scf.for
// CHECK-NEXT: func.call @relax.parallel_cost(%[[COST]])
func.func private @inner(%a: memref<?xf32>, %n: index, %v: f32) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    }
    %three = arith.minsi %i, %c3 : index
    scf.for %j = %c0 to %three step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    }
    %none = arith.minsi %i, %c0 : index
    scf.for %j = %c0 to %none step %c1 {
      memref.store %v, %a[%i] : memref<?xf32>
    }
    memref.store %v, %a[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// Branches whose costs are formulas, of a loop that carries a sum. The loop is known to be independent: whoever marks it
// so has proved it.
// CHECK-LABEL: func.func private @formulas
// CHECK: %[[ROWS:[a-z0-9_]+]] = arith.muli %{{[a-z0-9_]+}}, %c2
// CHECK: %[[NONE:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-NEXT: arith.maxui %[[NONE]],
// CHECK: } {relax.parallel}
func.func private @formulas(%a: memref<?xf32>, %m: index, %v: f32, %b: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    scf.if %b {
      %sum = scf.for %j = %c0 to %m step %c1 iter_args(%s = %v) -> f32 {
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      memref.store %sum, %a[%c0] : memref<?xf32>
    }
  } {relax.loop = "parallel", relax.independent}
  return
}
