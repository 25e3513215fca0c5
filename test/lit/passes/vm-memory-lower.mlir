// Explicit memory becomes builtins of the virtual machine; views become reshapes.
// RUN: relax-opt %s --vm-memory-lower | filecheck %s

!nm = tensor<?x?xf32, #relax.shape<["n", "m"]>>
!f = tensor<?xf32, #relax.shape<["m*n"]>>

// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x?xf32
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.vm_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "global"}
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.vm_alloc_tensor"(%[[S]], %{{[A-Za-z0-9_]+}}) {dtype = f32, offset = 64 : i64}
// CHECK-NEXT: "relax.vm_copy"(%[[X]], %[[T]])
// CHECK-NEXT: "relax.vm_kill_object"(%[[T]])
// CHECK-NEXT: "relax.vm_kill_object"(%[[S]])
// CHECK-NEXT: %[[SHAPE:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["m*n"]}
// CHECK-NEXT: %[[FLAT:[A-Za-z0-9_]+]] = "relax.vm_reshape"(%[[X]], %[[SHAPE]])
// CHECK-NEXT: return %[[FLAT]] :
func.func @memory(%x: !nm) -> !f {
  %size = "relax.shape_expr"() {values = ["4*m*n + 64"]} : () -> !relax.shape_value<["4*m*n + 64"]>
  %s = "relax.memory_alloc_storage"(%size) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*m*n + 64"]>) -> !relax.object
  %shape = "relax.shape_expr"() {values = ["n", "m"]} : () -> !relax.shape_value<["n", "m"]>
  %t = "relax.memory_alloc_tensor"(%s, %shape) {offset = 64 : i64, dtype = f32} : (!relax.object, !relax.shape_value<["n", "m"]>) -> !nm
  "relax.memory_copy"(%x, %t) : (!nm, !nm) -> ()
  "relax.memory_kill_tensor"(%t) : (!nm) -> ()
  "relax.memory_kill_storage"(%s) : (!relax.object) -> ()
  %f = "relax.flatten"(%x) : (!nm) -> !f
  return %f : !f
}

// A reshape to a shape of run time takes the shape value itself.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: {{.*}} %[[SHAPE:[a-z0-9_]+]]: !relax.shape_value<["?", "?"]>
// CHECK-NEXT: "relax.vm_reshape"(%[[X]], %[[SHAPE]])
func.func @dynamic(%x: !nm, %shape: !relax.shape_value<["?", "?"]>) -> tensor<?x?xf32> {
  %0 = "relax.reshape"(%x, %shape) : (!nm, !relax.shape_value<["?", "?"]>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// In branches and loops, too.
// CHECK-LABEL: func.func @branch(
// CHECK: scf.if
// CHECK-NEXT: "relax.vm_copy"
func.func @branch(%x: !nm, %y: !nm, %c: i1) -> !nm {
  scf.if %c {
    "relax.memory_copy"(%x, %y) : (!nm, !nm) -> ()
  }
  return %y : !nm
}
