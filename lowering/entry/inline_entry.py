"""An FFI entry point with inline argument checks, for functions so short that reading arguments matters."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.base.errors import Texts, verbatim
from relax_mlir.lowering.base.signature import LAYOUT, Callee, Signature, Value
from relax_mlir.lowering.base.unpack import ANY_BYTES, DL, Tensor
from relax_mlir.lowering.entry.ffi_wrapper import Out, Wrapper, overlap
from relax_mlir.mlir_text import Fragment


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

    def __init__(
        self, signature: Signature, callee: Callee, fragment: Fragment, texts: Texts | None = None
    ) -> None:
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
        types = ["!llvm.ptr", "!llvm.ptr", *["i64"] * (value.ndim or 0)]
        kinds = ", ".join(["i1", *types])
        nothing = ", ".join(
            [true, *(code.null() if each == "!llvm.ptr" else code.constant(0) for each in types)]
        )
        is_tensor, address = self.tensor_inside(slot)
        strange, wrong = code.fresh(), code.fresh()
        outer, inner = [code.fresh() for _ in types], [code.fresh() for _ in types]
        code.do(f"{', '.join([strange, *outer])} = scf.if {is_tensor} -> ({kinds}) {{")
        found = address()
        on_cpu = self.equal(code.load(found, DL.DEVICE, "i32"), 1, "i32")
        # Rank and dtype are adjacent in both.
        wanted = code.load(row, 0, "i64")
        same = code.let(f"arith.cmpi eq, {code.load(found, DL.NDIM, 'i64', 4)}, {wanted} : i64")
        code.do(f"{', '.join([wrong, *inner])} = scf.if {self.all_of(on_cpu, same)} -> ({kinds}) {{")
        code.do(f"scf.yield {', '.join(self.contents(found, value))} : {kinds}")
        code.do(f"}} else {{\n  scf.yield {nothing} : {kinds}\n  }}")
        code.do(f"scf.yield {', '.join([wrong, *inner])} : {kinds}")
        code.do(f"}} else {{\n  scf.yield {nothing} : {kinds}\n  }}")
        code.do(f"scf.if {strange} {{")
        self.call("relax.rt.flaw_of", [slot, row], ["!llvm.ptr", "!llvm.ptr"])
        code.do("}")
        pointer, base, sizes = outer[0], outer[1], outer[2:]
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
        result = code.fresh()
        code.do(f"{result} = scf.if {given} -> i1 {{")
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
        code.do(f"scf.yield {self.any_of(self.all_of(*fits), *empty)} : i1")
        code.do("} else {")
        code.do(f"scf.yield {true} : i1")
        code.do("}")
        return result

    def take_given(self, given: str, room: str) -> None:
        """Do nothing: each result is read where it is needed."""

    def given_result(self, i: int, sizes: list[str], shape: str) -> str:
        code, row = self.code, self.row(len(self.tensors) + i)
        slot = code.at("%args", ANY_BYTES * (len(self.signature.params) + i))
        tensor = self.unpacked(slot, self.signature.results[i], row)
        same = [
            code.let(f"arith.cmpi eq, {size}, {wanted} : i64")
            for size, wanted in zip(tensor.sizes, sizes, strict=True)
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
        result = code.fresh()
        code.do(f"{result} = scf.if {fine} -> !llvm.ptr {{")
        code.do(f"scf.yield {tensor.base} : !llvm.ptr")
        code.do("} else {")
        operands = [code.frame(self.fragment), tensor.pointer, self.element(tensor.row)]
        copy = self.call("relax.rt.compact", operands, ["!llvm.ptr", "!llvm.ptr", "i64"], "!llvm.ptr")
        code.do(f"scf.yield {copy} : !llvm.ptr\n  }}")
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
