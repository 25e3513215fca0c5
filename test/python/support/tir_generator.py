"""Random prim funcs, as text that both the compiler and Python read."""

from __future__ import annotations

from random import Random

DTYPES = ("int8", "uint8", "int32", "int64", "uint32", "uint64", "float32", "float64")
INDEX_FORMS = ("{v}", "{v}", "{v}", "({v} * 3 + 1) % {e}", "({e} - 1) - {v}", "{v} // 2")


class Generator:
    """Draws one program over ``A: (n, m)``, ``B: (n,)`` of one dtype, that writes ``C: (n, m)`` and ``D: (n,)``."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.lines: list[str] = []
        self.count = 0

    def program(self) -> str:
        head = "".join(
            f'{name}: T.Buffer({shape}, "{self.dtype}"), '
            for name, shape in (("A", '("n", "m")'), ("B", '("n",)'), ("C", '("n", "m")'), ("D", '("n",)'))
        )
        self.emit(0, "for i, j in T.grid(n, m):")
        self.emit(1, f"C[i, j] = {self.value(2, 'i', 'j', [])}")
        self.emit(0, "for i in range(n):")
        self.emit(1, f"D[i] = {self.value(1, 'i', None, [])}")
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice((self.block, self.loops, self.local, self.reduction))()
        return f"@T.prim_func\ndef k({head}):\n" + "\n".join("    " + line for line in self.lines) + "\n"

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def index(self, variable: str, extent: str) -> str:
        return self.rng.choice(INDEX_FORMS).format(v=variable, e=extent)

    def literal(self) -> str:
        number = self.rng.randint(0, 7)
        return f"{number}.5" if self.dtype.startswith("float") else str(number)

    def value(self, depth: int, i: str, j: str | None, written: list[str]) -> str:
        """An expression of the dtype; `written` are buffers that it may read in addition to A and B."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            column = j if j is not None else "0 * m"
            choices = [f"B[{self.index(i, 'n')}]"]
            if j is not None:
                choices.append(f"A[{self.index(i, 'n')}, {self.index(column, 'm')}]")
            if "C" in written and j is not None:
                choices.append(f"C[{self.index(i, 'n')}, {self.index(column, 'm')}]")
            if "D" in written:
                choices.append(f"D[{self.index(i, 'n')}]")
            return rng.choice(choices)
        left = self.value(depth - 1, i, j, written)
        right = self.value(depth - 1, i, j, written) if rng.random() < 0.6 else self.literal()
        kind = rng.randint(0, 5)
        if kind == 0:
            return f"T.if_then_else({self.condition(i, j, left)}, {left}, {self.value(depth - 1, i, j, written)})"
        if kind == 1:
            return f"T.{rng.choice(('max', 'min'))}({left}, {right})"
        if kind == 2 and not self.dtype.startswith("float"):
            return f"({left} {rng.choice(('//', '%', '&', '|', '^'))} {right})"
        return f"({left} {rng.choice(('+', '-', '*'))} {right})"

    def condition(self, i: str, j: str | None, value: str) -> str:
        rng = self.rng
        first = f"{value} {rng.choice(('<', '>=', '==', '!='))} {self.literal()}"
        second = f"{i} {rng.choice(('<', '>', '=='))} {rng.randint(0, 3)}" + (f" + {j}" if j else "")
        return rng.choice((first, second, f"({second}) and ({first})", f"({first}) or not ({second})"))

    def block(self) -> None:
        self.emit(0, "for i, j in T.grid(n, m):")
        self.emit(1, 'with T.block("b"):')
        self.emit(2, 'vi, vj = T.axis.remap("SS", [i, j])')
        self.emit(2, f"C[vi, vj] = {self.value(2, 'vi', 'vj', [])}")

    def loops(self) -> None:
        kind = self.rng.choice(("range(n)", "T.serial(n)", "T.serial(n // 2, n)", "range(0, n, 2)"))
        self.emit(0, f"for i in {kind}:")
        self.emit(1, f"D[i] += {self.value(1, 'i', None, ['D'])}")
        self.emit(1, "for j in range(m):")
        self.emit(2, f"if {self.condition('i', 'j', 'A[i, j]')}:")
        self.emit(3, f"C[i, j] = {self.value(2, 'i', 'j', ['C', 'D'])}")
        if self.rng.random() < 0.5:
            self.emit(2, "else:")
            self.emit(3, f"D[i] = {self.value(1, 'i', 'j', ['C', 'D'])}")

    def local(self) -> None:
        self.count += 1
        name = f"L{self.count}"
        self.emit(0, f'{name} = T.alloc_buffer((n + 1, 2), "{self.dtype}")')
        self.emit(0, "for i in range(n):")
        self.emit(1, f"x{self.count} = {self.value(2, 'i', None, ['D'])}")
        self.emit(1, f"{name}[i + 1, 1] = x{self.count} + x{self.count}")
        self.emit(1, f"D[i] = {name}[i + 1, 1] + {self.literal()}")

    def reduction(self) -> None:
        operator = self.rng.choice(("D[vi] + {}", "T.max(D[vi], {})", "D[vi] * {}"))
        self.emit(0, "for i, k in T.grid(n, m):")
        self.emit(1, 'with T.block("r"):')
        self.emit(2, 'vi, vk = T.axis.remap("SR", [i, k])')
        self.emit(2, "with T.init():")
        self.emit(3, f"D[vi] = {self.literal()}")
        self.emit(2, f"D[vi] = {operator.format('A[vi, vk]')}")
