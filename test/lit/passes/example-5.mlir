// The running example *myfunc* in its forms: calls in a dataflow block, explicit memory, builtins of the virtual machine,
// and a shape heap with the generated product function.
// RUN: relax-opt %s --to-non-dataflow --call-tir-rewrite --static-plan-block-memory | filecheck %s --check-prefix=MEMORY
// RUN: relax-opt %s --to-non-dataflow --call-tir-rewrite --static-plan-block-memory --vm-memory-lower | filecheck %s --check-prefix=VM
// RUN: relax-opt %s --relax-to-vm | filecheck %s --check-prefix=HEAP

!nm = tensor<?x?xf32, #relax.shape<["n", "m"]>>
!flat = tensor<?xf32, #relax.shape<["m*n"]>>

func.func private @tirexp(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> attributes {relax.prim_func} {
  %0 = linalg.exp ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

func.func @myfunc(%x: !nm {relax.name = "x"}) -> !flat {
  %gv0 = "relax.dataflow"() ({
    %0 = builtin.unrealized_conversion_cast %x : !nm to tuple<!nm>
    %lv0 = "relax.call_tir"(%0) {callee = @tirexp, tir_vars = []} : (tuple<!nm>) -> !nm
    %1 = builtin.unrealized_conversion_cast %lv0 : !nm to tuple<!nm>
    %gv = "relax.call_dps_packed"(%1) {func = "flatten", arg_spec = [unit]} : (tuple<!nm>) -> !flat
    "relax.output"(%gv) : (!flat) -> ()
  }) : () -> !flat
  return %gv0 : !flat
}

// MEMORY-LABEL: func.func @myfunc(
// MEMORY-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32, #relax.shape<["n", "m"]>>
// MEMORY-NEXT: %[[SIZE0:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*m*n"]}
// MEMORY-NEXT: %[[STORAGE0:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[SIZE0]]) {device = 0 : i64, dtype = f32, storage_scope = "global"}
// MEMORY-NEXT: %[[SHAPE0:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n", "m"]}
// MEMORY-NEXT: %[[TENSOR0:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[STORAGE0]], %[[SHAPE0]]) {dtype = f32, offset = 0 : i64}
// MEMORY-NEXT: %[[ARGS0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[TENSOR0]] :
// MEMORY-NEXT: "relax.call_prim"(%[[ARGS0]]) {callee = @tirexp, outputs = 1 : i64}
// MEMORY-NEXT: %[[SIZE1:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*m*n"]}
// MEMORY-NEXT: %[[STORAGE1:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%[[SIZE1]])
// MEMORY-NEXT: %[[SHAPE1:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["m*n"]}
// MEMORY-NEXT: %[[TENSOR1:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[STORAGE1]], %[[SHAPE1]]) {dtype = f32, offset = 0 : i64}
// MEMORY-NEXT: %[[ARGS1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[TENSOR0]], %[[TENSOR1]] :
// MEMORY-NEXT: "relax.call_packed"(%[[ARGS1]]) {arg_spec = [unit, unit], func = "flatten"}
// MEMORY-NEXT: "relax.memory_kill_tensor"(%[[TENSOR0]])
// MEMORY-NEXT: "relax.memory_kill_storage"(%[[STORAGE0]])
// MEMORY-NEXT: return %[[TENSOR1]] :

// VM-LABEL: func.func @myfunc(
// VM-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32, #relax.shape<["n", "m"]>>
// VM: %[[STORAGE0:[A-Za-z0-9_]+]] = "relax.vm_alloc_storage"
// VM: %[[TENSOR0:[A-Za-z0-9_]+]] = "relax.vm_alloc_tensor"(%[[STORAGE0]],
// VM: "relax.call_prim"({{.*}}) {callee = @tirexp, outputs = 1 : i64}
// VM: %[[STORAGE1:[A-Za-z0-9_]+]] = "relax.vm_alloc_storage"
// VM: %[[TENSOR1:[A-Za-z0-9_]+]] = "relax.vm_alloc_tensor"(%[[STORAGE1]],
// VM: "relax.call_packed"({{.*}}) {arg_spec = [unit, unit], func = "flatten"}
// VM-NEXT: "relax.vm_kill_object"(%[[TENSOR0]])
// VM-NEXT: "relax.vm_kill_object"(%[[STORAGE0]])
// VM-NEXT: return %[[TENSOR1]] :

// HEAP-LABEL: func.func @myfunc(
// HEAP-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32>
// HEAP-SAME: -> tensor<?xf32>
// HEAP-NEXT: %[[HEAP:[A-Za-z0-9_]+]] = "relax.vm_alloc_shape_heap"() {size = 4 : i64} : () -> tensor<4xi64>
// HEAP-NEXT: %[[SH:[A-Za-z0-9_]+]] = "relax.shape_of"(%[[X]])
// HEAP-NEXT: "relax.vm_store_shape"(%[[SH]], %[[HEAP]]) {indices = [0, 1]}
// HEAP-NEXT: %[[HARGS:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[HEAP]] :
// HEAP-NEXT: "relax.call_prim"(%[[HARGS]]) {callee = @myfunc_shape_func, outputs = 1 : i64}
// HEAP-NEXT: %[[SIZE0:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [2]}
// HEAP-NEXT: %[[STORAGE0:[A-Za-z0-9_]+]] = "relax.vm_alloc_storage"(%[[SIZE0]])
// HEAP-NEXT: %[[SHAPE0:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [0, 1]}
// HEAP-NEXT: %[[TENSOR0:[A-Za-z0-9_]+]] = "relax.vm_alloc_tensor"(%[[STORAGE0]], %[[SHAPE0]])
// HEAP-NEXT: %[[ARGS0:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[X]], %[[TENSOR0]] :
// HEAP-NEXT: "relax.call_prim"(%[[ARGS0]]) {callee = @tirexp, outputs = 1 : i64}
// HEAP-NEXT: %[[SIZE1:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [2]}
// HEAP-NEXT: %[[STORAGE1:[A-Za-z0-9_]+]] = "relax.vm_alloc_storage"(%[[SIZE1]])
// HEAP-NEXT: %[[SHAPE1:[A-Za-z0-9_]+]] = "relax.vm_load_shape"(%[[HEAP]]) {indices = [3]}
// HEAP-NEXT: %[[TENSOR1:[A-Za-z0-9_]+]] = "relax.vm_alloc_tensor"(%[[STORAGE1]], %[[SHAPE1]])
// HEAP-NEXT: %[[ARGS1:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[TENSOR0]], %[[TENSOR1]] :
// HEAP-NEXT: "relax.call_packed"(%[[ARGS1]]) {arg_spec = [unit, unit], func = "flatten"}
// HEAP-NEXT: "relax.vm_kill_object"(%[[TENSOR0]])
// HEAP-NEXT: "relax.vm_kill_object"(%[[STORAGE0]])
// HEAP-NEXT: return %[[TENSOR1]] :

// HEAP-LABEL: func.func private @myfunc_shape_func(
// HEAP-SAME: %[[H:[a-z0-9_]+]]: memref<4xi64>) attributes {relax.prim_func}
// HEAP-DAG: %[[M:[A-Za-z0-9_]+]] = memref.load %[[H]][%c1]
// HEAP-DAG: %[[N:[A-Za-z0-9_]+]] = memref.load %[[H]][%c0]
// HEAP: arith.muli %[[M]], %[[N]] : i64
// HEAP: memref.store %{{[A-Za-z0-9_]+}}, %[[H]][%c2]
// HEAP: memref.store %{{[A-Za-z0-9_]+}}, %[[H]][%c3]

