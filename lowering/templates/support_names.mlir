// The part of `support` that names dtypes, devices and FFI types for messages.

// The name of an FFI type index, for messages.
func.func private @relax.rt.type_name(%index: i64, %buffer: !llvm.ptr) -> !llvm.ptr
    attributes {relax.support} {
  %i = arith.trunci %index : i64 to i32
  %info = llvm.call @TVMFFIGetTypeInfo(%i) : (i32) -> !llvm.ptr
  %at8 = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %name = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  return %name : !llvm.ptr
}

llvm.mlir.global internal constant @relax.rt.dtype_table(${dtype_table})
llvm.mlir.global internal constant @relax.rt.dtype_plain("%s\00")
llvm.mlir.global internal constant @relax.rt.dtype_sized("%s%lld\00")
llvm.mlir.global internal constant @relax.rt.dtype_lanes("%s%lldx%lld\00")

// The name of a DLDataType, written into `buffer` (64 bytes).
func.func private @relax.rt.dtype_name(%dtype: i64, %buffer: !llvm.ptr) -> !llvm.ptr
    attributes {relax.support} {
  %c255 = arith.constant 255 : i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c6 = arith.constant 6 : i64
  %c7 = arith.constant 7 : i64
  %one = arith.constant 1 : i64
  %room = arith.constant 64 : i64
  %code = arith.andi %dtype, %c255 : i64
  %known = arith.minui %code, %c7 : i64
  %at = arith.muli %known, %c8 : i64
  %table = llvm.mlir.addressof @relax.rt.dtype_table : !llvm.ptr
  %name = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %high = arith.shrui %dtype, %c8 : i64
  %bits = arith.andi %high, %c255 : i64
  %lanes = arith.shrui %dtype, %c16 : i64
  %isbool = arith.cmpi eq, %code, %c6 : i64
  %isbyte = arith.cmpi eq, %bits, %c8 : i64
  %isone = arith.cmpi eq, %lanes, %one : i64
  %bare = arith.andi %isbool, %isbyte : i1
  %plain = llvm.mlir.addressof @relax.rt.dtype_plain : !llvm.ptr
  %sized = llvm.mlir.addressof @relax.rt.dtype_sized : !llvm.ptr
  %wide = llvm.mlir.addressof @relax.rt.dtype_lanes : !llvm.ptr
  %single = llvm.select %bare, %plain, %sized : i1, !llvm.ptr
  %format = llvm.select %isone, %single, %wide : i1, !llvm.ptr
  %n = llvm.call @snprintf(%buffer, %room, %format, %name, %bits, %lanes) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
  return %buffer : !llvm.ptr
}

llvm.mlir.global internal constant @relax.rt.device_cpu("cpu\00")
llvm.mlir.global internal constant @relax.rt.device_cuda("cuda\00")
llvm.mlir.global internal constant @relax.rt.device_other("device type %lld\00")

// The name of a DLDeviceType, for messages.
func.func private @relax.rt.device_name(%device: i64, %buffer: !llvm.ptr) -> !llvm.ptr
    attributes {relax.support} {
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %room = arith.constant 64 : i64
  %cpu = llvm.mlir.addressof @relax.rt.device_cpu : !llvm.ptr
  %cuda = llvm.mlir.addressof @relax.rt.device_cuda : !llvm.ptr
  %other = llvm.mlir.addressof @relax.rt.device_other : !llvm.ptr
  %n = llvm.call @snprintf(%buffer, %room, %other, %device) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %is1 = arith.cmpi eq, %device, %one : i64
  %is2 = arith.cmpi eq, %device, %two : i64
  %gpu = llvm.select %is2, %cuda, %buffer : i1, !llvm.ptr
  %name = llvm.select %is1, %cpu, %gpu : i1, !llvm.ptr
  return %name : !llvm.ptr
}
