// RUN: relax-opt --internalize %s | filecheck %s
// RUN: relax-opt --internalize="support-is-hot=true" %s | filecheck %s --check-prefix=HOT
// Where support is hot, LLVM decides what it optimises and inlines; what is visible does not change.
// HOT-NOT: optnone
// HOT-NOT: noinline
// HOT: llvm.func @main(
// HOT-NOT: noinline
// HOT: llvm.func internal @kernel({{.*}}) attributes {passthrough = ["nounwind"], sym_visibility = "private"}
// HOT-NOT: optnone
// HOT: llvm.func internal @relax.rt.drop(
// HOT-NOT: optnone
// HOT-NOT: noinline
// module_parts.py: private functions with a body become internal; those on buffers are not inlined, support is left plain.

// CHECK: llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.func @printf(!llvm.ptr, ...) -> i32

// Entry points stay visible.
// CHECK: llvm.func @main(%{{[a-z0-9_]+}}: !llvm.ptr) {
llvm.func @main(%a: !llvm.ptr) { llvm.return }

// CHECK: llvm.func internal @scalar(%{{[a-z0-9_]+}}: i32) attributes {sym_visibility = "private"} {
llvm.func @scalar(%a: i32) attributes {sym_visibility = "private"} { llvm.return }

// CHECK: llvm.func internal @kernel({{.*}}) attributes {passthrough = ["nounwind", "noinline"], sym_visibility = "private"}
llvm.func @kernel(%a: !llvm.ptr) attributes {sym_visibility = "private", passthrough = ["nounwind"]} { llvm.return }

// CHECK: llvm.func internal @relax.rt.drop({{.*}}) attributes {passthrough = ["optnone", "noinline"],
llvm.func @relax.rt.drop(%a: !llvm.ptr) attributes {relax.support, sym_visibility = "private"} { llvm.return }

// CHECK: llvm.func internal @raise({{.*}}) attributes {passthrough = ["optnone", "noinline"], relax.support,
llvm.func @raise(%a: !llvm.ptr) attributes {relax.support, sym_visibility = "private"} { llvm.return }

// Who is called like a support function is none.
// CHECK: llvm.func internal @relax.rt.mine({{.*}}) attributes {passthrough = ["noinline"], sym_visibility = "private"}
llvm.func @relax.rt.mine(%a: !llvm.ptr) attributes {sym_visibility = "private"} { llvm.return }

// What has no body is somebody else's.
// CHECK: llvm.func @declared(!llvm.ptr) attributes {sym_visibility = "private"}
llvm.func @declared(!llvm.ptr) attributes {sym_visibility = "private"}

// At level F the attributes have names that the conversion to the LLVM dialect understands.
// CHECK: func.func @flat(
func.func @flat(%a: memref<?xf32>) { return }

// CHECK: func.func private @flat_kernel({{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, llvm.passthrough = ["noinline"]}
func.func private @flat_kernel(%a: memref<?xf32>) { return }

// CHECK: func.func private @flat_scalar(%{{[a-z0-9_]+}}: i32) attributes {llvm.linkage = #llvm.linkage<internal>} {
func.func private @flat_scalar(%a: i32) { return }

// CHECK: func.func private @flat_declared(memref<?xf32>){{$}}
func.func private @flat_declared(memref<?xf32>)

// Globals are no functions.
// CHECK: llvm.mlir.global external @table() {addr_space = 0 : i32, sym_visibility = "private"} : !llvm.ptr
llvm.mlir.global external @table() {sym_visibility = "private"} : !llvm.ptr
