"""A reference for prim funcs: their source run by Python, with NumPy in place of T; and random sources."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from scipy import special


def numpy_dtype(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


class Axes:
    """``T.axis``."""

    def __init__(self, owner: Stand) -> None:
        self.owner = owner

    def remap(self, kinds: str, values: Sequence[int]) -> Any:
        self.owner.starts += [v == 0 for k, v in zip(kinds, values, strict=True) if k == "R"]
        return tuple(values) if len(values) > 1 else values[0]

    def spatial(self, extent: object, value: int) -> int:
        return value

    def reduce(self, extent: Any, value: int) -> int:
        self.owner.starts.append(value == (extent[0] if isinstance(extent, tuple) else 0))
        return value


def _unary(function: Any) -> Any:
    def apply(x: Any) -> Any:
        kind = np.asarray(x).dtype
        wide = np.float32 if kind.itemsize < 4 else kind
        return kind.type(function(np.asarray(x).astype(wide)))

    return apply


class Stand:
    """A replacement of T."""

    def __init__(self) -> None:
        self.starts: list[bool] = []
        self.axis = Axes(self)
        for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "tan", "floor", "ceil", "trunc"):
            setattr(self, name, _unary(getattr(np, name)))
        self.erf = _unary(special.erf)
        self.sigmoid = _unary(special.expit)
        self.rsqrt = _unary(lambda x: 1 / np.sqrt(x))
        self.round = _unary(np.round)
        self.abs = np.abs
        self.max = np.maximum
        self.min = np.minimum

    def __getattr__(self, name: str) -> Any:
        kind = numpy_dtype(name)
        return lambda x: self.cast(x, name) if not isinstance(x, str) else kind.type(float(x))

    grid = staticmethod(lambda *ends: itertools.product(*map(range, ends)))
    serial = parallel = vectorized = unroll = staticmethod(range)
    thread_binding = staticmethod(lambda *ends, thread: range(*ends))

    @contextlib.contextmanager
    def block(self, name: str = "") -> Iterator[None]:
        outer, self.starts = self.starts, []
        yield
        self.starts = outer

    def is_start(self) -> bool:
        return all(self.starts)

    @staticmethod
    def cast(x: Any, name: str) -> Any:
        """Saturating from float to integer, NaN becomes 0."""
        kind = numpy_dtype(name)
        value = np.asarray(x)
        if kind.kind in "iu" and value.dtype.kind not in "iub":
            wide = float(value)
            if math.isnan(wide):
                return kind.type(0)
            info = np.iinfo(kind)
            return kind.type(min(max(math.trunc(min(max(wide, -1e30), 1e30)), info.min), info.max))
        return value.astype(kind)[()]

    @staticmethod
    def alloc_buffer(shape: Any, dtype: str = "float32", scope: str = "global") -> Any:
        return np.zeros(shape, numpy_dtype(dtype))

    @staticmethod
    def reads(*regions: object) -> None: ...

    writes = reads
    evaluate = reads

    @staticmethod
    def if_then_else(c: Any, a: Any, b: Any) -> Any:
        return a if c else b

    Select = if_then_else

    @staticmethod
    def fma(a: Any, b: Any, c: Any) -> Any:
        kind = np.asarray(a).dtype
        return kind.type(float(a) * float(b) + float(c))

    @staticmethod
    def truncdiv(a: Any, b: Any) -> Any:
        kind = np.asarray(a).dtype
        return kind.type(int(int(a) / int(b)))

    @staticmethod
    def truncmod(a: Any, b: Any) -> Any:
        return np.fmod(a, b)


class _Python(ast.NodeTransformer):
    """Converts T to Python: ``with T.init()`` becomes an ``if``, lazy choices are Python's, annotations are removed."""

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        if ast.unparse(node.items[0].context_expr) != "T.init()":
            return node
        return ast.If(ast.parse("T.is_start()", mode="eval").body, node.body, [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if ast.unparse(node.func) == "T.if_then_else":
            return ast.IfExp(*node.args)
        return node


def interpret(source: str, arrays: Sequence[Any]) -> None:
    """Run the prim func of `source` on arrays (and integers), which it changes in place."""
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    names: dict[str, Any] = {"T": Stand()}
    for parameter, value in zip(node.args.args, arrays, strict=True):
        annotation = parameter.annotation
        if isinstance(annotation, ast.Call) and isinstance(annotation.args[0], ast.Tuple):
            for item, size in zip(annotation.args[0].elts, np.shape(value), strict=True):
                if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.value.isidentifier():
                    names.setdefault(item.value, size)
        parameter.annotation = None
    node.decorator_list = []
    tree = ast.fix_missing_locations(ast.Module([_Python().visit(node)], []))
    with np.errstate(all="ignore"):
        exec(compile(tree, "<reference>", "exec"), names)
        names[node.name](*arrays)


@dataclass(frozen=True)
class Case:
    """A prim func `k`, its arguments, and arrays of its results' shapes."""

    source: str
    ins: Sequence[Any]
    outs: Sequence[Any]
    ints: Sequence[int] = ()


def native_module(source: str, ins: Sequence[Any], outs: Sequence[Any], ints: Sequence[int] = ()) -> Any:
    """A module of the prim func `k` and a main that calls it on tensors of these shapes."""
    return parse(f"@I.ir_module\nclass M:\n{_functions(Case(source, ins, outs, ints))}\n")


def _functions(case: Case, suffix: str = "") -> str:
    """The text of ``k`` and ``main`` in a class, with a suffix on their names."""

    def tensor(array: Any) -> str:
        return f'R.Tensor({tuple(map(int, array.shape))}, "{array.dtype.name}")'

    params = ", ".join(f"x{i}: {tensor(a)}" for i, a in enumerate(case.ins))
    args = "".join(f"x{i}, " for i in range(len(case.ins)))
    out = tensor(case.outs[0]) if len(case.outs) == 1 else f"[{', '.join(map(tensor, case.outs))}]"
    extra = f", tir_vars={list(case.ints)}" if case.ints else ""
    main = f"@R.function\ndef main{suffix}({params}):\n    return R.call_tir(cls.k{suffix}, ({args}), {out}{extra})\n"
    source = case.source.replace("def k(", f"def k{suffix}(")
    return "\n".join("    " + line for line in f"{source}\n{main}".splitlines())


def native(module: Any, ins: Sequence[Any]) -> list[Any]:
    """The results of the module's main."""
    return _results(rx.build(module)["main"](*ins))


def _results(result: Any) -> list[Any]:
    several = isinstance(result, (tuple, list)) or type(result).__name__ == "Array"
    return [as_numpy(item) for item in (result if several else [result])]


def as_numpy(item: Any) -> Any:
    """A result as an array."""
    return to_numpy(item)


def check(source: str, ins: Sequence[Any], outs: Sequence[Any], ints: Sequence[int] = (), *, rtol: float = 0.0) -> Any:
    """Compare native code with Python; `outs` are arrays of the results' shapes. Returns the module."""
    module = native_module(source, ins, outs, ints)
    _compare(Case(source, ins, outs, ints), native(module, ins), rtol)
    return module


def check_together(cases: Sequence[Case], rtol: float = 0.0) -> None:
    """`check` for many prim funcs, which are compiled as one module."""
    texts = [_functions(case, str(number)) for number, case in enumerate(cases)]
    executable = rx.build(parse("@I.ir_module\nclass M:\n" + "\n".join(texts) + "\n"))
    for number, case in enumerate(cases):
        _compare(case, _results(executable[f"main{number}"](*case.ins)), rtol)


def _compare(case: Case, found: Sequence[Any], rtol: float) -> None:
    expected = [np.zeros_like(o) for o in case.outs]
    interpret(case.source, [*(np.array(i) for i in case.ins), *expected, *case.ints])
    for ours, theirs in zip(found, expected, strict=True):
        exact = rtol == 0.0 or ours.dtype.kind in "iub"
        mine, other = (a.astype("float64") if a.dtype.kind not in "iub" else a for a in (ours, theirs))
        if exact:
            np.testing.assert_array_equal(mine, other)
        else:
            np.testing.assert_allclose(mine, other, rtol=rtol, atol=rtol)


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
