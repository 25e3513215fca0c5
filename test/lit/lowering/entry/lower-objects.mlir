// RUN: relax-opt --lower-objects --split-input-file %s | filecheck %s
// lower_objects.py: only what is declared is defined; functions that leave something behind get the frame of their caller.

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[H:.*]]: i64, %[[I:.*]]: index)
// CHECK: %[[F:.*]] = llvm.alloca {{.*}}relax.frame
// CHECK: call @relax.rt.release(%[[F]]) {relax.defer = "always"}
// CHECK: call @relax.object.size(%[[H]], %[[I]]) : (i64, index) -> index
// CHECK: call @relax.object.bytes(%[[F]], %[[H]]) : (!llvm.ptr, i64) -> memref<?xi8>
// CHECK: call @relax.object.array.2(%[[F]], %[[H]], %[[H]], %[[H]], %[[H]])
// CHECK: call @relax.object.retain(%[[H]], %[[H]])
// CHECK: func.func private @relax.object.size(%{{.*}}: i64, %{{.*}}: index) -> index attributes {relax.support} {
// CHECK: func.func private @relax.object.bytes(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> memref<?xi8> attributes {relax.support} {
// CHECK: call @relax.rt.dense(
// CHECK: func.func private @relax.object.array.2(%[[FRAME:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64) -> i64 attributes {relax.support} {
// CHECK: %[[ARRAY:.*]] = call @relax.rt.construct(
// CHECK: call @relax.rt.own(%[[FRAME]], %[[ARRAY]])
// CHECK: func.func private @relax.object.retain(
// CHECK: scf.if
// CHECK: llvm.call @TVMFFIObjectIncRef(
// CHECK-NOT: @relax.object.copy
func.func private @relax.object.size(i64, index) -> index
func.func private @relax.object.bytes(i64) -> memref<?xi8>
func.func private @relax.object.array.2(i64, i64, i64, i64) -> i64
func.func private @relax.object.retain(i64, i64)
func.func @f(%h: i64, %i: index) -> (index, memref<?xi8>, i64) {
  %0 = call @relax.object.size(%h, %i) : (i64, index) -> index
  %1 = call @relax.object.bytes(%h) : (i64) -> memref<?xi8>
  %2 = call @relax.object.array.2(%h, %h, %h, %h) : (i64, i64, i64, i64) -> i64
  call @relax.object.retain(%h, %h) : (i64, i64) -> ()
  return %0, %1, %2 : index, memref<?xi8>, i64
}
// -----
// Nothing is defined, and no frame made, for a module without such functions.
// CHECK-LABEL: func.func @none(
// CHECK-NEXT: return
// CHECK-NOT: func.func
func.func @none() { return }
// -----
// Calls get the frame of their caller if they leave something in it.
// CHECK-LABEL: func.func private @relax.object.mine(
// CHECK-LABEL: func.func @calls(
// CHECK: %[[FRAME:.+]] = llvm.alloca {{.*}}relax.frame
// CHECK-NOT: relax.frame
// CHECK: call @relax.object.copy(%[[FRAME]], %h)
// CHECK-NEXT: call @relax.object.shape_of(%[[FRAME]],
// CHECK-NEXT: %{{.+}} = call @relax.object.shape_rank(%
// CHECK-NEXT: call @relax.object.tensor.2(%[[FRAME]],
// CHECK-NEXT: call @relax.object.shape.2(%[[FRAME]],
// CHECK-NEXT: call @relax.object.as_shape(%[[FRAME]],
// CHECK-NEXT: %[[ITEM:.+]]:2 = call @relax.object.item(%[[FRAME]],
// CHECK-NEXT: call @relax.object.own(%[[FRAME]], %[[ITEM]]#0, %[[ITEM]]#1)
// CHECK-NEXT: call @relax.object.drop(%[[ITEM]]#0, %[[ITEM]]#1)
// CHECK-NEXT: call @relax.object.stack()

// All functions. A tensor is a DLTensor behind the header of an object, of 24 bytes: its device is at 8, its rank at 16,
// its dtype at 20, its shape at 24.
// CHECK-LABEL: func.func private @relax.object.rank(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK-NEXT: llvm.getelementptr %{{.+}}[16]
// CHECK-NEXT: llvm.load %{{.+}} -> i32
// CHECK-LABEL: func.func private @relax.object.dtype(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK-NEXT: llvm.getelementptr %{{.+}}[20]
// CHECK-LABEL: func.func private @relax.object.device(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK-NEXT: llvm.getelementptr %{{.+}}[8]
// CHECK-LABEL: func.func private @relax.object.size(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK-NEXT: llvm.getelementptr %{{.+}}[24]
// CHECK-NEXT: %[[SIZES:.+]] = llvm.load %{{.+}} -> !llvm.ptr
// CHECK: %[[OFFSET:.+]] = arith.muli %{{.+}}, %c8_i64
// CHECK-NEXT: %[[PLACE:.+]] = llvm.getelementptr %[[SIZES]][%[[OFFSET]]]
// CHECK-NEXT: llvm.load %[[PLACE]] : !llvm.ptr -> i64

// The bytes of an element are its bits times its lanes, rounded up.
// CHECK-LABEL: func.func private @relax.object.bytes(
// CHECK: %[[DTYPE:.+]] = arith.extui
// CHECK-NEXT: %[[SHIFTED:.+]] = arith.shrui %[[DTYPE]], %c8_i64
// CHECK-NEXT: %[[BITS:.+]] = arith.andi %[[SHIFTED]], %c255_i64
// CHECK-NEXT: %[[LANES:.+]] = arith.shrui %[[DTYPE]], %c16_i64
// CHECK-NEXT: %[[ALL:.+]] = arith.muli %[[BITS]], %[[LANES]] :
// CHECK-NEXT: %[[UP:.+]] = arith.addi %[[ALL]], %c7_i64
// CHECK-NEXT: %[[SIZE:.+]] = arith.shrui %[[UP]], %c3_i64
// CHECK-NEXT: %[[DATA:.+]] = call @relax.rt.dense(%arg0, %{{.+}}, %[[SIZE]])
// CHECK-NEXT: %[[TOTAL:.+]] = call @relax.rt.tensor_bytes(%{{.+}}, %[[SIZE]])
// CHECK-NEXT: call @relax.rt.bytes(%[[DATA]], %[[TOTAL]])

// Tensors and shapes that are made belong to the frame.
// CHECK-LABEL: func.func private @relax.object.copy(
// CHECK: %[[NEW:.+]] = call @relax.rt.tensor(
// CHECK-NEXT: call @relax.rt.own(%arg0, %[[NEW]])
// CHECK: %[[FROM:.+]] = call @relax.rt.dense(
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[NEW]][24]
// CHECK-NEXT: %[[TO:.+]] = llvm.load %[[PLACE]] :
// CHECK-NEXT: "llvm.intr.memcpy"(%[[TO]], %[[FROM]], %{{.+}})
// CHECK-LABEL: func.func private @relax.object.tensor.2(
// CHECK: %[[SHAPE:.+]] = llvm.alloca %c16_i64 x i8
// CHECK: %[[ROWS:.+]] = arith.index_cast %arg2 : index to i64
// CHECK-NEXT: llvm.store %[[ROWS]], %[[SHAPE]] :
// CHECK-NEXT: %[[COLUMNS:.+]] = arith.index_cast %arg3 : index to i64
// CHECK-NEXT: %[[PLACE:.+]] = llvm.getelementptr %[[SHAPE]][8]
// CHECK-NEXT: llvm.store %[[COLUMNS]], %[[PLACE]] :
// CHECK: %[[NEW:.+]] = call @relax.rt.tensor(%[[SHAPE]], %c2_i32,
// CHECK-NEXT: call @relax.rt.own(%arg0, %[[NEW]])
// CHECK-LABEL: func.func private @relax.object.shape.2(
// CHECK: %[[FIRST:.+]] = arith.index_cast %arg1
// CHECK: llvm.store %[[FIRST]],
// CHECK: %[[SECOND:.+]] = arith.index_cast %arg2
// CHECK: llvm.store %[[SECOND]],
// CHECK: %[[NEW:.+]] = call @relax.rt.construct(
// CHECK-NEXT: call @relax.rt.own(%arg0, %[[NEW]])

// A Shape has the address of its numbers after the header, then their count.
// CHECK-LABEL: func.func private @relax.object.shape_rank(
// CHECK: llvm.getelementptr %{{.+}}[32]
// CHECK-LABEL: func.func private @relax.object.shape_entry(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK: %[[OFFSET:.+]] = arith.muli %{{.+}}, %c8_i64
// CHECK-NEXT: %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[%[[OFFSET]]]
// CHECK-NEXT: llvm.load %[[PLACE]] : !llvm.ptr -> i64

// The numbers of a tensor's shape, 8 bytes apart, become values of 16 bytes with the kind of an int.
// CHECK-LABEL: func.func private @relax.object.shape_of(
// CHECK: %[[ROOM:.+]] = llvm.alloca
// CHECK: scf.for %[[I_:.+]] = %c0 to %{{.+}} step %c1 {
// CHECK: %[[OFFSET:.+]] = arith.muli %{{.+}}, %c8_i64
// CHECK-NEXT: %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[%[[OFFSET]]]
// CHECK-NEXT: %[[NUMBER:.+]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[OFFSET:.+]] = arith.muli %{{.+}}, %c16_i64
// CHECK-NEXT: %[[VALUE:.+]] = llvm.getelementptr %[[ROOM]][%[[OFFSET]]]
// CHECK-NEXT: llvm.store %c1_i64, %[[VALUE]] :
// CHECK-NEXT: %[[PLACE:.+]] = llvm.getelementptr %[[VALUE]][8]
// CHECK-NEXT: llvm.store %[[NUMBER]], %[[PLACE]] :
// CHECK: %[[NEW:.+]] = call @relax.rt.construct(
// CHECK-NEXT: call @relax.rt.own(%arg0, %[[NEW]])

// A Shape is one; an Array or List is one if all of its elements are ints; else 0.
// CHECK-LABEL: func.func private @relax.object.as_shape(
// CHECK: arith.cmpi eq, %{{.+}}, %c69_i32
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield %arg2
// CHECK: arith.cmpi eq, %{{.+}}, %c71_i32
// CHECK-NEXT: arith.cmpi eq, %{{.+}}, %c75_i32
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK: llvm.getelementptr %{{.+}}[32]
// CHECK: %[[GOOD:.+]] = scf.for %{{.+}} = %c0 to %{{.+}} step %c1 iter_args(%{{.+}} = %true)
// CHECK: %[[OFFSET:.+]] = arith.muli %{{.+}}, %c16_i64
// CHECK-NEXT: %[[KIND_AT:.+]] = llvm.getelementptr %{{.+}}[%[[OFFSET]]]
// CHECK-NEXT: llvm.load %[[KIND_AT]] : !llvm.ptr -> i64
// CHECK: arith.cmpi eq, %{{.+}}, %c1_i32
// CHECK: scf.if %[[GOOD]] ->
// CHECK: scf.for
// CHECK: %[[VALUE:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}]
// CHECK-NEXT: llvm.getelementptr %[[VALUE]][8]
// CHECK: call @relax.rt.construct(
// CHECK: scf.yield %c0_i64
// CHECK: scf.yield %c0_i64

// Kinds and payloads of the elements of an Array; of an element that is an object the frame holds a reference.
// CHECK-LABEL: func.func private @relax.object.array.2(
// CHECK: %[[ROOM:.+]] = llvm.alloca %c32_i64 x i8
// CHECK: llvm.store %arg1, %[[ROOM]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[ROOM]][8]
// CHECK-NEXT: llvm.store %arg2, %[[AT]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[ROOM]][16]
// CHECK-NEXT: llvm.store %arg3, %[[AT]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[ROOM]][24]
// CHECK-NEXT: llvm.store %arg4, %[[AT]] :
// CHECK: call @relax.rt.construct(%{{.+}}, %{{.+}}, %{{.+}}, %[[ROOM]], %c2_i32)
// CHECK: call @relax.rt.own(
// CHECK-LABEL: func.func private @relax.object.item(
// CHECK: llvm.getelementptr %{{.+}}[24]
// CHECK: arith.muli %{{.+}}, %c16_i64
// CHECK-NEXT: %[[SLOT:.+]] = llvm.getelementptr
// CHECK-NEXT: %[[KIND:.+]] = llvm.load %[[SLOT]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[SLOT]][8]
// CHECK-NEXT: %[[PAYLOAD:.+]] = llvm.load %[[AT]] :
// CHECK: arith.cmpi sge, %{{.+}}, %c64_i32
// CHECK: @TVMFFIObjectIncRef(
// CHECK: arith.cmpi sge, %{{.+}}, %c64_i32
// CHECK: call @relax.rt.own(%arg0,
// CHECK: return %[[KIND]], %[[PAYLOAD]] :
// CHECK-LABEL: func.func private @relax.object.own(
// CHECK: scf.if
// CHECK: call @relax.rt.own(%arg0,
// CHECK: return
// CHECK-LABEL: func.func private @relax.object.retain(
// CHECK: return

// An argument of a call: a tensor of the caller, of kind 7, is copied, other data of the caller is owned.
// CHECK-LABEL: func.func private @relax.object.take(
// CHECK: %[[ROOM:.+]] = llvm.alloca %c16_i64 x i8
// CHECK: %[[KIND:.+]] = llvm.load %arg1
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %arg1[8]
// CHECK-NEXT: %[[PAYLOAD:.+]] = llvm.load %[[AT]] :
// CHECK: %[[INDEX:.+]] = arith.trunci %[[KIND]] :
// CHECK-NEXT: %[[IS:.+]] = arith.cmpi eq, %[[INDEX]], %c7_i32
// CHECK-NEXT: scf.if %[[IS]] ->
// CHECK: "llvm.intr.memcpy"(
// CHECK: scf.yield %c70_i64,
// CHECK: arith.cmpi eq, %{{.+}}, %c8_i32
// CHECK-NEXT: arith.cmpi eq, %{{.+}}, %c9_i32
// CHECK-NEXT: arith.cmpi eq, %{{.+}}, %c10_i32
// CHECK: %[[STATUS:.+]] = llvm.call @TVMFFIAnyViewToOwnedAny(%arg1, %[[ROOM]])
// CHECK-NEXT: call @relax.propagate(%[[STATUS]])
// CHECK-NEXT: %[[KIND_:.+]] = llvm.load %[[ROOM]] :
// CHECK-NEXT: %[[AT:.+]] = llvm.getelementptr %[[ROOM]][8]
// CHECK-NEXT: %[[PAYLOAD_:.+]] = llvm.load %[[AT]] :
// CHECK: call @relax.rt.own(%arg0,
// CHECK: scf.yield %[[KIND_]], %[[PAYLOAD_]] :
// CHECK: scf.yield %[[KIND]], %[[PAYLOAD]] :
// CHECK-LABEL: func.func private @relax.object.drop(
// CHECK: scf.if
// CHECK: call @relax.rt.drop(
// CHECK: return
// CHECK-LABEL: func.func private @relax.object.stack(
// CHECK: llvm.alloca %c8_i64 x i8
func.func private @relax.object.rank(i64) -> index
func.func private @relax.object.dtype(i64) -> index
func.func private @relax.object.device(i64) -> index
func.func private @relax.object.size(i64, index) -> index
func.func private @relax.object.bytes(i64) -> memref<?xi8>
func.func private @relax.object.copy(i64) -> i64
func.func private @relax.object.tensor.2(i64, index, index) -> i64
func.func private @relax.object.shape.2(index, index) -> i64
func.func private @relax.object.shape_rank(i64) -> index
func.func private @relax.object.shape_entry(i64, index) -> index
func.func private @relax.object.shape_of(i64) -> i64
func.func private @relax.object.as_shape(i64, i64) -> i64
func.func private @relax.object.array.2(i64, i64, i64, i64) -> i64
func.func private @relax.object.item(i64, index) -> (i64, i64)
func.func private @relax.object.own(i64, i64)
func.func private @relax.object.retain(i64, i64)
func.func private @relax.object.take(!llvm.ptr) -> (i64, i64)
func.func private @relax.object.drop(i64, i64)
func.func private @relax.object.stack() -> i64

func.func private @relax.object.mine(%x: i64) -> i64 { return %x : i64 }
func.func @calls(%h: i64, %n: index) -> i64 {
  %0 = call @relax.object.copy(%h) : (i64) -> i64
  %1 = call @relax.object.shape_of(%0) : (i64) -> i64
  %2 = call @relax.object.shape_rank(%1) : (i64) -> index
  %3 = call @relax.object.tensor.2(%h, %n, %2) : (i64, index, index) -> i64
  %4 = call @relax.object.shape.2(%n, %2) : (index, index) -> i64
  %5 = call @relax.object.as_shape(%h, %4) : (i64, i64) -> i64
  %6, %7 = call @relax.object.item(%5, %n) : (i64, index) -> (i64, i64)
  call @relax.object.own(%6, %7) : (i64, i64) -> ()
  call @relax.object.drop(%6, %7) : (i64, i64) -> ()
  %8 = call @relax.object.stack() : () -> i64
  return %3 : i64
}
