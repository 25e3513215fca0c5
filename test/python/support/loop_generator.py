"""Random prim funcs with loop annotations and split loops, as text that Python can also run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

DTYPES = (
    *("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
ROW_TILES, COLUMN_TILES = (1, 3, 4, 8), (1, 4, 5, 8, 16, 32, 48)
ROW_KINDS = ("T.unroll", "T.unroll", "range", "T.parallel", "T.vectorized")
COLUMN_KINDS = ("T.vectorized", "T.vectorized", "T.vectorized", "T.unroll", "range")


class LoopGenerator:
    """Draws a program ``k`` over ``A: (n, m)``, ``W: (m, m)``, ``B: (n,)`` of one dtype and booleans ``M: (n, m)``.

    It writes ``C: (n, m)`` and ``D: (n,)`` of that dtype, ``E: (n, m)`` of another one and booleans ``F: (n, m)``.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.other = rng.choice(DTYPES)
        self.lines: list[str] = []
        self.count = 0

    @property
    def dtypes(self) -> Sequence[str]:
        """Those of the arguments, in order."""
        return (*[self.dtype] * 3, "bool", *[self.dtype] * 2, self.other, "bool")

    def program(self, name: str = "k") -> str:
        shapes = (
            '("n", "m")',
            '("m", "m")',
            '("n",)',
            '("n", "m")',
            '("n", "m")',
            '("n",)',
            '("n", "m")',
            '("n", "m")',
        )
        head = ", ".join(
            f'{buffer}: T.Buffer({shape}, "{dtype}")'
            for buffer, shape, dtype in zip("AWBMCDEF", shapes, self.dtypes, strict=True)
        )
        self.emit(0, "for i, j in T.grid(n, m):")
        self.emit(1, f"C[i, j] = {self.literal()}")
        self.emit(1, f"E[i, j] = T.{self.other}(1)")
        self.emit(1, "F[i, j] = A[i, j] > B[i]")
        self.emit(0, "for i in range(n):")
        self.emit(1, "D[i] = B[i]")
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice(
                (
                    *(self.tile, self.tile, self.product, self.columns, self.own, self.rows, self.dependent),
                    *(self.fused, self.fused_tiles),
                )
            )()
        return f"@T.prim_func\ndef {name}({head}):\n" + "\n".join("    " + line for line in self.lines) + "\n"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def literal(self) -> str:
        return f"T.{self.dtype}({self.rng.randint(0, 5)})"

    def split(self, depth: int, axis: str, size: str, tile: int, outer: str, inner: str) -> str:
        """A split loop; returns the index."""
        self.emit(depth, f"for {axis}o in {outer}(({size} + {tile - 1}) // {tile}):")
        self.emit(depth + 1, f"for {axis}i in {inner}(T.min({tile}, {size} - {axis}o * {tile})):")
        return f"{axis}o * {tile} + {axis}i"

    def value(self, depth: int, i: str, j: str, more: Sequence[str] = ()) -> str:
        """An expression of the dtype."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return rng.choice((f"A[{i}, {j}]", f"B[{i}]", self.literal(), f"A[{i}, m - 1 - ({j})]", *more))
        left, right = self.value(depth - 1, i, j, more), self.value(depth - 1, i, j, more)
        kind = rng.randint(0, 7)
        if kind == 0:
            return f"T.if_then_else({self.condition(i, j)}, {left}, {right})"
        if kind == 1:
            return f"T.Select({self.condition(i, j)}, {left}, {right})"
        if kind == 2:
            return f"T.{rng.choice(('max', 'min'))}({left}, {right})"
        if kind == 3 and "float" not in self.dtype:
            return f"({left} {rng.choice(('//', '%', '&', '|', '^'))} {right})"
        if kind == 4 and "float" not in self.dtype:
            return f"(T.{self.dtype}({j}) + {left})"
        return f"({left} {rng.choice(('+', '-', '*'))} {right})"

    def condition(self, i: str, j: str) -> str:
        comparison = self.rng.choice(("<", ">=", "==", "!="))
        return self.rng.choice(
            (
                f"A[{i}, {j}] {comparison} {self.literal()}",
                f"M[{i}, {j}]",
                f"B[{i}] {comparison} {self.literal()}",
                f"{j} {comparison} {self.rng.randint(0, 9)}",
                f"({j} < 3 or M[{i}, {j}])",
            )
        )

    def stores(self, depth: int, i: str, j: str) -> None:
        """Something that is stored, perhaps under a condition."""
        rng = self.rng
        kind = rng.randint(0, 4)
        if kind == 0:
            self.emit(depth, f"if {self.condition(i, j)}:")
            self.emit(depth + 1, f"C[{i}, {j}] = {self.value(2, i, j)}")
            if rng.random() < 0.5:
                self.emit(depth, "else:")
                self.emit(depth + 1, f"E[{i}, {j}] = T.cast({self.value(1, i, j)}, '{self.other}')")
        elif kind == 1:
            self.emit(depth, f"F[{i}, {j}] = {self.condition(i, j)}")
        elif kind == 2:
            self.emit(depth, f"C[{i}, {j}] += {self.value(1, i, j)} * {self.value(1, i, j)}")
        else:
            self.emit(depth, f"C[{i}, {j}] = {self.value(2, i, j, [f'C[{i}, {j}]'])}")

    def tile(self) -> None:
        """An elementwise operation, both axes split."""
        rng = self.rng
        row, column = rng.choice(ROW_TILES), rng.choice(COLUMN_TILES)
        i = self.split(0, "i", "n", row, rng.choice(("range", "T.parallel")), rng.choice(ROW_KINDS))
        j = self.split(2, "j", "m", column, rng.choice(("range", "T.parallel")), rng.choice(COLUMN_KINDS))
        self.stores(4, i, j)

    def product(self) -> None:
        """A matrix product into a local tile."""
        rng = self.rng
        self.count += 1
        local, row, column = f"L{self.count}", rng.choice(ROW_TILES), rng.choice(COLUMN_TILES)
        rows = f"for ii in {rng.choice(ROW_KINDS[:3])}(T.min({row}, n - io * {row})):"
        columns = f"for ji in {rng.choice(COLUMN_KINDS)}(T.min({column}, m - jo * {column})):"
        self.emit(0, f"for io in {rng.choice(('range', 'T.parallel'))}((n + {row - 1}) // {row}):")
        self.emit(1, f"for jo in {rng.choice(('range', 'T.parallel'))}((m + {column - 1}) // {column}):")
        self.emit(2, f'{local} = T.alloc_buffer(({row}, {column}), "{self.dtype}", scope="local")')
        self.emit(2, rows)
        self.emit(3, columns)
        self.emit(4, f"{local}[ii, ji] = {self.literal()}")
        self.emit(2, f"for k in range({rng.choice(('m', 'T.min(m, 4)', '3 if m > 3 else 0'))}):")
        self.emit(3, rows)
        self.emit(4, columns)
        factors = f"A[io * {row} + ii, k]", f"W[k, jo * {column} + ji]"
        self.emit(5, f"{local}[ii, ji] = {local}[ii, ji] + {factors[0]} * {factors[1]}")
        self.emit(2, rows)
        self.emit(3, columns)
        self.emit(4, f"C[io * {row} + ii, jo * {column} + ji] = {local}[ii, ji]")

    def columns(self) -> None:
        """Interleaved rows, with a loop inside."""
        self.emit(0, f"for i in {self.rng.choice(('T.vectorized', 'T.parallel'))}(n):")
        self.emit(1, f"D[i] = {self.literal()}")
        self.emit(1, "for j in range(m):")
        self.emit(2, f"if {self.condition('i', 'j')}:")
        self.emit(3, f"D[i] = D[i] + {self.value(1, 'i', 'j')}")

    def own(self) -> None:
        """A buffer of each iteration."""
        self.count += 1
        local = f"L{self.count}"
        self.emit(0, "for i in range(n):")
        self.emit(1, f"for j in {self.rng.choice(COLUMN_KINDS)}(m):")
        self.emit(2, f'{local} = T.alloc_buffer((2,), "{self.dtype}")')
        self.emit(2, f"{local}[0] = {self.value(1, 'i', 'j')}")
        self.emit(2, f"{local}[1] = {self.literal()}")
        self.emit(2, f"if {self.condition('i', 'j')}:")
        self.emit(3, f"{local}[0] = {local}[0] + {local}[1]")
        self.emit(2, "for t in range(2):")
        self.emit(3, f"{local}[1] = {local}[1] + {local}[t]")
        self.emit(2, f"C[i, j] = {local}[1]")

    def rows(self) -> None:
        """Whole rows, a step and a beginning that are not 1 and 0, and products that stay in place."""
        kind = self.rng.choice(("T.vectorized", "T.unroll", "T.parallel"))
        bounds = self.rng.choice(("1, m", "0, m, 2", "m // 2, m", "min(m, 3)", "7")).replace("min", "T.min")
        self.emit(0, f"for i in {self.rng.choice(('range', 'T.parallel'))}(n):")
        if bounds == "7":
            self.emit(1, f"for j in {kind}(7):")
            self.emit(2, "if j < m:")
            self.emit(3, f"C[i, T.min(j, m - 1)] = {self.value(1, 'i', 'T.min(j, m - 1)')}")
            return
        self.emit(1, f"for j in {kind}({bounds}):")
        self.stores(2, "i", "j")

    def fused(self) -> None:
        """Both axes as one, which may be split again."""
        rng = self.rng
        if rng.random() < 0.4:
            self.emit(0, f"for f in {rng.choice(('T.parallel', 'T.vectorized'))}(n * m):")
            self.stores(1, "f // m", "f % m")
            return
        tile = rng.choice(COLUMN_TILES)
        self.emit(0, f"for fo in {rng.choice(('range', 'T.parallel'))}((n * m + {tile - 1}) // {tile}):")
        self.emit(1, f"for fi in {rng.choice(COLUMN_KINDS)}(T.min({tile}, n * m - fo * {tile})):")
        self.stores(2, f"(fo * {tile} + fi) // m", f"(fo * {tile} + fi) % m")

    def fused_tiles(self) -> None:
        """The loops over tiles as one."""
        rng = self.rng
        row, column = rng.choice(ROW_TILES), rng.choice(COLUMN_TILES)
        across = f"((m + {column - 1}) // {column})"
        self.emit(0, f"for t in {rng.choice(('range', 'T.parallel'))}((n + {row - 1}) // {row} * {across}):")
        top, left = f"t // {across} * {row}", f"t % {across} * {column}"
        self.emit(1, f"for ii in {rng.choice(ROW_KINDS)}(T.min({row}, n - {top})):")
        self.emit(2, f"for ji in {rng.choice(COLUMN_KINDS)}(T.min({column}, m - {left})):")
        self.stores(3, f"{top} + ii", f"{left} + ji")

    def dependent(self) -> None:
        """Iterations that depend on each other, despite their annotation."""
        kind = self.rng.choice(("T.vectorized", "T.parallel", "T.unroll"))
        self.emit(0, f"for i in {kind}(n):")
        statement = self.rng.choice(
            (
                "D[0] = D[0] + B[i]",
                "D[n - 1 - i] = D[i] + B[i]",
                "D[i // 2] = D[i // 2] + B[i]",
                "D[(i * 3) % n] = B[i]",
            )
        )
        self.emit(1, statement)
