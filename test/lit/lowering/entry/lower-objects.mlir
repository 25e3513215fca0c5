// RUN: relax-opt --lower-objects %s | filecheck %s
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
