// RUN: relax-opt --mark-straight-loops --split-input-file %s | filecheck %s

// Loops on vectors that LLVM is to keep, and scalars at their edges.
// CHECK-LABEL: func.func private @straight(
// CHECK-SAME: attributes {relax.prim_func, relax.straight_loops}
func.func private @straight(%x: memref<?xf32>, %n: index, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %o = %c0 to %n step %c1 {
    scf.for %i = %c0 to %m step %c16 {
      %v = vector.load %x[%i] : memref<?xf32>, vector<16xf32>
      vector.store %v, %x[%i] : memref<?xf32>, vector<16xf32>
    } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  }
  scf.for %i = %m to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}

// What threads run.
// CHECK-LABEL: func.func private @job(
// CHECK-SAME: attributes {relax.job, relax.straight_loops}
func.func private @job(%x: memref<?xf32>, %n: index) attributes {relax.job} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}

// One loop that is LLVM's to vectorise is enough to leave a function to it.
// CHECK-LABEL: func.func private @free(
// CHECK-NOT: straight_loops
func.func private @free(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  return
}

// A loop that it is to unroll.
// CHECK-LABEL: func.func private @to_unroll(
// CHECK-NOT: straight_loops
func.func private @to_unroll(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>>}
  return
}

// A branch.
// CHECK-LABEL: func.func private @branch(
// CHECK-NOT: straight_loops
func.func private @branch(%x: memref<?xf32>, %n: index, %some: i1) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %some {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %x[%i] : memref<?xf32>
    }
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}

// An address of two indices.
// CHECK-LABEL: func.func private @two_indices(
// CHECK-NOT: straight_loops
func.func private @two_indices(%x: memref<?x?xf32>, %row: index, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%row, %i] : memref<?x?xf32>
    memref.store %v, %x[%row, %i] : memref<?x?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}

// Floats that are widened.
// CHECK-LABEL: func.func private @widened(
// CHECK-NOT: straight_loops
func.func private @widened(%x: memref<?xf16>, %y: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf16>
    %w = arith.extf %v : f16 to f32
    memref.store %w, %y[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}

// Functions of the program are no prim funcs; what has no loops, or is a kernel's, needs no mark.
// CHECK-LABEL: func.func @main(
// CHECK-NOT: straight_loops
func.func @main(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}
// CHECK-LABEL: func.func private @without_loops(
// CHECK-NOT: straight_loops
func.func private @without_loops() attributes {relax.prim_func} {
  return
}
// -----
// After functions that need no mark: what is inside of a later loop, with sums of indices.
// CHECK-LABEL: func.func private @epilogue(
// CHECK-NOT: straight_loops
// CHECK-LABEL: func.func private @later(
// CHECK-SAME: relax.straight_loops
// CHECK-LABEL: func.func private @free_first(
// CHECK-NOT: straight_loops
func.func private @epilogue(%x: memref<?xf32>, %n: index) attributes {relax.prim_func, relax.as_generated} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}
func.func private @later(%x: memref<?xf32>, %n: index, %m: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  scf.for %o = %c0 to %n step %m {
    scf.for %i = %c0 to %m step %c1 {
      %place = arith.addi %o, %i : index
      %v = memref.load %x[%place] : memref<?xf32>
      memref.store %v, %x[%place] : memref<?xf32>
    } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  }
  return
}
func.func private @free_first(%x: memref<?xf32>, %n: index) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>}
  return
}
