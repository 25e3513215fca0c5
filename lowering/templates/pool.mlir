// The memory pool of a process (level V); see pool.py for what it does and for the values of its placeholders.

llvm.func @posix_memalign(!llvm.ptr, i64, i64) -> i32
llvm.func @madvise(!llvm.ptr, i64, i32) -> i32
llvm.func @free(!llvm.ptr)
llvm.func @sched_yield() -> i32

llvm.mlir.global internal @state() : ${state_type} {
  %0 = llvm.mlir.zero : ${state_type}
  %take = llvm.mlir.addressof @take : !llvm.ptr
  %give = llvm.mlir.addressof @give : !llvm.ptr
  %release = llvm.mlir.addressof @release : !llvm.ptr
  %1 = llvm.insertvalue %take, %0[0, 0] : ${state_type}
  %2 = llvm.insertvalue %give, %1[0, 1] : ${state_type}
  %3 = llvm.insertvalue %release, %2[0, 2] : ${state_type}
  llvm.return %3 : ${state_type}
}

llvm.func @${STATE}() -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  llvm.return %state : !llvm.ptr
}

// Acquire the lock; false if its owner never releases it.
llvm.func internal @lock() -> i1 attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %word = llvm.getelementptr %state[${lock}] : (!llvm.ptr) -> !llvm.ptr, i8
  %first = llvm.atomicrmw xchg %word, %one acquire : !llvm.ptr, i64
  %free = arith.cmpi eq, %first, %zero : i64
  %held = scf.if %free -> i1 {
    scf.yield %true : i1
  } else {
    %mine = llvm.call @wait() : () -> i1
    scf.yield %mine : i1
  }
  llvm.return %held : i1
}

// The lock is taken: retry a bounded number of times.
llvm.func internal @wait() -> i1 attributes {passthrough = ["optnone", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %attempts = arith.constant ${ATTEMPTS} : i64
  %word = llvm.getelementptr %state[${lock}] : (!llvm.ptr) -> !llvm.ptr, i8
  %last, %left = scf.while (%old = %one, %n = %attempts) : (i64, i64) -> (i64, i64) {
    %taken = arith.cmpi ne, %old, %zero : i64
    %some = arith.cmpi ne, %n, %zero : i64
    %again = arith.andi %taken, %some : i1
    scf.condition(%again) %old, %n : i64, i64
  } do {
  ^bb0(%old: i64, %n: i64):
    %rc = llvm.call @sched_yield() : () -> i32
    %next = llvm.atomicrmw xchg %word, %one acquire : !llvm.ptr, i64
    %rest = arith.subi %n, %one : i64
    scf.yield %next, %rest : i64, i64
  }
  %mine = arith.cmpi eq, %last, %zero : i64
  llvm.return %mine : i1
}

llvm.func internal @unlock() attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %word = llvm.getelementptr %state[${lock}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %word atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.return
}

// The size class that holds `bytes`, ${PER_DOUBLING} per power of two, and the size of its blocks.
llvm.func internal @class_of(%bytes: i64) -> i64 attributes {passthrough = ["alwaysinline"]} {
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %least = arith.constant 128 : i64
  %top = arith.constant 63 : i64
  %per = arith.constant ${PER_DOUBLING} : i64
  %base = arith.constant ${first_class} : i64
  %enough = arith.maxui %bytes, %least : i64
  %last = arith.subi %enough, %one : i64
  %zeros = math.ctlz %last : i64
  %power = arith.subi %top, %zeros : i64
  %shift = arith.subi %power, %two : i64
  %quarter = arith.shrui %last, %shift : i64
  %scaled = arith.muli %power, %per : i64
  %sum = arith.addi %scaled, %quarter : i64
  %class = arith.subi %sum, %base : i64
  llvm.return %class : i64
}

llvm.func internal @bytes_of(%class: i64) -> i64 attributes {passthrough = ["alwaysinline"]} {
  %per = arith.constant ${PER_DOUBLING} : i64
  %more = arith.constant ${PER_DOUBLING_AND_ONE} : i64
  %least = arith.constant ${first_shift} : i64
  %power = arith.divui %class, %per : i64
  %quarter = arith.remui %class, %per : i64
  %factor = arith.addi %quarter, %more : i64
  %shift = arith.addi %power, %least : i64
  %bytes = arith.shli %factor, %shift : i64
  llvm.return %bytes : i64
}

// A block from the system, or null.
llvm.func internal @system(%size: i64) -> !llvm.ptr attributes {passthrough = ["optnone", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %huge = arith.constant ${HUGE_BYTES} : i64
  %paged = arith.constant ${PAGED_BYTES} : i64
  %small = arith.constant ${ALIGNMENT} : i64
  %page = arith.constant ${PAGE_BYTES} : i64
  %pages = arith.constant -${HUGE_BYTES} : i64
  %none = arith.constant 0 : i32
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %large = arith.cmpi uge, %size, %huge : i64
  %some_pages = arith.cmpi uge, %size, %paged : i64
  %moderate = arith.select %some_pages, %page, %small : i64
  %alignment = arith.select %large, %huge, %moderate : i64
  %rc = llvm.call @posix_memalign(%out, %alignment, %size) : (!llvm.ptr, i64, i64) -> i32
  %fine = arith.cmpi eq, %rc, %none : i32
  %block = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %p_advice = llvm.getelementptr %state[${advice}] : (!llvm.ptr) -> !llvm.ptr, i8
  %advice = llvm.load %p_advice : !llvm.ptr -> i64
  %advised = arith.cmpi ne, %advice, %zero : i64
  %both = arith.andi %large, %advised : i1
  %do = arith.andi %both, %fine : i1
  scf.if %do {
    %whole = arith.andi %size, %pages : i64
    %word = arith.trunci %advice : i64 to i32
    %ignored = llvm.call @madvise(%block, %whole, %word) : (!llvm.ptr, i64, i32) -> i32
  }
  %result = llvm.select %fine, %block, %null : i1, !llvm.ptr
  llvm.return %result : !llvm.ptr
}

// With `poison`, fill the block after its header with NaN (and -1).
llvm.func internal @spoil(%block: !llvm.ptr, %size: i64) attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %p_poison = llvm.getelementptr %state[${poison}] : (!llvm.ptr) -> !llvm.ptr, i8
  %poison = llvm.load %p_poison : !llvm.ptr -> i64
  %on = arith.cmpi ne, %poison, %zero : i64
  scf.if %on {
    %head = arith.constant ${HEAD_BYTES} : i64
    %ones = arith.constant -1 : i8
    %rest = arith.subi %size, %head : i64
    %start = llvm.getelementptr %block[${HEAD_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    "llvm.intr.memset"(%start, %ones, %rest) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  }
  llvm.return
}

// A block for `bytes` (which must include its header, and be at most 2^47), or null if out of memory.
llvm.func internal @take(%bytes: i64) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %class = llvm.call @class_of(%bytes) : (i64) -> i64
  %size = llvm.call @bytes_of(%class) : (i64) -> i64
  %heads = llvm.getelementptr %state[${free_lists}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %locked = llvm.call @lock() : () -> i1
  %kept = scf.if %locked -> !llvm.ptr {
    %head = llvm.load %list : !llvm.ptr -> !llvm.ptr
    %some = llvm.icmp "ne" %head, %null : !llvm.ptr
    scf.if %some {
      %next = llvm.load %head : !llvm.ptr -> !llvm.ptr
      llvm.store %next, %list : !llvm.ptr, !llvm.ptr
      %p_kept_bytes = llvm.getelementptr %state[${kept_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_kept_bytes = llvm.load %p_kept_bytes : !llvm.ptr -> i64
      %new_kept_bytes = arith.subi %old_kept_bytes, %size : i64
      llvm.store %new_kept_bytes, %p_kept_bytes : i64, !llvm.ptr
      %p_kept_blocks = llvm.getelementptr %state[${kept_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_kept_blocks = llvm.load %p_kept_blocks : !llvm.ptr -> i64
      %new_kept_blocks = arith.subi %old_kept_blocks, %one : i64
      llvm.store %new_kept_blocks, %p_kept_blocks : i64, !llvm.ptr
      %p_taken = llvm.getelementptr %state[${taken}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_taken = llvm.load %p_taken : !llvm.ptr -> i64
      %new_taken = arith.addi %old_taken, %one : i64
      llvm.store %new_taken, %p_taken : i64, !llvm.ptr
      %p_used_bytes = llvm.getelementptr %state[${used_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_used_bytes = llvm.load %p_used_bytes : !llvm.ptr -> i64
      %new_used_bytes = arith.addi %old_used_bytes, %size : i64
      llvm.store %new_used_bytes, %p_used_bytes : i64, !llvm.ptr
      %p_used_blocks = llvm.getelementptr %state[${used_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_used_blocks = llvm.load %p_used_blocks : !llvm.ptr -> i64
      %new_used_blocks = arith.addi %old_used_blocks, %one : i64
      llvm.store %new_used_blocks, %p_used_blocks : i64, !llvm.ptr
      %p_peak = llvm.getelementptr %state[${peak_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_peak = llvm.load %p_peak : !llvm.ptr -> i64
      %new_peak = arith.maxui %old_peak, %new_used_bytes : i64
      llvm.store %new_peak, %p_peak : i64, !llvm.ptr
    }
    llvm.call @unlock() : () -> ()
    scf.yield %head : !llvm.ptr
  } else {
    scf.yield %null : !llvm.ptr
  }
  %found = llvm.icmp "ne" %kept, %null : !llvm.ptr
  %block = scf.if %found -> !llvm.ptr {
    scf.yield %kept : !llvm.ptr
  } else {
    %fresh = llvm.call @fresh(%class, %size) : (i64, i64) -> !llvm.ptr
    scf.yield %fresh : !llvm.ptr
  }
  %usable = llvm.icmp "ne" %block, %null : !llvm.ptr
  scf.if %usable {
    llvm.call @spoil(%block, %size) : (!llvm.ptr, i64) -> ()
  }
  llvm.return %block : !llvm.ptr
}

// Allocate a new block; if the system has no memory, free all cached blocks first.
llvm.func internal @fresh(%class: i64, %size: i64) -> !llvm.ptr attributes {passthrough = ["optnone", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %first = llvm.call @system(%size) : (i64) -> !llvm.ptr
  %got = llvm.icmp "ne" %first, %null : !llvm.ptr
  %block = scf.if %got -> !llvm.ptr {
    scf.yield %first : !llvm.ptr
  } else {
    %freed = llvm.call @release() : () -> i64
    %second = llvm.call @system(%size) : (i64) -> !llvm.ptr
    scf.yield %second : !llvm.ptr
  }
  %some = llvm.icmp "ne" %block, %null : !llvm.ptr
  scf.if %some {
    %at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %class, %at : i64, !llvm.ptr
    %locked = llvm.call @lock() : () -> i1
    scf.if %locked {
      %p_taken = llvm.getelementptr %state[${taken}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_taken = llvm.load %p_taken : !llvm.ptr -> i64
      %new_taken = arith.addi %old_taken, %one : i64
      llvm.store %new_taken, %p_taken : i64, !llvm.ptr
      %p_used_bytes = llvm.getelementptr %state[${used_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_used_bytes = llvm.load %p_used_bytes : !llvm.ptr -> i64
      %new_used_bytes = arith.addi %old_used_bytes, %size : i64
      llvm.store %new_used_bytes, %p_used_bytes : i64, !llvm.ptr
      %p_used_blocks = llvm.getelementptr %state[${used_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_used_blocks = llvm.load %p_used_blocks : !llvm.ptr -> i64
      %new_used_blocks = arith.addi %old_used_blocks, %one : i64
      llvm.store %new_used_blocks, %p_used_blocks : i64, !llvm.ptr
      %p_peak = llvm.getelementptr %state[${peak_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_peak = llvm.load %p_peak : !llvm.ptr -> i64
      %new_peak = arith.maxui %old_peak, %new_used_bytes : i64
      llvm.store %new_peak, %p_peak : i64, !llvm.ptr
      %p_allocated = llvm.getelementptr %state[${allocated}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_allocated = llvm.load %p_allocated : !llvm.ptr -> i64
      %new_allocated = arith.addi %old_allocated, %one : i64
      llvm.store %new_allocated, %p_allocated : i64, !llvm.ptr
      llvm.call @unlock() : () -> ()
    }
  }
  llvm.return %block : !llvm.ptr
}

// Cache a block, within the limit; older cached blocks are freed to make room. Also the deleter of results.
llvm.func internal @give(%block: !llvm.ptr) {
  %one = arith.constant 1 : i64
  %at = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %class = llvm.load %at : !llvm.ptr -> i64
  %size = llvm.call @bytes_of(%class) : (i64) -> i64
  llvm.call @spoil(%block, %size) : (!llvm.ptr, i64) -> ()
  %done = llvm.call @keep(%block, %class, %size, %one) : (!llvm.ptr, i64, i64, i64) -> i1
  scf.if %done {
  } else {
    llvm.call @surplus(%block, %class, %size) : (!llvm.ptr, i64, i64) -> ()
  }
  llvm.return
}

// Add a block to its free list, if it is within the limit; `used` is 1 if the block has counted as used.
llvm.func internal @keep(%block: !llvm.ptr, %class: i64, %size: i64, %used: i64) -> i1 attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %one = arith.constant 1 : i64
  %false = arith.constant false
  %heads = llvm.getelementptr %state[${free_lists}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %locked = llvm.call @lock() : () -> i1
  %done = scf.if %locked -> i1 {
    %bytes = arith.muli %size, %used : i64
    %p_used_bytes = llvm.getelementptr %state[${used_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
    %old_used_bytes = llvm.load %p_used_bytes : !llvm.ptr -> i64
    %new_used_bytes = arith.subi %old_used_bytes, %bytes : i64
    llvm.store %new_used_bytes, %p_used_bytes : i64, !llvm.ptr
    %p_used_blocks = llvm.getelementptr %state[${used_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
    %old_used_blocks = llvm.load %p_used_blocks : !llvm.ptr -> i64
    %new_used_blocks = arith.subi %old_used_blocks, %used : i64
    llvm.store %new_used_blocks, %p_used_blocks : i64, !llvm.ptr
    %p_limit = llvm.getelementptr %state[${limit}] : (!llvm.ptr) -> !llvm.ptr, i8
    %limit = llvm.load %p_limit : !llvm.ptr -> i64
    %p_sum = llvm.getelementptr %state[${kept_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
    %kept = llvm.load %p_sum : !llvm.ptr -> i64
    %sum = arith.addi %kept, %size : i64
    %fits = arith.cmpi ule, %sum, %limit : i64
    scf.if %fits {
      %p_kept_bytes = llvm.getelementptr %state[${kept_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_kept_bytes = llvm.load %p_kept_bytes : !llvm.ptr -> i64
      %new_kept_bytes = arith.addi %old_kept_bytes, %size : i64
      llvm.store %new_kept_bytes, %p_kept_bytes : i64, !llvm.ptr
      %p_kept_blocks = llvm.getelementptr %state[${kept_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_kept_blocks = llvm.load %p_kept_blocks : !llvm.ptr -> i64
      %new_kept_blocks = arith.addi %old_kept_blocks, %one : i64
      llvm.store %new_kept_blocks, %p_kept_blocks : i64, !llvm.ptr
      %next = llvm.load %list : !llvm.ptr -> !llvm.ptr
      llvm.store %next, %block : !llvm.ptr, !llvm.ptr
      llvm.store %block, %list : !llvm.ptr, !llvm.ptr
    }
    llvm.call @unlock() : () -> ()
    scf.yield %fits : i1
  } else {
    scf.yield %false : i1
  }
  llvm.return %done : i1
}

// No room for a block: free all other cached blocks to keep it, or free it if it is larger than the limit.
llvm.func internal @surplus(%block: !llvm.ptr, %class: i64, %size: i64) attributes {passthrough = ["optnone", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %false = arith.constant false
  %p_limit = llvm.getelementptr %state[${limit}] : (!llvm.ptr) -> !llvm.ptr, i8
  %limit = llvm.load %p_limit : !llvm.ptr -> i64
  %fits = arith.cmpi ule, %size, %limit : i64
  %done = scf.if %fits -> i1 {
    %freed = llvm.call @release() : () -> i64
    %kept = llvm.call @keep(%block, %class, %size, %zero) : (!llvm.ptr, i64, i64, i64) -> i1
    scf.yield %kept : i1
  } else {
    scf.yield %false : i1
  }
  scf.if %done {
  } else {
    llvm.call @free(%block) : (!llvm.ptr) -> ()
    %locked = llvm.call @lock() : () -> i1
    scf.if %locked {
      %p_freed = llvm.getelementptr %state[${freed}] : (!llvm.ptr) -> !llvm.ptr, i8
      %old_freed = llvm.load %p_freed : !llvm.ptr -> i64
      %new_freed = arith.addi %old_freed, %one : i64
      llvm.store %new_freed, %p_freed : i64, !llvm.ptr
      llvm.call @unlock() : () -> ()
    }
  }
  llvm.return
}

// Free all cached blocks; return their bytes.
llvm.func internal @release() -> i64 attributes {passthrough = ["optnone", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %classes = arith.constant ${CLASSES} : i64
  %heads = llvm.getelementptr %state[${free_lists}] : (!llvm.ptr) -> !llvm.ptr, i8
  %total = scf.for %class = %zero to %classes step %one iter_args(%sum = %zero) -> (i64) : i64 {
    %list = llvm.getelementptr %heads[%class] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %size = llvm.call @bytes_of(%class) : (i64) -> i64
    %locked = llvm.call @lock() : () -> i1
    %chain = scf.if %locked -> !llvm.ptr {
      %head = llvm.load %list : !llvm.ptr -> !llvm.ptr
      llvm.store %null, %list : !llvm.ptr, !llvm.ptr
      llvm.call @unlock() : () -> ()
      scf.yield %head : !llvm.ptr
    } else {
      scf.yield %null : !llvm.ptr
    }
    %end, %n = scf.while (%block = %chain, %count = %zero) : (!llvm.ptr, i64) -> (!llvm.ptr, i64) {
      %more = llvm.icmp "ne" %block, %null : !llvm.ptr
      scf.condition(%more) %block, %count : !llvm.ptr, i64
    } do {
    ^bb0(%block: !llvm.ptr, %count: i64):
      %next = llvm.load %block : !llvm.ptr -> !llvm.ptr
      llvm.call @free(%block) : (!llvm.ptr) -> ()
      %up = arith.addi %count, %one : i64
      scf.yield %next, %up : !llvm.ptr, i64
    }
    %bytes = arith.muli %n, %size : i64
    %some = arith.cmpi ne, %n, %zero : i64
    scf.if %some {
      %again = llvm.call @lock() : () -> i1
      scf.if %again {
        %p_kept_bytes = llvm.getelementptr %state[${kept_bytes}] : (!llvm.ptr) -> !llvm.ptr, i8
        %old_kept_bytes = llvm.load %p_kept_bytes : !llvm.ptr -> i64
        %new_kept_bytes = arith.subi %old_kept_bytes, %bytes : i64
        llvm.store %new_kept_bytes, %p_kept_bytes : i64, !llvm.ptr
        %p_kept_blocks = llvm.getelementptr %state[${kept_blocks}] : (!llvm.ptr) -> !llvm.ptr, i8
        %old_kept_blocks = llvm.load %p_kept_blocks : !llvm.ptr -> i64
        %new_kept_blocks = arith.subi %old_kept_blocks, %n : i64
        llvm.store %new_kept_blocks, %p_kept_blocks : i64, !llvm.ptr
        %p_freed = llvm.getelementptr %state[${freed}] : (!llvm.ptr) -> !llvm.ptr, i8
        %old_freed = llvm.load %p_freed : !llvm.ptr -> i64
        %new_freed = arith.addi %old_freed, %n : i64
        llvm.store %new_freed, %p_freed : i64, !llvm.ptr
        llvm.call @unlock() : () -> ()
      }
    }
    %more = arith.addi %sum, %bytes : i64
    scf.yield %more : i64
  }
  llvm.return %total : i64
}
