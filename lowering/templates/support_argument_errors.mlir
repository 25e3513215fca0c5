// The part of `support` that reports argument errors of tensors. Entry points only detect that there is an error.
//
// `kind`: the kind of the error, or null to choose the fitting one; `role`: "main: parameter 'x'"; `expected`: the
// type.

llvm.mlir.global internal constant @relax.rt.kind_argument("ArgumentError\00")
llvm.mlir.global internal constant @relax.rt.kind_device("DeviceError\00")
llvm.mlir.global internal constant @relax.rt.kind_dtype("DTypeError\00")
llvm.mlir.global internal constant @relax.rt.kind_shape("ShapeError\00")
llvm.mlir.global internal constant @relax.rt.flaw_type("%s is of type %s, expected %s\00")
llvm.mlir.global internal constant @relax.rt.flaw_device("%s is on %s, expected cpu (%s)\00")
llvm.mlir.global internal constant @relax.rt.flaw_dtype("%s has dtype %s, expected %s (%s)\00")
llvm.mlir.global internal constant @relax.rt.flaw_rank("%s has rank %lld, expected rank %lld (%s)\00")
llvm.mlir.global internal constant @relax.rt.flaw_size("%s has dimension %lld of %lld, expected zero or more (%s)\00")
llvm.mlir.global internal constant @relax.rt.flaw_memory("%s has elements, but no memory: its data pointer is null, as that of fake and meta tensors is (%s)\00")
llvm.mlir.global internal constant @relax.rt.flaw_given("%s has dimension %lld of %lld, but the call gives %lld\00")
llvm.mlir.global internal constant @relax.rt.flaw_dense("%s is not contiguous, so it cannot be written to\00")
llvm.mlir.global internal constant @relax.rt.flaw_aligned("%s is not aligned to its elements, so it cannot be written to\00")

// Raise the error of the TVMFFIAny at `slot`, if it is not a CPU tensor of a dtype (packed; -1: any) and a rank (-1:
// any), with non-negative sizes, and with memory if it has elements.
func.func private @relax.rt.tensor_flaw(%slot: !llvm.ptr, %kind: !llvm.ptr, %role: !llvm.ptr, %expected: !llvm.ptr, %dtype: i64, %rank: i64)
    attributes {passthrough = ["cold", "noinline"], relax.may_fail, relax.says_place, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %room = arith.constant 64 : i64
  %cpu = arith.constant 1 : i32
  %object32 = arith.constant 70 : i32
  %view32 = arith.constant 7 : i32
  %failed = arith.constant -1 : i32
  %false = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  %roleW = llvm.ptrtoint %role : !llvm.ptr to i64
  %expectedW = llvm.ptrtoint %expected : !llvm.ptr to i64
  %has_kind = llvm.icmp "ne" %kind, %null : !llvm.ptr
  %buffer = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %buffer2 = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %type = llvm.load %slot : !llvm.ptr -> i32
  %is_object = arith.cmpi eq, %type, %object32 : i32
  %is_view = arith.cmpi eq, %type, %view32 : i32
  %is_tensor = arith.ori %is_object, %is_view : i1
  cf.cond_br %is_tensor, ^tensor, ^wrong_type
^wrong_type:
  %kind1f = llvm.mlir.addressof @relax.rt.kind_argument : !llvm.ptr
  %kind1 = llvm.select %has_kind, %kind, %kind1f : i1, !llvm.ptr
  %format1 = llvm.mlir.addressof @relax.rt.flaw_type : !llvm.ptr
  %type64 = arith.extsi %type : i32 to i64
  %name1 = func.call @relax.rt.type_name(%type64, %buffer) : (i64, !llvm.ptr) -> !llvm.ptr
  %name1W = llvm.ptrtoint %name1 : !llvm.ptr to i64
  func.call @relax.rt.raise.3(%kind1, %format1, %roleW, %name1W, %expectedW)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  cf.br ^raised
^tensor:
  %payload_at = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %payload = llvm.load %payload_at : !llvm.ptr -> !llvm.ptr
  %inside = llvm.getelementptr %payload[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %tensor = llvm.select %is_object, %inside, %payload : i1, !llvm.ptr
  %device_at = llvm.getelementptr %tensor[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %device = llvm.load %device_at : !llvm.ptr -> i32
  %on_cpu = arith.cmpi eq, %device, %cpu : i32
  cf.cond_br %on_cpu, ^here, ^wrong_device
^wrong_device:
  %kind2f = llvm.mlir.addressof @relax.rt.kind_device : !llvm.ptr
  %kind2 = llvm.select %has_kind, %kind, %kind2f : i1, !llvm.ptr
  %format2 = llvm.mlir.addressof @relax.rt.flaw_device : !llvm.ptr
  %device64 = arith.extsi %device : i32 to i64
  %name2 = func.call @relax.rt.device_name(%device64, %buffer) : (i64, !llvm.ptr) -> !llvm.ptr
  %name2W = llvm.ptrtoint %name2 : !llvm.ptr to i64
  func.call @relax.rt.raise.3(%kind2, %format2, %roleW, %name2W, %expectedW)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  cf.br ^raised
^here:
  %dtype_at = llvm.getelementptr %tensor[20] : (!llvm.ptr) -> !llvm.ptr, i8
  %actual32 = llvm.load %dtype_at : !llvm.ptr -> i32
  %actual = arith.extsi %actual32 : i32 to i64
  %any_dtype = arith.cmpi slt, %dtype, %zero : i64
  %same_dtype = arith.cmpi eq, %actual, %dtype : i64
  %fine_dtype = arith.ori %any_dtype, %same_dtype : i1
  cf.cond_br %fine_dtype, ^typed, ^wrong_dtype
^wrong_dtype:
  %kind3f = llvm.mlir.addressof @relax.rt.kind_dtype : !llvm.ptr
  %kind3 = llvm.select %has_kind, %kind, %kind3f : i1, !llvm.ptr
  %format3 = llvm.mlir.addressof @relax.rt.flaw_dtype : !llvm.ptr
  %name3 = func.call @relax.rt.dtype_name(%actual, %buffer) : (i64, !llvm.ptr) -> !llvm.ptr
  %name3W = llvm.ptrtoint %name3 : !llvm.ptr to i64
  %wanted3 = func.call @relax.rt.dtype_name(%dtype, %buffer2) : (i64, !llvm.ptr) -> !llvm.ptr
  %wanted3W = llvm.ptrtoint %wanted3 : !llvm.ptr to i64
  func.call @relax.rt.raise.4(%kind3, %format3, %roleW, %name3W, %wanted3W, %expectedW)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> ()
  cf.br ^raised
^typed:
  %rank_at = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %actual_rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %actual_rank = arith.extsi %actual_rank32 : i32 to i64
  %any_rank = arith.cmpi slt, %rank, %zero : i64
  %same_rank = arith.cmpi eq, %actual_rank, %rank : i64
  %fine_rank = arith.ori %any_rank, %same_rank : i1
  cf.cond_br %fine_rank, ^ranked, ^wrong_rank
^wrong_rank:
  %kind4f = llvm.mlir.addressof @relax.rt.kind_shape : !llvm.ptr
  %kind4 = llvm.select %has_kind, %kind, %kind4f : i1, !llvm.ptr
  %format4 = llvm.mlir.addressof @relax.rt.flaw_rank : !llvm.ptr
  func.call @relax.rt.raise.4(%kind4, %format4, %roleW, %actual_rank, %rank, %expectedW)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> ()
  cf.br ^raised
^ranked:
  %shape_at = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  cf.br ^sizes(%zero, %false : i64, i1)
^sizes(%i: i64, %empty: i1):
  %more = arith.cmpi slt, %i, %actual_rank : i64
  cf.cond_br %more, ^size, ^memory
^size:
  %size_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %natural = arith.cmpi sge, %size, %zero : i64
  %none = arith.cmpi eq, %size, %zero : i64
  %empty1 = arith.ori %empty, %none : i1
  %next = arith.addi %i, %one : i64
  cf.cond_br %natural, ^sizes(%next, %empty1 : i64, i1), ^wrong_size
^wrong_size:
  %kind5f = llvm.mlir.addressof @relax.rt.kind_shape : !llvm.ptr
  %kind5 = llvm.select %has_kind, %kind, %kind5f : i1, !llvm.ptr
  %format5 = llvm.mlir.addressof @relax.rt.flaw_size : !llvm.ptr
  func.call @relax.rt.raise.4(%kind5, %format5, %roleW, %i, %size, %expectedW)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> ()
  cf.br ^raised
^memory:
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %there = llvm.icmp "ne" %data, %null : !llvm.ptr
  %fine = arith.ori %there, %empty : i1
  cf.cond_br %fine, ^done, ^no_memory
^no_memory:
  %kind6f = llvm.mlir.addressof @relax.rt.kind_argument : !llvm.ptr
  %kind6 = llvm.select %has_kind, %kind, %kind6f : i1, !llvm.ptr
  %format6 = llvm.mlir.addressof @relax.rt.flaw_memory : !llvm.ptr
  func.call @relax.rt.raise.2(%kind6, %format6, %roleW, %expectedW) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  cf.br ^raised
^raised:
  func.call @relax.propagate(%failed) : (i32) -> ()
  cf.br ^done
^done:
  return
}

// Raise the error of an output DLTensor, if its sizes are not those at `sizes`, or its elements are not `dense` or not
// `aligned`.
func.func private @relax.rt.given_flaw(%tensor: !llvm.ptr, %role: !llvm.ptr, %sizes: !llvm.ptr, %dense: i1, %aligned: i1)
    attributes {passthrough = ["cold", "noinline"], relax.may_fail, relax.says_place, relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %failed = arith.constant -1 : i32
  %roleW = llvm.ptrtoint %role : !llvm.ptr to i64
  %argument = llvm.mlir.addressof @relax.rt.kind_argument : !llvm.ptr
  %rank_at = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %rank = arith.extsi %rank32 : i32 to i64
  %shape_at = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  cf.br ^dimensions(%zero : i64)
^dimensions(%i: i64):
  %more = arith.cmpi slt, %i, %rank : i64
  cf.cond_br %more, ^dimension, ^elements
^dimension:
  %actual_at = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %actual = llvm.load %actual_at : !llvm.ptr -> i64
  %wanted_at = llvm.getelementptr %sizes[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %wanted = llvm.load %wanted_at : !llvm.ptr -> i64
  %same = arith.cmpi eq, %actual, %wanted : i64
  %next = arith.addi %i, %one : i64
  cf.cond_br %same, ^dimensions(%next : i64), ^wrong_dimension
^wrong_dimension:
  %shape_kind = llvm.mlir.addressof @relax.rt.kind_shape : !llvm.ptr
  %format1 = llvm.mlir.addressof @relax.rt.flaw_given : !llvm.ptr
  func.call @relax.rt.raise.4(%shape_kind, %format1, %roleW, %i, %actual, %wanted)
    : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> ()
  cf.br ^raised
^elements:
  cf.cond_br %dense, ^places, ^strided
^strided:
  %format2 = llvm.mlir.addressof @relax.rt.flaw_dense : !llvm.ptr
  func.call @relax.rt.raise.1(%argument, %format2, %roleW) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^raised
^places:
  cf.cond_br %aligned, ^done, ^unaligned
^unaligned:
  %format3 = llvm.mlir.addressof @relax.rt.flaw_aligned : !llvm.ptr
  func.call @relax.rt.raise.1(%argument, %format3, %roleW) : (!llvm.ptr, !llvm.ptr, i64) -> ()
  cf.br ^raised
^raised:
  func.call @relax.propagate(%failed) : (i32) -> ()
  cf.br ^done
^done:
  return
}
