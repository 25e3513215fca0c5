"""Code that reads and writes TVM FFI values: checks, tensors, shapes, integers, objects.

Offsets are those of `tvm/ffi/c_api.h` and `dlpack/dlpack.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.lowering.base.errors import Texts, cache_global, verbatim
from relax_mlir.lowering.base.signature import LAYOUT, Row, Value, table_of
from relax_mlir.mlir_text import Code, Fragment, attribute, text_constant

ANY_BYTES = 16
OBJECT_BYTES = 24
NONE, INT, BOOL, FLOAT, DLTENSOR, RAW_STR = 0, 1, 2, 3, 7, 8
FIRST_OBJECT, SHAPE, TENSOR, ARRAY, LIST = 64, 69, 70, 71, 75

Kind = int | str
"""A type index of the FFI, or the SSA name of an i64 that holds one."""


class DL:
    """Offsets in a DLTensor."""

    DATA, DEVICE, NDIM, DTYPE, SHAPE, STRIDES, BYTE_OFFSET, BYTES = 0, 8, 16, 20, 24, 32, 40, 48


@dataclass
class Tensor:
    """A tensor argument that has been read: the address of its record (see `Row`), and its sizes (i64)."""

    value: Value
    record: str
    sizes: list[str]


@dataclass
class FFICode:
    """Emits code that reads FFI values.

    `name` makes the names of its checks unique. `prefix` starts all error messages. `kind`, if set, replaces the kinds
    of errors. `texts`: the storage of its strings.
    """

    name: str
    prefix: str
    fragment: Fragment
    code: Code = field(default_factory=Code)
    kind: str = ""
    checks: int = 0
    texts: Texts = field(init=False)

    def __post_init__(self) -> None:
        self.texts = Texts(self.fragment)

    def check(self, ok: str, kind: str, message: str, *values: str, exact_kind: bool = False) -> None:
        """Leave with an error of `kind` unless `ok` holds; `values` are of type index.

        With `exact_kind`, `self.kind` does not replace the kind.
        """
        name = f"relax.check.{self.name}.{self.checks}"
        self.checks += 1
        types = f"({', '.join(['i1'] + ['index'] * len(values))}) -> ()"
        error = kind if exact_kind else self.kind or kind
        text = self.texts.message(verbatim(self.prefix) + message)
        declaration = attribute({"kind": error, "message": text})
        symbol = self.fragment.declare(name, types, f"relax.check = {declaration}")
        self.code.do(f"func.call {symbol}({', '.join([ok, *values])}) : {types}")

    def equal(self, value: str, constant: int, type: str) -> str:
        return self.code.let(f"arith.cmpi eq, {value}, {self.code.constant(constant, type)} : {type}")

    def any_of(self, *flags: str) -> str:
        result = flags[0]
        for flag in flags[1:]:
            result = self.code.let(f"arith.ori {result}, {flag} : i1")
        return result

    def all_of(self, *flags: str) -> str:
        result = flags[0]
        for flag in flags[1:]:
            result = self.code.let(f"arith.andi {result}, {flag} : i1")
        return result

    # -- arguments ------------------------------------------------------------------------------------------

    def table(self, tensors: Sequence[tuple[Value, str]]) -> str:
        """The address of a table of tensors of known rank and dtype, each with its role in messages."""
        rows = []
        for value, role in tensors:
            assert value.dtype is not None and value.ndim is not None
            expected = f"{value.name}: {value.type}"
            rows.append(Row(value.ndim, value.dtype.packed, value.dtype.size, self.prefix, role, expected, self.kind))
        return self.code.let(f"llvm.mlir.addressof {self.texts.table(table_of(rows))} : !llvm.ptr")

    def take_tensor(self, slot: str, value: Value, row: str, record: str) -> tuple[str, Tensor]:
        """Check and read the tensor in the TVMFFIAny at `slot` against its table row.

        Returns an i1, true if it is plain (see `relax.rt.take`), and the tensor.
        """
        plain = self.call("relax.rt.take", [slot, row, record, self.code.null()], ["!llvm.ptr"] * 4, "i1")
        pointer = self.code.load(record, LAYOUT["RECORD_TENSOR"], "!llvm.ptr")
        return plain, Tensor(value, record, self.sizes(pointer, value.ndim or 0))

    def settle(self, plain: str, count: int, table: str, records: str) -> None:
        """Copy the tensors that are not plain, until the call returns; skipped if `plain` (i1) is true."""
        code = self.code
        code.do(f"scf.if {plain} {{\n  }} else {{")
        operands = [code.frame(self.fragment), code.constant(count), table, records]
        self.call("relax.rt.settle", operands, ["!llvm.ptr", "i64", "!llvm.ptr", "!llvm.ptr"])
        code.do("}")

    def data(self, tensor: Tensor) -> str:
        """The address of the elements of a tensor; after `settle`, they are in row-major order."""
        return self.code.load(tensor.record, 0, "!llvm.ptr")

    def tensor_inside(self, slot: str) -> tuple[str, Callable[[], str]]:
        """Return an i1, true if the TVMFFIAny at `slot` is a tensor, and an emitter of the address of its DLTensor."""
        code = self.code
        type_index = code.load(slot, 0, "i32")
        is_object = self.equal(type_index, TENSOR, "i32")

        def address() -> str:
            handle = code.load(slot, 8, "!llvm.ptr")
            inside = code.at(handle, OBJECT_BYTES)
            return code.let(f"llvm.select {is_object}, {inside}, {handle} : i1, !llvm.ptr")

        return self.any_of(is_object, self.equal(type_index, DLTENSOR, "i32")), address

    def found_tensor(self, slot: str, value: Value, role: str) -> str:
        """Check the tensor in the TVMFFIAny at `slot` against `value`; return the address of its DLTensor.

        A shared support function finds out what is wrong and raises the error.
        """
        code, true = self.code, self.code.constant(1, "i1")
        is_tensor, address = self.tensor_inside(slot)
        facts = [(DL.DEVICE, 1)]
        facts += [] if value.dtype is None else [(DL.DTYPE, value.dtype.packed)]
        facts += [] if value.ndim is None else [(DL.NDIM, value.ndim)]

        def of_tensor() -> list[str]:
            found = address()
            fits = self.all_of(*(self.equal(code.load(found, at, "i32"), fact, "i32") for at, fact in facts))
            return [code.let(f"arith.xori {fits}, {true} : i1"), found]

        wrong, pointer = code.choose(is_tensor, ["i1", "!llvm.ptr"], of_tensor, lambda: [true, code.null()])
        code.do(f"scf.if {wrong} {{")
        self.call(
            "relax.rt.tensor_flaw",
            [
                slot,
                self.constant_text(self.kind) if self.kind else code.null(),
                self.constant_text(self.prefix + role),
                self.constant_text(f"{value.name}: {value.type}"),
                code.constant(-1 if value.dtype is None else value.dtype.packed),
                code.constant(-1 if value.ndim is None else value.ndim),
            ],
            [*["!llvm.ptr"] * 4, "i64", "i64"],
        )
        code.do("}")
        return pointer

    def constant_text(self, text: str) -> str:
        """The address of a constant string."""
        return self.code.let(f"llvm.mlir.addressof {self.texts.constant(text)} : !llvm.ptr")

    def sizes(self, pointer: str, ndim: int) -> list[str]:
        """The sizes of a DLTensor, as i64."""
        shape = self.code.load(pointer, DL.SHAPE, "!llvm.ptr") if ndim else ""
        return [self.code.load(shape, 8 * i, "i64") for i in range(ndim)]

    def integer(self, slot: str, value: Value, role: str) -> str:
        """The integer in the TVMFFIAny at `slot`, as index."""
        type_index = self.code.load(slot, 0, "i32")
        self.check(
            self.equal(type_index, INT, "i32"),
            "ArgumentError",
            f"{verbatim(role)} is of type {{0:type}}, expected {verbatim(value.name)}: {value.type}",
            self.code.index(type_index, "i32"),
        )
        return self.code.index(self.code.load(slot, 8, "i64"))

    def sequence(self, slot: str, value: Value, role: str, kinds: tuple[int, ...], length: int) -> str:
        """Check kind and length of a Shape, Array or List; return the address of its elements."""
        code, shown, name = self.code, verbatim(role), verbatim(value.name)
        type_index = code.load(slot, 0, "i32")
        self.check(
            self.any_of(*(self.equal(type_index, kind, "i32") for kind in kinds)),
            "ArgumentError",
            f"{shown} is of type {{0:type}}, expected {name}: {value.type}",
            code.index(type_index, "i32"),
        )
        handle = code.load(slot, 8, "!llvm.ptr")
        count = code.load(handle, OBJECT_BYTES + 8, "i64")
        kind = "ShapeError" if value.kind == "shape" else "ArgumentError"
        self.check(
            self.equal(count, length, "i64"),
            kind,
            f"{shown} has {{0}} elements, expected {length} ({name}: {value.type})",
            code.index(count),
        )
        return code.load(handle, OBJECT_BYTES, "!llvm.ptr")

    def shape(self, slot: str, value: Value, role: str) -> list[str]:
        """The integers of a shape, zero or more: an FFI Shape (int64s), or an Array or List of ints (TVMFFIAnys)."""
        code, shown, name = self.code, verbatim(role), verbatim(value.name)
        assert value.ndim is not None
        elements = self.sequence(slot, value, role, (SHAPE, ARRAY, LIST), value.ndim)
        is_shape = self.equal(code.load(slot, 0, "i32"), SHAPE, "i32")
        numbers = []
        for i in range(value.ndim):
            in_shape, in_array = code.at(elements, 8 * i), code.at(elements, ANY_BYTES * i + 8)
            kind_at = code.let(
                f"llvm.select {is_shape}, {elements}, {code.at(elements, ANY_BYTES * i)} : i1, !llvm.ptr"
            )
            kind = code.load(kind_at, 0, "i32")
            self.check(
                self.any_of(is_shape, self.equal(kind, INT, "i32")),
                "ArgumentError",
                f"{shown} has an element {i} of type {{0:type}}, expected an int ({name}: {value.type})",
                code.index(kind, "i32"),
            )
            number_at = code.let(f"llvm.select {is_shape}, {in_shape}, {in_array} : i1, !llvm.ptr")
            numbers.append(code.index(code.load(number_at, 0, "i64")))
        zero = code.constant(0, "index")
        for i, number in enumerate(numbers):
            self.check(
                code.let(f"arith.cmpi sge, {number}, {zero} : index"),
                "ShapeError",
                f"{shown} has an element {i} of {{0}}, expected zero or more ({name}: {value.type})",
                number,
                exact_kind=True,
            )
        return numbers

    # -- values ---------------------------------------------------------------------------------------------

    def store_any(self, to: str, position: int, kind: Kind, payload: str) -> None:
        """Store a TVMFFIAny: integers are i64, floats their bits as i64, other payloads pointers.

        A kind that is only known at run time is the i64 with which the TVMFFIAny begins; its payload is also an i64.
        """
        words = isinstance(kind, str) or kind in (NONE, INT, BOOL, FLOAT)
        self.code.store(kind if isinstance(kind, str) else self.code.constant(kind), "i64", to, ANY_BYTES * position)
        self.code.store(payload, "i64" if words else "!llvm.ptr", to, ANY_BYTES * position + 8)

    def construct(self, name: str, arguments: str, count: int | str) -> str:
        return construct(self.code, self.fragment, name, arguments, count, self.texts.cache(name))

    def call(self, name: str, operands: Sequence[str], types: Sequence[str], result: str = "") -> str:
        """Call a function of the module; return its result, if it has one."""
        type = f"({', '.join(types)}) -> {result or '()'}"
        text = f"func.call {self.fragment.declare(name, type)}({', '.join(operands)}) : {type}"
        if result:
            return self.code.let(text)
        self.code.do(text)
        return ""

    def own(self, object: str) -> None:
        """Move a reference to an object to the frame."""
        frame = self.code.frame(self.fragment)
        self.call("relax.rt.own", [frame, object], ["!llvm.ptr", "!llvm.ptr"])

    def shape_of_numbers(self, numbers: Sequence[str]) -> str:
        """Create an FFI Shape of index values; return its handle."""
        room = self.code.stack(ANY_BYTES * len(numbers))
        for i, number in enumerate(numbers):
            self.store_any(room, i, INT, self.code.let(f"arith.index_cast {number} : index to i64"))
        return self.construct("ffi.Shape", room, len(numbers))


def global_function(code: Code, fragment: Fragment, name: str, cache: str = "") -> tuple[str, str, str]:
    """The operands of `relax.rt.global`: the cache, the name, and its length in bytes.

    `cache`: the symbol of the cache; by default, one of the module.
    """
    key = text_constant(fragment, name)
    return (
        code.let(f"llvm.mlir.addressof {cache or cache_global(fragment, name)} : !llvm.ptr"),
        code.let(f"llvm.mlir.addressof {key} : !llvm.ptr"),
        code.constant(len(name.encode())),
    )


def construct(code: Code, fragment: Fragment, name: str, arguments: str, count: int | str, cache: str = "") -> str:
    """Call a constructor of the FFI ("ffi.Array", "ffi.Shape"); return the handle of the new object.

    `count`: an int, or the SSA name of an i32. `cache`: see `global_function`.
    """
    type = "(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i32) -> !llvm.ptr"
    callee = fragment.declare("relax.rt.construct", type)
    number = count if isinstance(count, str) else code.constant(count, "i32")
    values = ", ".join([*global_function(code, fragment, name, cache), arguments, number])
    return code.let(f"func.call {callee}({values}) : {type}")
