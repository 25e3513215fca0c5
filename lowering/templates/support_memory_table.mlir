// The functions that allocate and release memory, which the runtime replaces by those of the pool; see `support.py`.

llvm.mlir.global external @${MEMORY_TABLE}() : !llvm.array<2 x ptr> {
  %0 = llvm.mlir.zero : !llvm.array<2 x ptr>
  %take = llvm.mlir.addressof @relax.rt.system_take : !llvm.ptr
  %give = llvm.mlir.addressof @free : !llvm.ptr
  %1 = llvm.insertvalue %take, %0[0] : !llvm.array<2 x ptr>
  %2 = llvm.insertvalue %give, %1[1] : !llvm.array<2 x ptr>
  llvm.return %2 : !llvm.array<2 x ptr>
}
