// The thread pool of a process (level V); see thread_pool.py for what it does and for the values of its placeholders.

llvm.func @pthread_create(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_detach(i64) -> i32
llvm.func @pthread_sigmask(i32, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_setaffinity_np(i64, i64, !llvm.ptr) -> i32
llvm.func @sched_getaffinity(i32, i64, !llvm.ptr) -> i32
llvm.func @sched_getcpu() -> i32
llvm.func @sched_yield() -> i32
llvm.func @clock_gettime(i32, !llvm.ptr) -> i32
llvm.func @syscall(i64, ...) -> i64

llvm.mlir.global internal @state() {alignment = 64 : i64} : ${state_type} {
  %0 = llvm.mlir.zero : ${state_type}
  llvm.return %0 : ${state_type}
}

llvm.func @${STATE}() -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %parallel = llvm.mlir.addressof @parallel : !llvm.ptr
  %at = llvm.getelementptr %state[${parallel}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %parallel, %at : !llvm.ptr, !llvm.ptr
  llvm.return %state : !llvm.ptr
}

// Take parts of the current job until none is left.
llvm.func internal @work() {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %p_next = llvm.getelementptr %state[${next}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_function = llvm.getelementptr %state[${function}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_context = llvm.getelementptr %state[${context}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_count = llvm.getelementptr %state[${count}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_part = llvm.getelementptr %state[${part}] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %p_function : !llvm.ptr -> !llvm.ptr
  %context = llvm.load %p_context : !llvm.ptr -> !llvm.ptr
  %count = llvm.load %p_count : !llvm.ptr -> i64
  %part = llvm.load %p_part : !llvm.ptr -> i64
  %first = llvm.atomicrmw add %p_next, %part monotonic : !llvm.ptr, i64
  %last = scf.while (%begin = %first) : (i64) -> i64 {
    %more = arith.cmpi slt, %begin, %count : i64
    scf.condition(%more) %begin : i64
  } do {
  ^bb0(%begin: i64):
    %up = arith.addi %begin, %part : i64
    %end = arith.minsi %up, %count : i64
    llvm.call %function(%context, %begin, %end) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
    %following = llvm.atomicrmw add %p_next, %part monotonic : !llvm.ptr, i64
    scf.yield %following : i64
  }
  llvm.return
}

// True if there is a job that needs one more thread; this thread has then joined it.
llvm.func internal @join() -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p_open = llvm.getelementptr %state[${open}] : (!llvm.ptr) -> !llvm.ptr, i8
  %first = llvm.load %p_open atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  %no = arith.constant false
  %last, %joined = scf.while (%open = %first, %in = %no) : (i64, i1) -> (i64, i1) {
    %yes = arith.constant true
    %places = arith.cmpi sgt, %open, %zero : i64
    %out = arith.xori %in, %yes : i1
    %again = arith.andi %places, %out : i1
    scf.condition(%again) %open, %in : i64, i1
  } do {
  ^bb0(%open: i64, %in: i1):
    %rest = arith.subi %open, %one : i64
    %pair = llvm.cmpxchg %p_open, %open, %rest acq_rel acquire : !llvm.ptr, i64
    %found = llvm.extractvalue %pair[0] : !llvm.struct<(i64, i1)>
    %got = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
    scf.yield %found, %got : i64, i1
  }
  llvm.return %joined : i1
}

${clock}
// The main loop of a pool thread.
llvm.func internal @serve(%argument: !llvm.ptr) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i32
  %some = arith.constant 1 : i32
  %p_jobs = llvm.getelementptr %state[${jobs}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_done = llvm.getelementptr %state[${done}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_patience = llvm.getelementptr %state[${patience}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_sleepers = llvm.getelementptr %state[${sleepers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %looks = arith.constant ${LOOKS} : i64
  %futex = arith.constant ${futex} : i64
  %wait = arith.constant 128 : i32
  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    %seen = llvm.load %p_jobs atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
    %joined = llvm.call @join() : () -> i1
    scf.if %joined {
      llvm.call @work() : () -> ()
      %old = llvm.atomicrmw add %p_done, %one acq_rel : !llvm.ptr, i64
    } else {
      %patience = llvm.load %p_patience : !llvm.ptr -> i64
      %start = llvm.call @now() : () -> i64
      %tired = scf.while : () -> i1 {
        %left = scf.while (%n = %looks) : (i64) -> i64 {
          %job = llvm.load %p_jobs atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
          %same = arith.cmpi eq, %job, %seen : i32
          %more = arith.cmpi sgt, %n, %zero : i64
          %again = arith.andi %same, %more : i1
          scf.condition(%again) %n : i64
        } do {
        ^bb0(%n: i64):
          ${pause}
          %m = arith.subi %n, %one : i64
          scf.yield %m : i64
        }
        %nothing = arith.cmpi sle, %left, %zero : i64
        %now = llvm.call @now() : () -> i64
        %waited = arith.subi %now, %start : i64
        %patient = arith.cmpi slt, %waited, %patience : i64
        %again = arith.andi %nothing, %patient : i1
        scf.condition(%again) %nothing : i1
      } do {
      ^bb0(%nothing: i1):
        scf.yield
      }
      scf.if %tired {
        %more = llvm.atomicrmw add %p_sleepers, %one seq_cst : !llvm.ptr, i64
        %rc = llvm.call @syscall(%futex, %p_jobs, %wait, %seen, %null, %null, %none) vararg(!llvm.func<i64 (i64, ...)>)
          : (i64, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, i32) -> i64
        %less = llvm.atomicrmw sub %p_sleepers, %one seq_cst : !llvm.ptr, i64
      }
    }
    scf.yield
  }
  llvm.return %null : !llvm.ptr
}

// Start threads, which block all signals. If creation fails, fewer threads run.
llvm.func internal @grow(%wanted: i64) attributes {passthrough = ["noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i32
  %p_started = llvm.getelementptr %state[${started}] : (!llvm.ptr) -> !llvm.ptr, i8
  %set = arith.constant 2 : i32
  %ones = arith.constant -1 : i8
  %bytes = arith.constant 128 : i64
  %all = llvm.alloca %bytes x i8 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %before = llvm.alloca %bytes x i8 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %id = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
  %p_avoided = llvm.getelementptr %state[${avoided}] : (!llvm.ptr) -> !llvm.ptr, i8
  %nowhere = arith.constant -1 : i64
  llvm.store %nowhere, %p_avoided : i64, !llvm.ptr
  "llvm.intr.memset"(%all, %ones, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %rc = llvm.call @pthread_sigmask(%set, %all, %before) : (i32, !llvm.ptr, !llvm.ptr) -> i32
  %serve = llvm.mlir.addressof @serve : !llvm.ptr
  %first = llvm.load %p_started : !llvm.ptr -> i64
  %last = scf.while (%n = %first) : (i64) -> i64 {
    %more = arith.cmpi slt, %n, %wanted : i64
    scf.condition(%more) %n : i64
  } do {
  ^bb0(%n: i64):
    %failed = llvm.call @pthread_create(%id, %null, %serve, %null)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
    %fine = arith.cmpi eq, %failed, %none : i32
    %next = scf.if %fine -> i64 {
      %thread = llvm.load %id : !llvm.ptr -> i64
      %ignored = llvm.call @pthread_detach(%thread) : (i64) -> i32
      %p_ids = llvm.getelementptr %state[${ids}] : (!llvm.ptr) -> !llvm.ptr, i8
      %p_id = llvm.getelementptr %p_ids[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %thread, %p_id : i64, !llvm.ptr
      %up = arith.addi %n, %one : i64
      llvm.store %up, %p_started : i64, !llvm.ptr
      scf.yield %up : i64
    } else {
      scf.yield %wanted : i64
    }
    scf.yield %next : i64
  }
  %back = llvm.call @pthread_sigmask(%set, %before, %null) : (i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}

llvm.func internal @parallel(%function: !llvm.ptr, %context: !llvm.ptr, %count: i64, %threads: i64) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p_limit = llvm.getelementptr %state[${limit}] : (!llvm.ptr) -> !llvm.ptr, i8
  %limit = llvm.load %p_limit atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %limited = arith.cmpi sgt, %limit, %zero : i64
  %fewer = arith.minsi %threads, %limit : i64
  %most = arith.select %limited, %fewer, %threads : i64
  %several = arith.cmpi sgt, %most, %one : i64
  scf.if %several {
    llvm.call @share(%function, %context, %count, %most) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  } else {
    llvm.call %function(%context, %zero, %count) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  }
  llvm.return
}

// Run a job on several threads, or on this one if they are busy.
llvm.func internal @share(%function: !llvm.ptr, %context: !llvm.ptr, %count: i64, %threads: i64) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p_lock = llvm.getelementptr %state[${lock}] : (!llvm.ptr) -> !llvm.ptr, i8
  %pair = llvm.cmpxchg %p_lock, %zero, %one acq_rel monotonic : !llvm.ptr, i64
  %free = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  scf.if %free {
    llvm.call @lead(%function, %context, %count, %threads) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
    llvm.store %zero, %p_lock atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  } else {
    llvm.call %function(%context, %zero, %count) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  }
  llvm.return
}

// Set the threads' affinity and polling time from the affinity of the caller, which runs on a CPU of it.
llvm.func internal @place(%cpu: i64, %count: i64) attributes {passthrough = ["noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i32
  %p_avoided = llvm.getelementptr %state[${avoided}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_blocktime = llvm.getelementptr %state[${blocktime}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_patience = llvm.getelementptr %state[${patience}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %cpu, %p_avoided : i64, !llvm.ptr
  %bytes = arith.constant ${MASK_BYTES} : i64
  %words = arith.constant ${mask_words} : i64
  %bits = arith.constant ${mask_bits} : i64
  %nothing = arith.constant 0 : i8
  %mask = llvm.alloca %bytes x i8 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  "llvm.intr.memset"(%mask, %nothing, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %failed = llvm.call @sched_getaffinity(%none, %bytes, %mask) : (i32, i64, !llvm.ptr) -> i32
  %cpus = scf.for %n = %zero to %words step %one iter_args(%sum = %zero) -> (i64) : i64 {
    %p_word = llvm.getelementptr %mask[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %word = llvm.load %p_word : !llvm.ptr -> i64
    %ones = llvm.intr.ctpop(%word) : (i64) -> i64
    %next = arith.addi %sum, %ones : i64
    scf.yield %next : i64
  }
  %enough = arith.cmpi sgt, %cpus, %count : i64
  %short = arith.constant ${SHORT_BLOCKTIME} : i64
  %blocktime = llvm.load %p_blocktime : !llvm.ptr -> i64
  %shorter = arith.minsi %blocktime, %short : i64
  %patience = arith.select %enough, %blocktime, %shorter : i64
  llvm.store %patience, %p_patience : i64, !llvm.ptr
  %known = arith.cmpi eq, %failed, %none : i32
  %inside = arith.cmpi ult, %cpu, %bits : i64
  %sure = arith.andi %known, %inside : i1
  %most = arith.constant ${MAX_PLACED} : i64
  %few = arith.cmpi sle, %count, %most : i64
  %fine = arith.andi %sure, %few : i1
  scf.if %fine {
    llvm.call @keep_from(%cpu, %mask, %count) : (i64, !llvm.ptr, i64) -> ()
  }
  llvm.return
}

// Restrict the threads to the CPUs of a mask, except one.
llvm.func internal @keep_from(%cpu: i64, %mask: !llvm.ptr, %count: i64) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p_ids = llvm.getelementptr %state[${ids}] : (!llvm.ptr) -> !llvm.ptr, i8
  %bytes = arith.constant ${MASK_BYTES} : i64
  %six = arith.constant 6 : i64
  %low = arith.constant 63 : i64
  %ones = arith.constant -1 : i64
  %word = arith.shrui %cpu, %six : i64
  %bit = arith.andi %cpu, %low : i64
  %p_word = llvm.getelementptr %mask[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %old = llvm.load %p_word : !llvm.ptr -> i64
  %flag = arith.shli %one, %bit : i64
  %others = arith.xori %flag, %ones : i64
  %new = arith.andi %old, %others : i64
  llvm.store %new, %p_word : i64, !llvm.ptr
  scf.for %n = %zero to %count step %one : i64 {
    %p_id = llvm.getelementptr %p_ids[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %thread = llvm.load %p_id : !llvm.ptr -> i64
    // If no CPU is left, this fails and changes nothing.
    %rc = llvm.call @pthread_setaffinity_np(%thread, %bytes, %mask) : (i64, i64, !llvm.ptr) -> i32
  }
  llvm.return
}

// Run a job on the pool, while the lock is held.
llvm.func internal @lead(%function: !llvm.ptr, %context: !llvm.ptr, %count: i64, %threads: i64) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i32
  %some = arith.constant 1 : i32
  %p_started = llvm.getelementptr %state[${started}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_function = llvm.getelementptr %state[${function}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_context = llvm.getelementptr %state[${context}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_count = llvm.getelementptr %state[${count}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_part = llvm.getelementptr %state[${part}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_next = llvm.getelementptr %state[${next}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_done = llvm.getelementptr %state[${done}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_open = llvm.getelementptr %state[${open}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_jobs = llvm.getelementptr %state[${jobs}] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_sleepers = llvm.getelementptr %state[${sleepers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %wanted = arith.subi %threads, %one : i64
  %there = llvm.load %p_started : !llvm.ptr -> i64
  %lack = arith.cmpi slt, %there, %wanted : i64
  scf.if %lack {
    llvm.call @grow(%wanted) : (i64) -> ()
  }
  %started = llvm.load %p_started : !llvm.ptr -> i64
  %here = llvm.call @sched_getcpu() : () -> i32
  %cpu = arith.extsi %here : i32 to i64
  %p_avoided = llvm.getelementptr %state[${avoided}] : (!llvm.ptr) -> !llvm.ptr, i8
  %avoided = llvm.load %p_avoided : !llvm.ptr -> i64
  %moved = arith.cmpi ne, %cpu, %avoided : i64
  scf.if %moved {
    llvm.call @place(%cpu, %started) : (i64, i64) -> ()
  }
  %per = arith.constant ${PARTS_PER_THREAD} : i64
  %parts = arith.muli %threads, %per : i64
  %share = arith.divui %count, %parts : i64
  %part = arith.maxui %share, %one : i64
  %others = arith.subi %count, %one : i64
  %useful = arith.minsi %wanted, %others : i64
  %helpers = arith.minsi %useful, %started : i64
  llvm.store %function, %p_function : !llvm.ptr, !llvm.ptr
  llvm.store %context, %p_context : !llvm.ptr, !llvm.ptr
  llvm.store %count, %p_count : i64, !llvm.ptr
  llvm.store %part, %p_part : i64, !llvm.ptr
  llvm.store %zero, %p_next atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %zero, %p_done atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %helpers, %p_open atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  %job = llvm.atomicrmw add %p_jobs, %some seq_cst : !llvm.ptr, i32
  %sleepers = llvm.load %p_sleepers atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %asleep = arith.cmpi sgt, %sleepers, %zero : i64
  scf.if %asleep {
    %futex = arith.constant ${futex} : i64
    %wake = arith.constant 129 : i32
    %n = arith.trunci %helpers : i64 to i32
    %rc = llvm.call @syscall(%futex, %p_jobs, %wake, %n, %null, %null, %none) vararg(!llvm.func<i64 (i64, ...)>)
      : (i64, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, i32) -> i64
  }
  llvm.call @work() : () -> ()
  %left = llvm.atomicrmw xchg %p_open, %zero acq_rel : !llvm.ptr, i64
  %joined = arith.subi %helpers, %left : i64
  %looks = arith.constant ${PATIENCE} : i64
  %rest = scf.while (%n = %looks) : (i64) -> i64 {
    %done = llvm.load %p_done atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
    %missing = arith.cmpi slt, %done, %joined : i64
    scf.condition(%missing) %n : i64
  } do {
  ^bb0(%n: i64):
    %patient = arith.cmpi sgt, %n, %zero : i64
    scf.if %patient {
      ${pause}
    } else {
      %rc = llvm.call @sched_yield() : () -> i32
    }
    %m = arith.subi %n, %one : i64
    scf.yield %m : i64
  }
  llvm.return
}
