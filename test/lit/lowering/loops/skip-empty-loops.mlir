// RUN: relax-opt --skip-empty-loops --split-input-file %s | filecheck %s

// A long loop around a loop of length 0 ends at once; the innermost one decides for all, before the nest.
// CHECK-LABEL: func.func private @nest(
// CHECK-SAME: %[[N:[a-z]+]]: index, %[[M:[a-z]+]]: index, %[[K:[a-z]+]]: index)
// CHECK: %[[SOME:[A-Za-z0-9_]+]] = arith.cmpi slt, %[[ZERO:[a-z0-9]+]], %[[K]] : index
// CHECK: %[[MIDDLE:[A-Za-z0-9_]+]] = arith.select %[[SOME]], %[[M]], %[[ZERO]] : index
// CHECK: %[[ANY:[A-Za-z0-9_]+]] = arith.cmpi slt, %[[ZERO]], %[[MIDDLE]] : index
// CHECK: %[[OUTER:[A-Za-z0-9_]+]] = arith.select %[[ANY]], %[[N]], %[[ZERO]] : index
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[OUTER]] step
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[MIDDLE]] step
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[K]] step
func.func private @nest(%x: memref<?x?x?xi64>, %n: index, %m: index, %k: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      scf.for %l = %c0 to %k step %c1 {
        memref.store %v, %x[%i, %j, %l] : memref<?x?x?xi64>
      }
    }
  }
  return
}
// -----
// Rows that are cut into vectors and a rest: what says how long these are is worked out before.
// CHECK-LABEL: func.func private @cut(
// CHECK-SAME: %[[N:[a-z]+]]: index, %[[M:[a-z]+]]: index)
// CHECK: %[[EIGHTS:[A-Za-z0-9_]+]] = arith.divui %[[M]],
// CHECK: %[[MOST:[A-Za-z0-9_]+]] = arith.muli %[[EIGHTS]],
// CHECK: %[[REST:[A-Za-z0-9_]+]] = arith.cmpi sgt, %[[M]], %[[MOST]] : index
// CHECK: %[[VECTORS:[A-Za-z0-9_]+]] = arith.cmpi slt, %{{.*}}, %[[MOST]] : index
// CHECK: %[[RUNS:[A-Za-z0-9_]+]] = arith.ori %[[VECTORS]], %[[REST]] : i1
// CHECK: %[[END:[A-Za-z0-9_]+]] = arith.select %[[RUNS]], %[[N]],
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
func.func private @cut(%x: memref<?x?xi64>, %n: index, %m: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant dense<3> : vector<8xi64>
  %one = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    %eights = arith.divui %m, %c8 : index
    %most = arith.muli %eights, %c8 : index
    scf.for %j = %c0 to %most step %c8 {
      vector.store %v, %x[%i, %j] : memref<?x?xi64>, vector<8xi64>
    }
    %rest = arith.cmpi sgt, %m, %most : index
    scf.if %rest {
      memref.store %one, %x[%i, %most] : memref<?x?xi64>
    }
  }
  return
}
// -----
// What follows stays as it is: a loop that does something itself, one around a loop whose length it says, a short one, a
// division that might be by 0, a length that is loaded, a condition with another way, a loop that carries a value or has
// two variables, a call, and functions that are no prim funcs of tensor expressions.
// CHECK-LABEL: func.func private @stays(
// CHECK-NOT: arith.select
func.func private @called(index)
func.func private @stays(%x: memref<?xi64>, %n: index, %m: index, %b: i1, %lengths: memref<1xindex>) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i] : memref<?xi64>
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %i to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %part = arith.divui %n, %m : index
    scf.for %j = %c0 to %part step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %part = arith.remui %n, %m : index
    scf.for %j = %c0 to %part step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %part = memref.load %lengths[%c0] : memref<1xindex>
    scf.for %j = %c0 to %part step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %m) -> index {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
    scf.yield %i : index
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    scf.for %k = %c0 to %m step %c1 {
      memref.store %v, %x[%k] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @called(%i) : (index) -> ()
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    scf.if %b {
      memref.store %v, %x[%i] : memref<?xi64>
    } else {
      memref.store %v, %x[%c0] : memref<?xi64>
    }
  }
  return
}

// CHECK-LABEL: func.func private @other(
// CHECK-NOT: arith.select
func.func private @other(%x: memref<?xi64>, %n: index, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  return
}
// -----
// The length of the innermost loop is the variable of the outermost: the check stays in that loop.
// CHECK-LABEL: func.func private @inside(
// CHECK-SAME: %[[X:[a-z]+]]: memref<?x?xi64>, %[[N:[a-z]+]]: index, %[[M:[a-z]+]]: index)
// CHECK: scf.for %[[I:[a-z0-9_]+]] = %[[ZERO:[a-z0-9]+]] to %[[N]] step
// CHECK-NEXT: %[[SOME:[A-Za-z0-9_]+]] = arith.cmpi slt, %[[ZERO]], %[[I]] : index
// CHECK-NEXT: %[[END:[A-Za-z0-9_]+]] = arith.select %[[SOME]], %[[M]], %[[ZERO]] : index
// CHECK-NEXT: scf.for %[[J:[a-z0-9_]+]] = %[[ZERO]] to %[[END]] step
// CHECK-NEXT: scf.for %[[L:[a-z0-9_]+]] = %[[ZERO]] to %[[I]] step
func.func private @inside(%x: memref<?x?xi64>, %n: index, %m: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      scf.for %l = %c0 to %i step %c1 {
        memref.store %v, %x[%j, %l] : memref<?x?xi64>
      }
    }
  }
  return
}
// -----
// The loop around the nest has effects of its own, but the test is still emitted before it.
// CHECK-LABEL: func.func private @outside(
// CHECK-SAME: %[[N:[a-z]+]]: index, %[[M:[a-z]+]]: index)
// CHECK: %[[SOME:[A-Za-z0-9_]+]] = arith.cmpi slt, %[[ZERO:[a-z0-9]+]], %[[M]] : index
// CHECK-NEXT: %[[END:[A-Za-z0-9_]+]] = arith.select %[[SOME]], %[[N]], %[[ZERO]] : index
// CHECK-NEXT: scf.for %[[I:[a-z0-9_]+]] = %[[ZERO]] to %[[N]] step
// CHECK-NEXT: memref.store
// CHECK-NEXT: scf.for %[[J:[a-z0-9_]+]] = %[[ZERO]] to %[[END]] step
func.func private @outside(%x: memref<?x?xi64>, %n: index, %m: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %x[%i, %c0] : memref<?x?xi64>
    scf.for %j = %c0 to %n step %c1 {
      scf.for %k = %c0 to %m step %c1 {
        memref.store %v, %x[%j, %k] : memref<?x?xi64>
      }
    }
  }
  return
}
// -----
// The cost of a loop for threads is no effect.
// CHECK-LABEL: func.func private @threads(
// CHECK: %[[END:[0-9]+]] = arith.select
// CHECK-NEXT: scf.for %{{.*}} to %[[END]] step
// CHECK-NEXT: func.call @relax.parallel_cost
func.func private @relax.parallel_cost(index)
func.func private @threads(%x: memref<?xi64>, %n: index, %m: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c1 {
    func.call @relax.parallel_cost(%n) : (index) -> ()
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  } {relax.parallel}
  return
}
// -----
// Long are loops of 65,536 iterations or more, or of any number; from 1 on, there are 65,535.
// CHECK-LABEL: func.func private @lengths(
// CHECK: %[[END:[0-9]+]] = arith.select %{{.*}}, %c65536, %c0
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %[[END]] step
// CHECK: scf.for %{{.*}} = %c1 to %c65536
// CHECK: %[[LAST:[0-9]+]] = arith.select %{{.*}}, %c65536, %m
// CHECK-NEXT: scf.for %{{.*}} = %m to %[[LAST]] step
func.func private @lengths(%x: memref<?xi64>, %m: index) attributes {relax.prim_func, relax.params = []} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65536 = arith.constant 65536 : index
  %v = arith.constant 3 : i64
  scf.for %i = %c0 to %c65536 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %c1 to %c65536 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  scf.for %i = %m to %c65536 step %c1 {
    scf.for %j = %c0 to %m step %c1 {
      memref.store %v, %x[%j] : memref<?xi64>
    }
  }
  return
}
