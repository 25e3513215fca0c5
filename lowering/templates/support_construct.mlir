// The part of `support` that calls global functions of the FFI.

// The function registered under a name, or null; looked up once and kept in `cache`.
func.func private @relax.rt.global(%cache: !llvm.ptr, %name: !llvm.ptr, %length: i64) -> !llvm.ptr
    attributes {relax.support} {
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %key = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %known = llvm.load %cache atomic acquire {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
  %unknown = llvm.icmp "eq" %known, %null : !llvm.ptr
  %f = scf.if %unknown -> !llvm.ptr {
    llvm.store %name, %key : !llvm.ptr, !llvm.ptr
    %at8 = llvm.getelementptr %key[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %length, %at8 : i64, !llvm.ptr
    llvm.store %null, %out : !llvm.ptr, !llvm.ptr
    %rc = llvm.call @TVMFFIFunctionGetGlobal(%key, %out) : (!llvm.ptr, !llvm.ptr) -> i32
    func.call @relax.propagate(%rc) : (i32) -> ()
    %found = llvm.load %out : !llvm.ptr -> !llvm.ptr
    %pair = llvm.cmpxchg %cache, %null, %found acq_rel acquire : !llvm.ptr, !llvm.ptr
    %won = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
    %first = llvm.extractvalue %pair[0] : !llvm.struct<(ptr, i1)>
    %use = llvm.select %won, %found, %first : i1, !llvm.ptr
    %extra = llvm.select %won, %null, %found : i1, !llvm.ptr
    func.call @relax.rt.drop(%extra) : (!llvm.ptr) -> ()
    scf.yield %use : !llvm.ptr
  } else {
    scf.yield %known : !llvm.ptr
  }
  return %f : !llvm.ptr
}

// Call a constructor such as ffi.Array; return the new object (the caller of this stores its type index).
func.func private @relax.rt.construct(%cache: !llvm.ptr, %name: !llvm.ptr, %length: i64, %args: !llvm.ptr, %n: i32)
    -> !llvm.ptr attributes {relax.support} {
  %two = arith.constant 2 : i64
  %zero = arith.constant 0 : i64
  %out = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %f = func.call @relax.rt.global(%cache, %name, %length) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.store %zero, %out : i64, !llvm.ptr
  %at8 = llvm.getelementptr %out[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %at8 : i64, !llvm.ptr
  %rc = llvm.call @TVMFFIFunctionCall(%f, %args, %n, %out) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  func.call @relax.propagate(%rc) : (i32) -> ()
  %object = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  return %object : !llvm.ptr
}
