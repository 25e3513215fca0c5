// The ops of explicit memory and of the virtual machine, and what their verifiers refuse.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @memory(
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.memory_alloc_storage"(%{{[A-Za-z0-9_]+}}) {device = 0 : i64, dtype = f32, storage_scope = "global"} : (!relax.shape_value<["4*n + 64"]>) -> !relax.object
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.memory_alloc_tensor"(%[[S]], %{{[A-Za-z0-9_]+}}) {dtype = f32, offset = 64 : i64} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
// CHECK: "relax.memory_copy"(%{{[a-z0-9_]+}}, %[[T]])
// CHECK: "relax.memory_kill_tensor"(%[[T]])
// CHECK: "relax.memory_kill_storage"(%[[S]])
func.func @memory(%x: tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %size = "relax.shape_expr"() {values = ["4*n + 64"]} : () -> !relax.shape_value<["4*n + 64"]>
  %s = "relax.memory_alloc_storage"(%size) {device = 0 : i64, storage_scope = "global", dtype = f32} : (!relax.shape_value<["4*n + 64"]>) -> !relax.object
  %shape = "relax.shape_expr"() {values = ["n"]} : () -> !relax.shape_value<["n"]>
  %t = "relax.memory_alloc_tensor"(%s, %shape) {offset = 64 : i64, dtype = f32} : (!relax.object, !relax.shape_value<["n"]>) -> tensor<?xf32, #relax.shape<["n"]>>
  "relax.memory_copy"(%x, %t) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_tensor"(%t) : (tensor<?xf32, #relax.shape<["n"]>>) -> ()
  "relax.memory_kill_storage"(%s) : (!relax.object) -> ()
  return %x : tensor<?xf32, #relax.shape<["n"]>>
}

// CHECK-LABEL: func.func @heap(
// CHECK: "relax.vm_match_shape"(%{{[A-Za-z0-9_]+}}, %[[H:[A-Za-z0-9_]+]]) {codes = [1, 0], values = [0, 4], where = "heap: x"}
// CHECK: "relax.vm_load_prim"(%[[H]]) {index = 1 : i64} : (tensor<2xi64>) -> i64
// CHECK: "relax.vm_make_shape"(%[[H]]) {codes = [1, 0], values = [0, 4]} : (tensor<2xi64>) -> !relax.shape_value<["?", 4]>
func.func @heap(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %h = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  %s = "relax.shape_of"(%x) : (tensor<?x4xf32>) -> !relax.shape_value<["?", 4]>
  "relax.vm_match_shape"(%s, %h) {codes = [1, 0], values = [0, 4], where = "heap: x"} : (!relax.shape_value<["?", 4]>, tensor<2xi64>) -> ()
  %p = "relax.vm_load_prim"(%h) {index = 1 : i64} : (tensor<2xi64>) -> i64
  %m = "relax.vm_make_shape"(%h) {codes = [1, 0], values = [0, 4]} : (tensor<2xi64>) -> !relax.shape_value<["?", 4]>
  %y = "relax.vm_reshape"(%x, %m) : (tensor<?x4xf32>, !relax.shape_value<["?", 4]>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
// -----
func.func @size(%x: tensor<4xf32>) -> tensor<4xf32> {
  %size = "relax.shape_expr"() {values = [4, 4]} : () -> !relax.shape_value<[4, 4]>
  // expected-error @below {{memory_alloc_storage: operand 'size' is (4, 4), expected one number of bytes}}
  %s = "relax.memory_alloc_storage"(%size) {device = 0 : i64, storage_scope = "global", dtype = f32} : (!relax.shape_value<[4, 4]>) -> !relax.object
  return %x : tensor<4xf32>
}
// -----
func.func @offset(%x: tensor<4xf32>, %s: !relax.object) -> tensor<4xf32> {
  %shape = "relax.shape_expr"() {values = [4]} : () -> !relax.shape_value<[4]>
  // expected-error @below {{memory_alloc_tensor: offset 8 is no multiple of 64}}
  %t = "relax.memory_alloc_tensor"(%s, %shape) {offset = 8 : i64, dtype = f32} : (!relax.object, !relax.shape_value<[4]>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}
// -----
func.func @copy(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @below {{memory_copy: cannot copy Tensor((4,), "float32") into Tensor((5,), "float32"): 4 is not 5}}
  "relax.memory_copy"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> ()
  return %x : tensor<4xf32>
}
// -----
func.func @storage(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{memory_kill_storage: operand 'storage' is Tensor((4,), "float32"), expected a storage (an object)}}
  "relax.memory_kill_storage"(%x) : (tensor<4xf32>) -> ()
  return %x : tensor<4xf32>
}
// -----
func.func @slots(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  // expected-error @below {{vm_load_shape: slot 2 is out of range for a heap of 2 slots}}
  %s = "relax.vm_load_shape"(%h) {indices = [0, 2]} : (tensor<2xi64>) -> !relax.shape_value<["?", "?"]>
  return %x : tensor<4xf32>
}
// -----
func.func @rank(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  %s = "relax.shape_of"(%x) : (tensor<4xf32>) -> !relax.shape_value<[4]>
  // expected-error @below {{vm_store_shape: the shape has 1 dimensions, but 2 are given}}
  "relax.vm_store_shape"(%s, %h) {indices = [0, 1]} : (!relax.shape_value<[4]>, tensor<2xi64>) -> ()
  return %x : tensor<4xf32>
}
// -----
func.func @codes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  %s = "relax.shape_of"(%x) : (tensor<4xf32>) -> !relax.shape_value<[4]>
  // expected-error @below {{vm_match_shape: code 4 is none of [0, 1, 2, 3]}}
  "relax.vm_match_shape"(%s, %h) {codes = [4], values = [0], where = ""} : (!relax.shape_value<[4]>, tensor<2xi64>) -> ()
  return %x : tensor<4xf32>
}
// -----
func.func @heap_type(%h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{vm_load_prim: operand 'heap' is Tensor((4,), "float32"), expected a shape heap (int64, rank 1)}}
  %p = "relax.vm_load_prim"(%h) {index = 0 : i64} : (tensor<4xf32>) -> i64
  return %h : tensor<4xf32>
}
// -----
func.func @effects(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{dataflow: relax.memory_copy is not pure; dataflow blocks hold pure ops without control flow}}
  %0 = "relax.dataflow"() ({
    "relax.memory_copy"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> ()
    "relax.output"(%y) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @relation(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = "relax.vm_alloc_shape_heap"() {size = 2 : i64} : () -> tensor<2xi64>
  %a = builtin.unrealized_conversion_cast to tuple<>
  // expected-error @below {{vm_assert_relation: relation '=' is none of <=, >=, ==, !=, <, >}}
  "relax.vm_assert_relation"(%h, %a) {relation = "=", codes = [1, 0], values = [0, 4], message = ""} : (tensor<2xi64>, tuple<>) -> ()
  return %x : tensor<4xf32>
}
