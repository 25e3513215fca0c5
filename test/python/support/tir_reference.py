"""A reference for prim funcs: their source run by Python, with NumPy in place of T; and native code."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
                if (
                    isinstance(item, ast.Constant)
                    and isinstance(item.value, str)
                    and item.value.isidentifier()
                ):
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
    main = (
        f"@R.function\ndef main{suffix}({params}):\n"
        f"    return R.call_tir(cls.k{suffix}, ({args}), {out}{extra})\n"
    )
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


def check(
    source: str, ins: Sequence[Any], outs: Sequence[Any], ints: Sequence[int] = (), *, rtol: float = 0.0
) -> Any:
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
