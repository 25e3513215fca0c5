// RUN: relax-opt %s --lower-symbolic-shapes | filecheck %s
// Values of unknown rank, dtype or kind are handles, two words each; results without a size before the call are returned.

// structure.py: rank and dtype are checked, then the memory is seen as a tensor.
// CHECK-LABEL: func.func @match(
// CHECK-SAME: %[[K:.*]]: i64, %[[X:.*]]: i64) -> (i64, i64)
// CHECK-SAME: params = [{kind = "tensor", name = "x", type = "Tensor(?, ?)"}]
// CHECK-SAME: returned = true
// CHECK: %[[D:.*]] = call @relax.object.dtype(%[[X]])
// CHECK: call @relax.check.{{[0-9]+}}({{.*}}, %[[D]])
// CHECK: %[[R:.*]] = call @relax.object.rank(%[[X]])
// CHECK: call @relax.check.{{[0-9]+}}({{.*}}, %[[R]])
// CHECK: %[[N:.*]] = call @relax.object.size(%[[X]], %{{.*}})
// CHECK: %[[B:.*]] = call @relax.object.bytes(%[[X]])
// CHECK: %[[V:.*]] = memref.view %[[B]][
// CHECK: %[[T:.*]] = bufferization.to_tensor %[[V]] restrict
// CHECK-NOT: writable
// CHECK: %[[O:.*]] = call @relax.object.tensor.1(%{{.*}}, %[[S:.*]])
// CHECK: bufferization.materialize_in_destination %[[T]] in restrict writable
// CHECK: call @relax.object.retain(%[[TK:.*]], %[[O]])
// CHECK: return %[[TK]], %[[O]] : i64, i64
func.func @match(%x: tensor<*x!relax.any> {relax.name = "x"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["n"], result_dtype = f32} : (tensor<*x!relax.any>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}

// structure.py: an object must be a tensor first.
// CHECK-LABEL: func.func @object(
// CHECK: %[[KIND:.*]] = arith.index_cast
// CHECK: call @relax.check.{{[0-9]+}}({{.*}}, %[[KIND]])
// CHECK: call @relax.object.device(
// CHECK: call @relax.object.rank(
// CHECK: call @relax.object.shape_of(
func.func @object(%x: !relax.object {relax.name = "x"}, %y: tensor<*xf32> {relax.name = "y"})
    -> tuple<tensor<?x!relax.any>, !relax.shape_value<unit>> {
  %0 = "relax.match_shape"(%x) {pattern = ["?"], result_dtype} : (!relax.object) -> tensor<?x!relax.any>
  %1 = "relax.shape_of"(%y) : (tensor<*xf32>) -> !relax.shape_value<unit>
  %2 = builtin.unrealized_conversion_cast %0, %1 : tensor<?x!relax.any>, !relax.shape_value<unit>
    to tuple<tensor<?x!relax.any>, !relax.shape_value<unit>>
  return %2 : tuple<tensor<?x!relax.any>, !relax.shape_value<unit>>
}

// functions.py: objects, ints and shapes are returned as they are.
// CHECK-LABEL: func.func @same(
// CHECK-SAME: %[[K:.*]]: i64, %[[X:.*]]: i64) -> (i64, i64, index, index)
// CHECK: call @relax.object.retain(%[[K]], %[[X]])
// CHECK: return %[[K]], %[[X]], %{{.*}}, %{{.*}} : i64, i64, index, index
func.func @same(%x: !relax.object {relax.name = "x"}) -> tuple<!relax.object, i64, !relax.shape_value<[4]>> {
  %0 = "relax.prim_value"() {value = 3} : () -> i64
  %1 = "relax.shape_expr"() {values = [4]} : () -> !relax.shape_value<[4]>
  %2 = builtin.unrealized_conversion_cast %x, %0, %1 : !relax.object, i64, !relax.shape_value<[4]>
    to tuple<!relax.object, i64, !relax.shape_value<[4]>>
  return %2 : tuple<!relax.object, i64, !relax.shape_value<[4]>>
}

// calls.py: what a callee may keep is an object and no view; its result is checked.
// CHECK-LABEL: func.func @packed(
// CHECK: %[[O:.*]] = call @relax.object.tensor.1(
// CHECK: bufferization.materialize_in_destination
// CHECK: %[[R:.*]]:2 = call @relax.packed.{{[0-9]+}}(%{{.*}}, %[[O]]) : (i64, i64) -> (i64, i64)
// CHECK: call @relax.object.device(%[[R]]#1)
// CHECK: call @relax.object.dtype(%[[R]]#1)
// CHECK: call @relax.object.retain(%[[R]]#0, %[[R]]#1)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @packed(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}) -> tensor<*xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call_packed"(%0) {func = "f", arg_spec = [unit]} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// calls.py: a callee with effects gets a copy of a tensor of unknown rank, which is the tensor from then on.
// CHECK-LABEL: func.func @changed(
// CHECK: %[[C:.*]] = call @relax.object.copy(
// CHECK: call @relax.packed.{{[0-9]+}}(%[[TK:.*]], %[[C]]) : (i64, i64) -> ()
// CHECK: return %[[TK]], %[[C]] :
func.func @changed(%x: tensor<*xf32> {relax.name = "x"}) -> tensor<*xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<*xf32> to tuple<tensor<*xf32>>
  %1 = "relax.call_packed"(%0) {func = "f", arg_spec = [unit]} : (tuple<tensor<*xf32>>) -> tuple<>
  %2 = "relax.updated"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

// calls.py: several results come in an array.
// CHECK-LABEL: func.func @several(
// CHECK: %[[R:.*]]:2 = call @relax.packed.{{[0-9]+}}() : () -> (i64, i64)
// CHECK: %[[L:.*]] = call @relax.object.shape_rank(%[[R]]#1)
// CHECK: call @relax.check.{{[0-9]+}}({{.*}}, %[[L]])
// CHECK: %[[A:.*]]:2 = call @relax.object.item(%[[R]]#1, %{{.*}})
// CHECK: %[[B:.*]]:2 = call @relax.object.item(%[[R]]#1, %{{.*}})
// CHECK: call @relax.object.as_shape(%[[B]]#0, %[[B]]#1)
func.func @several() -> tuple<!relax.object, !relax.shape_value<unit>> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_packed"(%0) {func = "f", arg_spec = []} : (tuple<>) -> tuple<!relax.object, !relax.shape_value<unit>>
  return %1 : tuple<!relax.object, !relax.shape_value<unit>>
}

// functions.py: a function that calls itself measures the stack, and returns what it gives.
// CHECK-LABEL: func.func private @down(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>, %[[BASE:.*]]: i64) -> (i64, i64)
// CHECK: %[[HERE:.*]] = call @relax.object.stack()
// CHECK: %[[START:.*]] = arith.select %{{.*}}, %[[HERE]], %[[BASE]] :
// CHECK: arith.subi %[[START]], %[[HERE]] :
// CHECK: call @relax.check.{{[0-9]+}}(
// CHECK: %[[R:.*]]:2 = call @down(%[[X]], %[[START]])
// CHECK: call @relax.object.own(%[[R]]#0, %[[R]]#1)
// CHECK: call @relax.object.retain(%[[R]]#0, %[[R]]#1)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func private @down(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>>
  %1 = "relax.call"(%0) {callee = @down} : (tuple<tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}

// calls.py: the callee's entry checks an argument of unknown dimensions, and says how large its result is.
// CHECK-LABEL: func.func private @vague(
// CHECK: %[[S:.*]]:2 = call @known.shapes(%{{.*}}, %{{.*}}) : (index, index) -> (index, index)
// CHECK: call @relax.object.tensor.2(%{{.*}}, %[[S]]#0, %{{.*}})
// CHECK: call @known(%cast, %{{.*}}) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
func.func private @vague(%x: tensor<?x?xf32> {relax.name = "x"}) -> tensor<?x3xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x?xf32> to tuple<tensor<?x?xf32>>
  %1 = "relax.call"(%0) {callee = @known} : (tuple<tensor<?x?xf32>>) -> tensor<?x3xf32>
  return %1 : tensor<?x3xf32>
}
func.func private @known(%x: tensor<?x3xf32, #relax.shape<["n", 3]>> {relax.name = "x"}) -> tensor<?x3xf32, #relax.shape<["n", 3]>> {
  return %x : tensor<?x3xf32, #relax.shape<["n", 3]>>
}

// functions.py: a call computes a returned tensor in its object.
// CHECK-LABEL: func.func private @placed(
// CHECK: %[[O:.*]] = call @relax.object.tensor.1(
// CHECK: %[[V:.*]] = memref.view
// CHECK: %[[D:.*]] = bufferization.to_tensor %[[V]] restrict writable
// CHECK: %[[Y:.*]] = call @twice(%{{.*}}, %[[D]])
// CHECK: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[V]] :
// CHECK: return %{{.*}}, %[[O]] :
func.func private @placed(%x: tensor<?xf32> {relax.name = "x"}) -> tensor<?xf32, #relax.shape<["m"]>> {
  %0 = "relax.match_shape"(%x) {pattern = ["m"], result_dtype} : (tensor<?xf32>) -> tensor<?xf32, #relax.shape<["m"]>>
  %1 = builtin.unrealized_conversion_cast %0 : tensor<?xf32, #relax.shape<["m"]>> to tuple<tensor<?xf32, #relax.shape<["m"]>>>
  %2 = "relax.call_tir"(%1) {callee = @twice, tir_vars = []} : (tuple<tensor<?xf32, #relax.shape<["m"]>>>) -> tensor<?xf32, #relax.shape<["m"]>>
  return %2 : tensor<?xf32, #relax.shape<["m"]>>
}
func.func private @twice(%x: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  %0 = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
