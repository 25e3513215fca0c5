// The part of `support` that reads tensor arguments of a call; see `argument_tables.py` for the layouts of tables and
// records.

llvm.mlir.global internal constant @relax.rt.flaw_overlap("%s overlaps %s: each needs memory of its own\00")

// Read the tensor in the TVMFFIAny at `slot` into its `record`, and check it against its table row; raises an error if
// it does not match. Returns true if it is plain: its elements are in row-major order (strides of dimensions of size 1
// do not matter) and aligned to their size. If `sizes` is not null, the tensor is an output: an error if it does not
// have these sizes, or is not plain.
func.func private @relax.rt.take(%slot: !llvm.ptr, %row: !llvm.ptr, %record: !llvm.ptr, %sizes: !llvm.ptr) -> i1
    attributes {relax.may_fail, relax.says_place, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false
  %cpu = arith.constant 1 : i32
  %object = arith.constant 70 : i32
  %view = arith.constant 7 : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %wanted = llvm.load %row : !llvm.ptr -> i64
  %type = llvm.load %slot : !llvm.ptr -> i32
  %is_object = arith.cmpi eq, %type, %object : i32
  %is_view = arith.cmpi eq, %type, %view : i32
  %is_tensor = arith.ori %is_object, %is_view : i1
  cf.cond_br %is_tensor, ^tensor, ^flaw(%null : !llvm.ptr)
^tensor:
  %handle_at = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %handle = llvm.load %handle_at : !llvm.ptr -> !llvm.ptr
  %inside = llvm.getelementptr %handle[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %found = llvm.select %is_object, %inside, %handle : i1, !llvm.ptr
  %device_at = llvm.getelementptr %found[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %here = arith.cmpi eq, %device, %cpu : i32
  %head_at = llvm.getelementptr %found[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %head = llvm.load %head_at {alignment = 4 : i64} : !llvm.ptr -> i64
  %same_head = arith.cmpi eq, %head, %wanted : i64
  %data0 = llvm.load %found : !llvm.ptr -> !llvm.ptr
  %there = llvm.icmp "ne" %data0, %null : !llvm.ptr
  %fits = arith.andi %here, %same_head : i1
  %sound = arith.andi %fits, %there : i1
  cf.cond_br %sound, ^sizes(%found : !llvm.ptr), ^flaw(%found : !llvm.ptr)
^flaw(%doubtful: !llvm.ptr):
  func.call @relax.rt.flaw_of(%slot, %row) : (!llvm.ptr, !llvm.ptr) -> ()
  cf.br ^sizes(%doubtful : !llvm.ptr)
^sizes(%dl: !llvm.ptr):
  %size_at = llvm.getelementptr %row[${ELEMENT}] : (!llvm.ptr) -> !llvm.ptr, i8
  %element = llvm.load %size_at : !llvm.ptr -> i64
  %data = llvm.load %dl : !llvm.ptr -> !llvm.ptr
  %offset_at = llvm.getelementptr %dl[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  %base = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %shape_at = llvm.getelementptr %dl[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %strides_at = llvm.getelementptr %dl[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %no_steps = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %steps = llvm.select %no_steps, %shape, %strides : i1, !llvm.ptr
  %rank32 = arith.trunci %wanted : i64 to i32
  %rank = arith.extsi %rank32 : i32 to i64
  cf.br ^dimensions(%rank, %one, %true, %false, %false : i64, i64, i1, i1, i1)
^dimensions(%left: i64, %elements: i64, %good: i1, %empty: i1, %negative: i1):
  %any = arith.cmpi sgt, %left, %zero : i64
  cf.cond_br %any, ^dimension, ^checked
^dimension:
  %k = arith.subi %left, %one : i64
  %d_at = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %d = llvm.load %d_at : !llvm.ptr -> i64
  %s_at = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %s = llvm.load %s_at : !llvm.ptr -> i64
  %regular = arith.cmpi eq, %s, %elements : i64
  %free = arith.cmpi eq, %d, %one : i64
  %either = arith.ori %regular, %free : i1
  %fine = arith.ori %either, %no_steps : i1
  %good1 = arith.andi %good, %fine : i1
  %none = arith.cmpi eq, %d, %zero : i64
  %empty1 = arith.ori %empty, %none : i1
  %below = arith.cmpi slt, %d, %zero : i64
  %negative1 = arith.ori %negative, %below : i1
  %product = arith.muli %elements, %d : i64
  cf.br ^dimensions(%k, %product, %good1, %empty1, %negative1 : i64, i64, i1, i1, i1)
^checked:
  cf.cond_br %negative, ^wrong, ^right
^wrong:
  func.call @relax.rt.flaw_of(%slot, %row) : (!llvm.ptr, !llvm.ptr) -> ()
  cf.br ^right
^right:
  %contiguous = arith.ori %good, %empty : i1
  %address = llvm.ptrtoint %base : !llvm.ptr to i64
  %mask = arith.subi %element, %one : i64
  %beyond = arith.andi %address, %mask : i64
  %aligned = arith.cmpi eq, %beyond, %zero : i64
  %bytes = arith.muli %elements, %element : i64
  %end = arith.addi %address, %bytes : i64
  llvm.store %base, %record : !llvm.ptr, !llvm.ptr
  %dl_at = llvm.getelementptr %record[${RECORD_TENSOR}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dl, %dl_at : !llvm.ptr, !llvm.ptr
  %end_at = llvm.getelementptr %record[${RECORD_END}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %end, %end_at : i64, !llvm.ptr
  %contiguous_at = llvm.getelementptr %record[${RECORD_CONTIGUOUS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %contiguous8 = arith.extui %contiguous : i1 to i8
  llvm.store %contiguous8, %contiguous_at : i8, !llvm.ptr
  %aligned_at = llvm.getelementptr %record[${RECORD_ALIGNED}] : (!llvm.ptr) -> !llvm.ptr, i8
  %aligned8 = arith.extui %aligned : i1 to i8
  llvm.store %aligned8, %aligned_at : i8, !llvm.ptr
  %own = arith.andi %contiguous, %aligned : i1
  %is_given = llvm.icmp "ne" %sizes, %null : !llvm.ptr
  cf.cond_br %is_given, ^given, ^done
^given:
  %role_at = llvm.getelementptr %row[${ROLE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_role = llvm.load %role_at : !llvm.ptr -> i32
  %role = llvm.getelementptr %row[%to_role] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  func.call @relax.rt.given_flaw(%dl, %role, %sizes, %contiguous, %aligned)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i1, i1) -> ()
  cf.br ^done
^done:
  return %own : i1
}

// Results from the caller: true if none of the `inputs` tensors, whose records precede `records`, overlaps one of them;
// marks the records of those that do. Raises an error if two of the results overlap.
func.func private @relax.rt.apart(%table: !llvm.ptr, %records: !llvm.ptr, %count: i64, %inputs: i64) -> i1
    attributes {relax.may_fail, relax.says_place, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %false = arith.constant false
  %no = arith.constant 0 : i8
  cf.br ^results(%zero, %true : i64, i1)
^results(%a: i64, %apart: i1):
  %another = arith.cmpi slt, %a, %count : i64
  cf.cond_br %another, ^place, ^done(%apart : i1)
^place:
  %record_a = llvm.getelementptr %records[%a] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${RECORD_BYTES} x i8>
  %start_a = llvm.load %record_a : !llvm.ptr -> i64
  %end_at_a = llvm.getelementptr %record_a[${RECORD_END}] : (!llvm.ptr) -> !llvm.ptr, i8
  %end_a = llvm.load %end_at_a : !llvm.ptr -> i64
  %first = arith.subi %zero, %inputs : i64
  cf.br ^against(%first, %apart : i64, i1)
^against(%n: i64, %free: i1):
  %before = arith.cmpi slt, %n, %a : i64
  %a1 = arith.addi %a, %one : i64
  cf.cond_br %before, ^range, ^results(%a1, %free : i64, i1)
^range:
  %record_n = llvm.getelementptr %records[%n] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${RECORD_BYTES} x i8>
  %start_n = llvm.load %record_n : !llvm.ptr -> i64
  %end_at_n = llvm.getelementptr %record_n[${RECORD_END}] : (!llvm.ptr) -> !llvm.ptr, i8
  %end_n = llvm.load %end_at_n : !llvm.ptr -> i64
  %n1 = arith.addi %n, %one : i64
  %low_an = arith.cmpi ult, %start_a, %end_n : i64
  cf.cond_br %low_an, ^near, ^against(%n1, %free : i64, i1)
^near:
  %low_na = arith.cmpi ult, %start_n, %end_a : i64
  cf.cond_br %low_na, ^close, ^against(%n1, %free : i64, i1)
^close:
  %some_a = arith.cmpi ult, %start_a, %end_a : i64
  %some_n = arith.cmpi ult, %start_n, %end_n : i64
  %meet = arith.andi %some_a, %some_n : i1
  cf.cond_br %meet, ^overlap, ^against(%n1, %free : i64, i1)
^overlap:
  %is_input = arith.cmpi slt, %n, %zero : i64
  cf.cond_br %is_input, ^mark, ^error
^mark:
  // Mark it as non-contiguous, so that it is copied.
  %order_at_n = llvm.getelementptr %record_n[${RECORD_CONTIGUOUS}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %no, %order_at_n : i8, !llvm.ptr
  cf.br ^against(%n1, %false : i64, i1)
^error:
  func.call @relax.rt.overlap(%table, %a, %n) : (!llvm.ptr, i64, i64) -> ()
  cf.br ^done(%false : i1)
^done(%result: i1):
  return %result : i1
}

// Raise the error of two overlapping results from the caller, with these table rows.
func.func private @relax.rt.overlap(%table: !llvm.ptr, %a: i64, %b: i64)
    attributes {relax.may_fail, relax.says_place, relax.support} {
  %failed = arith.constant -1 : i32
  %kind = llvm.mlir.addressof @relax.rt.kind_argument : !llvm.ptr
  %format = llvm.mlir.addressof @relax.rt.flaw_overlap : !llvm.ptr
  %row_a = llvm.getelementptr %table[%a] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ROW_BYTES} x i8>
  %role_at_a = llvm.getelementptr %row_a[${ROLE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_role_a = llvm.load %role_at_a : !llvm.ptr -> i32
  %role_a = llvm.getelementptr %row_a[%to_role_a] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %row_b = llvm.getelementptr %table[%b] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ROW_BYTES} x i8>
  %name_at_b = llvm.getelementptr %row_b[${NAME}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_name_b = llvm.load %name_at_b : !llvm.ptr -> i32
  %name_b = llvm.getelementptr %row_b[%to_name_b] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %role_aW = llvm.ptrtoint %role_a : !llvm.ptr to i64
  %name_bW = llvm.ptrtoint %name_b : !llvm.ptr to i64
  func.call @relax.rt.raise.2(%kind, %format, %role_aW, %name_bW) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  func.call @relax.propagate(%failed) : (i32) -> ()
  return
}

// Raise the error of the TVMFFIAny at `slot`, if it does not match its table row.
func.func private @relax.rt.flaw_of(%slot: !llvm.ptr, %row: !llvm.ptr)
    attributes {relax.may_fail, relax.says_place, relax.support} {
  %rank_dtype = llvm.load %row : !llvm.ptr -> i64
  %rank32 = arith.trunci %rank_dtype : i64 to i32
  %rank = arith.extsi %rank32 : i32 to i64
  %c32 = arith.constant 32 : i64
  %dtype = arith.shrui %rank_dtype, %c32 : i64
  %role_at = llvm.getelementptr %row[${ROLE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_role = llvm.load %role_at : !llvm.ptr -> i32
  %role = llvm.getelementptr %row[%to_role] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %expected_at = llvm.getelementptr %row[${EXPECTED}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_expected = llvm.load %expected_at : !llvm.ptr -> i32
  %expected = llvm.getelementptr %row[%to_expected] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %kind_at = llvm.getelementptr %row[${KIND}] : (!llvm.ptr) -> !llvm.ptr, i8
  %to_kind = llvm.load %kind_at : !llvm.ptr -> i32
  %kind_there = llvm.getelementptr %row[%to_kind] : (!llvm.ptr, i32) -> !llvm.ptr, i8
  %null = llvm.mlir.zero : !llvm.ptr
  %nothing = arith.constant 0 : i32
  %has_kind = arith.cmpi ne, %to_kind, %nothing : i32
  %kind = llvm.select %has_kind, %kind_there, %null : i1, !llvm.ptr
  func.call @relax.rt.tensor_flaw(%slot, %kind, %role, %expected, %dtype, %rank)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
  return
}

// Replace the addresses in those of `count` records that are not plain by plain copies, in memory of the frame.
func.func private @relax.rt.settle(%frame: !llvm.ptr, %count: i64, %table: !llvm.ptr, %records: !llvm.ptr)
    attributes {relax.may_fail, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %no = arith.constant 0 : i8
  cf.br ^next(%zero : i64)
^next(%i: i64):
  %more = arith.cmpi slt, %i, %count : i64
  cf.cond_br %more, ^one, ^done
^one:
  %i1 = arith.addi %i, %one : i64
  %record = llvm.getelementptr %records[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${RECORD_BYTES} x i8>
  %contiguous_at = llvm.getelementptr %record[${RECORD_CONTIGUOUS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %contiguous8 = llvm.load %contiguous_at : !llvm.ptr -> i8
  %aligned_at = llvm.getelementptr %record[${RECORD_ALIGNED}] : (!llvm.ptr) -> !llvm.ptr, i8
  %aligned8 = llvm.load %aligned_at : !llvm.ptr -> i8
  %both = arith.andi %contiguous8, %aligned8 : i8
  %plain = arith.cmpi ne, %both, %no : i8
  cf.cond_br %plain, ^next(%i1 : i64), ^copy
^copy:
  %row = llvm.getelementptr %table[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ROW_BYTES} x i8>
  %size_at = llvm.getelementptr %row[${ELEMENT}] : (!llvm.ptr) -> !llvm.ptr, i8
  %element = llvm.load %size_at : !llvm.ptr -> i64
  %dl_at = llvm.getelementptr %record[${RECORD_TENSOR}] : (!llvm.ptr) -> !llvm.ptr, i8
  %dl = llvm.load %dl_at : !llvm.ptr -> !llvm.ptr
  %copied = func.call @relax.rt.compact(%frame, %dl, %element) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.store %copied, %record : !llvm.ptr, !llvm.ptr
  cf.br ^next(%i1 : i64)
^done:
  return
}
