"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.

An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result), checks number,
kind, device, dtype and rank, asks `@<name>.shapes` for the sizes of the results (which checks the dimensions),
makes contiguous copies where strides demand it, allocates the results or takes those the caller passed in, and
calls `@<name>`, which gives back itself whatever has no size before the call. It is written with the declarations that
every other function uses, so that its error paths come from `lower-checks`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import LATENCY_CRITICAL, SIGNATURE, TAKES_HANDLES
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.ffi_dtypes import DType
from relax_mlir.lowering.abi.lower_objects import PREFIX, define_object_function
from relax_mlir.lowering.abi.runtime_declarations import SHAPES_SUFFIX
from relax_mlir.lowering.abi.signature import Signature, Value, signature_of
from relax_mlir.lowering.abi.unpack import (
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
from relax_mlir.lowering.runtime_lib.support import define_object_support, define_support
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Fragment, functions, symbol
from relax_mlir.transform import ModulePass, PassContext

ENTRY_PREFIX = "__tvm_ffi_"
INPUTS = "relax.inputs"


Leaf = tuple[Kind, str]
"""A result in the making: its kind and payload."""


@dataclass(frozen=True)
class _Out:
    """A tensor result: where it is computed, its sizes (index), and the memory that the caller gave (if he did)."""

    value: Value
    data: str
    dims: list[str]
    target: str


class _Wrapper(FFICode):
    """Writes the entry point of `function`, which takes and gives values of the types `arguments` and `results`."""

    def __init__(self, signature: Signature, function: func.FuncOp, fragment: Fragment) -> None:
        super().__init__(f"ffi.{signature.name}", f"{signature.name}: ", fragment)
        self.signature, self.function = signature, function.name.value
        self.arguments = [str(type) for type in function.type.inputs]
        self.results = [str(type) for type in function.type.results if not isinstance(type, ir.MemRefType)]

    @property
    def takes_handles(self) -> bool:
        return any(leaf.is_handle for param in self.signature.params for leaf in param.leaves())

    def unpack(self, slot: str, value: Value, dims: list[str], inputs: list[Tensor | str]) -> None:
        """Read one parameter: its index values go to `dims`, what `@f` takes for it goes to `inputs`."""
        role = f"parameter '{value.name}'"
        if value.is_handle:
            inputs += self.handle(slot, value, role, dims)
        elif value.kind == "tensor":
            tensor = self.tensor(slot, value, role)
            dims += [self.code.index(size) for size in tensor.sizes]
            inputs.append(tensor)
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
            for i, item in enumerate(value.fields):
                self.unpack(self.code.at(elements, ANY_BYTES * i), item, dims, inputs)

    def handle(self, slot: str, value: Value, role: str, dims: list[str]) -> list[str]:
        """The two words of a parameter of which little is known, after checks of what is."""
        code = self.code
        if value.kind == "tensor":
            (pointer,) = self.found_tensor(slot, value, role)
            dims += [code.index(size) for size in self.sizes(pointer, value.ndim or 0)]
        elif value.kind == "shape":
            kind, payload = code.load(slot, 0, "i64"), code.load(slot, 8, "i64")
            shape = self.object(
                "as_shape", [code.frame(self.fragment), kind, payload], ["!llvm.ptr", "i64", "i64"]
            )
            self.check(
                code.let(f"arith.cmpi ne, {shape}, {code.constant(0)} : i64"),
                "ArgumentError",
                f"{role} is of type {{0:type}}, expected a shape, or ints ({value.name}: {value.type})",
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
        """Call an object function with one result, of type i64; `operands` begin with its frame."""
        self.declare_object(name, types[1:], ["i64"])
        return self.code.let(
            f'func.call @"{PREFIX}{name}"({", ".join(operands)}) : ({", ".join(types)}) -> i64'
        )

    def declare_object(self, name: str, inputs: list[str], results: list[str]) -> None:
        define_object_function(self.fragment, PREFIX + name, inputs, results)

    # -- results --------------------------------------------------------------------------------------------

    def given_result(self, position: int, value: Value, dims: list[str], room: str) -> str:
        """The data pointer of a result that the caller passed in, after checking that it fits."""
        code = self.code
        role = f"the given {value.name}"
        tensor = self.tensor(code.at("%args", ANY_BYTES * position), value, role)
        wanted = [code.let(f"arith.index_cast {dim} : index to i64") for dim in dims]
        same = [
            code.let(f"arith.cmpi eq, {size}, {dim} : i64")
            for size, dim in zip(tensor.sizes, wanted, strict=True)
        ]
        fits = self.all_of(tensor.contiguous, tensor.aligned, *same)
        code.do(f"scf.if {fits} {{\n  }} else {{")
        for i, dim in enumerate(wanted):
            code.store(dim, "i64", room, 8 * i)
        operands = [
            tensor.pointer,
            self.constant_text(self.prefix + role),
            room,
            tensor.contiguous,
            tensor.aligned,
        ]
        self.call("relax.rt.given_flaw", operands, ["!llvm.ptr", "!llvm.ptr", "!llvm.ptr", "i1", "i1"])
        code.do("}")
        return tensor.base

    def new_result(self, value: Value, dims: list[str], room: str) -> str:
        """Allocate an owned tensor; its handle."""
        code, dtype = self.code, value.dtype
        assert dtype is not None and value.ndim is not None
        for i, dim in enumerate(dims):
            code.store(code.let(f"arith.index_cast {dim} : index to i64"), "i64", room, 8 * i)
        return code.let(
            f"func.call {self.fragment.declare('relax.rt.tensor', '(!llvm.ptr, i32, i32, i64) -> !llvm.ptr')}"
            f"({room}, {code.constant(value.ndim, 'i32')}, {code.constant(dtype.packed, 'i32')}, "
            f"{code.constant(dtype.size)}) : (!llvm.ptr, i32, i32, i64) -> !llvm.ptr"
        )

    def give_back(self, handles: list[Leaf], room: str) -> None:
        """Store the results, whose leaves are given, in %ret."""
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
        """An FFI Array that holds `values`, whose references it takes over."""
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
        self.code.do(f'func.call @"{PREFIX}drop"({kind}, {payload}){attributes} : (i64, i64) -> ()')

    def returned(self, value: Value, words: list[str], room: str) -> Leaf:
        """A result that the function gave back: its leaf; takes its values off the front of `words`."""
        code = self.code
        if value.kind == "int":
            return INT, code.let(f"arith.index_cast {words.pop(0)} : index to i64")
        if value.kind == "shape" and not value.is_handle:
            numbers = [words.pop(0) for _ in range(value.ndim or 0)]
            shape = self.shape_of_numbers(numbers)
            self.drop_on_error(shape)
            return SHAPE, shape
        return words.pop(0), words.pop(0)

    # -- the whole ------------------------------------------------------------------------------------------

    def write(self) -> None:
        code, signature = self.code, self.signature
        n_in, n_out = len(signature.params), len(signature.results)
        leaves = [leaf for result in signature.results for leaf in result.leaves()]
        longest = max([1, n_out, *(result.longest_tuple() for result in signature.results)])
        room = code.stack(max([8 * r.dims for r in leaves] + [ANY_BYTES * longest]))
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
        # What becomes of tensors in handles is not known here: the results may overlap them.
        indirect = self.takes_handles
        dims: list[str] = []
        inputs: list[Tensor | str] = []
        for i, param in enumerate(signature.params):
            self.unpack(code.at("%args", ANY_BYTES * i), param, dims, inputs)
        sizes = self.result_sizes(dims, sum(leaf.dims for leaf in leaves))
        in_place = self.written_parameters(inputs)

        outs, made = [], {}
        for i, leaf in enumerate(leaves):
            if not leaf.returned:
                mine, sizes = sizes[: leaf.dims], sizes[leaf.dims :]
                out, handle = self.result(i, leaf, mine, room, given, indirect)
                outs.append(out)
                made[i] = handle
        written = self.overlaps(inputs, outs, given) if given else in_place
        words = self.call_function(inputs, outs, written)
        if given and indirect:
            self.copy_out(outs, list(made.values()), given)
        self.drop_words_on_error(leaves, words)
        handles: list[Leaf] = [
            (TENSOR, made[i]) if i in made else self.returned(leaf, words, room)
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

    def written_parameters(self, inputs: list[Tensor | str]) -> dict[int, str]:
        """Check the parameters that the function writes: they are dense, and overlap no other one that is written.

        Per other tensor among the `inputs`, whether it overlaps one of them: it is read from a copy then.
        """
        code, outs = self.code, []
        if not self.signature.written:
            return {}
        for number in self.signature.written:
            tensor = inputs[number]
            assert isinstance(tensor, Tensor)
            for fine, fault in (
                (tensor.contiguous, "contiguous"),
                (tensor.aligned, "aligned to its elements"),
            ):
                message = f"parameter '{tensor.value.name}' is not {fault}, so it cannot be written to"
                self.check(fine, "ArgumentError", message)
            sizes = [code.index(size) for size in tensor.sizes]
            outs.append(_Out(tensor.value, tensor.base, sizes, tensor.base))
        others = ["" if i in self.signature.written else item for i, item in enumerate(inputs)]
        return self.overlaps(others, outs, code.constant(1, "i1"))

    def result_sizes(self, dims: list[str], count: int) -> list[str]:
        """Call `@f.shapes`."""
        code = self.code
        type = f"({', '.join(['index'] * len(dims))}) -> ({', '.join(['index'] * count)})"
        name = self.fragment.declare(self.function + SHAPES_SUFFIX, type)
        call = f"func.call {name}({', '.join(dims)}) : {type}"
        if count == 0:
            code.do(call)
            return []
        result = code.fresh()
        code.do(f"{result}:{count} = {call}")
        return [f"{result}#{i}" for i in range(count)]

    def drop_words_on_error(self, leaves: list[Value], words: list[str]) -> None:
        """From here on an error drops the handles that the function gave back."""
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

    def result(
        self, i: int, leaf: Value, dims: list[str], room: str, given: str, indirect: bool
    ) -> tuple[_Out, str]:
        """A tensor result, and its handle (null if the caller gave the tensor).

        `indirect`: what the caller gave is written from a new tensor, after the call.
        """
        code = self.code
        if given and not indirect:
            data, handle = code.fresh(), code.fresh()
            code.do(f"{data}, {handle} = scf.if {given} -> (!llvm.ptr, !llvm.ptr) {{")
            base = self.given_result(len(self.signature.params) + i, leaf, dims, room)
            code.do(f"scf.yield {base}, {code.null()} : !llvm.ptr, !llvm.ptr")
            code.do("} else {")
            new = self.new_result(leaf, dims, room)
            start = code.load(new, OBJECT_BYTES + DL.DATA, "!llvm.ptr")
            code.do(f"scf.yield {start}, {new} : !llvm.ptr, !llvm.ptr")
            code.do("}")
            self.drop_on_error(handle)
            return _Out(leaf, data, dims, data), handle
        target = code.null()
        if given:
            target = code.fresh()
            code.do(f"{target} = scf.if {given} -> !llvm.ptr {{")
            base = self.given_result(len(self.signature.params) + i, leaf, dims, room)
            code.do(f"scf.yield {base} : !llvm.ptr")
            code.do(f"}} else {{\n  scf.yield {code.null()} : !llvm.ptr\n  }}")
        handle = self.new_result(leaf, dims, room)
        self.drop_on_error(handle)
        return _Out(leaf, code.load(handle, OBJECT_BYTES + DL.DATA, "!llvm.ptr"), dims, target), handle

    def bytes_of(self, dtype: DType, sizes: list[str]) -> str:
        """The bytes of a tensor in row-major order, as i64; `sizes` are i64."""
        total = self.code.constant(dtype.size)
        for size in sizes:
            total = self.code.let(f"arith.muli {total}, {size} : i64")
        return total

    def range(self, start: str, bytes: str) -> tuple[str, str]:
        """The addresses where some bytes begin and end, as i64."""
        first = self.code.let(f"llvm.ptrtoint {start} : !llvm.ptr to i64")
        return first, self.code.let(f"arith.addi {first}, {bytes} : i64")

    def meet(self, a: tuple[str, str], b: tuple[str, str]) -> str:
        """Whether two ranges of addresses, neither of them empty, overlap."""
        code = self.code
        pairs = ((a[0], b[1]), (b[0], a[1]), a, b)
        return self.all_of(*(code.let(f"arith.cmpi ult, {low}, {high} : i64") for low, high in pairs))

    def overlaps(self, inputs: list[Tensor | str], outs: list[_Out], given: str) -> dict[int, str]:
        """Per tensor among the `inputs`, whether a given result overlaps it: it is read from a copy then.

        Given results that overlap each other are an error.
        """
        code = self.code
        tensors = {i: item for i, item in enumerate(inputs) if isinstance(item, Tensor)}
        flags = {i: code.fresh() for i in tensors}
        types = ", ".join(["i1"] * len(flags))
        no = code.constant(0, "i1")
        head = f"{', '.join(flags.values())} = " if flags else ""
        arrow = f" -> ({types})" if flags else ""
        code.do(f"{head}scf.if {given}{arrow} {{")
        places = []
        for out in outs:
            assert out.value.dtype is not None
            sizes = [code.let(f"arith.index_cast {dim} : index to i64") for dim in out.dims]
            places.append(self.range(out.target, self.bytes_of(out.value.dtype, sizes)))
        for second, place in enumerate(places):
            for first, other in enumerate(places[:second]):
                self.check(
                    code.let(f"arith.cmpi eq, {self.meet(place, other)}, {no} : i1"),
                    "ArgumentError",
                    f"the given {outs[second].value.name} overlaps the given {outs[first].value.name}: each needs "
                    "memory of its own",
                )
        found = []
        for item in tensors.values():
            assert item.value.dtype is not None
            read = self.range(item.base, self.bytes_of(item.value.dtype, item.sizes))
            found.append(self.any_of(*(self.meet(read, place) for place in places)))
        if flags:
            code.do(f"scf.yield {', '.join(found)} : {types}")
            code.do(f"}} else {{\n  scf.yield {', '.join([no] * len(flags))} : {types}\n  }}")
        else:
            code.do("}")
        return flags

    def copy_out(self, outs: list[_Out], handles: list[str], given: str) -> None:
        """Write new tensors into those that the caller gave, and drop them."""
        code = self.code
        code.do(f"scf.if {given} {{")
        for out, handle in zip(outs, handles, strict=True):
            assert out.value.dtype is not None
            sizes = [code.let(f"arith.index_cast {dim} : index to i64") for dim in out.dims]
            size = self.bytes_of(out.value.dtype, sizes)
            code.do(
                f'"llvm.intr.memcpy"({out.target}, {out.data}, {size}) <{{isVolatile = false}}> '
                ": (!llvm.ptr, !llvm.ptr, i64) -> ()"
            )
            self.call("relax.rt.drop", [handle], ["!llvm.ptr"])
        code.do("}")

    def call_function(
        self, inputs: list[Tensor | str], outs: list[_Out], written: dict[int, str]
    ) -> list[str]:
        """Call `@f` with memrefs over the arguments and results; what it gives back.

        Arguments are copied where they are not contiguous, and where they are `written` (i1).
        """
        code = self.code
        hidden = [code.constant(0)] if self.signature.recursive else []
        if len(self.arguments) != len(inputs) + len(outs) + len(hidden):
            raise CompileError(
                f"{self.signature.name} takes {len(self.arguments)} values, but its relax.signature stands for "
                f"{len(inputs)} inputs and {len(outs)} results"
            )
        values = []
        for i, (item, type) in enumerate(zip(inputs, self.arguments, strict=False)):
            if isinstance(item, str):
                values.append(item)
                continue
            assert item.value.dtype is not None
            data = self.dense(item, item.value.dtype, written.get(i, ""))
            values.append(code.memref(data, item.sizes, type))
        for out, type in zip(outs, self.arguments[len(inputs) :], strict=False):
            sizes = [code.let(f"arith.index_cast {dim} : index to i64") for dim in out.dims]
            values.append(code.memref(out.data, sizes, type))
        type = f"({', '.join(self.arguments)}) -> ({', '.join(self.results)})"
        name = self.fragment.declare(self.function, type)
        call = f"func.call {name}({', '.join([*values, *hidden])}) : {type}"
        if not self.results:
            code.do(call)
            return []
        result = code.fresh()
        code.do(f"{result}:{len(self.results)} = {call}")
        return [f"{result}#{i}" for i in range(len(self.results))]


@dataclass(frozen=True)
class EmitFFIWrappers(ModulePass):
    """Write the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`.

    The support functions are defined, too. With `separate_support`, those that all modules need are only declared: they
    are compiled separately (see `early_support`).
    """

    name: ClassVar[str] = "emit-ffi-wrappers"
    separate_support: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        define_support(module, self.separate_support)
        for function in list(functions(module).values()):
            if SIGNATURE not in function.attributes:
                continue
            signature = signature_of(function.operation)
            fragment = Fragment()
            wrapper = _Wrapper(signature, function, fragment)
            wrapper.write()
            parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
            head = f"{symbol(ENTRY_PREFIX + signature.name)}({parameters})"
            marks = f", {LATENCY_CRITICAL}" if LATENCY_CRITICAL in function.attributes else ""
            marks += f", {TAKES_HANDLES}" if wrapper.takes_handles else ""
            fragment.function(head, wrapper.code, f"{INPUTS} = {signature.inputs} : i64{marks}")
            fragment.splice(module)
        define_object_support(module)
