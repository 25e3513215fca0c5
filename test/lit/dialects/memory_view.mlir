// memory.view: bytes of a tensor, seen with another shape and dtype.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @view(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xui8, #relax.shape<["n", 4]>>)
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["n"]}
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.memory_view"(%[[X]], %[[S]]) {dtype = f16, relative_byte_offset = "2*n"} : (tensor<?x4xui8, #relax.shape<["n", 4]>>, !relax.shape_value<["n"]>) -> tensor<?xf16, #relax.shape<["n"]>>
// CHECK-NEXT: return %[[R]] :
func.func @view(%x: tensor<?x4xui8, #relax.shape<["n", 4]>>) -> tensor<?xf16, #relax.shape<["n"]>> {
  %s = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
  %0 = "relax.memory_view"(%x, %s) {dtype = f16, relative_byte_offset = "2*n"} : (tensor<?x4xui8, #relax.shape<["n", 4]>>, !relax.shape_value<["n"]>) -> tensor<?xf16, #relax.shape<["n"]>>
  return %0 : tensor<?xf16, #relax.shape<["n"]>>
}
// -----
func.func @too_long(%x: tensor<4xf32>) -> tensor<5xf32> {
  %s = "relax.shape_expr"() {values = [5]} : () -> !relax.shape_value<[5]>
  // expected-error @below {{memory_view: Tensor((5,), "float32") from byte 0 on ends at byte 20, but Tensor((4,), "float32") has 16 bytes}}
  %0 = "relax.memory_view"(%x, %s) {dtype = unit, relative_byte_offset = 0} : (tensor<4xf32>, !relax.shape_value<[5]>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
// -----
func.func @before(%x: tensor<4xf32>) -> tensor<2xf32> {
  %s = "relax.shape_expr"() {values = [2]} : () -> !relax.shape_value<[2]>
  // expected-error @below {{memory_view: relative_byte_offset is -4, which is before the tensor}}
  %0 = "relax.memory_view"(%x, %s) {dtype = unit, relative_byte_offset = -4} : (tensor<4xf32>, !relax.shape_value<[2]>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
