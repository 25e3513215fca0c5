"""The boundary of compiled code: dtypes, the signatures of public functions, and the tables of their arguments."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import CompileError, DTypeError
from relax_mlir.mlir import func, ir

# Element types on both sides of the boundary: the project's dtype names, DLPack codes, MLIR types.


@dataclass(frozen=True)
class DType:
    """A dtype in DLPack: `code` and `bits` of DLDataType, `size` in bytes in memory, `mlir` its type at level M."""

    name: str
    code: int
    bits: int
    mlir: str

    @property
    def size(self) -> int:
        return self.bits // 8

    @property
    def packed(self) -> int:
        """The DLDataType (one lane) as a little-endian 32-bit integer."""
        return self.code | self.bits << 8 | 1 << 16


_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6

DTYPES = {
    d.name: d
    for d in (
        *(DType(f"int{b}", _INT, b, f"i{b}") for b in (8, 16, 32, 64)),
        *(DType(f"uint{b}", _UINT, b, f"i{b}") for b in (8, 16, 32, 64)),
        *(DType(f"float{b}", _FLOAT, b, f"f{b}") for b in (16, 32, 64)),
        DType("bfloat16", _BFLOAT, 16, "bf16"),
        DType("bool", _BOOL, 8, "i1"),
    )
}

# Signless integers are signed unless the signature gives a dtype.
_OF_MLIR = {d.mlir: d for d in DTYPES.values() if d.code != _UINT}
_OF_MLIR |= {f"si{b}": DTYPES[f"int{b}"] for b in (8, 16, 32, 64)}
_OF_MLIR |= {f"ui{b}": DTYPES[f"uint{b}"] for b in (8, 16, 32, 64)}


def dtype_named(name: str) -> DType:
    """Return the dtype called `name`; raise DTypeError if compiled functions cannot take it."""
    if name not in DTYPES:
        raise DTypeError(f"no dtype {name!r} at the boundary of compiled code; known: {', '.join(DTYPES)}")
    return DTYPES[name]


def dtype_of_element(element: ir.Type) -> DType:
    """Return the dtype of a memref's element type; raise DTypeError if it has none."""
    text = str(element)
    if text not in _OF_MLIR:
        raise DTypeError(f"no dtype stands for the element type {text}")
    return _OF_MLIR[text]


def element_bytes(element: ir.Type) -> int:
    """The size in bytes of an element in a memref (one for i1, eight for index)."""
    if str(element) == "index":
        return 8
    return dtype_of_element(element).size


# `relax.signature`: the parameters and results of a public function, as its FFI wrapper needs them.


ENTRY_PREFIX = "__tvm_ffi_"
"""The prefix of an entry point's symbol; the name of the function follows."""

INPUTS = "relax.inputs"
"""Attribute of an entry point: the number of parameters."""

MEMORY_PLAN = "relax.memory_plan"
"""Attribute of a function: its memory plan, as text (see `lowering.memory.report`)."""

RELEASE = "__relax_release"
CONSTANTS_ADDRESS = "__relax_constants_address"
MEMORY_ADDRESS = "__relax_memory_address"
PROFILE_ADDRESS = "__relax_profile_address"
THREADS_ADDRESS = "__relax_threads_address"
"""The functions that `emit-lifecycle` emits."""

KINDS = ("tensor", "shape", "int", "object", "tuple")


@dataclass(frozen=True)
class Value:
    """A parameter or result.

    `type` is the type that errors show; `dtype` belongs to tensors, `ndim` and `shape` to tensors and shapes (None and
    empty: not known; formulas are text), `fields` to tuples. `returned`: the function itself returns this result; the
    others are tensors that its entry point allocates before the call.
    """

    name: str
    kind: str
    type: str
    dtype: DType | None = None
    ndim: int | None = 0
    fields: tuple[Value, ...] = ()
    returned: bool = False
    shape: tuple[int | str, ...] = ()

    @property
    def is_handle(self) -> bool:
        """True if the function takes or returns a handle: the two words of a TVMFFIAny."""
        return self.kind == "object" or self.ndim is None or (self.kind == "tensor" and self.dtype is None)

    @property
    def is_tensor(self) -> bool:
        """True for a tensor of known rank and dtype."""
        return self.kind == "tensor" and not self.is_handle

    @property
    def dims(self) -> int:
        """The number of index values that `@f.shapes` takes (or returns) for it."""
        if self.kind == "tuple":
            return sum(field.dims for field in self.fields)
        if self.returned:
            return 0
        return 1 if self.kind == "int" else self.ndim or 0

    @property
    def arguments(self) -> int:
        """The number of arguments that `@f` takes for it: two for a handle, the sizes of a shape, otherwise one."""
        if self.kind == "tuple":
            return sum(field.arguments for field in self.fields)
        if self.is_handle:
            return 2
        return self.dims if self.kind == "shape" else 1

    def longest_tuple(self) -> int:
        """The number of fields of the longest tuple in the value; 0 without tuples."""
        return max([len(self.fields), *(field.longest_tuple() for field in self.fields)])

    def leaves(self) -> Iterator[Value]:
        """Yield the value itself, or the leaves of its fields in order."""
        if self.kind != "tuple":
            yield self
        for field in self.fields:
            yield from field.leaves()


@dataclass(frozen=True)
class Place:
    """The position of a leaf in the parameters: indices of the parameter and of nested fields, and its name."""

    path: tuple[int, ...]
    name: str


def before_results(written: Sequence[Place], count: int) -> int:
    """The number of parameters before the written ones, if these are the last; otherwise `count`."""
    first = count - len(written)
    return first if [place.path for place in written] == [(number,) for number in range(first, count)] else count


@dataclass(frozen=True)
class Signature:
    """Name, parameters and results of a public function; `tuple_result`: it returns an FFI Array."""

    name: str
    params: tuple[Value, ...]
    results: tuple[Value, ...]
    tuple_result: bool
    recursive: bool = False
    """The function may call itself; its last argument is the address that stack depth is measured from."""
    written: tuple[int, ...] = ()
    """Indices of arguments that the function writes: destinations of a prim func, and those donated to results."""

    @property
    def written_places(self) -> tuple[Place, ...]:
        """The parameters, or fields of them, that the function writes."""
        found: list[Place] = []
        start = 0
        for number, param in enumerate(self.params):
            for path, leaf in _paths(param, (number,)):
                if start in self.written:
                    found.append(Place(path, leaf.name))
                start += leaf.arguments
        return tuple(found)

    @property
    def inputs(self) -> int:
        """The number of parameters before the results (see `before_results`)."""
        return before_results(self.written_places, len(self.params))

    @property
    def takes_results(self) -> bool:
        """True if callers may pass the results in: all are tensors whose sizes are known before the call."""
        return (
            bool(self.results) and not self.written and all(r.kind == "tensor" and not r.returned for r in self.results)
        )

    @property
    def takes_handles(self) -> bool:
        """True if a parameter, or a part of one, is passed on as a handle because its type is not fully known."""
        return any(leaf.is_handle for param in self.params for leaf in param.leaves())


def _plain(attribute: ir.Attribute) -> Any:  # noqa: ANN401 - the tree of an attribute
    if isinstance(attribute, ir.DictAttr):
        return {named.name: _plain(named.attr) for named in attribute}
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(a) for a in attribute]
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.UnitAttr):
        return True
    if isinstance(attribute, ir.StringAttr | ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr):
        return attribute.value
    return str(attribute)


plain = _plain


def _paths(value: Value, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Value]]:
    """Yield the leaves of a value with their paths."""
    if value.kind != "tuple":
        yield path, value
    for number, field in enumerate(value.fields):
        yield from _paths(field, (*path, number))


def _value(data: dict[str, Any], default: str, *, result: bool) -> Value:
    kind = data.get("kind", "tensor")
    if kind not in KINDS:
        raise CompileError(f"relax.signature: kind {kind!r} of {default}; known kinds: {', '.join(KINDS)}")
    name = data.get("name", default)
    fields = tuple(_value(f, f"{name}[{i}]", result=result) for i, f in enumerate(data.get("fields", ())))
    dtype = dtype_named(data["dtype"]) if "dtype" in data else None
    ndim = int(data["ndim"]) if "ndim" in data else None if kind in ("tensor", "shape") else 0
    text = data.get("type") or (f"Tensor of {ndim} dimensions" if kind == "tensor" else kind)
    returned = result and (kind in ("shape", "int", "object") or bool(data.get("returned", False)))
    return Value(name, kind, text, dtype, ndim, fields, returned, tuple(data.get("shape", ())))


def signature_of(func_op: ir.Operation) -> Signature:
    """Read the attribute `relax.signature` of a function; raise CompileError naming what is malformed."""
    return signature_from(_plain(func_op.attributes[SIGNATURE]))


def signature_from(data: dict[str, Any]) -> Signature:
    """Build the signature from the attribute's contents (`plain`); raise CompileError naming what is malformed."""
    try:
        params = tuple(_value(p, f"#{i}", result=False) for i, p in enumerate(data.get("params", ())))
        results = tuple(_value(r, f"result {i}", result=True) for i, r in enumerate(data.get("results", ())))
        written = tuple(int(number) for number in data.get("written", ()))
        is_tuple = bool(data.get("tuple", len(results) != 1))
        return Signature(data["name"], params, results, is_tuple, bool(data.get("recursive", False)), written)
    except (KeyError, TypeError) as error:
        raise CompileError(f"malformed relax.signature {data!r}: {error}") from error


# The function that an entry point calls.


@dataclass(frozen=True)
class Callee:
    """A function that an entry point calls: its symbol and the types of its arguments and results.

    `entry`: the name of the entry point without the common prefix. `is_flat`: each tensor is passed as the address of
    its elements followed by its sizes.
    """

    name: str
    entry: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    is_flat: bool = False

    @staticmethod
    def of(function: func.FuncOp, signature: Signature) -> Callee:
        """Describe a function of the module."""
        results = [str(type) for type in function.type.results if not isinstance(type, ir.MemRefType)]
        arguments = tuple(str(type) for type in function.type.inputs)
        return Callee(function.name.value, signature.name, arguments, tuple(results))


def flat_types(rank: int) -> list[str]:
    """The types of a tensor that is passed as the address of its elements and its sizes."""
    return ["!llvm.ptr", *["i64"] * rank]


# Layout of the tables that describe an entry point's tensor parameters, and of records of tensors that were read.
#
# A table is a constant of a module: one row per tensor, then the strings of error messages. A row is {rank: i32, packed
# dtype: i32, bytes of an element: i64, and four offsets from the start of the row, as i32: of the role ("main:
# parameter 'x'"), of the role without the function's name, of the expected type ("x: Tensor((n,), "float32")"), and of
# the kind of errors, 0 to choose the fitting kind}.
#
# A record of a tensor that was read is {address of its elements, address of its DLTensor, end address of its elements
# (if they are dense), i8: row-major order, i8: elements aligned to their size}. `support_arguments` fills it in.


_ROW = struct.Struct("<iiqiiii")
ROW_BYTES = _ROW.size
RECORD_BYTES = 32

LAYOUT = {
    "ROW_BYTES": ROW_BYTES,
    "DTYPE": 4,
    "ELEMENT": 8,
    "ROLE": 16,
    "NAME": 20,
    "EXPECTED": 24,
    "KIND": 28,
    "RECORD_BYTES": RECORD_BYTES,
    "RECORD_TENSOR": 8,
    "RECORD_END": 16,
    "RECORD_CONTIGUOUS": 24,
    "RECORD_ALIGNED": 25,
}
"""Offsets and sizes in bytes, by the names in the code."""


@dataclass(frozen=True)
class Row:
    """A tensor: its rank, packed dtype (see `DType`), element size in bytes, and the strings of its errors.

    `prefix`: the start of the role ("main: "), which is not part of the name; `kind`: the kind of all errors, or "".
    """

    rank: int
    dtype: int
    element: int
    prefix: str
    name: str
    expected: str
    kind: str = ""


def table_of(rows: Sequence[Row]) -> bytes:
    """The contents of a table; equal strings are stored once."""
    texts = b""
    places: dict[bytes, int] = {}
    packed = []

    def place(text: str) -> int:
        nonlocal texts
        data = text.encode() + b"\0"
        if data not in places:
            places[data] = ROW_BYTES * len(rows) + len(texts)
            texts += data
        return places[data]

    for number, row in enumerate(rows):
        start = ROW_BYTES * number
        role = place(row.prefix + row.name) - start
        name = role + len(row.prefix.encode())
        expected = place(row.expected) - start
        kind = place(row.kind) - start if row.kind else 0
        packed.append(_ROW.pack(row.rank, row.dtype, row.element, role, name, expected, kind))
    return b"".join(packed) + texts


def table_name(table: bytes) -> str:
    """The name of the constant that holds a table, the same in all modules."""
    return f"relax.table.{hashlib.sha256(table).hexdigest()[:16]}"
