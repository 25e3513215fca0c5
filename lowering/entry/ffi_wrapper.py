"""The code of a function's FFI entry point; `emit-ffi-wrappers` emits one per function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import CompileError
from relax_mlir.lowering.base.errors import Texts, verbatim
from relax_mlir.lowering.base.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.base.signature import (
    LAYOUT,
    RECORD_BYTES,
    ROW_BYTES,
    Callee,
    Signature,
    Value,
    flat_types,
)
from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    ARRAY,
    DL,
    INT,
    LIST,
    NONE,
    OBJECT_BYTES,
    SHAPE,
    TENSOR,
    FFICode,
    Kind,
    Tensor,
)
from relax_mlir.lowering.entry.lower_objects import PREFIX, define_object_function
from relax_mlir.mlir_text import Fragment, symbol

PARAMETERS = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
"""The parameters of an entry point, those of an FFI safe call."""

Leaf = tuple[Kind, str]
"""A leaf of a result under construction: its kind and payload."""


@dataclass(frozen=True)
class Out:
    """A tensor result: its data pointer, its sizes (i64), and the address of its row (see `Row`)."""

    value: Value
    data: str
    sizes: list[str]
    row: str


def overlap(one: Value, other: Value) -> str:
    """The message for two output tensors that share memory."""
    return f"the given {one.name} overlaps the given {other.name}: each needs memory of its own"


class Wrapper(FFICode):
    """Emits the entry point of the function `callee`, which has a signature.

    Support functions read the tensors, which keeps the code small. `QuickWrapper` is for functions so short that these
    calls would dominate. `texts`: the storage of strings, constants of the module by default.
    """

    def __init__(self, signature: Signature, callee: Callee, fragment: Fragment, texts: Texts | None = None) -> None:
        super().__init__(f"ffi.{callee.entry}", f"{signature.name}: ", fragment)
        self.texts = texts or self.texts
        self.signature, self.function, self.is_flat = signature, callee.name, callee.is_flat
        self.arguments, self.results = callee.arguments, callee.results
        leaves = [leaf for param in signature.params for leaf in param.leaves()]
        self.tensors = [leaf for leaf in leaves if leaf.is_tensor]
        made = [leaf for result in signature.results for leaf in result.leaves()]
        self.made = [leaf for leaf in made if not leaf.returned]
        self.plain: list[str] = []
        """Per tensor that has been read, an i1 that is true if it is plain (see `relax.rt.take`)."""

    def tables(self) -> None:
        """Emit the table of tensors: parameters first, then results that the entry point or the caller allocates."""
        wanted = [(value, f"parameter '{value.name}'") for value in self.tensors]
        wanted += [(value, f"the given {value.name}") for value in self.made]
        if wanted:
            self.rows = self.table(wanted)
            self.make_room()

    def make_room(self) -> None:
        """Reserve stack space for the records of tensors."""
        given = len(self.made) if self.signature.takes_results else 0
        if self.tensors or given:
            self.records = self.code.stack(RECORD_BYTES * (len(self.tensors) + given))

    def row(self, number: int) -> str:
        """The address of the table row of a tensor."""
        return self.code.at(self.rows, ROW_BYTES * number)

    def unpack_all(self, slots: str, values: Sequence[Value], dims: list[str], inputs: list[Tensor | str]) -> None:
        """Read parameters, or fields of one. Appends index values to `dims` and the arguments of `@f` to `inputs`."""
        for i, value in enumerate(values):
            slot = self.code.at(slots, ANY_BYTES * i)
            if not value.is_tensor:
                self.unpack(slot, value, dims, inputs)
                continue
            tensor = self.read(slot, value)
            dims += [self.code.index(size) for size in tensor.sizes]
            inputs.append(tensor)

    def read(self, slot: str, value: Value) -> Tensor:
        """Read the next tensor of known rank and dtype."""
        plain, tensor = self.take_tensor(slot, value, *self.places(len(self.plain)))
        self.plain.append(plain)
        return tensor

    def places(self, number: int) -> tuple[str, str]:
        """The addresses of the row and of the record of a tensor."""
        return self.row(number), self.code.at(self.records, RECORD_BYTES * number)

    def unpack(self, slot: str, value: Value, dims: list[str], inputs: list[Tensor | str]) -> None:
        """Read one parameter that is not a tensor of known rank and dtype."""
        role = f"parameter '{value.name}'"
        if value.is_handle:
            inputs += self.handle(slot, value, role, dims)
        elif value.kind == "int":
            number = self.integer(slot, value, role)
            dims.append(number)
            inputs.append(number)
        elif value.kind == "shape":
            numbers = self.shape(slot, value, role)
            dims += numbers
            inputs += numbers
        else:
            elements = self.sequence(slot, value, role, (ARRAY, LIST), len(value.fields))
            self.unpack_all(elements, value.fields, dims, inputs)

    def handle(self, slot: str, value: Value, role: str, dims: list[str]) -> list[str]:
        """Check what is known of a parameter that is passed as a handle; return the two i64 of the handle."""
        code = self.code
        if value.kind == "tensor":
            pointer = self.found_tensor(slot, value, role)
            dims += [code.index(size) for size in self.sizes(pointer, value.ndim or 0)]
        elif value.kind == "shape":
            kind, payload = code.load(slot, 0, "i64"), code.load(slot, 8, "i64")
            shape = self.object("as_shape", [code.frame(self.fragment), kind, payload], ["!llvm.ptr", "i64", "i64"])
            self.check(
                code.let(f"arith.cmpi ne, {shape}, {code.constant(0)} : i64"),
                "ArgumentError",
                f"{verbatim(role)} is of type {{0:type}}, expected a shape, or ints "
                f"({verbatim(value.name)}: {value.type})",
                code.index(code.load(slot, 0, "i32"), "i32"),
            )
            return [code.constant(SHAPE), shape]
        words = code.fresh()
        operands = [code.frame(self.fragment), slot]
        self.declare_object("take", ["!llvm.ptr"], ["i64", "i64"])
        code.do(
            f'{words}:2 = func.call @"relax.object.take"({", ".join(operands)}) : (!llvm.ptr, !llvm.ptr) -> (i64, i64)'
        )
        return [f"{words}#0", f"{words}#1"]

    def object(self, name: str, operands: list[str], types: list[str]) -> str:
        """Call an object function whose result is one i64; `operands` begin with its frame."""
        self.declare_object(name, types[1:], ["i64"])
        return self.code.let(f"func.call {symbol(PREFIX + name)}({', '.join(operands)}) : ({', '.join(types)}) -> i64")

    def declare_object(self, name: str, inputs: list[str], results: list[str]) -> None:
        define_object_function(self.fragment, PREFIX + name, inputs, results)

    # -- results --------------------------------------------------------------------------------------------

    def take_given(self, given: str, room: str) -> None:
        """Read the results that the caller may have passed in, and check their sizes against those at `room`."""
        code, results, inputs = self.code, self.signature.results, len(self.tensors)

        def taken() -> list[str]:
            at = room
            for i, value in enumerate(results):
                slot = code.at("%args", ANY_BYTES * (len(self.signature.params) + i))
                self.call("relax.rt.take", [slot, *self.places(inputs + i), at], ["!llvm.ptr"] * 4, "i1")
                at = code.at(at, 8 * value.dims)
            operands = [*self.places(inputs), code.constant(len(results)), code.constant(inputs)]
            return [self.call("relax.rt.apart", operands, ["!llvm.ptr", "!llvm.ptr", "i64", "i64"], "i1")]

        self.plain += code.choose(given, ["i1"], taken, lambda: [code.constant(1, "i1")])

    def given_result(self, i: int, sizes: list[str], shape: str) -> str:
        """The address of the elements of a result from the caller; `shape` points to its sizes."""
        return self.place_of_given(i)

    def place_of_given(self, i: int) -> str:
        """The address of the elements of a result from the caller that has been read."""
        record = self.code.at(self.records, RECORD_BYTES * (len(self.tensors) + i))
        return self.code.load(record, 0, "!llvm.ptr")

    def new_result(self, row: str, rank: int, shape: str) -> str:
        """Allocate an owned tensor with the sizes at `shape` and the dtype of its row; return its handle."""
        code = self.code
        dtype, size = code.load(row, LAYOUT["DTYPE"], "i32"), code.load(row, LAYOUT["ELEMENT"], "i64")
        operands = [shape, code.constant(rank, "i32"), dtype, size]
        return self.call("relax.rt.tensor", operands, ["!llvm.ptr", "i32", "i32", "i64"], "!llvm.ptr")

    def give_back(self, handles: list[Leaf], room: str) -> None:
        """Store the results, given by their leaves, in %ret."""
        signature, leaves = self.signature, list(handles)
        values = [self.nested(value, leaves, room) for value in signature.results]
        kind, payload = self.array(values, room) if signature.tuple_result else values[0]
        self.store_any("%ret", 0, kind, payload)

    def nested(self, value: Value, leaves: list[Leaf], room: str) -> Leaf:
        """A result as one FFI value; takes its leaves off the front of `leaves`."""
        if value.kind != "tuple":
            return leaves.pop(0)
        return self.array([self.nested(field, leaves, room) for field in value.fields], room)

    def array(self, values: list[Leaf], room: str) -> Leaf:
        """An FFI Array of `values`; takes over their references."""
        for i, (kind, payload) in enumerate(values):
            self.store_any(room, i, kind, payload)
        made = self.construct("ffi.Array", room, len(values))
        for kind, payload in values:
            if isinstance(kind, str):
                self.drop_handle(kind, payload)
            elif kind in (TENSOR, SHAPE, ARRAY):
                self.call("relax.rt.drop", [payload], ["!llvm.ptr"])
        return ARRAY, made

    def drop_handle(self, kind: str, payload: str, attributes: str = "") -> None:
        self.declare_object("drop", ["i64", "i64"], [])
        self.code.do(f"func.call {symbol(PREFIX + 'drop')}({kind}, {payload}){attributes} : (i64, i64) -> ()")

    def returned(self, value: Value, words: list[str], room: str) -> Leaf:
        """The leaf of a result that the function returned; takes its values off the front of `words`."""
        code = self.code
        if value.kind == "int":
            return INT, code.let(f"arith.index_cast {words.pop(0)} : index to i64")
        if value.kind == "shape" and not value.is_handle:
            numbers = [words.pop(0) for _ in range(value.ndim or 0)]
            shape = self.shape_of_numbers(numbers)
            self.drop_on_error(shape)
            return SHAPE, shape
        return words.pop(0), words.pop(0)

    # -- entry point ---------------------------------------------------------------------------------------

    def write(self) -> None:
        code, signature = self.code, self.signature
        n_in, n_out = len(signature.params), len(signature.results)
        leaves = [leaf for result in signature.results for leaf in result.leaves()]
        longest = max([1, n_out, *(result.longest_tuple() for result in signature.results)])
        made = [leaf for leaf in leaves if not leaf.returned]
        room = code.stack(max(8 * sum(leaf.dims for leaf in made), ANY_BYTES * longest))
        plain = self.equal("%n", n_in, "i32")
        given = self.equal("%n", n_in + n_out, "i32") if signature.takes_results else ""
        names = ", ".join(p.name for p in signature.params)
        also = f", or {n_in + n_out} with the results to write to" if given else ""
        self.check(
            self.any_of(plain, given) if given else plain,
            "ArgumentError",
            f"takes {n_in} argument{'' if n_in == 1 else 's'} ({verbatim(names)}){also}; got {{0}}",
            code.index("%n", "i32"),
        )
        # Tensors in handles are opaque here, so results from the caller may overlap them.
        indirect = signature.takes_handles
        dims: list[str] = []
        inputs: list[Tensor | str] = []
        self.tables()
        self.unpack_all("%args", signature.params, dims, inputs)
        sizes = self.result_sizes(dims, sum(leaf.dims for leaf in leaves))
        for position, size in enumerate(sizes):
            code.store(size, "i64", room, 8 * position)
        self.check_written(inputs)
        if given:
            self.take_given(given, room)

        outs: list[Out] = []
        handles_made, start = {}, 0
        for i, leaf in enumerate(leaves):
            if not leaf.returned:
                mine = sizes[start : start + leaf.dims]
                shape = code.at(room, 8 * start)
                out, handle = self.result(len(outs), leaf, mine, shape, "" if indirect else given)
                start += leaf.dims
                outs.append(out)
                handles_made[i] = handle
        self.settle_inputs(inputs, outs, given)
        words = self.call_function(inputs, outs)
        if given and indirect:
            self.copy_out(outs, list(handles_made.values()), given)
        self.drop_words_on_error(leaves, words)
        handles: list[Leaf] = [
            (TENSOR, handles_made[i]) if i in handles_made else self.returned(leaf, words, room)
            for i, leaf in enumerate(leaves)
        ]
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

    def check_written(self, inputs: list[Tensor | str]) -> None:
        """Check that parameters the function writes are dense and do not overlap each other.

        Other tensors that overlap one of them are copied first.
        """
        code, places = self.code, []
        for number in self.signature.written:
            tensor = inputs[number]
            assert isinstance(tensor, Tensor)
            for field, fault in (
                ("RECORD_CONTIGUOUS", "contiguous"),
                ("RECORD_ALIGNED", "aligned to its elements"),
            ):
                fine = code.let(
                    f"arith.cmpi ne, {code.load(tensor.record, LAYOUT[field], 'i8')}, {code.constant(0, 'i8')} : i8"
                )
                message = f"parameter '{tensor.value.name}' is not {fault}, so it cannot be written to"
                self.check(fine, "ArgumentError", verbatim(message))
            places.append((tensor, self.range(tensor)))
        no = code.constant(0, "i1")
        for second, (tensor, place) in enumerate(places):
            for other, range_of_other in places[:second]:
                self.check(
                    code.let(f"arith.cmpi eq, {self.meet(place, range_of_other)}, {no} : i1"),
                    "ArgumentError",
                    verbatim(overlap(tensor.value, other.value)),
                )
        for number, item in enumerate(inputs):
            if places and isinstance(item, Tensor) and number not in self.signature.written:
                read = self.range(item)
                self.copy_if(item, self.any_of(*(self.meet(read, place) for _, place in places)))

    def settle_inputs(self, inputs: list[Tensor | str], outs: list[Out], given: str) -> None:
        """Copy the tensors that are not plain, or that overlap a result from the caller (if `given`, an i1)."""
        if self.tensors:
            self.settle(self.all_of(*self.plain), len(self.tensors), self.rows, self.records)

    def copy_if(self, tensor: Tensor, overlaps: str) -> None:
        """Copy a tensor if `overlaps` (i1) is true, by marking it as non-contiguous."""
        code, at = self.code, LAYOUT["RECORD_CONTIGUOUS"]
        apart = code.let(f"arith.xori {overlaps}, {code.constant(1, 'i1')} : i1")
        byte = code.let(f"arith.extui {apart} : i1 to i8")
        kept = code.let(f"arith.andi {code.load(tensor.record, at, 'i8')}, {byte} : i8")
        code.store(kept, "i8", tensor.record, at)
        self.plain.append(apart)

    def result_sizes(self, dims: list[str], count: int) -> list[str]:
        """Call `@f.shapes`; return the sizes as i64."""
        code = self.code
        type = f"({', '.join(['index'] * len(dims))}) -> ({', '.join(['index'] * count)})"
        name = self.fragment.declare(self.function + SHAPES_SUFFIX, type)
        call = f"func.call {name}({', '.join(dims)}) : {type}"
        if count == 0:
            code.do(call)
            return []
        result = code.fresh()
        code.do(f"{result}:{count} = {call}")
        return [code.let(f"arith.index_cast {result}#{i} : index to i64") for i in range(count)]

    def drop_words_on_error(self, leaves: list[Value], words: list[str]) -> None:
        """On an error after this point, drop the handles that the function returned."""
        position = 0
        for leaf in leaves:
            if not leaf.returned:
                continue
            if leaf.kind == "int" or (leaf.kind == "shape" and not leaf.is_handle):
                position += 1 if leaf.kind == "int" else leaf.ndim or 0
            else:
                kind, payload = words[position : position + 2]
                self.drop_handle(kind, payload, ' {relax.defer = "error"}')
                position += 2

    def drop_on_error(self, handle: str) -> None:
        drop = self.fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
        self.code.do(f'func.call {drop}({handle}) {{relax.defer = "error"}} : (!llvm.ptr) -> ()')

    def result(self, i: int, leaf: Value, sizes: list[str], shape: str, given: str) -> tuple[Out, str]:
        """Return the i-th tensor result with the sizes at `shape`, and its handle (null if the caller passed it in).

        `given`: an i1, true if it is computed in memory of the caller; "" if that never happens.
        """
        code, rank = self.code, len(sizes)
        row = self.row(len(self.tensors) + i)
        if not given:
            handle = self.new_result(row, rank, shape)
            self.drop_on_error(handle)
            data = code.load(handle, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
            return Out(leaf, data, sizes, row), handle

        def made() -> list[str]:
            new = self.new_result(row, rank, shape)
            return [code.load(new, OBJECT_BYTES + DL.DATA, "!llvm.ptr"), new]

        data, handle = code.choose(
            given, ["!llvm.ptr"] * 2, lambda: [self.given_result(i, sizes, shape), code.null()], made
        )
        self.drop_on_error(handle)
        return Out(leaf, data, sizes, row), handle

    def bytes_of(self, row: str, sizes: list[str]) -> str:
        """The size in bytes of a dense tensor, as i64; `sizes` are i64."""
        total = self.code.load(row, LAYOUT["ELEMENT"], "i64")
        for size in sizes:
            total = self.code.let(f"arith.muli {total}, {size} : i64")
        return total

    def range(self, tensor: Tensor) -> tuple[str, str]:
        """The start and end addresses of the elements of a dense tensor, as i64."""
        load = self.code.load
        return load(tensor.record, 0, "i64"), load(tensor.record, LAYOUT["RECORD_END"], "i64")

    def meet(self, a: tuple[str, str], b: tuple[str, str]) -> str:
        """True (i1) if two non-empty address ranges overlap."""
        code = self.code
        pairs = ((a[0], b[1]), (b[0], a[1]), a, b)
        return self.all_of(*(code.let(f"arith.cmpi ult, {low}, {high} : i64") for low, high in pairs))

    def copy_out(self, outs: list[Out], handles: list[str], given: str) -> None:
        """Copy new tensors into those of the caller, and drop them."""
        code = self.code
        code.do(f"scf.if {given} {{")
        for i, (out, handle) in enumerate(zip(outs, handles, strict=True)):
            size = self.bytes_of(out.row, out.sizes)
            target = self.place_of_given(i)
            code.do(
                f'"llvm.intr.memcpy"({target}, {out.data}, {size}) <{{isVolatile = false}}> '
                ": (!llvm.ptr, !llvm.ptr, i64) -> ()"
            )
            self.call("relax.rt.drop", [handle], ["!llvm.ptr"])
        code.do("}")

    def call_function(self, inputs: list[Tensor | str], outs: list[Out]) -> list[str]:
        """Call `@f` with memrefs over the arguments and results (or their flat components); return its results.

        Arguments that are not plain, or that overlap a parameter the function writes, are copied first.
        """
        code = self.code
        hidden = [code.constant(0)] if self.signature.recursive else []
        if len(self.arguments) != len(inputs) + len(outs) + len(hidden):
            raise CompileError(
                f"{self.signature.name} takes {len(self.arguments)} values, but its relax.signature stands for "
                f"{len(inputs)} inputs and {len(outs)} results"
            )
        values: list[str] = []
        types: list[str] = []
        for item, type in zip([*inputs, *outs, *hidden], self.arguments, strict=True):
            if isinstance(item, str):
                values.append(item)
                types.append(type)
                continue
            data = item.data if isinstance(item, Out) else self.data(item)
            if self.is_flat:
                values += [data, *item.sizes]
                types += flat_types(len(item.sizes))
            else:
                values.append(code.memref(data, item.sizes, type))
                types.append(type)
        whole = f"({', '.join(types)}) -> ({', '.join(self.results)})"
        call = f"func.call {self.fragment.declare(self.function, whole)}({', '.join(values)}) : {whole}"
        if not self.results:
            code.do(call)
            return []
        result = code.fresh()
        code.do(f"{result}:{len(self.results)} = {call}")
        return [f"{result}#{i}" for i in range(len(self.results))]


# An FFI entry point with inline argument checks, for functions so short that reading arguments matters.


@dataclass
class _Tensor(Tensor):
    """A tensor argument, checked and unpacked: the addresses of its DLTensor and of its elements, and two i1.

    It has no record; `row` is the address of its row (see `Row`).
    """

    row: str
    pointer: str
    base: str
    contiguous: str
    """True (i1) if its elements are in row-major order."""
    aligned: str
    """True (i1) if its elements are aligned to their size."""
    apart: str = ""
    """True (i1) if its memory is not written while it is still read."""


class InlineEntry(Wrapper):
    """Emits the entry point of a function that `suits`."""

    @staticmethod
    def suits(signature: Signature) -> bool:
        """True if all results can be computed in memory of the caller, and the function writes nothing else."""
        return not signature.written and not signature.takes_handles

    def __init__(self, signature: Signature, callee: Callee, fragment: Fragment, texts: Texts | None = None) -> None:
        super().__init__(signature, callee, fragment, texts)
        self.read_so_far = 0

    def make_room(self) -> None:
        """Do nothing: this wrapper keeps no records."""

    def read(self, slot: str, value: Value) -> Tensor:
        self.read_so_far += 1
        return self.unpacked(slot, value, self.row(self.read_so_far - 1))

    def unpacked(self, slot: str, value: Value, row: str) -> _Tensor:
        """Check and unpack the tensor in the TVMFFIAny at `slot` against its row."""
        code, true = self.code, self.code.constant(1, "i1")
        rank = value.ndim or 0
        types = ["i1", "!llvm.ptr", "!llvm.ptr", *["i64"] * rank]
        nothing = [true, code.null(), code.null(), *[code.constant(0)] * rank]
        is_tensor, address = self.tensor_inside(slot)

        def of_tensor() -> list[str]:
            found = address()
            on_cpu = self.equal(code.load(found, DL.DEVICE, "i32"), 1, "i32")
            # Rank and dtype are adjacent in both.
            wanted = code.load(row, 0, "i64")
            same = code.let(f"arith.cmpi eq, {code.load(found, DL.NDIM, 'i64', 4)}, {wanted} : i64")
            fits = self.all_of(on_cpu, same)
            return code.choose(fits, types, lambda: self.contents(found, value), lambda: nothing)

        strange, pointer, base, *sizes = code.choose(is_tensor, types, of_tensor, lambda: nothing)
        code.do(f"scf.if {strange} {{")
        self.call("relax.rt.flaw_of", [slot, row], ["!llvm.ptr", "!llvm.ptr"])
        code.do("}")
        contiguous = self.contiguous(pointer, sizes)
        return _Tensor(value, "", sizes, row, pointer, base, contiguous, self.aligned(base, row))

    def contents(self, pointer: str, value: Value) -> list[str]:
        """Return an i1 that is true if a size is negative or the pointer null, then both addresses and the sizes."""
        code, zero = self.code, self.code.constant(0)
        data = code.load(pointer, DL.DATA, "!llvm.ptr")
        offset = code.load(pointer, DL.BYTE_OFFSET, "i64")
        base = code.let(f"llvm.getelementptr {data}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
        sizes = self.sizes(pointer, value.ndim or 0)
        strange = code.let(f'llvm.icmp "eq" {data}, {code.null()} : !llvm.ptr')
        for size in sizes:
            strange = self.any_of(strange, code.let(f"arith.cmpi slt, {size}, {zero} : i64"))
        return [strange, pointer, base, *sizes]

    def aligned(self, base: str, row: str) -> str:
        """True (i1) if elements are aligned to their size."""
        code = self.code
        address = code.let(f"llvm.ptrtoint {base} : !llvm.ptr to i64")
        mask = code.let(f"arith.subi {self.element(row)}, {code.constant(1)} : i64")
        beyond = code.let(f"arith.andi {address}, {mask} : i64")
        return code.let(f"arith.cmpi eq, {beyond}, {code.constant(0)} : i64")

    def element(self, row: str) -> str:
        """The size of an element in bytes (i64)."""
        return self.code.load(row, LAYOUT["ELEMENT"], "i64")

    def contiguous(self, pointer: str, sizes: list[str]) -> str:
        """True (i1) if elements are in row-major order. Strides may be null; those of size-1 dimensions are ignored."""
        code = self.code
        true = code.constant(1, "i1")
        if not sizes:
            return true
        one, zero, null = code.constant(1), code.constant(0), code.null()
        strides = code.load(pointer, DL.STRIDES, "!llvm.ptr")
        given = code.let(f'llvm.icmp "ne" {strides}, {null} : !llvm.ptr')

        def by_strides() -> list[str]:
            expected, fits, empty = one, [], []
            for i in reversed(range(len(sizes))):
                stride = code.load(strides, 8 * i, "i64")
                same = code.let(f"arith.cmpi eq, {stride}, {expected} : i64")
                if len(sizes) == 1:  # at most one element
                    fits = [self.any_of(same, code.let(f"arith.cmpi ule, {sizes[0]}, {one} : i64"))]
                    break
                free = code.let(f"arith.cmpi eq, {sizes[i]}, {one} : i64")
                fits.append(self.any_of(same, free))
                empty.append(code.let(f"arith.cmpi eq, {sizes[i]}, {zero} : i64"))
                if i:
                    expected = code.let(f"arith.muli {expected}, {sizes[i]} : i64")
            return [self.any_of(self.all_of(*fits), *empty)]

        (result,) = code.choose(given, ["i1"], by_strides, lambda: [true])
        return result

    def take_given(self, given: str, room: str) -> None:
        """Do nothing: each result is read where it is needed."""

    def given_result(self, i: int, sizes: list[str], shape: str) -> str:
        code, row = self.code, self.row(len(self.tensors) + i)
        slot = code.at("%args", ANY_BYTES * (len(self.signature.params) + i))
        tensor = self.unpacked(slot, self.signature.results[i], row)
        same = [
            code.let(f"arith.cmpi eq, {size}, {wanted} : i64") for size, wanted in zip(tensor.sizes, sizes, strict=True)
        ]
        fits = self.all_of(tensor.contiguous, tensor.aligned, *same)
        code.do(f"scf.if {fits} {{\n  }} else {{")
        role = code.let(
            f"llvm.getelementptr {row}[{code.load(row, LAYOUT['ROLE'], 'i32')}] : (!llvm.ptr, i32) -> !llvm.ptr, i8"
        )
        operands = [tensor.pointer, role, shape, tensor.contiguous, tensor.aligned]
        self.call("relax.rt.given_flaw", operands, ["!llvm.ptr", "!llvm.ptr", "!llvm.ptr", "i1", "i1"])
        code.do("}")
        return tensor.base

    def settle_inputs(self, inputs: list[Tensor | str], outs: list[Out], given: str) -> None:
        """Record which tensors do not overlap results from the caller; `data` copies the others."""
        tensors = [item for item in inputs if isinstance(item, _Tensor)]
        for tensor, apart in zip(tensors, self.apart(tensors, outs, given) if given else [], strict=False):
            tensor.apart = apart

    def data(self, tensor: Tensor) -> str:
        """The data of a tensor in row-major order: its own, or a copy that lives as long as the call."""
        assert isinstance(tensor, _Tensor)
        code = self.code
        fine = self.all_of(tensor.contiguous, tensor.aligned, *([tensor.apart] if tensor.apart else []))

        def copied() -> list[str]:
            operands = [code.frame(self.fragment), tensor.pointer, self.element(tensor.row)]
            return [self.call("relax.rt.compact", operands, ["!llvm.ptr", "!llvm.ptr", "i64"], "!llvm.ptr")]

        (result,) = code.choose(fine, ["!llvm.ptr"], lambda: [tensor.base], copied)
        return result

    def extent(self, start: str, bytes: str) -> tuple[str, str]:
        """The start and end addresses of a block of `bytes` bytes, as i64."""
        first = self.code.let(f"llvm.ptrtoint {start} : !llvm.ptr to i64")
        return first, self.code.let(f"arith.addi {first}, {bytes} : i64")

    def apart(self, tensors: list[_Tensor], outs: list[Out], given: str) -> list[str]:
        """Return an i1 per tensor, true if it overlaps no result from the caller. Overlapping results are an error."""
        code = self.code
        flags = [code.fresh() for _ in tensors]
        types = ", ".join(["i1"] * len(flags))
        head = f"{', '.join(flags)} = " if flags else ""
        arrow = f" -> ({types})" if flags else ""
        code.do(f"{head}scf.if {given}{arrow} {{")
        places = []
        for out in outs:
            places.append(self.extent(out.data, self.bytes_of(out.row, out.sizes)))
        for second, place in enumerate(places):
            for first, other in enumerate(places[:second]):
                self.check(
                    self.any_of(*self.reasons_apart(place, other)),
                    "ArgumentError",
                    verbatim(overlap(outs[second].value, outs[first].value)),
                )
        found = []
        for item in tensors:
            read = self.extent(item.base, self.bytes_of(item.row, item.sizes))
            found.append(self.all_of(*(self.any_of(*self.reasons_apart(read, place)) for place in places)))
        if flags:
            yes = ", ".join([code.constant(1, "i1")] * len(flags))
            code.do(f"scf.yield {', '.join(found)} : {types}")
            code.do(f"}} else {{\n  scf.yield {yes} : {types}\n  }}")
        else:
            code.do("}")
        return flags

    def reasons_apart(self, a: tuple[str, str], b: tuple[str, str]) -> list[str]:
        """The conditions (i1) under which address ranges are disjoint: one ends before the other, or one is empty."""
        pairs = ((a[0], b[1]), (b[0], a[1]), a, b)
        return [self.code.let(f"arith.cmpi uge, {low}, {high} : i64") for low, high in pairs]
