// RUN: python -c "from relax_mlir.lowering.runtime_lib.fast_call import fast_call_text; print(fast_call_text())" | relax-opt | filecheck %s

// The templates fast_call, fast_call_enter, fast_call_torch, fast_call_values, fast_call_objects and fast_call_probe make
// one module. The first words of its state are the functions that the runtime takes from it.
// CHECK: llvm.mlir.global internal @state()
// CHECK-LABEL: llvm.func @__relax_fast_call_state() -> !llvm.ptr
// CHECK: %[[STATE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @state
// CHECK: %[[CALL:[A-Za-z0-9_]+]] = llvm.mlir.addressof @call
// CHECK: %[[FINISH:[A-Za-z0-9_]+]] = llvm.mlir.addressof @finish
// CHECK: llvm.store %[[CALL]], %[[STATE]] :
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = llvm.getelementptr %[[STATE]][8]
// CHECK: llvm.store %[[FINISH]], %[[SECOND]] :

// An array becomes a DLTensor where its flags, byte order and dtype are plain; what is neither array nor FFI tensor does
// not.
// CHECK-LABEL: llvm.func internal @convert(
// CHECK-SAME: %[[OBJECT:[a-z0-9_]+]]: !llvm.ptr
// CHECK: %[[FLAGS_AT:[A-Za-z0-9_]+]] = llvm.getelementptr %[[OBJECT]][64]
// CHECK: %[[FLAGS:[A-Za-z0-9_]+]] = llvm.load %[[FLAGS_AT]] :
// CHECK: %[[PLAIN:[A-Za-z0-9_]+]] = arith.constant 1281 : i32
// CHECK: %[[SET:[A-Za-z0-9_]+]] = arith.andi %[[FLAGS]], %[[PLAIN]] :
// CHECK: arith.cmpi eq, %[[SET]], %[[PLAIN]] :
// CHECK: %[[IS_TENSOR:[A-Za-z0-9_]+]] = llvm.icmp "eq"
// CHECK: scf.yield %[[IS_TENSOR]] : i1

// With 16 arguments that all convert, the entry point is called at once; else others look at them again.
// CHECK-LABEL: llvm.func internal @call(
// CHECK: %[[MOST:[A-Za-z0-9_]+]] = arith.constant 16 : i64
// CHECK: %[[FEW:[A-Za-z0-9_]+]] = arith.cmpi sle, %{{[a-z0-9_]+}}, %[[MOST]] :
// CHECK: scf.for {{.*}} iter_args(%{{[A-Za-z0-9_]+}} = %[[FEW]], %{{[A-Za-z0-9_]+}} = %{{[A-Za-z0-9_]+}})
// CHECK: scf.if
// CHECK: %[[MACHINE:[A-Za-z0-9_]+]] = arith.constant 4611686018427387904 : i64
// CHECK: %[[TAG:[A-Za-z0-9_]+]] = arith.andi %{{[a-z0-9_]+}}, %[[MACHINE]] :
// CHECK: %[[IS_NATIVE:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[TAG]],
// CHECK: scf.if %[[IS_NATIVE]] ->
// CHECK: llvm.call @enter(
// CHECK: } else {
// CHECK: llvm.call @enter_machine(
// CHECK: } else {
// CHECK: llvm.call @call_others(

// A torch tensor that needs care goes to the method that takes anything.
// CHECK-LABEL: llvm.func internal @call_others(
// CHECK: %[[CARE:[A-Za-z0-9_]+]] = arith.constant 0 : i32
// CHECK: llvm.call @examine(
// CHECK: llvm.call @enter_either(
// CHECK: llvm.call @enter_objects(
// CHECK: %[[WITH_CARE:[A-Za-z0-9_]+]] = arith.cmpi eq, %{{[A-Za-z0-9_#]+}}, %[[CARE]] :
// CHECK: scf.if %[[WITH_CARE]] ->
// CHECK: llvm.call @call_slow(
// CHECK: } else {
// CHECK: llvm.call @call_ffi(
// CHECK: llvm.call @drop_objects(

// The GIL is kept for little work only; without torch no allocator is set.
// CHECK-LABEL: llvm.func internal @enter(
// CHECK-NOT: llvm.call @TVMFFIEnvSetDLPackManagedTensorAllocator
// CHECK: %[[KEEPS:[A-Za-z0-9_]+]] = scf.if
// CHECK: %[[LIMIT:[A-Za-z0-9_]+]] = arith.constant 1024 : i64
// CHECK: arith.cmpi ult, %{{[A-Za-z0-9_]+}}, %[[LIMIT]] :
// CHECK: %[[STATUS:[A-Za-z0-9_]+]] = scf.if %[[KEEPS]] -> (i32) {
// CHECK-NEXT: %[[AT_ONCE:[A-Za-z0-9_]+]] = llvm.call %[[ENTRY:[A-Za-z0-9_]+]](
// CHECK-NEXT: scf.yield %[[AT_ONCE]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[THREAD:[A-Za-z0-9_]+]] = llvm.call %{{[A-Za-z0-9_]+}}()
// CHECK-NEXT: %[[AFTER:[A-Za-z0-9_]+]] = llvm.call %[[ENTRY]](
// CHECK-NEXT: llvm.call %{{[A-Za-z0-9_]+}}(%[[THREAD]])
// CHECK-NEXT: scf.yield %[[AFTER]] :
// CHECK: arith.extsi %[[STATUS]] :

// With torch the allocator of before comes back before the result is made, and the tensor is given with it.
// CHECK-LABEL: llvm.func internal @enter_torch(
// CHECK-SAME: %[[TORCH:[a-z0-9_]+]]: !llvm.ptr) -> !llvm.ptr
// CHECK: llvm.call @TVMFFIEnvSetDLPackManagedTensorAllocator(%{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}, %[[BEFORE:[A-Za-z0-9_]+]])
// CHECK: %[[OLD:[A-Za-z0-9_]+]] = llvm.load %[[BEFORE]] :
// CHECK-NEXT: llvm.call @TVMFFIEnvSetDLPackManagedTensorAllocator(%[[OLD]],
// CHECK: llvm.store %[[TORCH]],

// Tensors with other dispatch keys than plain ones are not looked at; after a failed conversion the error is cleared.
// CHECK-LABEL: llvm.func internal @torch_view(
// CHECK: %[[KNOWN:[A-Za-z0-9_]+]] = arith.ori
// CHECK: scf.if %[[KNOWN]] ->
// CHECK: llvm.call @fits(
// CHECK: } else {
// CHECK-NEXT: llvm.call %{{[A-Za-z0-9_]+}}() : !llvm.ptr, () -> ()
// CHECK: } else {
// CHECK-NEXT: scf.yield %{{false[_0-9]*}}

// An element outside of the storage does not fit, unless there is none.
// CHECK-LABEL: llvm.func internal @fits(
// CHECK: %[[LOOP:[A-Za-z0-9_]+]]:2 = scf.for
// CHECK: %[[INSIDE:[A-Za-z0-9_]+]] = arith.andi
// CHECK-NEXT: %[[RESULT:[A-Za-z0-9_]+]] = arith.ori %[[INSIDE]], %[[LOOP]]#1
// CHECK-NEXT: llvm.return %[[RESULT]] :

// CHECK-LABEL: llvm.func internal @needs_no_care(
// CHECK: llvm.call @needs_no_care(
// CHECK: llvm.call @is_torch(

// Numbers beyond 64 bits are no values here.
// CHECK-LABEL: llvm.func internal @convert_value(
// CHECK: %[[OVERFLOW:[A-Za-z0-9_]+]] = llvm.alloca
// CHECK: %[[BEYOND:[A-Za-z0-9_]+]] = llvm.load %[[OVERFLOW]] :
// CHECK: arith.cmpi eq, %[[BEYOND]],

// What the FFI raises goes to a method.
// CHECK-LABEL: llvm.func internal @call_ffi(
// CHECK: llvm.call @or_refused(
// CHECK-LABEL: llvm.func internal @or_refused(
// CHECK: %[[THERE:[A-Za-z0-9_]+]] = llvm.icmp "ne"
// CHECK: scf.if %[[THERE]] ->
// CHECK: } else {
// CHECK: llvm.call @call_refused(

// An object to which nobody else refers ends at once, without the deleter, which would ask for the GIL.
// CHECK-LABEL: llvm.func internal @drop_objects(
// CHECK: %[[ALONE:[A-Za-z0-9_]+]] = arith.constant 4294967297 : i64
// CHECK: %[[REFERENCES:[A-Za-z0-9_]+]] = llvm.load %{{[A-Za-z0-9_]+}} atomic acquire
// CHECK: %[[OURS:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[REFERENCES]], %[[ALONE]] :
// CHECK: scf.if %[[OURS]] {
// CHECK: llvm.call @free(
// CHECK: } else {
// CHECK-NEXT: llvm.call @TVMFFIObjectDecRef(

// CHECK-LABEL: llvm.func internal @probe(
// CHECK: %[[FACTOR:[A-Za-z0-9_]+]] = arith.constant 1000003 : i64
// CHECK: arith.muli %{{[A-Za-z0-9_]+}}, %[[FACTOR]] :
