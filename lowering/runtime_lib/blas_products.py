"""A packed function that multiplies matrices by functions of BLAS, which it calls by their addresses: native code.

It takes ``(a, b, trans_a, trans_b, threads, out)``: tensors on the CPU of f32 or f64 and of rank 2 or 3, two truth
values, and on how many threads the product runs at most (0: on as many as are set).
The last two dimensions are the matrices; a tensor of rank 2, or with one matrix, stands beside all matrices of the
others. `trans_a` says that the product takes the matrices of `a` transposed. Rows, or columns, must lie together in
memory, with any distance from one to the next. Sums of nothing (k = 0) are zeros. Large products are cut up for the
threads of compiled code; the library is called on one thread for each.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from relax_mlir.lowering.abi.unpack import DL
from relax_mlir.lowering.runtime_lib.mlir_templates import fill_template
from relax_mlir.lowering.runtime_lib.support import support_text
from relax_mlir.lowering.runtime_lib.vm_builtins.arguments import BuiltinWriter
from relax_mlir.lowering.runtime_lib.vm_builtins.module import flaw_text
from relax_mlir.mlir_text import Fragment, symbol, symbols_in

TABLE = "__relax_blas"
"""The global with the addresses of the functions for f32 and f64, of the team of threads, and their number."""

ADDRESS = "relax.blas.table"
"""The function that gives its address."""

ENTRY = "relax.blas.matmul"
"""The function of the module with the signature of the FFI."""

MIN_WORK = 2.0**18
"""From how many multiplications on a product is cut up for threads: of fewer the parts take microseconds."""

MIN_PART = 32
"""How many rows, or columns, a part has at least."""

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
    """What the packed function calls."""
    common = {"TABLE": TABLE, "MIN_WORK": repr(MIN_WORK), "MIN_PART": MIN_PART}
    kinds = ({"float": "f32", "slot": 0, "bytes": 4}, {"float": "f64", "slot": 8, "bytes": 8})
    jobs = [fill_template("blas_products", {**common, **kind, "words": _load_words()}) for kind in kinds]
    offsets = {name: getattr(DL, name) for name in ("NDIM", "SHAPE", "STRIDES", "BYTE_OFFSET")}
    return "\n".join([fill_template("blas_matrices", {**common, **offsets, "ADDRESS": ADDRESS}), *jobs])


def _load_words() -> str:
    """Loads of all words of a job, each a value of its name; unused ones go."""
    lines = []
    for name, number in _WORDS.items():
        lines.append(f"%{name}_word = llvm.getelementptr %job[{8 * number}] : (!llvm.ptr) -> !llvm.ptr, i8")
        lines.append(f"%{name} = llvm.load %{name}_word : !llvm.ptr -> i64")
    return "\n  ".join(lines)


class _Writer(BuiltinWriter):
    """Writes the packed function: what its arguments are, and a job of them."""

    def __init__(self, name: str, fragment: Fragment) -> None:
        super().__init__(name, fragment)
        self.prefix = "matrix product by a library: "

    def write(self) -> None:
        self.take(6, "a", "b", "trans_a", "trans_b", "threads", "out")
        a, b, out = (
            self.dl_tensor(self.slot(i), f"'{name}'") for i, name in ((0, "a"), (1, "b"), (5, "out"))
        )
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
        """The dtype of all tensors (i32), checked."""
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
            self.check(
                code.let(f"arith.cmpi eq, {other}, {first} : i32"),
                "DTypeError",
                f"'{name}' has dtype {{0:dtype}}, but 'a' has {{1:dtype}}",
                code.index(other, "i32"),
                code.index(first, "i32"),
            )
        return first

    def _matrices(self, tensor: str, name: str) -> str:
        """How the matrices of a tensor lie: the words of `relax.blas.matrices`."""
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
        """1 if the rows of the result lie together, or it has no elements."""
        code = self.code
        size = code.let(f"arith.muli {code.load(place, 8, 'i64')}, {code.load(place, 16, 'i64')} : i64")
        rows = code.let(f"arith.subi {fine}, {code.load(place, 32, 'i64')} : i64")
        return code.let(f"arith.select {self.equal(size, 0, 'i64')}, {code.constant(1)}, {rows} : i64")

    def _job(self, places: Sequence[str], trans: Sequence[str], limit: str) -> str:
        """A job of these matrices, checked for sizes that do not fit."""
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
        """Rows and columns of a matrix as the product takes it."""
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
        """What BLAS is told of an operand: whether the product takes what lies there transposed."""
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
