// The part of `support` that creates tensors, and copies those with strides.

// An owned FFI tensor. Its memory is one block: DLManagedTensorVersioned (80 bytes), shape, strides, padding, data.
// Large data is page-aligned. A CPU treats a load as dependent on an earlier store if their addresses agree in the page
// offset. Operands of other libraries begin some bytes after the start of a page, so their loads can pass these stores.
// The deleter is the pool's own, so that a tensor outlives the code that created it.
func.func private @relax.rt.tensor(%shape: !llvm.ptr, %rank: i32, %dtype: i32, %bytes: i64) -> !llvm.ptr
    attributes {relax.may_fail, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %minus = arith.constant -1 : i64
  %true = arith.constant true
  %false = arith.constant false
  %last = arith.index_cast %rank : i32 to index
  %size, %fine = scf.for %i = %i0 to %last step %i1 iter_args(%n = %bytes, %good = %true) -> (i64, i1) {
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %low, %high = arith.mului_extended %n, %d : i64
    %single = arith.cmpi eq, %high, %zero : i64
    %signed = arith.cmpi sge, %low, %zero : i64
    %both = arith.andi %single, %signed : i1
    %natural = arith.cmpi sge, %d, %zero : i64
    %sound = arith.andi %both, %natural : i1
    %still = arith.andi %good, %sound : i1
    scf.yield %low, %still : i64, i1
  }
  %c64 = arith.constant 64 : i64
  %c16 = arith.constant 16 : i64
  %c143 = arith.constant 143 : i64
  %mask = arith.constant -64 : i64
  %rank64 = arith.extsi %rank : i32 to i64
  %tables = arith.muli %rank64, %c16 : i64
  %plain = arith.addi %tables, %c143 : i64
  %small = arith.andi %plain, %mask : i64
  %paged = arith.constant ${PAGED_BYTES} : i64
  %page = arith.constant ${PAGE_BYTES} : i64
  %some_pages = arith.cmpi uge, %size, %paged : i64
  %head = arith.select %some_pages, %page, %small : i64
  %sum = arith.addi %head, %size : i64
  %total = arith.select %fine, %sum, %minus : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %data = llvm.getelementptr %block[%head] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %tensor = func.call @relax.rt.managed(%block, %data, %shape, %rank, %dtype)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
  return %tensor : !llvm.ptr
}

// Fill in a DLTensor on the CPU.
func.func private @relax.rt.dltensor(%to: !llvm.ptr, %data: !llvm.ptr, %rank: i32, %dtype: i32, %sizes: !llvm.ptr,
                                     %steps: !llvm.ptr) attributes {relax.support} {
  %zero = arith.constant 0 : i64
  %cpu = arith.constant 1 : i64
  llvm.store %data, %to : !llvm.ptr, !llvm.ptr
  %p8 = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %cpu, %p8 : i64, !llvm.ptr
  %p16 = llvm.getelementptr %to[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %rank, %p16 : i32, !llvm.ptr
  %p20 = llvm.getelementptr %to[20] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dtype, %p20 : i32, !llvm.ptr
  %p24 = llvm.getelementptr %to[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %sizes, %p24 : !llvm.ptr, !llvm.ptr
  %p32 = llvm.getelementptr %to[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %steps, %p32 : !llvm.ptr, !llvm.ptr
  %p40 = llvm.getelementptr %to[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %p40 : i64, !llvm.ptr
  return
}

// Fill in the header of a block {DLManagedTensorVersioned (80 bytes), shape, strides, …} and convert it to an FFI
// tensor; frees the block on failure. The context of the tensor, at offset 8, belongs to the pool.
func.func private @relax.rt.managed(%block: !llvm.ptr, %data: !llvm.ptr, %shape: !llvm.ptr, %rank: i32, %dtype: i32)
    -> !llvm.ptr attributes {relax.may_fail, relax.support} {
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %none = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %last = arith.index_cast %rank : i32 to index
  %rank64 = arith.extsi %rank : i32 to i64
  %sizes = llvm.getelementptr %block[80] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps = llvm.getelementptr %sizes[%rank64] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride = scf.for %i = %i0 to %last step %i1 iter_args(%n = %one) -> (i64) {
    %up = arith.index_cast %i : index to i64
    %next = arith.addi %up, %one : i64
    %k = arith.subi %rank64, %next : i64
    %from = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %from : !llvm.ptr -> i64
    %to = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %d, %to : i64, !llvm.ptr
    %step = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %n, %step : i64, !llvm.ptr
    %product = arith.muli %n, %d : i64
    scf.yield %product : i64
  }
  llvm.store %one, %block : i64, !llvm.ptr
  %free = func.call @relax.rt.deleter() : () -> !llvm.ptr
  %p16 = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %free, %p16 : !llvm.ptr, !llvm.ptr
  %p24 = llvm.getelementptr %block[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %p24 : i64, !llvm.ptr
  %p32 = llvm.getelementptr %block[32] : (!llvm.ptr) -> !llvm.ptr, i8
  func.call @relax.rt.dltensor(%p32, %data, %rank, %dtype, %sizes, %steps)
    : (!llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> ()
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %rc = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %none, %none, %out)
    : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %failed = arith.cmpi ne, %rc, %none : i32
  scf.if %failed {
    func.call @relax.rt.free(%block) : (!llvm.ptr) -> ()
  }
  func.call @relax.propagate(%rc) : (i32) -> ()
  %tensor = llvm.load %out : !llvm.ptr -> !llvm.ptr
  return %tensor : !llvm.ptr
}

// True if the elements of a DLTensor are in row-major order; strides of dimensions of size 1 do not matter.
func.func private @relax.rt.contiguous(%tensor: !llvm.ptr) -> i1 attributes {relax.support} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  %p16 = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %p16 : !llvm.ptr -> i32
  %rank = arith.index_cast %rank32 : i32 to index
  %rank64 = arith.extsi %rank32 : i32 to i64
  %p24 = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %sizes = llvm.load %p24 : !llvm.ptr -> !llvm.ptr
  %p32 = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps = llvm.load %p32 : !llvm.ptr -> !llvm.ptr
  %given = llvm.icmp "ne" %steps, %null : !llvm.ptr
  %result = scf.if %given -> i1 {
    %all:3 = scf.for %i = %i0 to %rank step %i1 iter_args(%n = %one, %good = %true, %none = %false) -> (i64, i1, i1) {
      %up = arith.index_cast %i : index to i64
      %next = arith.addi %up, %one : i64
      %k = arith.subi %rank64, %next : i64
      %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %d = llvm.load %p : !llvm.ptr -> i64
      %q = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %s = llvm.load %q : !llvm.ptr -> i64
      %same = arith.cmpi eq, %s, %n : i64
      %free = arith.cmpi eq, %d, %one : i64
      %fine = arith.ori %same, %free : i1
      %still = arith.andi %good, %fine : i1
      %empty = arith.cmpi eq, %d, %zero : i64
      %nothing = arith.ori %none, %empty : i1
      %product = arith.muli %n, %d : i64
      scf.yield %product, %still, %nothing : i64, i1, i1
    }
    %well = arith.ori %all#1, %all#2 : i1
    scf.yield %well : i1
  } else {
    scf.yield %true : i1
  }
  return %result : i1
}

// A contiguous copy of a DLTensor with any strides and alignment, in memory of the frame.
func.func private @relax.rt.compact(%frame: !llvm.ptr, %tensor: !llvm.ptr, %bytes: i64) -> !llvm.ptr
    attributes {relax.may_fail, relax.support} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %minus = arith.constant -1 : i64
  %true = arith.constant true
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %p16 = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %p16 : !llvm.ptr -> i32
  %rank = arith.index_cast %rank32 : i32 to index
  %rank64 = arith.extsi %rank32 : i32 to i64
  %p24 = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %sizes = llvm.load %p24 : !llvm.ptr -> !llvm.ptr
  %p40 = llvm.getelementptr %tensor[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %p40 : !llvm.ptr -> i64
  %from = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // The size of the copy; with repeated elements it may exceed any memory.
  %size, %fine = scf.for %i = %i0 to %rank step %i1 iter_args(%n = %bytes, %good = %true) -> (i64, i1) {
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %low, %high = arith.mului_extended %n, %d : i64
    %single = arith.cmpi eq, %high, %zero : i64
    %signed = arith.cmpi sge, %low, %zero : i64
    %both = arith.andi %single, %signed : i1
    %still = arith.andi %good, %both : i1
    scf.yield %low, %still : i64, i1
  }
  %total = arith.select %fine, %size, %minus : i64
  %copy = func.call @relax.rt.frame_allocate(%frame, %total) : (!llvm.ptr, i64) -> !llvm.ptr
  %plain = func.call @relax.rt.contiguous(%tensor) : (!llvm.ptr) -> i1
  scf.if %plain {
    "llvm.intr.memcpy"(%copy, %from, %total) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  } else {
    func.call @relax.rt.gather(%copy, %from, %tensor, %bytes) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  }
  return %copy : !llvm.ptr
}

// Copy the elements of a DLTensor with strides, which begin at `from`, in row-major order.
func.func private @relax.rt.gather(%copy: !llvm.ptr, %from: !llvm.ptr, %tensor: !llvm.ptr, %bytes: i64)
    attributes {relax.support} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p16 = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %p16 : !llvm.ptr -> i32
  %rank64 = arith.extsi %rank32 : i32 to i64
  %p24 = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %sizes = llvm.load %p24 : !llvm.ptr -> !llvm.ptr
  %p32 = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps = llvm.load %p32 : !llvm.ptr -> !llvm.ptr
  %outer = arith.subi %rank64, %one : i64
  %outerI = arith.index_cast %outer : i64 to index
  %rows = scf.for %i = %i0 to %outerI step %i1 iter_args(%n = %one) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %product = arith.muli %n, %d : i64
    scf.yield %product : i64
  }
  %pw = llvm.getelementptr %sizes[%outer] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %width = llvm.load %pw : !llvm.ptr -> i64
  %ps = llvm.getelementptr %steps[%outer] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %step = llvm.load %ps : !llvm.ptr -> i64
  %rowsI = arith.index_cast %rows : i64 to index
  %widthI = arith.index_cast %width : i64 to index
  %dense = arith.cmpi eq, %step, %one : i64
  %row_bytes = arith.muli %width, %bytes : i64
  %step_bytes = arith.muli %step, %bytes : i64
  %c8 = arith.constant 8 : i64
  %c4 = arith.constant 4 : i64
  %c2 = arith.constant 2 : i64
  scf.for %r = %i0 to %rowsI step %i1 {
    %row = arith.index_cast %r : index to i64
    %left, %at = scf.for %i = %i0 to %outerI step %i1 iter_args(%rest = %row, %where = %zero) -> (i64, i64) {
      %up = arith.index_cast %i : index to i64
      %next = arith.addi %up, %one : i64
      %k = arith.subi %outer, %next : i64
      %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %d = llvm.load %p : !llvm.ptr -> i64
      %q = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %s = llvm.load %q : !llvm.ptr -> i64
      %quotient = arith.divsi %rest, %d : i64
      %remainder = arith.remsi %rest, %d : i64
      %move = arith.muli %remainder, %s : i64
      %there = arith.addi %where, %move : i64
      scf.yield %quotient, %there : i64, i64
    }
    %at_bytes = arith.muli %at, %bytes : i64
    %source = llvm.getelementptr %from[%at_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %done = arith.muli %row, %row_bytes : i64
    %target = llvm.getelementptr %copy[%done] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    scf.if %dense {
      "llvm.intr.memcpy"(%target, %source, %row_bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    } else {
      scf.for %c = %i0 to %widthI step %i1 {
        %k = arith.index_cast %c : index to i64
        %o = arith.muli %k, %step_bytes : i64
        %e = llvm.getelementptr %source[%o] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %u = arith.muli %k, %bytes : i64
        %t = llvm.getelementptr %target[%u] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %by8 = arith.cmpi eq, %bytes, %c8 : i64
        scf.if %by8 {
          %x = llvm.load %e {alignment = 1 : i64} : !llvm.ptr -> i64
          llvm.store %x, %t {alignment = 1 : i64} : i64, !llvm.ptr
        } else {
          %by4 = arith.cmpi eq, %bytes, %c4 : i64
          scf.if %by4 {
            %x = llvm.load %e {alignment = 1 : i64} : !llvm.ptr -> i32
            llvm.store %x, %t {alignment = 1 : i64} : i32, !llvm.ptr
          } else {
            %by2 = arith.cmpi eq, %bytes, %c2 : i64
            scf.if %by2 {
              %x = llvm.load %e {alignment = 1 : i64} : !llvm.ptr -> i16
              llvm.store %x, %t {alignment = 1 : i64} : i16, !llvm.ptr
            } else {
              %by1 = arith.cmpi eq, %bytes, %one : i64
              scf.if %by1 {
                %x = llvm.load %e : !llvm.ptr -> i8
                llvm.store %x, %t : i8, !llvm.ptr
              } else {
                "llvm.intr.memcpy"(%t, %e, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
              }
            }
          }
        }
      }
    }
  }
  return
}
