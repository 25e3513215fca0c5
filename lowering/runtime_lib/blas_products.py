"""A packed function in native code that multiplies matrices with BLAS functions, which it calls by their addresses.

It takes ``(a, b, trans_a, trans_b, threads, out)``: CPU tensors of f32 or f64 and rank 2 or 3, two booleans, and the
maximum number of threads (0: the configured number). The last two dimensions are the matrices; a tensor of rank 2, or
with one matrix, is broadcast over the matrices of the others. With `trans_a` the GEMM uses transposed matrices of `a`.
Rows or columns must be contiguous; the leading dimension is arbitrary. Empty sums (k = 0) are zeros. Large GEMMs are
split over the thread pool of compiled code; each thread calls the library single-threaded.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from relax_mlir.lowering.base.support import fill_template, support_text
from relax_mlir.lowering.base.unpack import DL
from relax_mlir.lowering.runtime_lib.vm_builtins import flaw_text
from relax_mlir.lowering.runtime_lib.vm_memory import BuiltinWriter
from relax_mlir.mlir_text import Fragment, symbol, symbols_in

TABLE = "__relax_blas"
"""The global with the addresses of the f32 and f64 functions and of the thread pool, and the number of threads."""

ADDRESS = "relax.blas.table"
"""The function that returns its address."""

ENTRY = "relax.blas.matmul"
"""The function of the module with the FFI signature."""

MIN_WORK = 2.0**18
"""Minimum number of multiplications of a GEMM that is split; parts of smaller ones take only microseconds."""

MIN_PART = 32
"""Minimum number of rows or columns of a part."""

F32, F64 = 2 | 32 << 8 | 1 << 16, 2 | 64 << 8 | 1 << 16
TRANSPOSED, PLAIN = 112, 111
MATRICES_BYTES, JOB_BYTES = 56, 144

_WORDS = {
    "lda": 3,
    "ldb": 4,
    "ldc": 5,
    "sa": 6,
    "sb": 7,
    "sc": 8,
    "ta": 9,
    "tb": 10,
    "m": 11,
    "n": 12,
    "k": 13,
}
_WORDS |= {"products": 14, "parts": 15, "by": 16, "limit": 17}


@functools.cache
def wrapper_text() -> str:
    """The module of the packed function, as MLIR text of level V with checks."""
    fragment = Fragment()
    writer = _Writer(ENTRY, fragment)
    writer.write()
    parameters = "%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr"
    fragment.function(f"{symbol(ENTRY)}({parameters})", writer.code)
    known = "\n".join([support_text(), flaw_text(), _module_text()])
    return "\n".join([known, fragment.text(known=symbols_in(known))])


def _module_text() -> str:
    """The functions that the packed function calls."""
    common = {"TABLE": TABLE, "MIN_WORK": repr(MIN_WORK), "MIN_PART": MIN_PART}
    kinds = ({"float": "f32", "slot": 0, "bytes": 4}, {"float": "f64", "slot": 8, "bytes": 8})
    jobs = [fill_template("blas_products", {**common, **kind, "words": _load_words()}) for kind in kinds]
    offsets = {name: getattr(DL, name) for name in ("NDIM", "SHAPE", "STRIDES", "BYTE_OFFSET")}
    return "\n".join([fill_template("blas_matrices", {**common, **offsets, "ADDRESS": ADDRESS}), *jobs])


def _load_words() -> str:
    """Loads of all fields of a job, one value per name; unused ones are eliminated."""
    lines = []
    for name, number in _WORDS.items():
        lines.append(f"%{name}_word = llvm.getelementptr %job[{8 * number}] : (!llvm.ptr) -> !llvm.ptr, i8")
        lines.append(f"%{name} = llvm.load %{name}_word : !llvm.ptr -> i64")
    return "\n  ".join(lines)


class _Writer(BuiltinWriter):
    """Emits the packed function: checks of its arguments, and a job for them."""

    def __init__(self, name: str, fragment: Fragment) -> None:
        super().__init__(name, fragment)
        self.prefix = "matrix product by a library: "

    def write(self) -> None:
        self.take(6, "a", "b", "trans_a", "trans_b", "threads", "out")
        a, b, out = (self.dl_tensor(self.slot(i), f"'{name}'") for i, name in ((0, "a"), (1, "b"), (5, "out")))
        trans = [
            self.code.let(f"arith.cmpi ne, {self.number(self.slot(i), n)}, {self.code.constant(0)} : i64")
            for i, n in ((2, "'trans_a'"), (3, "'trans_b'"))
        ]
        limit = self.number(self.slot(4), "'threads'")
        dtype = self._common_dtype(a, b, out)
        places = [self._matrices(tensor, name) for tensor, name in ((a, "a"), (b, "b"), (out, "out"))]
        job = self._job(places, trans, limit)
        self._run(job, dtype)
        self.nothing()

    def _common_dtype(self, a: str, b: str, out: str) -> str:
        """Check that all tensors have one dtype; return it (i32)."""
        code = self.code
        first = code.load(a, DL.DTYPE, "i32")
        self.check(
            self.any_of(self.equal(first, F32, "i32"), self.equal(first, F64, "i32")),
            "DTypeError",
            "'a' has dtype {0:dtype}, expected float32 or float64",
            code.index(first, "i32"),
        )
        for tensor, name in ((b, "b"), (out, "out")):
            other = code.load(tensor, DL.DTYPE, "i32")
            self.check_equal(
                other,
                first,
                "DTypeError",
                f"'{name}' has dtype {{0:dtype}}, but 'a' has {{1:dtype}}",
                type="i32",
            )
        return first

    def _matrices(self, tensor: str, name: str) -> str:
        """Fill in the layout of a tensor's matrices with `relax.blas.matrices`; return its address."""
        code = self.code
        rank = code.load(tensor, DL.NDIM, "i32")
        self.check(
            self.any_of(self.equal(rank, 2, "i32"), self.equal(rank, 3, "i32")),
            "ShapeError",
            f"'{name}' has rank {{0}}, expected 2 or 3",
            code.index(rank, "i32"),
        )
        place = code.stack(MATRICES_BYTES)
        fine = self.call("relax.blas.matrices", [tensor, place], ["!llvm.ptr", "!llvm.ptr"], "i64")
        if name == "out":
            fine = self._by_rows(place, fine)
        lines = "the rows" if name == "out" else "neither the rows nor the columns"
        self.check(
            self.equal(fine, 1, "i64"),
            "ArgumentError",
            f"{lines} of '{name}' {'do not' if name == 'out' else ''} lie together in memory: give a contiguous tensor",
        )
        return place

    def _by_rows(self, place: str, fine: str) -> str:
        """1 if the rows of the result are contiguous, or it has no elements."""
        code = self.code
        size = code.let(f"arith.muli {code.load(place, 8, 'i64')}, {code.load(place, 16, 'i64')} : i64")
        rows = code.let(f"arith.subi {fine}, {code.load(place, 32, 'i64')} : i64")
        return code.let(f"arith.select {self.equal(size, 0, 'i64')}, {code.constant(1)}, {rows} : i64")

    def _job(self, places: Sequence[str], trans: Sequence[str], limit: str) -> str:
        """Build a job of these matrices, after checking that their sizes match."""
        code = self.code
        a, b, out = places
        m, k = self._sides(a, trans[0])
        k_of_b, n = self._sides(b, trans[1])
        self._same(k, k_of_b, "'a' has {0} columns, 'b' {1} rows")
        self._same(m, code.load(out, 8, "i64"), "'a' has {0} rows, 'out' {1}")
        self._same(n, code.load(out, 16, "i64"), "'b' has {0} columns, 'out' {1}")
        products = code.load(out, 40, "i64")
        for place, name in ((a, "a"), (b, "b")):
            count = code.load(place, 40, "i64")
            same = code.let(f"arith.cmpi eq, {count}, {products} : i64")
            self.check(
                self.any_of(same, self.equal(count, 1, "i64")),
                "ShapeError",
                f"'{name}' has {{0}} matrices, 'out' {{1}}",
                code.index(count),
                code.index(products),
            )
        words = {"m": m, "n": n, "k": k, "products": products, "limit": limit}
        for name, place, transposed in (("a", a, trans[0]), ("b", b, trans[1])):
            words |= {f"ld{name}": code.load(place, 24, "i64"), f"s{name}": code.load(place, 48, "i64")}
            words[f"t{name}"] = self._as_stored(place, transposed)
        words |= {"ldc": code.load(out, 24, "i64"), "sc": code.load(out, 48, "i64")}
        job = code.stack(JOB_BYTES)
        for number, place in enumerate(places):
            code.store(code.load(place, 0, "!llvm.ptr"), "!llvm.ptr", job, 8 * number)
        for name, value in words.items():
            code.store(value, "i64", job, 8 * _WORDS[name])
        return job

    def _sides(self, place: str, transposed: str) -> tuple[str, str]:
        """The rows and columns of an operand of the GEMM, after transposition."""
        code = self.code
        rows, columns = code.load(place, 8, "i64"), code.load(place, 16, "i64")
        return (
            code.let(f"arith.select {transposed}, {columns}, {rows} : i64"),
            code.let(f"arith.select {transposed}, {rows}, {columns} : i64"),
        )

    def _same(self, first: str, second: str, message: str) -> None:
        code = self.code
        same = code.let(f"arith.cmpi eq, {first}, {second} : i64")
        self.check(same, "ShapeError", message, code.index(first), code.index(second))

    def _as_stored(self, place: str, transposed: str) -> str:
        """The transposition flag of an operand for BLAS, relative to its storage order."""
        code = self.code
        flipped = code.let(f"arith.trunci {code.load(place, 32, 'i64')} : i64 to i1")
        turned = code.let(f"arith.xori {transposed}, {flipped} : i1")
        return code.let(f"arith.select {turned}, {code.constant(TRANSPOSED)}, {code.constant(PLAIN)} : i64")

    def _run(self, job: str, dtype: str) -> None:
        code = self.code
        code.do(f"scf.if {self.equal(dtype, F32, 'i32')} {{")
        code.do(f"func.call @relax.blas.products.f32({job}) : (!llvm.ptr) -> ()")
        code.do("} else {")
        code.do(f"func.call @relax.blas.products.f64({job}) : (!llvm.ptr) -> ()")
        code.do("}")
