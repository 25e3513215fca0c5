// Weights in a file next to the library, or next to the program that it is linked into: the file is mapped, not read.

llvm.func @dladdr(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @readlink(!llvm.ptr, !llvm.ptr, i64) -> i64
llvm.func @strrchr(!llvm.ptr, i32) -> !llvm.ptr
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @open(!llvm.ptr, i32, ...) -> i32
llvm.func @lseek(i32, i64, i32) -> i64
llvm.func @mmap(!llvm.ptr, i64, i32, i32, i32, i64) -> !llvm.ptr
llvm.func @close(i32) -> i32
llvm.func @memcmp(!llvm.ptr, !llvm.ptr, i64) -> i32
llvm.mlir.global external hidden @${WEIGHTS}() : i8

llvm.mlir.global internal constant @weights_name(${file})
llvm.mlir.global internal constant @weights_format("%.*s%s\00")
llvm.mlir.global internal constant @program("/proc/self/exe\00")
llvm.mlir.global internal constant @weights_missing("the weights of the library cannot be opened: %s; put the file that export_library has written beside the library\00")
llvm.mlir.global internal constant @weights_foreign("the weights %s do not belong to this library: their size or header is another; export both again\00")
llvm.mlir.global internal @weights_path() : !llvm.array<${PATH_SIZE} x i8>
llvm.mlir.global internal @program_path() : !llvm.array<${PATH_SIZE} x i8>
llvm.mlir.global internal @weights_problem() : !llvm.array<${PROBLEM_SIZE} x i8>

// Write the path of the weights file.
llvm.func internal @find_path(%path: !llvm.ptr) {
  %four = arith.constant 4 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %slash = arith.constant 47 : i32
  %size = arith.constant ${PATH_SIZE} : i64
  %info = llvm.alloca %four x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %info : !llvm.ptr, !llvm.ptr
  %here = llvm.mlir.addressof @${START} : !llvm.ptr
  %rc = llvm.call @dladdr(%here, %info) : (!llvm.ptr, !llvm.ptr) -> i32
  %known = llvm.load %info : !llvm.ptr -> !llvm.ptr
  %is_known = llvm.icmp "ne" %known, %null : !llvm.ptr
  %end = scf.if %is_known -> !llvm.ptr {
    %last = llvm.call @strrchr(%known, %slash) : (!llvm.ptr, i32) -> !llvm.ptr
    scf.yield %last : !llvm.ptr
  } else {
    scf.yield %null : !llvm.ptr
  }
  %has_folder = llvm.icmp "ne" %end, %null : !llvm.ptr
  // A name without a folder belongs to a program that was found through PATH.
  %name, %last = scf.if %has_folder -> (!llvm.ptr, !llvm.ptr) {
    scf.yield %known, %end : !llvm.ptr, !llvm.ptr
  } else {
    %link = llvm.mlir.addressof @program : !llvm.ptr
    %program = llvm.mlir.addressof @program_path : !llvm.ptr
    %most = arith.subi %size, %one : i64
    %length = llvm.call @readlink(%link, %program, %most) : (!llvm.ptr, !llvm.ptr, i64) -> i64
    %last = llvm.call @strrchr(%program, %slash) : (!llvm.ptr, i32) -> !llvm.ptr
    scf.yield %program, %last : !llvm.ptr, !llvm.ptr
  }
  %begins = llvm.ptrtoint %name : !llvm.ptr to i64
  %ends = llvm.ptrtoint %last : !llvm.ptr to i64
  %inclusive = arith.addi %ends, %one : i64
  %some = arith.subi %inclusive, %begins : i64
  %is_some = llvm.icmp "ne" %last, %null : !llvm.ptr
  %bytes = arith.select %is_some, %some, %zero : i64
  %precision = arith.trunci %bytes : i64 to i32
  %format = llvm.mlir.addressof @weights_format : !llvm.ptr
  %file = llvm.mlir.addressof @weights_name : !llvm.ptr
  %written = llvm.call @snprintf(%path, %size, %format, %precision, %name, %file) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}

// Report why the weights are missing.
llvm.func internal @without_weights(%format: !llvm.ptr, %path: !llvm.ptr) {
  %size = arith.constant ${PROBLEM_SIZE} : i64
  %text = llvm.mlir.addressof @weights_problem : !llvm.ptr
  %written = llvm.call @snprintf(%text, %size, %format, %path) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr) -> i32
  %p_problem = llvm.mlir.addressof @problem : !llvm.ptr
  llvm.store %text, %p_problem : !llvm.ptr, !llvm.ptr
  llvm.return
}

// Map an open file if it has the right size and header; otherwise return null.
llvm.func internal @map_weights(%file: i32) -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %no = arith.constant 0 : i32
  %size = arith.constant ${size} : i64
  %from_end = arith.constant ${SEEK_END} : i32
  %found = llvm.call @lseek(%file, %zero, %from_end) : (i32, i64, i32) -> i64
  %fits = arith.cmpi eq, %found, %size : i64
  %weights = scf.if %fits -> !llvm.ptr {
    %read = arith.constant ${PROT_READ} : i32
    %private = arith.constant ${MAP_PRIVATE} : i32
    %mapped = llvm.call @mmap(%null, %size, %read, %private, %file, %zero)
      : (!llvm.ptr, i64, i32, i32, i32, i64) -> !llvm.ptr
    %place = llvm.ptrtoint %mapped : !llvm.ptr to i64
    %failed = arith.constant -1 : i64
    %is_mapped = arith.cmpi ne, %place, %failed : i64
    %good = scf.if %is_mapped -> !llvm.ptr {
      %header = llvm.mlir.addressof @${WEIGHTS} : !llvm.ptr
      %header_size = arith.constant ${header_size} : i64
      %difference = llvm.call @memcmp(%mapped, %header, %header_size) : (!llvm.ptr, !llvm.ptr, i64) -> i32
      %same = arith.cmpi eq, %difference, %no : i32
      %data = llvm.getelementptr %mapped[${header_size}] : (!llvm.ptr) -> !llvm.ptr, i8
      %those = arith.select %same, %data, %null : !llvm.ptr
      scf.yield %those : !llvm.ptr
    } else {
      scf.yield %null : !llvm.ptr
    }
    scf.yield %good : !llvm.ptr
  } else {
    scf.yield %null : !llvm.ptr
  }
  llvm.return %weights : !llvm.ptr
}

llvm.func internal @find_weights() -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %no = arith.constant 0 : i32
  %flags = arith.constant ${OPEN_FLAGS} : i32
  %path = llvm.mlir.addressof @weights_path : !llvm.ptr
  llvm.call @find_path(%path) : (!llvm.ptr) -> ()
  %file = llvm.call @open(%path, %flags) vararg(!llvm.func<i32 (ptr, i32, ...)>) : (!llvm.ptr, i32) -> i32
  %is_open = arith.cmpi sge, %file, %no : i32
  %weights = scf.if %is_open -> !llvm.ptr {
    %mapped = llvm.call @map_weights(%file) : (i32) -> !llvm.ptr
    %closed = llvm.call @close(%file) : (i32) -> i32
    %foreign = llvm.icmp "eq" %mapped, %null : !llvm.ptr
    scf.if %foreign {
      %format = llvm.mlir.addressof @weights_foreign : !llvm.ptr
      llvm.call @without_weights(%format, %path) : (!llvm.ptr, !llvm.ptr) -> ()
    }
    scf.yield %mapped : !llvm.ptr
  } else {
    %format = llvm.mlir.addressof @weights_missing : !llvm.ptr
    llvm.call @without_weights(%format, %path) : (!llvm.ptr, !llvm.ptr) -> ()
    scf.yield %null : !llvm.ptr
  }
  llvm.return %weights : !llvm.ptr
}
