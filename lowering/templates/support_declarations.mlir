// Declarations for `support`: the C library, the FFI, and the failing functions.

llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @TVMFFIGetTypeInfo(i32) -> !llvm.ptr
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @TVMFFITensorFromDLPackVersioned(!llvm.ptr, i32, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIErrorSetRaised(!llvm.ptr)
llvm.func @TVMFFIErrorMoveFromRaised(!llvm.ptr)
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32

func.func private @relax.propagate(i32)
func.func private @relax.check.memory(i1, index) attributes {relax.check = ${memory_check}}
