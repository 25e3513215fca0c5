"""`lower-packed-calls`: calls of `@relax.packed.K` reach functions of the TVM FFI's global registry.

The declaration `func.func private @relax.packed.K(operands…) -> (results…)` carries `relax.packed = {name = "…",
style = "alloc" | "dps", args = […], results = […], dtypes = […]}`. `args` gives the kind of each argument: "tensor" (a
memref), "shape:2" (two index operands), "int" (one index operand), "any" (the two i64 of a handle), and the
literals "str:…", "float:…", "int:…", "bool:…", which take no operand. Remaining memrefs are tensors, too. `results`
does the same for the results. `dtypes` lists the dtypes of the tensor operands, then those of the tensor results;
without them, signless integers are signed.

Tensors are passed as views: the callee may read and write them during the call, but not keep them. With style "dps" the
callee writes the last memrefs, which become the results, if the declaration has any. With style "alloc" the callee
returns a tensor, a Shape or an int, or an Array of several. Tensors live until the calling function returns.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from relax_mlir.dialects.attributes import PACKED
from relax_mlir.error import CompileError
from relax_mlir.lazy import how_to_register
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import calls_of, declare_release, frame_of
from relax_mlir.lowering.base.signature import (
    RECORD_BYTES,
    DType,
    Value,
    dtype_named,
    dtype_of_element,
    plain,
)
from relax_mlir.lowering.base.unpack import (
    ANY_BYTES,
    ARRAY,
    BOOL,
    FIRST_OBJECT,
    FLOAT,
    INT,
    LIST,
    RAW_STR,
    SHAPE,
    TENSOR,
    FFICode,
    Kind,
    global_function,
)
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Fragment, functions, is_declaration, symbol, text_constant
from relax_mlir.transform import ModulePass, PassContext


@dataclass(frozen=True)
class _Declaration:
    """A declaration with `relax.packed`, and its calls."""

    symbol: str
    name: str
    style: str
    args: tuple[str, ...]
    kinds: tuple[str, ...]
    dtypes: tuple[str, ...]
    inputs: tuple[ir.Type, ...]
    results: tuple[ir.Type, ...]

    @staticmethod
    def of(op: func.FuncOp) -> _Declaration:
        data: dict[str, Any] = plain(op.operation.attributes[PACKED])
        style = data.get("style", "alloc")
        if style not in ("alloc", "dps"):
            raise CompileError(f"relax.packed of {op.name.value}: style is 'alloc' or 'dps', not {style!r}")
        inputs, results = tuple(op.type.inputs), tuple(op.type.results)
        kinds = tuple(data.get("results", ())) or tuple(
            "tensor" if isinstance(type, ir.MemRefType) else "int" for type in results
        )
        dtypes = tuple(data.get("dtypes", ()))
        return _Declaration(
            op.name.value, data["name"], style, tuple(data.get("args", ())), kinds, dtypes, inputs, results
        )

    def dtype(self, position: int, type: ir.Type) -> DType:
        """The dtype of the tensor operand or result at `position`, counted over operands and results."""
        if position < len(self.dtypes):
            return dtype_named(self.dtypes[position])
        return dtype_of_element(ir.MemRefType(type).element_type)

    @property
    def gives(self) -> tuple[ir.Type, ...]:
        """The result types of the callee: none in destination-passing style."""
        return () if self.style == "dps" else self.results


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


class _PackedCall(FFICode):
    """Emits the body of one declaration."""

    def __init__(self, declaration: _Declaration, fragment: Fragment, caller: str, location: str) -> None:
        prefix = f"{caller}: packed function '{declaration.name}' "
        super().__init__(declaration.symbol, prefix, fragment, kind="PackedFunctionError")
        self.declaration, self.where = declaration, f"called at {location}"
        self.tensors = 0

    def next_dtype(self, type: ir.Type) -> DType:
        """The dtype of the next tensor."""
        self.tensors += 1
        return self.declaration.dtype(self.tensors - 1, type)

    def arguments(self) -> Iterator[tuple[Kind, str]]:
        """Yield type index and payload of each argument."""
        operands = [(f"%a{i}", type) for i, type in enumerate(self.declaration.inputs)]
        for spec in self.declaration.args:
            kind, _, detail = spec.partition(":")
            if kind == "tensor":
                yield TENSOR, self.view(*self.take(operands, spec))
            elif kind == "shape":
                yield SHAPE, self.shape_argument([self.take(operands, spec)[0] for _ in range(int(detail))])
            elif kind == "any":
                yield self.take(operands, spec)[0], self.take(operands, spec)[0]
            elif kind == "int" and not detail:
                yield INT, self.code.let(f"arith.index_cast {self.take(operands, spec)[0]} : index to i64")
            else:
                yield self.literal(kind, detail, spec)
        for name, type in operands:
            if not isinstance(type, ir.MemRefType):
                raise CompileError(
                    f"packed function {self.declaration.name!r}: no argument takes the operand of type {type}"
                )
            yield TENSOR, self.view(name, type)

    def take(self, operands: list[tuple[str, ir.Type]], spec: str) -> tuple[str, ir.Type]:
        if not operands:
            raise CompileError(
                f"packed function {self.declaration.name!r}: no operand is left for the argument {spec!r}"
            )
        return operands.pop(0)

    def literal(self, kind: str, detail: str, spec: str) -> tuple[int, str]:
        if kind == "int":
            return INT, self.code.constant(int(detail))
        if kind == "bool":
            return BOOL, self.code.constant(int(detail in ("1", "true", "True")))
        if kind == "float":
            return FLOAT, self.code.constant(_bits(float(detail)))
        if kind == "str":
            text = text_constant(self.fragment, detail)
            return RAW_STR, self.code.let(f"llvm.mlir.addressof {text} : !llvm.ptr")
        raise CompileError(f"packed function {self.declaration.name!r}: unknown argument {spec!r}")

    def view(self, memref: str, type: ir.Type) -> str:
        """Create an FFI tensor over a memref; return its handle."""
        code, of = self.code, ir.MemRefType(type)
        element = self.next_dtype(type)
        address = code.let(f"memref.extract_aligned_pointer_as_index {memref} : {type} -> index")
        number = code.let(f"arith.index_cast {address} : index to i64")
        data = code.let(f"llvm.inttoptr {number} : i64 to !llvm.ptr")
        shape = code.stack(8 * of.rank)
        for i in range(of.rank):
            size = code.let(f"memref.dim {memref}, {code.constant(i, 'index')} : {type}")
            code.store(code.let(f"arith.index_cast {size} : index to i64"), "i64", shape, 8 * i)
        rank, packed = code.constant(of.rank, "i32"), code.constant(element.packed, "i32")
        types = ["!llvm.ptr", "!llvm.ptr", "i32", "i32"]
        handle = self.call("relax.rt.view", [data, shape, rank, packed], types, "!llvm.ptr")
        self.own(handle)
        return handle

    def shape_argument(self, numbers: Sequence[str]) -> str:
        handle = self.shape_of_numbers(numbers)
        self.own(handle)
        return handle

    def callee(self) -> str:
        code = self.code
        operands = global_function(code, self.fragment, self.declaration.name)
        function = self.call("relax.rt.global", operands, ["!llvm.ptr", "!llvm.ptr", "i64"], "!llvm.ptr")
        self.check(
            code.let(f'llvm.icmp "ne" {function}, {code.null()} : !llvm.ptr'),
            "PackedFunctionError",
            verbatim(f"is not registered ({self.where}); {how_to_register(self.declaration.name)}"),
        )
        return function

    def write(self) -> None:
        code, fragment = self.code, self.fragment
        result = code.stack(ANY_BYTES)
        function = self.callee()
        values = list(self.arguments())
        room = code.stack(ANY_BYTES * len(values))
        for i, (kind, payload) in enumerate(values):
            self.store_any(room, i, kind, payload)
        code.store(code.constant(0), "i64", result)
        code.store(code.constant(0), "i64", result, 8)
        fragment.external("@TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32")
        status = code.let(
            f"llvm.call @TVMFFIFunctionCall({function}, {room}, {code.constant(len(values), 'i32')}, {result})"
            " : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
        )
        self.call("relax.propagate", [status], ["i32"])
        self.keep(result)
        gives = self.results(result)
        types = ", ".join(str(type) for type in self.declaration.gives)
        code.do(f"func.return {', '.join(gives)} : {types}" if gives else "func.return")

    def keep(self, result: str) -> None:
        """Move any object that was returned to the frame."""
        code = self.code
        kind = code.load(result, 0, "i32")
        is_object = code.let(f"arith.cmpi sge, {kind}, {code.constant(FIRST_OBJECT, 'i32')} : i32")
        code.do(f"scf.if {is_object} {{")
        self.own(code.load(result, 8, "!llvm.ptr"))
        code.do("}")

    def results(self, result: str) -> list[str]:
        """Check the returned value; return the declaration's results."""
        kinds = () if self.declaration.style == "dps" else self.declaration.kinds
        types = list(self.declaration.gives)
        role = f"({self.where}) gave back a value"
        if len(kinds) == 1:
            return self.one_result(result, kinds[0], types, f"{role} that")
        if not kinds:
            return []
        whole = Value("result", "tuple", f"{len(kinds)} values")
        elements = self.sequence(result, whole, f"{role} that", (ARRAY, LIST), len(kinds))
        values = []
        for i, kind in enumerate(kinds):
            slot = self.code.at(elements, ANY_BYTES * i)
            values += self.one_result(slot, kind, types, f"{role} {i} that")
        return values

    def one_result(self, slot: str, kind: str, types: list[ir.Type], role: str) -> list[str]:
        """Check one returned value and take its types off `types`; return it as memref or indices."""
        code = self.code
        kind, _, rank = kind.partition(":")
        if kind == "any":
            del types[:2]
            return [code.load(slot, 0, "i64"), code.load(slot, 8, "i64")]
        if kind == "int":
            types.pop(0)
            return [self.integer(slot, Value("result", "int", "int"), role)]
        if kind == "shape":
            del types[: int(rank)]
            return self.shape(slot, Value("result", "shape", f"Shape of rank {rank}", ndim=int(rank)), role)
        type = ir.MemRefType(types.pop(0))
        dtype = self.next_dtype(type)
        text = f'Tensor(({", ".join("?" if d < 0 else str(d) for d in _sizes(type))}), "{dtype.name}")'
        value = Value("result", "tensor", text, dtype, type.rank)
        table, record = self.table([(value, role)]), code.stack(RECORD_BYTES)
        plain, tensor = self.take_tensor(slot, value, table, record)
        for i, size in enumerate(_sizes(type)):
            if size < 0:
                continue
            self.check(
                self.equal(tensor.sizes[i], size, "i64"),
                "PackedFunctionError",
                f"{verbatim(role)} has dimension {i} of {{0}}, expected {size} (result: {text})",
                code.index(tensor.sizes[i]),
            )
        self.settle(plain, 1, table, record)
        return [code.memref(self.data(tensor), tensor.sizes, str(type))]


def _sizes(type: ir.MemRefType) -> list[int]:
    """The sizes of a memref type, -1 where dynamic."""
    return [-1 if type.is_dynamic_dim(i) else type.get_dim_size(i) for i in range(type.rank)]


class LowerPackedCalls(ModulePass):
    """Give the declarations of packed functions a body, and their calls the frame of the caller."""

    name: ClassVar[str] = "lower-packed-calls"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        declarations = {
            name: _Declaration.of(op) for name, op in table.items() if PACKED in op.attributes and is_declaration(op)
        }
        if not declarations:
            return
        declare_release(module)
        sites: dict[str, tuple[str, str]] = {}
        for name, function in functions(module).items():
            for call in calls_of(function, declarations):
                sites.setdefault(call.callee.value, (name, _location(call.location)))
                _pass_frame(call, declarations[call.callee.value], frame_of(function))
        fragment = Fragment()
        for name, declaration in declarations.items():
            table[name].operation.erase()
            if name not in sites:
                continue
            body = _PackedCall(declaration, fragment, *sites[name])
            body.code.use_frame("%frame")
            body.write()
            parameters = ", ".join(["%frame: !llvm.ptr", *(f"%a{i}: {t}" for i, t in enumerate(declaration.inputs))])
            results = f" -> ({', '.join(map(str, declaration.gives))})" if declaration.gives else ""
            fragment.function(f"private {symbol(name)}({parameters}){results}", body.code)
        fragment.splice(module)


def _location(location: ir.Location) -> str:
    text = str(location).removeprefix("loc(").removesuffix(")").replace('"', "")
    return text if text != "unknown" else "an unknown place"


def _pass_frame(call: func.CallOp, declaration: _Declaration, frame: ir.Value) -> None:
    """Rewrite a call to match the body of its declaration."""
    operands = list(call.operands)
    with ir.InsertionPoint(call), call.location:
        new = func.CallOp(list(declaration.gives), declaration.symbol, [frame, *operands])
    memrefs = [v for v in operands if isinstance(v.type, ir.MemRefType)]
    count = len(call.results)
    if declaration.style == "dps" and len(memrefs) < count:
        raise CompileError(
            f"packed function {declaration.name!r}: {count} results, but {len(memrefs)} tensors to write to"
        )
    values = memrefs[len(memrefs) - count :] if declaration.style == "dps" else list(new.results)
    for old, value in zip(call.results, values, strict=True):
        old.replace_all_uses_with(value)
    call.operation.erase()
