"""Scalar builtins, named like the ops of MLIR's arith dialect that they run; integers have 64 bits."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.abi.unpack import DL, FLOAT, INT, OBJECT_BYTES, TENSOR
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import BOOL, Builtins, BuiltinWriter, Writer

PREFIX = "vm.builtin.arith."
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""Predicates of `arith.cmpi`, by enum value."""


def _binary(text: Callable[[BuiltinWriter, str, str], str], kind: int = INT) -> Writer:
    def write(c: BuiltinWriter) -> None:
        c.take(2, "a", "b")
        a, b = (c.number(c.slot(i), f"argument '{name}'") for i, name in enumerate("ab"))
        c.result(kind, text(c, a, b))

    return write


def _op(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    return lambda c, a, b: c.code.let(f"arith.{name} {a}, {b} : i64")


def _compare(predicate: str) -> Callable[[BuiltinWriter, str, str], str]:
    def write(c: BuiltinWriter, a: str, b: str) -> str:
        flag = c.code.let(f"arith.cmpi {predicate}, {a}, {b} : i64")
        return c.code.let(f"arith.extui {flag} : i1 to i64")

    return write


def _divide(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    """A division defined for all operands: x / 0 is 0, and the minimum integer divided by -1 is itself."""

    def write(c: BuiltinWriter, a: str, b: str) -> str:
        code = c.code
        zero, one, minus = code.constant(0), code.constant(1), code.constant(-1)
        by_zero = code.let(f"arith.cmpi eq, {b}, {zero} : i64")
        by_minus = code.let(f"arith.cmpi eq, {b}, {minus} : i64")
        safe = code.let(f"arith.select {c.any_of(by_zero, by_minus)}, {one}, {b} : i64")
        quotient = code.let(f"arith.{name} {a}, {safe} : i64")
        negated = zero if name == "remsi" else code.let(f"arith.subi {zero}, {a} : i64")
        result = code.let(f"arith.select {by_minus}, {negated}, {quotient} : i64")
        return code.let(f"arith.select {by_zero}, {zero}, {result} : i64")

    return write


def _shift(name: str) -> Callable[[BuiltinWriter, str, str], str]:
    """A shift defined for all amounts: by 64 or more it returns 0, or the sign."""

    def write(c: BuiltinWriter, a: str, b: str) -> str:
        code = c.code
        most = code.constant(63)
        large = code.let(f"arith.cmpi ugt, {b}, {most} : i64")
        limited = code.let(f"arith.minui {b}, {most} : i64")
        shifted = code.let(f"arith.{name} {a}, {limited} : i64")
        if name == "shrsi":
            return shifted
        return code.let(f"arith.select {large}, {code.constant(0)}, {shifted} : i64")

    return write


def _select(c: BuiltinWriter) -> None:
    """(condition, a, b): one of two values."""
    code = c.code
    c.take(3, "condition", "a", "b")
    condition = c.number(c.slot(0), "argument 'condition'")
    flag = code.let(f"arith.cmpi ne, {condition}, {code.constant(0)} : i64")
    c.any_result(code.let(f"llvm.select {flag}, {c.slot(1)}, {c.slot(2)} : i1, !llvm.ptr"))


def _extract(c: BuiltinWriter) -> None:
    """(x, indices...): an element of a tensor of integers, booleans, float32 or float64."""
    code = c.code
    c.take_from(1, "x", "indices...")
    tensor = c.dl_tensor(c.slot(0), "argument 'x'")
    rank = c.rank(tensor)
    given = code.let(f"arith.subi {c.count()}, {code.constant(1)} : i64")
    c.check(
        code.let(f"arith.cmpi eq, {rank}, {given} : i64"),
        "ArgumentError",
        "a tensor of rank {0} takes {0} indices; got {1}",
        code.index(rank),
        code.index(given),
    )
    shape, strides = code.load(tensor, DL.SHAPE, "!llvm.ptr"), code.load(tensor, DL.STRIDES, "!llvm.ptr")
    has_strides = code.let(f'llvm.icmp "ne" {strides}, {code.null()} : !llvm.ptr')
    place, i, before = code.fresh(), code.fresh(), code.fresh()
    zero, step = code.constant(0, "index"), code.constant(1, "index")
    code.do(
        f"{place} = scf.for {i} = {zero} to {code.index(rank)} step {step} "
        f"iter_args({before} = {code.constant(0)}) -> (i64) {{"
    )
    axis = code.let(f"arith.index_cast {i} : index to i64")
    position = code.let(f"arith.addi {axis}, {code.constant(1)} : i64")
    index, size = c.number(c.argument(position), "an index"), code.load(c.element(shape, axis, 8), 0, "i64")
    c.check(
        code.let(f"arith.cmpi ult, {index}, {size} : i64"),
        "ArgumentError",
        "index {0} is out of range for dimension {1} of {2}",
        code.index(index),
        i,
        code.index(size),
    )
    stepped, row_major = code.fresh(), code.let(f"arith.muli {before}, {size} : i64")
    code.do(f"{stepped} = scf.if {has_strides} -> i64 {{")
    stride = code.load(c.element(strides, axis, 8), 0, "i64")
    move = code.let(f"arith.muli {index}, {stride} : i64")
    code.do(f"scf.yield {code.let(f'arith.addi {before}, {move} : i64')} : i64")
    code.do("} else {")
    code.do(f"scf.yield {code.let(f'arith.addi {row_major}, {index} : i64')} : i64")
    code.do("}")
    code.do(f"scf.yield {stepped} : i64")
    code.do("}")
    dtype = code.load(tensor, DL.DTYPE, "i32")
    offset = code.let(f"arith.muli {place}, {c.element_bytes(dtype)} : i64")
    at = code.let(f"llvm.getelementptr {c.elements(tensor)}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    _element(c, at, dtype)


def _element(c: BuiltinWriter, at: str, dtype: str) -> None:
    """Return the element of a dtype (i32) at an address."""
    code = c.code
    known = code.constant(0, "i1")
    for kind, packed, conversion, type_ in _ELEMENTS:
        flag = c.equal(dtype, packed, "i32")
        known = c.any_of(known, flag)
        code.do(f"scf.if {flag} {{")
        value = code.let(f"llvm.load {at} {{alignment = 1 : i64}} : !llvm.ptr -> {type_}")
        for step in conversion:
            value = code.let(step.format(value, code.constant(0, "i8")))
        c.store_any("%ret", 0, kind, value)
        code.do("}")
    c.check(
        known,
        "DTypeError",
        "elements of {0:dtype} are no numbers of the virtual machine",
        code.index(dtype, "i32"),
    )
    code.do("func.return")


def _from_elements(c: BuiltinWriter) -> None:
    """(dtype, shape, elements...): a tensor of scalars, in row-major order."""
    code = c.code
    c.take_from(2, "dtype", "shape", "elements...")
    dtype = c.dtype(c.slot(0), "argument 'dtype'")
    rank, shape, size = c.natural_shape(c.slot(1), "argument 'shape'")
    given = code.let(f"arith.subi {c.count()}, {code.constant(2)} : i64")
    c.check(
        code.let(f"arith.cmpi eq, {size}, {given} : i64"),
        "ArgumentError",
        "a tensor of {0} elements takes as many numbers; got {1}",
        code.index(size),
        code.index(given),
    )
    known = code.constant(0, "i1")
    for _, packed, _, _ in _ELEMENTS:
        known = c.any_of(known, c.equal(dtype, packed, "i32"))
    c.check(
        known,
        "DTypeError",
        "{0:dtype} is no dtype of numbers of the virtual machine",
        code.index(dtype, "i32"),
    )
    narrow = code.let(f"arith.trunci {rank} : i64 to i32")
    tensor = c.new_tensor(shape, narrow, dtype)
    data = code.load(tensor, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
    bytes = c.element_bytes(dtype)
    i = c.loop(size)
    slot = c.argument(code.let(f"arith.addi {i}, {code.constant(2)} : i64"))
    offset = code.let(f"arith.muli {i}, {bytes} : i64")
    at = code.let(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
    for kind, packed, _, type_ in _ELEMENTS:
        code.do(f"scf.if {c.equal(dtype, packed, 'i32')} {{")
        if kind == FLOAT:
            c.require_kind(slot, (FLOAT,), "an element", "a float")
            value = code.let(f"arith.bitcast {c.payload(slot)} : i64 to f64")
            value = value if type_ == "f64" else code.let(f"arith.truncf {value} : f64 to f32")
        else:
            value = c.number(slot, "an element")
            if kind == BOOL:
                flag = code.let(f"arith.cmpi ne, {value}, {code.constant(0)} : i64")
                value = code.let(f"arith.extui {flag} : i1 to i64")
            value = value if type_ == "i64" else code.let(f"arith.trunci {value} : i64 to {type_}")
        code.store(value, type_, at)
        code.do("}")
    code.do("}")
    c.held(TENSOR, tensor)


def _packed(code: int, bits: int) -> int:
    return code | bits << 8 | 1 << 16


_ELEMENTS: tuple[tuple[int, int, tuple[str, ...], str], ...] = (
    (BOOL, _packed(6, 8), ("arith.cmpi ne, {0}, {1} : i8", "arith.extui {0} : i1 to i64"), "i8"),
    *((INT, _packed(0, bits), (f"arith.extsi {{0}} : i{bits} to i64",), f"i{bits}") for bits in (8, 16, 32)),
    *((INT, _packed(1, bits), (f"arith.extui {{0}} : i{bits} to i64",), f"i{bits}") for bits in (8, 16, 32)),
    *((INT, _packed(code, 64), (), "i64") for code in (0, 1)),
    (FLOAT, _packed(2, 32), ("arith.extf {0} : f32 to f64", "arith.bitcast {0} : f64 to i64"), "f32"),
    (FLOAT, _packed(2, 64), ("arith.bitcast {0} : f64 to i64",), "f64"),
)
"""FFI kind, dtype, conversions to 64 bits, and type in memory of scalar elements."""

SCALARS: Builtins = {
    **{
        f"{PREFIX}{name}": _binary(_op(name))
        for name in ("addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui")
    },
    **{f"{PREFIX}{name}": _binary(_op(name)) for name in ("andi", "ori", "xori")},
    **{f"{PREFIX}{name}": _binary(_divide(name)) for name in ("divsi", "floordivsi", "ceildivsi", "remsi")},
    **{f"{PREFIX}{name}": _binary(_shift(name)) for name in ("shli", "shrsi", "shrui")},
    **{f"{PREFIX}cmpi_{predicate}": _binary(_compare(predicate), BOOL) for predicate in PREDICATES},
    f"{PREFIX}select": _select,
    "vm.builtin.extract": _extract,
    "vm.builtin.from_elements": _from_elements,
}
