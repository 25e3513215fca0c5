"""`emit-ffi-wrappers`: the TVM FFI entry point `__tvm_ffi_<name>` of every function with `relax.signature`.

An entry point takes the arguments of a TVM FFI safe call (self, TVMFFIAny array, count, result), checks number,
kind, device, dtype and rank, asks `@<name>.shapes` for the sizes of the results (which checks the dimensions),
makes contiguous copies where strides demand it, allocates the results or takes those the caller passed in, and
calls `@<name>`. It is written with the hooks that every other function uses, so that its error paths come from
`lower-checks`, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.signature import Signature, Value, signature_of
from relax_mlir.lowering.abi.support import SUPPORT
from relax_mlir.lowering.abi.text import Fragment, functions, symbol
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
    Tensor,
)
from relax_mlir.lowering.hooks import SHAPES_SUFFIX
from relax_mlir.mlir import ir
from relax_mlir.transform import ModulePass, PassContext

ENTRY_PREFIX = "__tvm_ffi_"
INPUTS = "relax.inputs"


class _Wrapper(FFICode):
    """Writes the entry point of `function`, which takes values of the types `arguments`."""

    def __init__(self, signature: Signature, function: str, arguments: list[str], fragment: Fragment) -> None:
        super().__init__(f"ffi.{signature.name}", f"{signature.name}: ", fragment)
        self.signature, self.function, self.arguments = signature, function, arguments

    def unpack(self, slot: str, value: Value, dims: list[str], inputs: list[Tensor | str]) -> None:
        """Read one parameter: its index values go to `dims`, what `@f` takes for it goes to `inputs`."""
        role = f"parameter '{value.name}'"
        if value.kind == "tensor":
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
        self.check(
            tensor.contiguous, "ArgumentError", f"{role} is not contiguous, so it cannot be written to"
        )
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
        """Store the results, whose leaves are given (type index, payload as i64 or pointer), in %ret."""
        signature, leaves = self.signature, list(handles)
        values = [self.nested(value, leaves, room) for value in signature.results]
        kind, payload = self.array(values, room) if signature.tuple_result else values[0]
        self.store_any("%ret", 0, kind, payload)

    def nested(self, value: Value, leaves: list[tuple[int, str]], room: str) -> tuple[int, str]:
        """A result as one FFI value; takes its leaves off the front of `leaves`."""
        if value.kind != "tuple":
            return leaves.pop(0)
        return self.array([self.nested(field, leaves, room) for field in value.fields], room)

    def array(self, values: list[tuple[int, str]], room: str) -> tuple[int, str]:
        """An FFI Array that holds `values`, whose references it takes over."""
        for i, (kind, payload) in enumerate(values):
            self.store_any(room, i, kind, payload)
        made = self.construct("ffi.Array", room, len(values))
        for kind, payload in values:
            if kind in (TENSOR, SHAPE, ARRAY):
                drop = self.fragment.declare("relax.rt.drop", "(!llvm.ptr) -> ()")
                self.code.do(f"func.call {drop}({payload}) : (!llvm.ptr) -> ()")
        return ARRAY, made

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
        dims: list[str] = []
        inputs: list[Tensor | str] = []
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
        name = self.fragment.declare(self.function + SHAPES_SUFFIX, type)
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

    def call(self, inputs: list[Tensor | str], outs: list[tuple[str, list[str]]]) -> None:
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
        name = self.fragment.declare(self.function, type)
        code.do(f"func.call {name}({', '.join(values)}) : {type}")


@dataclass(frozen=True)
class EmitFFIWrappers(ModulePass):
    """Write the TVM FFI entry point `__tvm_ffi_<name>` of every function that has `relax.signature`."""

    name: ClassVar[str] = "emit-ffi-wrappers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        support = Fragment()
        support.define(SUPPORT)
        support.splice(module)
        for function in list(functions(module).values()):
            if SIGNATURE not in function.attributes:
                continue
            signature = signature_of(function.operation)
            fragment = Fragment()
            wrapper = _Wrapper(
                signature, function.name.value, [str(t) for t in function.type.inputs], fragment
            )
            wrapper.write()
            parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
            head = f"{symbol(ENTRY_PREFIX + signature.name)}({parameters})"
            fragment.function(head, wrapper.code, f"{INPUTS} = {len(signature.params)} : i64")
            fragment.splice(module)
