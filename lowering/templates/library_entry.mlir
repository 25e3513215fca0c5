llvm.mlir.global internal ${code}() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}

llvm.func ${entry}(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
  %null = llvm.mlir.zero : !llvm.ptr
  %p_code = llvm.mlir.addressof ${code} : !llvm.ptr
  %code = llvm.load %p_code : !llvm.ptr -> !llvm.ptr
  %good = llvm.icmp "ne" %code, %null : !llvm.ptr
  %status = scf.if %good -> i32 {
    %done = llvm.call %code(%self, %args, %count, %result) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    scf.yield %done : i32
  } else {
    %failed = llvm.call @refuse() : () -> i32
    scf.yield %failed : i32
  }
  llvm.return %status : i32
}
