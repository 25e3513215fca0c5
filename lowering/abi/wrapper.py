"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.

An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result), checks number,
kind, device, dtype and rank, asks `@<name>.shapes` for the sizes of the results (which checks the dimensions),
makes contiguous copies where strides demand it, allocates the results or takes those the caller passed in, and
calls `@<name>`. It is written with the hooks that every other function uses, so that its error paths come from
`lower-checks`, too. Offsets are those of `tvm/ffi/c_api.h` and `dlpack/dlpack.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.dtypes import DType
from relax_mlir.lowering.abi.signature import Signature, Value, signature_of
from relax_mlir.lowering.abi.support import CACHED_OBJECT, SUPPORT
from relax_mlir.lowering.abi.text import Code, Fragment, attribute, functions, quoted, symbol
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

ENTRY_PREFIX = "__tvm_ffi_"
INPUTS = "relax.inputs"

ANY_BYTES = 16
OBJECT_BYTES = 24
NONE, INT, BOOL, DLTENSOR, SHAPE, TENSOR, ARRAY, LIST = 0, 1, 2, 7, 69, 70, 71, 75


class DL:
    """Offsets in a DLTensor."""

    DATA, DEVICE, NDIM, DTYPE, SHAPE, STRIDES, BYTE_OFFSET, BYTES = 0, 8, 16, 20, 24, 32, 40, 48


@dataclass
class _Tensor:
    """A tensor argument, checked and unpacked."""

    value: Value
    pointer: str
    sizes: list[str]
    base: str
    contiguous: str


@dataclass
class _Wrapper:
    """Writes one entry point."""

    signature: Signature
    arguments: list[str]
    fragment: Fragment
    code: Code = field(default_factory=Code)
    checks: int = 0

    def check(self, ok: str, kind: str, message: str, *values: str) -> None:
        """Leave with an error of `kind` unless `ok`; `values` are of type index."""
        name = f"relax.check.ffi.{self.signature.name}.{self.checks}"
        self.checks += 1
        types = f"({', '.join(['i1'] + ['index'] * len(values))}) -> ()"
        hook = attribute({"kind": kind, "message": f"{self.signature.name}: {message}"})
        symbol = self.fragment.declare(name, types, f"relax.check = {hook}")
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

    def tensor(self, slot: str, value: Value, role: str) -> _Tensor:
        """Check and unpack the tensor in the TVMFFIAny at `slot`."""
        code, dtype = self.code, value.dtype
        assert dtype is not None
        type_index = code.load(slot, 0, "i32")
        is_object = self.equal(type_index, TENSOR, "i32")
        is_view = self.equal(type_index, DLTENSOR, "i32")
        self.check(
            self.any_of(is_object, is_view),
            "ArgumentError",
            f"{role} is of type {{0:type}}, expected {value.name}: {value.type}",
            code.index(type_index, "i32"),
        )
        handle = code.load(slot, 8, "!llvm.ptr")
        inside = code.at(handle, OBJECT_BYTES)
        pointer = code.let(f"llvm.select {is_object}, {inside}, {handle} : i1, !llvm.ptr")
        device = code.load(pointer, DL.DEVICE, "i32")
        self.check(
            self.equal(device, 1, "i32"),
            "DeviceError",
            f"{role} is on {{0:device}}, expected cpu ({value.name}: {value.type})",
            code.index(device, "i32"),
        )
        actual = code.load(pointer, DL.DTYPE, "i32")
        self.check(
            self.equal(actual, dtype.packed, "i32"),
            "DTypeError",
            f"{role} has dtype {{0:dtype}}, expected {dtype.name} ({value.name}: {value.type})",
            code.index(actual, "i32"),
        )
        ndim = code.load(pointer, DL.NDIM, "i32")
        self.check(
            self.equal(ndim, value.ndim, "i32"),
            "ShapeError",
            f"{role} has rank {{0}}, expected rank {value.ndim} ({value.name}: {value.type})",
            code.index(ndim, "i32"),
        )
        data = code.load(pointer, DL.DATA, "!llvm.ptr")
        offset = code.load(pointer, DL.BYTE_OFFSET, "i64")
        base = code.let(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
        shape = code.load(pointer, DL.SHAPE, "!llvm.ptr") if value.ndim else ""
        sizes = [code.load(shape, 8 * i, "i64") for i in range(value.ndim)]
        return _Tensor(value, pointer, sizes, base, self.contiguous(pointer, sizes))

    def contiguous(self, pointer: str, sizes: list[str]) -> str:
        """Whether elements lie in row-major order; strides may be null, those of size-1 dimensions are free."""
        code = self.code
        true = code.constant(1, "i1")
        if not sizes:
            return true
        one, zero, null = code.constant(1), code.constant(0), code.null()
        strides = code.load(pointer, DL.STRIDES, "!llvm.ptr")
        given = code.let(f'llvm.icmp "ne" {strides}, {null} : !llvm.ptr')
        result = code.fresh()
        code.do(f"{result} = scf.if {given} -> i1 {{")
        expected, good, empty = one, true, code.constant(0, "i1")
        for i in reversed(range(len(sizes))):
            stride = code.load(strides, 8 * i, "i64")
            same = code.let(f"arith.cmpi eq, {stride}, {expected} : i64")
            free = code.let(f"arith.cmpi eq, {sizes[i]}, {one} : i64")
            good = self.all_of(good, self.any_of(same, free))
            empty = self.any_of(empty, code.let(f"arith.cmpi eq, {sizes[i]}, {zero} : i64"))
            expected = code.let(f"arith.muli {expected}, {sizes[i]} : i64")
        code.do(f"scf.yield {self.any_of(good, empty)} : i1")
        code.do("} else {")
        code.do(f"scf.yield {true} : i1")
        code.do("}")
        return result

    def integer(self, slot: str, value: Value) -> str:
        """The integer in the TVMFFIAny at `slot`, as index."""
        type_index = self.code.load(slot, 0, "i32")
        self.check(
            self.equal(type_index, INT, "i32"),
            "ArgumentError",
            f"parameter '{value.name}' is of type {{0:type}}, expected {value.name}: {value.type}",
            self.code.index(type_index, "i32"),
        )
        return self.code.index(self.code.load(slot, 8, "i64"))

    def sequence(self, slot: str, value: Value, kinds: tuple[int, ...], length: int) -> str:
        """Check kind and length of a Shape, Array or List; the address of its elements."""
        code = self.code
        type_index = code.load(slot, 0, "i32")
        self.check(
            self.any_of(*(self.equal(type_index, kind, "i32") for kind in kinds)),
            "ArgumentError",
            f"parameter '{value.name}' is of type {{0:type}}, expected {value.name}: {value.type}",
            code.index(type_index, "i32"),
        )
        handle = code.load(slot, 8, "!llvm.ptr")
        count = code.load(handle, OBJECT_BYTES + 8, "i64")
        kind = "ShapeError" if value.kind == "shape" else "ArgumentError"
        self.check(
            self.equal(count, length, "i64"),
            kind,
            f"parameter '{value.name}' has {{0}} elements, expected {length} ({value.name}: {value.type})",
            code.index(count),
        )
        return code.load(handle, OBJECT_BYTES, "!llvm.ptr")

    def shape(self, slot: str, value: Value) -> list[str]:
        """The numbers of a shape: an FFI Shape (int64s), or an Array or List of ints (TVMFFIAnys)."""
        code = self.code
        elements = self.sequence(slot, value, (SHAPE, ARRAY, LIST), value.ndim)
        is_shape = self.equal(code.load(slot, 0, "i32"), SHAPE, "i32")
        numbers = []
        for i in range(value.ndim):
            in_shape, in_array = code.at(elements, 8 * i), code.at(elements, ANY_BYTES * i + 8)
            kind_at = code.let(f"llvm.select {is_shape}, {elements}, {code.at(elements, ANY_BYTES * i)} : i1, !llvm.ptr")
            kind = code.load(kind_at, 0, "i32")
            self.check(
                self.any_of(is_shape, self.equal(kind, INT, "i32")),
                "ArgumentError",
                f"parameter '{value.name}' has an element {i} of type {{0:type}}, expected an int "
                f"({value.name}: {value.type})",
                code.index(kind, "i32"),
            )
            number_at = code.let(f"llvm.select {is_shape}, {in_shape}, {in_array} : i1, !llvm.ptr")
            numbers.append(code.index(code.load(number_at, 0, "i64")))
        return numbers

    def unpack(self, slot: str, value: Value, dims: list[str], inputs: list[_Tensor | str]) -> None:
        """Read one parameter: its index values go to `dims`, what `@f` takes for it goes to `inputs`."""
        if value.kind == "tensor":
            tensor = self.tensor(slot, value, f"parameter '{value.name}'")
            dims += [self.code.index(size) for size in tensor.sizes]
            inputs.append(tensor)
        elif value.kind == "int":
            number = self.integer(slot, value)
            dims.append(number)
            inputs.append(number)
        elif value.kind == "shape":
            numbers = self.shape(slot, value)
            dims += numbers
            inputs += numbers
        else:
            elements = self.sequence(slot, value, (ARRAY, LIST), len(value.fields))
            for i, item in enumerate(value.fields):
                self.unpack(self.code.at(elements, ANY_BYTES * i), item, dims, inputs)

    # -- results --------------------------------------------------------------------------------------------

    def given_result(self, position: int, value: Value, dims: list[str]) -> str:
        """The data pointer of a result that the caller passed in, after checking that it fits."""
        code = self.code
        role = f"the given {value.name}"
        tensor = self.tensor(code.at("%args", ANY_BYTES * position), value, role)
        for i, (size, dim) in enumerate(zip(tensor.sizes, dims, strict=True)):
            actual = code.index(size)
            self.check(
                code.let(f"arith.cmpi eq, {actual}, {dim} : index"),
                "ShapeError",
                f"{role} has dimension {i} of {{0}}, but the call gives {{1}}",
                actual,
                dim,
            )
        self.check(tensor.contiguous, "ArgumentError", f"{role} is not contiguous, so it cannot be written to")
        return tensor.base

    def new_result(self, value: Value, dims: list[str], room: str) -> str:
        """Allocate an owned tensor; its handle."""
        code, dtype = self.code, value.dtype
        assert dtype is not None
        for i, dim in enumerate(dims):
            code.store(code.let(f"arith.index_cast {dim} : index to i64"), "i64", room, 8 * i)
        return code.let(
            f"func.call {self.fragment.declare('relax.rt.tensor', '(!llvm.ptr, i32, i32, i64) -> !llvm.ptr')}"
            f"({room}, {code.constant(value.ndim, 'i32')}, {code.constant(dtype.packed, 'i32')}, "
            f"{code.constant(dtype.size)}) : (!llvm.ptr, i32, i32, i64) -> !llvm.ptr"
        )

    def give_back(self, handles: list[tuple[int, str]], room: str) -> None:
        """Store the results (type index, payload as i64 or pointer) in %ret."""
        code = self.code
        if not self.signature.tuple_result:
            kind, payload = handles[0]
            self.store_any("%ret", 0, kind, payload)
            return
        for i, (kind, payload) in enumerate(handles):
            self.store_any(room, i, kind, payload)
        array = self.construct("ffi.Array", room, len(handles))
        for kind, payload in handles:
            if kind in (TENSOR, SHAPE):
                drop = self.fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
                code.do(f"func.call {drop}({payload}) : (!llvm.ptr) -> ()")
        self.store_any("%ret", 0, ARRAY, array)

    def store_any(self, to: str, position: int, kind: int, payload: str) -> None:
        """Write a TVMFFIAny: ints are i64, objects pointers."""
        self.code.store(self.code.constant(kind), "i64", to, ANY_BYTES * position)
        type = "i64" if kind in (NONE, INT) else "!llvm.ptr"
        self.code.store(payload, type, to, ANY_BYTES * position + 8)

    def construct(self, name: str, arguments: str, count: int) -> str:
        return construct(self.code, self.fragment, name, arguments, count)

    # -- the whole ------------------------------------------------------------------------------------------

    def write(self) -> None:
        code, signature = self.code, self.signature
        n_in, n_out = len(signature.params), len(signature.results)
        leaves = [leaf for result in signature.results for leaf in result.leaves()]
        room = code.stack(max([8 * r.dims for r in leaves] + [ANY_BYTES * max(1, n_out)]))
        plain = self.equal("%n", n_in, "i32")
        given = self.equal("%n", n_in + n_out, "i32") if signature.takes_results else ""
        names = ", ".join(p.name for p in signature.params)
        also = f", or {n_in + n_out} with the results to write to" if given else ""
        self.check(
            self.any_of(plain, given) if given else plain,
            "ArgumentError",
            f"takes {n_in} argument{'' if n_in == 1 else 's'} ({names}){also}; got {{0}}",
            code.index("%n", "i32"),
        )
        dims: list[str] = []
        inputs: list[_Tensor | str] = []
        for i, param in enumerate(signature.params):
            self.unpack(code.at("%args", ANY_BYTES * i), param, dims, inputs)
        sizes = self.result_sizes(dims, sum(leaf.dims for leaf in leaves))

        outs, handles = [], []
        for i, leaf in enumerate(leaves):
            mine, sizes = sizes[: leaf.dims], sizes[leaf.dims :]
            if leaf.kind == "int":
                handles.append((INT, code.let(f"arith.index_cast {mine[0]} : index to i64")))
            elif leaf.kind == "shape":
                handles.append((SHAPE, self.shape_result(mine, room)))
            else:
                data, handle = self.result(i, leaf, mine, room, given)
                outs.append((data, mine))
                handles.append((TENSOR, handle))
        self.call(inputs, outs)
        if given:
            code.do(f"scf.if {given} {{")
            self.store_any("%ret", 0, NONE, code.constant(0))
            code.do("} else {")
        if handles or signature.tuple_result:
            self.give_back(handles, room)
        else:
            self.store_any("%ret", 0, NONE, code.constant(0))
        if given:
            code.do("}")
        code.do("func.return")

    def result_sizes(self, dims: list[str], count: int) -> list[str]:
        """Call `@f.shapes`."""
        code = self.code
        type = f"({', '.join(['index'] * len(dims))}) -> ({', '.join(['index'] * count)})"
        name = self.fragment.declare(f"{self.signature.name}.shapes", type)
        call = f"func.call {name}({', '.join(dims)}) : {type}"
        if count == 0:
            code.do(call)
            return []
        result = code.fresh()
        code.do(f"{result}:{count} = {call}")
        return [f"{result}#{i}" for i in range(count)]

    def shape_result(self, numbers: list[str], room: str) -> str:
        code = self.code
        values = code.stack(ANY_BYTES * len(numbers))
        for i, number in enumerate(numbers):
            self.store_any(values, i, INT, code.let(f"arith.index_cast {number} : index to i64"))
        handle = self.construct("ffi.Shape", values, len(numbers))
        self.drop_on_error(handle)
        return handle

    def drop_on_error(self, handle: str) -> None:
        drop = self.fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
        self.code.do(f'func.call {drop}({handle}) {{relax.defer = "error"}} : (!llvm.ptr) -> ()')

    def result(self, i: int, leaf: Value, dims: list[str], room: str, given: str) -> tuple[str, str]:
        """Data pointer and handle (null if the caller gave the tensor) of a tensor result."""
        code = self.code
        if given:
            data, handle = code.fresh(), code.fresh()
            code.do(f"{data}, {handle} = scf.if {given} -> (!llvm.ptr, !llvm.ptr) {{")
            base = self.given_result(len(self.signature.params) + i, leaf, dims)
            code.do(f"scf.yield {base}, {code.null()} : !llvm.ptr, !llvm.ptr")
            code.do("} else {")
            new = self.new_result(leaf, dims, room)
            start = code.load(new, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
            code.do(f"scf.yield {start}, {new} : !llvm.ptr, !llvm.ptr")
            code.do("}")
            self.drop_on_error(handle)
            return data, handle
        handle = self.new_result(leaf, dims, room)
        self.drop_on_error(handle)
        return code.load(handle, OBJECT_BYTES + DL.DATA, "!llvm.ptr"), handle

    def call(self, inputs: list[_Tensor | str], outs: list[tuple[str, list[str]]]) -> None:
        """Call `@f` with memrefs over the arguments (copied where not contiguous) and results."""
        code = self.code
        if len(self.arguments) != len(inputs) + len(outs):
            raise CompileError(
                f"{self.signature.name} takes {len(self.arguments)} values, but its relax.signature stands for "
                f"{len(inputs)} inputs and {len(outs)} results"
            )
        values = []
        for item, type in zip(inputs, self.arguments, strict=False):
            if isinstance(item, str):
                values.append(item)
                continue
            assert item.value.dtype is not None
            data = self.dense(item, item.value.dtype)
            values.append(code.memref(data, item.sizes, type))
        for (data, dims), type in zip(outs, self.arguments[len(inputs) :], strict=True):
            sizes = [code.let(f"arith.index_cast {dim} : index to i64") for dim in dims]
            values.append(code.memref(data, sizes, type))
        type = f"({', '.join(self.arguments)}) -> ()"
        name = self.fragment.declare(self.signature.name, type)
        code.do(f"func.call {name}({', '.join(values)}) : {type}")

    def dense(self, tensor: _Tensor, dtype: DType) -> str:
        """The data of a tensor in row-major order: its own, or a copy that lives as long as the call."""
        if not tensor.sizes:
            return tensor.base
        code = self.code
        result = code.fresh()
        size = code.constant(dtype.size)
        compact = self.fragment.declare("relax.rt.compact", "(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr")
        code.do(f"{result} = scf.if {tensor.contiguous} -> !llvm.ptr {{")
        code.do(f"scf.yield {tensor.base} : !llvm.ptr")
        code.do("} else {")
        copy = code.let(
            f"func.call {compact}({code.frame(self.fragment)}, {tensor.pointer}, {size}) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr"
        )
        code.do(f"scf.yield {copy} : !llvm.ptr")
        code.do("}")
        return result


def text_global(fragment: Fragment, name: str, text: str) -> str:
    """A NUL-terminated constant string as a private global; the global's name."""
    fragment.define(f"llvm.mlir.global internal constant {symbol(name)}({quoted(text + chr(0))})")
    return symbol(name)


def cache_global(fragment: Fragment, name: str, marker: str) -> str:
    """A global pointer, null at first, that `__relax_release` frees (see `lifecycle`); the global's name."""
    fragment.define(
        f"llvm.mlir.global internal {symbol(name)}() {{{marker}}} : !llvm.ptr "
        "{\n  %0 = llvm.mlir.zero : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}"
    )
    return symbol(name)


def global_function(code: Code, fragment: Fragment, name: str) -> tuple[str, str, int]:
    """Operands for `relax.rt.global`: the cache, the name, and its length in bytes."""
    cache = cache_global(fragment, f"relax.function.{name}", CACHED_OBJECT)
    key = text_global(fragment, f"relax.function_name.{name}", name)
    return (
        code.let(f"llvm.mlir.addressof {cache} : !llvm.ptr"),
        code.let(f"llvm.mlir.addressof {key} : !llvm.ptr"),
        len(name.encode()),
    )


def construct(code: Code, fragment: Fragment, name: str, arguments: str, count: int) -> str:
    """Call a constructor of the FFI ("ffi.Array", "ffi.Shape"); the handle of the new object."""
    type = "(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i32) -> !llvm.ptr"
    callee = fragment.declare("relax.rt.construct", type)
    cache, key, length = global_function(code, fragment, name)
    values = f"{cache}, {key}, {code.constant(length)}, {arguments}, {code.constant(count, 'i32')}"
    return code.let(f"func.call {callee}({values}) : {type}")


@dataclass(frozen=True)
class EmitFFIWrappers(ModulePass):
    """Write the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`."""

    name: ClassVar[str] = "emit-ffi-wrappers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        support = Fragment()
        support.define(SUPPORT)
        support.splice(module)
        for function in list(functions(module).values()):
            if "relax.signature" not in function.attributes:
                continue
            signature = signature_of(function.operation)
            fragment = Fragment()
            wrapper = _Wrapper(signature, [str(t) for t in function.type.inputs], fragment)
            wrapper.write()
            head = f"{symbol(ENTRY_PREFIX + signature.name)}(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr)"
            fragment.function(head, wrapper.code, f"{INPUTS} = {len(signature.params)} : i64")
            fragment.splice(module)
