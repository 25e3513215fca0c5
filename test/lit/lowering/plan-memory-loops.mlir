// RUN: relax-opt --plan-memory --split-input-file %s | filecheck %s
// plan_memory.py, buffers.py: loops.

// Every round uses the same part of the workspace.
func.func private @step(memref<?xf32>, memref<?xf32>) attributes {relax.prim_func}

// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: memref<?xf32>, %{{[a-z0-9_]+}}: index, %[[N:[a-z0-9_]+]]: index)
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = arith.maxsi %[[N]], %{{[a-z0-9_]+}} : index
// CHECK: arith.mului_extended %{{[a-z0-9_]+}}, %[[SIZE]] : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(
// CHECK: scf.for
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE]][%{{[a-z0-9_]+}}][%[[N]]]
// CHECK-NEXT: func.call @step(%[[X]], %[[A]])
func.func @loop(%x: memref<?xf32>, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %m step %c1 {
    %a = memref.alloc(%n) : memref<?xf32>
    func.call @step(%x, %a) : (memref<?xf32>, memref<?xf32>) -> ()
    func.call @step(%a, %x) : (memref<?xf32>, memref<?xf32>) -> ()
  }
  return
}
// -----
// A buffer from before the loop that every round reads is live in all of it: the loop's own has another slot.
func.func private @step(memref<?xf32>, memref<?xf32>) attributes {relax.prim_func}

// CHECK-LABEL: func.func @across
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = arith.addi %[[FIRST:[a-z0-9_]+]], %{{[0-9]+}} : index
// CHECK: %[[SPACE:[A-Za-z0-9_]+]] = call @relax.rt.workspace_take(
// CHECK: %[[A:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[FIRST]]]
// CHECK: scf.for
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = memref.view %[[SPACE]][%[[SECOND]]]
// CHECK-NEXT: func.call @step(%[[A]], %[[B]])
func.func @across(%x: memref<?xf32>, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf32>
  call @step(%x, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  scf.for %i = %c0 to %m step %c1 {
    %b = memref.alloc(%n) : memref<?xf32>
    func.call @step(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  }
  return
}
// -----
// What a round hands on to the next one must not be overwritten by it: such buffers belong to the frame.
func.func private @step(memref<?xf32>, memref<?xf32>) attributes {relax.prim_func}

// CHECK-LABEL: func.func @carried
// CHECK-NOT: workspace_take
// CHECK: %[[FRAME:[A-Za-z0-9_]+]] = llvm.alloca {{.*}}relax.frame
// CHECK: scf.for {{.*}} iter_args(%[[OLD:[a-z0-9_]+]] =
// CHECK: %[[MEMORY:[A-Za-z0-9_]+]] = func.call @relax.rt.frame_buffer(%[[FRAME]],
// CHECK: %[[NEW:[a-z0-9_]+]] = memref.view %[[MEMORY]][
// CHECK-NEXT: func.call @step(%[[OLD]], %[[NEW]])
// CHECK-NEXT: scf.yield %[[NEW]] :
func.func @carried(%x: memref<?xf32>, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%v = %x) -> memref<?xf32> {
    %a = memref.alloc(%n) : memref<?xf32>
    func.call @step(%v, %a) : (memref<?xf32>, memref<?xf32>) -> ()
    scf.yield %a : memref<?xf32>
  }
  call @step(%r, %x) : (memref<?xf32>, memref<?xf32>) -> ()
  return
}
