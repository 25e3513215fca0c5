"""Builtins that create storages and tensors, and copy and reshape them."""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import DL, OBJECT_BYTES, TENSOR
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import UINT8, Builtins, BuiltinWriter


def _alloc_storage(c: BuiltinWriter) -> None:
    """(vm, shape, device, dtype[, scope]): a storage, a tensor with one byte per element of the shape."""
    code = c.code
    c.take_from(4, "vm", "shape", "device", "dtype", "scope")
    _, _, size = c.natural_shape(c.slot(1), "argument 'shape'")
    device = c.number(c.slot(2), "argument 'device'")
    c.check(
        c.equal(device, 0, "i64"),
        "DeviceError",
        "device {0} is asked for, there is only 0",
        code.index(device),
    )
    c.dtype(c.slot(3), "argument 'dtype'")
    room = code.stack(8)
    code.store(size, "i64", room)
    c.result(TENSOR, c.owned_tensor(room, code.constant(1), code.constant(UINT8, "i32"), size))


def _alloc_tensor(c: BuiltinWriter) -> None:
    """(storage, offset, shape, dtype): a tensor in a storage at byte `offset`."""
    code = c.code
    c.take(4, "storage", "offset", "shape", "dtype")
    role = "argument 'storage'"
    c.require_kind(c.slot(0), (TENSOR,), role, "a storage (a tensor of bytes)")
    storage = c.dl_tensor(c.slot(0), role)
    dtype, rank = code.load(storage, DL.DTYPE, "i32"), code.load(storage, DL.NDIM, "i32")
    c.check(
        c.all_of(c.equal(dtype, UINT8, "i32"), c.equal(rank, 1, "i32")),
        "DTypeError",
        f"{role} is a tensor of rank {{1}} of {{0:dtype}}, expected rank 1 of uint8",
        code.index(dtype, "i32"),
        code.index(rank, "i32"),
    )
    contiguous = c.call("relax.rt.contiguous", [storage], ["!llvm.ptr"], "i1")
    c.check(contiguous, "ArgumentError", f"{role} is not contiguous")
    offset = c.number(c.slot(1), "argument 'offset'")
    new_rank, shape, elements = c.natural_shape(c.slot(2), "argument 'shape'")
    new_dtype = c.dtype(c.slot(3), "argument 'dtype'")
    needed = c.bytes_of(elements, new_dtype)
    available = code.load(code.load(storage, DL.SHAPE, "!llvm.ptr"), 0, "i64")
    limit = code.let(f"arith.subi {available}, {needed} : i64")
    c.check(
        c.all_of(
            code.let(f"arith.cmpi sge, {needed}, {code.constant(0)} : i64"),
            code.let(f"arith.cmpi sge, {offset}, {code.constant(0)} : i64"),
            code.let(f"arith.cmpi sle, {offset}, {limit} : i64"),
        ),
        "ArgumentError",
        "a tensor of {0} bytes (-1: beyond 64 bits) does not fit into a storage of {1} bytes from byte {2} on",
        code.index(needed),
        code.index(available),
        code.index(offset),
    )
    at = code.let(f"llvm.getelementptr {c.elements(storage)}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    c.result(TENSOR, c.view(code.load(c.slot(0), 8, "!llvm.ptr"), at, new_rank, shape, new_dtype))


def _reshape(c: BuiltinWriter) -> None:
    """(x, shape): the elements of a tensor in another shape: a view if it is row-major, otherwise a copy."""
    code = c.code
    c.take(2, "x", "shape")
    x = c.dl_tensor(c.slot(0), "argument 'x'")
    rank, shape, wanted = c.natural_shape(c.slot(1), "argument 'shape'")
    dtype = code.load(x, DL.DTYPE, "i32")
    have = c.call("relax.rt.tensor_bytes", [x, code.constant(1)], ["!llvm.ptr", "i64"], "i64")
    c.check(
        code.let(f"arith.cmpi eq, {have}, {wanted} : i64"),
        "ShapeError",
        "a tensor of {0} elements cannot have a shape of {1}",
        code.index(have),
        code.index(wanted),
    )
    is_object = c.equal(c.kind_of(c.slot(0)), TENSOR, "i32")
    plain = c.all_of(is_object, c.call("relax.rt.contiguous", [x], ["!llvm.ptr"], "i1"))
    source, base = code.fresh(), code.fresh()
    code.do(f"{source}, {base} = scf.if {plain} -> (!llvm.ptr, !llvm.ptr) {{")
    code.do(f"scf.yield {code.load(c.slot(0), 8, '!llvm.ptr')}, {c.elements(x)} : !llvm.ptr, !llvm.ptr")
    code.do("} else {")
    copy = c.copy(x)
    code.do(
        f"scf.yield {copy}, {code.load(copy, OBJECT_BYTES + DL.DATA, '!llvm.ptr')} : !llvm.ptr, !llvm.ptr"
    )
    code.do("}")
    c.result(TENSOR, c.view(source, base, rank, shape, dtype))


def _copy(c: BuiltinWriter) -> None:
    """(x): the value itself, for a move between registers."""
    c.take(1, "x")
    c.any_result(c.slot(0))


def _copy_tensor(c: BuiltinWriter) -> None:
    """(x): a new tensor with the elements of another one, in row-major order."""
    c.take(1, "x")
    c.held(TENSOR, c.copy(c.dl_tensor(c.slot(0), "argument 'x'")))


def _copy_into(c: BuiltinWriter) -> None:
    """(source, destination): copy the elements of a tensor into another one of the same shape and dtype."""
    code = c.code
    c.take(2, "source", "destination")
    source, target = (
        c.dl_tensor(c.slot(i), f"argument '{n}'") for i, n in enumerate(("source", "destination"))
    )
    dtype, other = (code.load(t, DL.DTYPE, "i32") for t in (source, target))
    c.check(
        code.let(f"arith.cmpi eq, {dtype}, {other} : i32"),
        "DTypeError",
        "the source has dtype {0:dtype}, the destination {1:dtype}",
        code.index(dtype, "i32"),
        code.index(other, "i32"),
    )
    rank, other_rank = c.rank(source), c.rank(target)
    c.check(
        code.let(f"arith.cmpi eq, {rank}, {other_rank} : i64"),
        "ShapeError",
        "the source has rank {0}, the destination {1}",
        code.index(rank),
        code.index(other_rank),
    )
    sizes, others = (code.load(t, DL.SHAPE, "!llvm.ptr") for t in (source, target))
    i = c.loop(rank)
    a, b = (code.load(c.element(shape, i, 8), 0, "i64") for shape in (sizes, others))
    c.check(
        code.let(f"arith.cmpi eq, {a}, {b} : i64"),
        "ShapeError",
        "dimension {0} of the source is {1}, of the destination {2}",
        code.index(i),
        code.index(a),
        code.index(b),
    )
    code.do("}")
    contiguous = c.call("relax.rt.contiguous", [target], ["!llvm.ptr"], "i1")
    c.check(contiguous, "ArgumentError", "the destination is not contiguous")
    data, bytes = c.row_major(source)
    operands = f"{c.elements(target)}, {data}, {bytes}"
    code.do(f'"llvm.intr.memmove"({operands}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()')
    c.nothing()


def _null_value(c: BuiltinWriter) -> None:
    """(): None; ends the lifetime of the register's previous value."""
    c.take(0)
    c.nothing()


MEMORY: Builtins = {
    "vm.builtin.alloc_storage": _alloc_storage,
    "vm.builtin.alloc_tensor": _alloc_tensor,
    "vm.builtin.reshape": _reshape,
    "vm.builtin.copy": _copy,
    "vm.builtin.copy_tensor": _copy_tensor,
    "vm.builtin.copy_into": _copy_into,
    "vm.builtin.null_value": _null_value,
}
