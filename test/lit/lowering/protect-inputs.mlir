// RUN: relax-opt --protect-inputs --split-input-file --allow-unregistered-dialect %s | filecheck %s --check-prefix=MARK
// RUN: relax-opt --protect-inputs --one-shot-bufferize="bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map" --split-input-file --allow-unregistered-dialect %s | filecheck %s --check-prefix=COPY
// RUN: relax-opt --one-shot-bufferize="bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map" --split-input-file --allow-unregistered-dialect %s | filecheck %s --check-prefix=UNPROTECTED

// Tensors that callers pass in are not writable; index arguments and destinations are left as they are.
// MARK-LABEL: func.func @main
// MARK-SAME: (%[[X:[a-z0-9_]+]]: tensor<4xf32> {bufferization.writable = false}, %[[N:[a-z0-9_]+]]: index, %[[Y:[a-z0-9_]+]]: tensor<4xf32> {bufferization.writable = false, test.note}, %[[OUT:[a-z0-9_]+]]: tensor<4xf32>) -> tensor<4xf32>
//
// A write to %x goes to a copy, which it would not without the mark.
// COPY-LABEL: func.func @main
// COPY: %[[ALLOC:[a-z0-9_]+]] = memref.alloc
// COPY: memref.store %{{[a-z0-9_]+}}, %[[ALLOC]][
// UNPROTECTED-LABEL: func.func @main
// UNPROTECTED-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>
// UNPROTECTED-NOT: memref.alloc
// UNPROTECTED: memref.store %{{[a-z0-9_]+}}, %[[X]][
func.func @main(%x: tensor<4xf32>, %n: index, %y: tensor<4xf32> {test.note}, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {relax.signature = {name = "main", params = [], tuple = false,
                                   results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  %c = arith.constant 1.0 : f32
  %0 = tensor.insert %c into %x[%n] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Only entry points are called from outside.
// MARK-LABEL: func.func private @helper
// MARK-NOT: writable
// COPY-LABEL: func.func private @helper
// COPY-NOT: memref.alloc
// UNPROTECTED-LABEL: func.func private @helper
func.func private @helper(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c = arith.constant 1.0 : f32
  %0 = tensor.insert %c into %x[%n] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// A prim func that has an entry: who calls that relies on what it writes. Others write where their callers allow it.
// MARK-LABEL: func.func private @entered
// MARK-SAME: (%{{[a-z0-9_]+}}: tensor<4xf32> {bufferization.writable = false}, %{{[a-z0-9_]+}}: index, %{{[a-z0-9_]+}}: tensor<4xf32>)
// MARK-LABEL: func.func private @alone
// MARK-NOT: writable
// COPY-LABEL: func.func private @entered
// COPY: memref.alloc
// COPY-LABEL: func.func private @alone
// COPY-NOT: memref.alloc
// UNPROTECTED-LABEL: func.func private @entered
// UNPROTECTED-NOT: memref.alloc
func.func private @entered(%x: tensor<4xf32>, %n: index, %out: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  %c = arith.constant 1.0 : f32
  %0 = tensor.insert %c into %x[%n] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @alone(%x: tensor<4xf32>, %n: index, %out: tensor<4xf32>) -> tensor<4xf32> attributes {relax.prim_func} {
  %c = arith.constant 1.0 : f32
  %0 = tensor.insert %c into %x[%n] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @entered.memory(%x: memref<4xf32>, %n: index, %out: memref<4xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @entered, written = array<i64: 2>}} {
  return
}
// -----
// A donated parameter is written: the result takes its memory, and bufferisation may, too. Of a handle, which is two
// numbers, nothing is marked.
// MARK-LABEL: func.func @donated
// MARK-SAME: (%[[X:[a-z0-9_]+]]: tensor<4xf32> {bufferization.writable = false}, %[[Y:[a-z0-9_]+]]: tensor<4xf32>, %[[N:[a-z0-9_]+]]: index)
// COPY-LABEL: func.func @donated
// COPY-SAME: (%[[X:[a-z0-9_]+]]: memref<4xf32>, %[[Y:[a-z0-9_]+]]: memref<4xf32>
// COPY-NOT: memref.alloc
// COPY: memref.store %{{[a-z0-9_]+}}, %[[Y]][
// UNPROTECTED-LABEL: func.func @donated
func.func @donated(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> tensor<4xf32>
    attributes {relax.signature = {name = "donated", params = [], tuple = false, results = [], written = array<i64: 1>}} {
  %c = tensor.extract %x[%n] : tensor<4xf32>
  %0 = tensor.insert %c into %y[%n] : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// After a helper, a function with a hidden parameter, the depth of its recursion, that comes after the destination.
// Declarations, and the entry of a prim func that is declared or absent, stay as they are.
// MARK-LABEL: func.func private @between
// MARK-NOT: writable
// MARK-LABEL: func.func @recursive
// MARK-SAME: (%[[X:[a-z0-9_]+]]: tensor<4xf32> {bufferization.writable = false}, %[[OUT:[a-z0-9_]+]]: tensor<4xf32>, %[[DEPTH:[a-z0-9_]+]]: i64)
// MARK-NOT: writable
// MARK: }
// COPY-LABEL: func.func @recursive
// UNPROTECTED-LABEL: func.func @recursive
func.func private @between(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @recursive(%x: tensor<4xf32>, %out: tensor<4xf32>, %depth: i64) -> tensor<4xf32>
    attributes {relax.signature = {name = "recursive", params = [], tuple = false, recursive,
                                   results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return %out : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) attributes {relax.signature = {name = "declared", params = [], tuple = false, results = []}}
func.func private @absent.memory(%x: memref<4xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @absent, written = array<i64>}} {
  return
}
func.func private @external(tensor<4xf32>) attributes {relax.prim_func}
func.func private @external.memory(%x: memref<4xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @external, written = array<i64>}} {
  return
}
