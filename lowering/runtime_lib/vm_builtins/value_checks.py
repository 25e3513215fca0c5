"""Builtins that check arguments of functions, and evaluate conditions."""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ARRAY, DL, INT, LIST, NONE, SHAPE
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import (
    BOOL,
    BOOL8,
    DTYPE,
    FLOAT,
    FUNCTION,
    Builtins,
    BuiltinWriter,
)


def _known(c: BuiltinWriter, value: str) -> str:
    """True (i1) if an integer is known: non-negative; -1 represents "unknown"."""
    return c.code.let(f"arith.cmpi sge, {value}, {c.code.constant(0)} : i64")


def _check_tensor_info(c: BuiltinWriter) -> None:
    """(x, ndim, dtype, context): a CPU tensor with memory, of that rank and dtype; -1 and None: any."""
    code = c.code
    c.take(4, "x", "ndim", "dtype", "context")
    context = c.text(c.slot(3), "argument 'context'")
    tensor = c.tensor_of(c.slot(0), context)
    ndim, rank = c.number(c.slot(1), "argument 'ndim'"), c.rank(tensor)
    dtype = code.load(tensor, DL.DTYPE, "i32")
    code.do(f"scf.if {c.equal(c.kind_of(c.slot(2)), NONE, 'i32')} {{\n  }} else {{")
    wanted = c.dtype(c.slot(2), "argument 'dtype'")
    c.check_as(
        code.let(f"arith.cmpi eq, {dtype}, {wanted} : i32"),
        "DTypeError",
        "{0:text} has dtype {1:dtype}, expected {2:dtype}",
        context,
        code.index(dtype, "i32"),
        code.index(wanted, "i32"),
    )
    code.do("}")
    code.do(f"scf.if {_known(c, ndim)} {{")
    c.check_as(
        code.let(f"arith.cmpi eq, {rank}, {ndim} : i64"),
        "ShapeError",
        "{0:text} has rank {1}, expected rank {2}",
        context,
        code.index(rank),
        code.index(ndim),
    )
    code.do("}")
    shape = code.load(tensor, DL.SHAPE, "!llvm.ptr")
    total, i, before = code.fresh(), code.fresh(), code.fresh()
    zero, step, one = code.constant(0, "index"), code.constant(1, "index"), code.constant(1)
    code.do(
        f"{total} = scf.for {i} = {zero} to {code.index(rank)} step {step} iter_args({before} = {one}) -> (i64) {{"
    )
    position = code.let(f"arith.index_cast {i} : index to i64")
    size = code.load(c.element(shape, position, 8), 0, "i64")
    c.check_as(
        _known(c, size),
        "ShapeError",
        "{0:text} has dimension {1} of {2}, expected zero or more",
        context,
        i,
        code.index(size),
    )
    none = c.equal(size, 0, "i64")
    code.do(f"scf.yield {code.let(f'arith.select {none}, {code.constant(0)}, {before} : i64')} : i64")
    code.do("}")
    data = code.load(tensor, DL.DATA, "!llvm.ptr")
    there = code.let(f'llvm.icmp "ne" {data}, {code.null()} : !llvm.ptr')
    c.check_as(
        c.any_of(there, c.equal(total, 0, "i64")),
        "ArgumentError",
        "{0:text} has elements, but no memory: its data pointer is null, as that of fake and meta tensors is",
        context,
    )
    c.nothing()


def _require(c: BuiltinWriter, kinds: tuple[int, ...], context: str, expected: str) -> None:
    kind = c.kind_of(c.slot(0))
    c.check_as(
        c.any_of(*(c.equal(kind, k, "i32") for k in kinds)),
        "ArgumentError",
        f"{{0:text}} is of type {{1:type}}, expected {expected}",
        context,
        c.code.index(kind, "i32"),
    )


def _check_shape_info(c: BuiltinWriter) -> None:
    """(shape, ndim, context): a shape of `ndim` non-negative dimensions; -1: any number."""
    code = c.code
    c.take(3, "shape", "ndim", "context")
    context = c.text(c.slot(2), "argument 'context'")
    _require(c, (SHAPE, ARRAY, LIST), context, "a shape")
    rank, numbers = c.dims(c.slot(0), "argument 'shape'")
    ndim = c.number(c.slot(1), "argument 'ndim'")
    code.do(f"scf.if {_known(c, ndim)} {{")
    c.check_as(
        code.let(f"arith.cmpi eq, {rank}, {ndim} : i64"),
        "ShapeError",
        "{0:text} has {1} elements, expected {2}",
        context,
        code.index(rank),
        code.index(ndim),
    )
    code.do("}")
    i = c.loop(rank)
    size = code.load(c.element(numbers, i, 8), 0, "i64")
    c.check_as(
        _known(c, size),
        "ShapeError",
        "{0:text} has an element {1} of {2}, expected zero or more",
        context,
        code.index(i),
        code.index(size),
    )
    code.do("}")
    c.nothing()


def _check_prim_value_info(c: BuiltinWriter) -> None:
    """(value, dtype, context): an integer, a boolean or a float, according to the dtype."""
    code = c.code
    c.take(3, "value", "dtype", "context")
    context = c.text(c.slot(2), "argument 'context'")
    c.require_kind(c.slot(1), (DTYPE,), "argument 'dtype'", "a dtype")
    word = code.load(c.slot(1), 8, "i32")
    of_dtype = code.let(f"arith.andi {word}, {code.constant(255, 'i32')} : i32")
    is_float = c.equal(of_dtype, 2, "i32")
    code.do(f"scf.if {is_float} {{")
    _require(c, (FLOAT,), context, "a float")
    code.do("} else {")
    code.do(f"scf.if {c.equal(of_dtype, 6, 'i32')} {{")
    _require(c, (BOOL, INT), context, "a truth value")
    code.do("} else {")
    _require(c, (INT,), context, "an int")
    code.do("}\n  }")
    c.nothing()


def _check_tuple_info(c: BuiltinWriter) -> None:
    """(value, size, context): a tuple (an FFI array) of `size` fields."""
    code = c.code
    c.take(3, "value", "size", "context")
    context = c.text(c.slot(2), "argument 'context'")
    _require(c, (ARRAY, LIST), context, "a tuple")
    size = c.number(c.slot(1), "argument 'size'")
    have = code.load(code.load(c.slot(0), 8, "!llvm.ptr"), 24 + 8, "i64")
    c.check_as(
        code.let(f"arith.cmpi eq, {have}, {size} : i64"),
        "ArgumentError",
        "{0:text} has {1} elements, expected {2}",
        context,
        code.index(have),
        code.index(size),
    )
    c.nothing()


def _check_func_info(c: BuiltinWriter) -> None:
    """(value, context): a function."""
    c.take(2, "value", "context")
    context = c.text(c.slot(1), "argument 'context'")
    _require(c, (FUNCTION,), context, "a function")
    c.nothing()


def _read_if_cond(c: BuiltinWriter) -> None:
    """(condition): the boolean value of a number, or of a rank-0 bool tensor, for `If`."""
    code = c.code
    c.take(1, "condition")
    kind = c.kind_of(c.slot(0))
    result = code.fresh()
    is_number = c.any_of(c.equal(kind, INT, "i32"), c.equal(kind, BOOL, "i32"))
    code.do(f"{result} = scf.if {is_number} -> i64 {{")
    code.do(f"scf.yield {c.payload(c.slot(0))} : i64")
    code.do("} else {")
    tensor = c.dl_tensor(c.slot(0), "argument 'condition'")
    dtype, rank = code.load(tensor, DL.DTYPE, "i32"), code.load(tensor, DL.NDIM, "i32")
    c.check(
        c.all_of(c.equal(dtype, BOOL8, "i32"), c.equal(rank, 0, "i32")),
        "DTypeError",
        "the condition is a tensor of rank {1} of {0:dtype}, expected rank 0 of bool",
        code.index(dtype, "i32"),
        code.index(rank, "i32"),
    )
    byte = code.load(c.elements(tensor), 0, "i8")
    code.do(f"scf.yield {code.let(f'arith.extui {byte} : i8 to i64')} : i64")
    code.do("}")
    flag = code.let(f"arith.cmpi ne, {result}, {code.constant(0)} : i64")
    c.result(BOOL, code.let(f"arith.extui {flag} : i1 to i64"))


CHECKS: Builtins = {
    "vm.builtin.check_tensor_info": _check_tensor_info,
    "vm.builtin.check_shape_info": _check_shape_info,
    "vm.builtin.check_prim_value_info": _check_prim_value_info,
    "vm.builtin.check_tuple_info": _check_tuple_info,
    "vm.builtin.check_func_info": _check_func_info,
    "vm.builtin.read_if_cond": _read_if_cond,
}
