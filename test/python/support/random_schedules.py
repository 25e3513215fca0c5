"""Random computations in tensor expressions, random schedules of them, and their prim funcs run by Python.

Elements are small integers, so that sums do not depend on the order. Buffers refuse indices out of range, including
negative ones, and are initialised with a value that no result has.
"""

from __future__ import annotations

import ast
import functools
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_intrins import NoIntrin, derived, loops_of
from relax_mlir import symbolic, te
from relax_mlir.error import ScheduleError
from relax_mlir.te.prim_func import integers_of
from relax_mlir.te.schedule.schedule import Trace
from relax_mlir.te.tensors import ComputeOp, operations_of
from relax_mlir.tir.printer import print_prim
from tir_reference import Stand

SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 13)
FACTORS = (1, 2, 3, 4, 5, 8, 16)
TILES = (2, 3, 4)
"""Lengths of loops that intrinsics replace."""
UNSET = -99991.0
"""A value that no element of a result has."""
Array = np.ndarray[Any, Any]


class Strict:
    """An array with bounds checks of indices."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape = array, array.shape

    def _checked(self, index: Any) -> tuple[int, ...]:
        places = index if isinstance(index, tuple) else (index,)
        if len(places) != len(self.shape) or any(
            not 0 <= place < size for place, size in zip(places, self.shape, strict=True)
        ):
            raise IndexError(f"{tuple(map(int, places))} in {self.shape}")
        return places

    def __getitem__(self, index: Any) -> Any:
        return self.array[self._checked(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[self._checked(index)] = value


class Language(Stand):
    """T, with buffers that are `Strict`."""

    max = staticmethod(lambda a, b: a if a >= b else b)
    min = staticmethod(lambda a, b: a if a <= b else b)
    vectorized = unroll = parallel = staticmethod(range)
    index = staticmethod(int)
    grid = staticmethod(lambda *ends: itertools.product(*map(range, ends)) if len(ends) > 1 else range(*ends))

    @staticmethod
    def cast(x: Any, name: str) -> Any:
        return np.dtype(name).type(x)

    @staticmethod
    def alloc_buffer(shape: Any, dtype: str = "float32", scope: str = "") -> Strict:
        sizes = tuple(max(int(size), 0) for size in shape)
        return Strict(np.full(sizes, UNSET, dtype))

    @staticmethod
    def infinity(dtype: str) -> Any:
        return np.dtype(dtype).type(np.inf)

    @staticmethod
    def min_value(dtype: str) -> Any:
        return np.iinfo(dtype).min

    @staticmethod
    def max_value(dtype: str) -> Any:
        return np.iinfo(dtype).max


class _Lazy(ast.NodeTransformer):
    """``T.if_then_else`` is evaluated lazily, and sizes that are expressions are written out."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        return ast.IfExp(*node.args) if ast.unparse(node.func) == "T.if_then_else" else node


@functools.lru_cache(maxsize=64)
def _compiled(source: str) -> tuple[Any, str, tuple[ast.arg, ...]]:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    parameters = tuple(node.args.args)
    annotations = tuple(ast.arg(p.arg, p.annotation) for p in parameters)
    for parameter in parameters:
        parameter.annotation = None
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "T.alloc_buffer":
            shape = part.args[0]
            assert isinstance(shape, ast.Tuple)
            shape.elts = [
                ast.parse(item.value, mode="eval").body
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
                else item
                for item in shape.elts
            ]
    node.decorator_list = []
    tree = ast.fix_missing_locations(ast.Module([_Lazy().visit(node)], []))
    return compile(tree, "<schedule>", "exec"), node.name, annotations


def run(source: str, arrays: Sequence[Array], symbols: dict[str, int]) -> None:
    """Run a prim func that `te.lower` has written on arrays, which it changes in place."""
    code, name, parameters = _compiled(source)
    names: dict[str, Any] = {"T": Language(), "min": min, "max": max, **symbols}
    with np.errstate(all="ignore"):
        exec(code, names)
        integers = [symbols[p.arg] for p in parameters[len(arrays) :]]
        names[name](*map(Strict, arrays), *integers)


@dataclass
class Computation:
    """Inputs and outputs of a random computation."""

    inputs: list[Any]
    outputs: list[Any]

    @property
    def symbols(self) -> list[str]:
        """The sizes."""
        dims = [dim for tensor in (*self.inputs, *self.outputs) for dim in tensor.shape]
        return sorted({name for dim in dims for name in symbolic.symbols(dim)})

    def plain(self) -> str:
        """The prim func without a schedule."""
        parameters = [*self.inputs, *self.outputs]
        operations = operations_of(self.outputs)
        integers = integers_of(parameters, operations)
        module = loops_of("main", parameters, operations, integers=integers)
        with module.context:
            lines = print_prim(module["main"])
        assert lines is not None
        return "\n".join(lines)

    def arrays(self, sizes: dict[str, int], rng: np.random.Generator) -> tuple[list[Array], list[Array]]:
        """Inputs of small integers, and outputs that are not set."""

        def shape(tensor: Any) -> tuple[int, ...]:
            return tuple(symbolic.evaluate(dim, sizes) for dim in tensor.shape)

        ins = []
        for tensor in self.inputs:
            low, high = (0, 1) if tensor.name == "rows" else (-3, 4)
            ins.append(rng.integers(low, high, shape(tensor)).astype(tensor.dtype))
        return ins, [np.full(shape(tensor), UNSET, tensor.dtype) for tensor in self.outputs]


N, M, K = (symbolic.symbol(name) for name in "nmk")


def _chain(rng: random.Random) -> Computation:
    shape = rng.choice([(N,), (N, M), (N, 7), (N, M, 3), (N, 2 * M)])
    x = te.placeholder(shape, name="x")
    tensors = [x]
    for number in range(rng.randint(1, 4)):
        a, b = rng.choice(tensors), rng.choice(tensors)
        tensors.append(te.compute(shape, lambda *i, a=a, b=b: a[i] * 2.0 + b[i], f"e{number}"))
    return _finished([x], tensors[1:], rng)


def _finished(inputs: list[Any], computed: list[Any], rng: random.Random) -> Computation:
    """The last tensor, and sometimes another one, are outputs; unused inputs are left out."""
    outputs = [computed[-1]]
    if len(computed) > 1 and rng.random() < 0.25:
        outputs.insert(0, rng.choice(computed[:-1]))
    read = {id(t) for op in operations_of(outputs) for t in op.input_tensors}
    return Computation([t for t in inputs if id(t) in read], outputs)


def _stencil(rng: random.Random) -> Computation:
    x = te.placeholder((N, M), name="x")
    y = te.compute((N, M), lambda i, j: x[i, j] + 1.0, "y")
    left, right = rng.randint(0, 2), rng.randint(0, 2)

    def at(tensor: Any, i: Any, j: Any) -> Any:
        inside = te.all(j >= 0, j < M)
        return te.if_then_else(inside, tensor[i, j], 0.0)

    z = te.compute((N, M), lambda i, j: at(y, i, j - left) + at(y, i, j + right) * 2.0, "z")
    if rng.random() < 0.5:
        w = te.compute((N, M), lambda i, j: z[i, j] + y[i, j], "w")
        return _finished([x], [y, z, w], rng)
    return _finished([x], [y, z], rng)


def _convolution(rng: random.Random) -> Computation:
    stride, dilation, size, pad = rng.randint(1, 3), rng.randint(1, 2), rng.randint(1, 4), rng.randint(0, 2)
    x, w = te.placeholder((N, M), name="x"), te.placeholder((size,), name="w")
    padded = te.compute(
        (N, M + 2 * pad),
        lambda i, j: te.if_then_else(te.all(j >= pad, j < M + pad), x[i, j - pad], 0.0),
        "padded",
    )
    reach = dilation * (size - 1) + 1
    length = symbolic.maximum(te.floordiv(M + 2 * pad - reach, stride) + 1, 0)
    r = te.reduce_axis((0, size), "r")
    y = te.compute((N, length), lambda i, j: te.sum(padded[i, j * stride + r * dilation] * w[r], axis=r), "conv")
    z = te.compute((N, length), lambda i, j: te.maximum(y[i, j], 0.0), "relu")
    return _finished([x, w], [padded, y, z][: rng.choice([2, 3])], rng)


def _product(rng: random.Random) -> Computation:
    a, b = te.placeholder((N, K), name="a"), te.placeholder((K, M), name="b")
    r = te.reduce_axis((0, K), "r")
    first = te.compute((N, K), lambda i, j: a[i, j] + 1.0, "first")
    c = te.compute((N, M), lambda i, j: te.sum(first[i, r] * b[r, j], axis=r), "c")
    d = te.compute((N, M), lambda i, j: c[i, j] * 2.0 + 1.0, "d")
    return _finished([a, b], [first, c, d][: rng.choice([2, 3])], rng)


def _rows(rng: random.Random) -> Computation:
    """Like a softmax: reductions that later stages read, and a reduction over two axes."""
    x = te.placeholder((N, M), name="x")
    k, q = te.reduce_axis((0, M), "k"), te.reduce_axis((0, M), "q")
    reduce = rng.choice([te.max, te.sum, te.min])
    top = te.compute((N,), lambda i: reduce(x[i, k], axis=k), "top")
    e = te.compute((N, M), lambda i, j: x[i, j] - te.if_then_else(j < M, top[i], 0.0), "e")
    total = te.compute((N,), lambda i: te.sum(e[i, q], axis=q), "total")
    out = te.compute((N, M), lambda i, j: e[i, j] + total[i], "out")
    if rng.random() < 0.3:
        p, s = te.reduce_axis((0, N), "p"), te.reduce_axis((0, M), "s")
        whole = te.compute((), lambda: te.sum(out[p, s], axis=[p, s]), "whole")
        return _finished([x], [top, e, total, out, whole], rng)
    return _finished([x], [top, e, total, out], rng)


def _views(rng: random.Random) -> Computation:
    """Accesses that are not sums: quotients and remainders, transposed and gathered elements, reversed ones."""
    x = te.placeholder((N, M), name="x")
    y = te.compute((N, M), lambda i, j: x[i, j] + 1.0, "y")
    kind = rng.randrange(4)
    if kind == 0:
        z = te.compute((N * M,), lambda i: y[i // M, i % M] * 2.0, "z")
    elif kind == 1:
        z = te.compute((M, N), lambda i, j: y[j, i] * 2.0, "z")
    elif kind == 2:
        z = te.compute((N, M), lambda i, j: y[N - 1 - i, M - 1 - j] * 2.0, "z")
    else:
        rows = te.placeholder((K,), "int32", name="rows")
        safe = te.compute((K, M), lambda i, j: te.if_then_else(i * 0 < N, y[rows[i], j], 0.0), "z")
        return _finished([x, rows], [y, safe], rng)
    return _finished([x], [y, z], rng)


def _is_better(a: Any, b: Any) -> Any:
    """Of equal elements the first one is the best, so that the order does not matter."""
    return te.any(a[1] > b[1], te.all(a[1] == b[1], a[0] < b[0]))


def _argmax(rng: random.Random) -> Computation:
    x = te.placeholder((N, M), name="x")
    argmax = te.comm_reducer(
        lambda a, b: (te.select(_is_better(a, b), a[0], b[0]), te.select(_is_better(a, b), a[1], b[1])),
        lambda t0, t1: (te.const(-1, t0), te.const(-1000.0, t1)),
        name="argmax",
    )
    k = te.reduce_axis((0, M), "k")
    index = te.compute((N, M), lambda i, j: j.astype("int32") if hasattr(j, "astype") else j, "index")
    best = te.compute((N,), lambda i: argmax((index[i, k], x[i, k]), axis=k), "best")
    out = te.compute((N,), lambda i: best[1][i] * 2.0, "out")
    return Computation([x], rng.choice([[*best], [best[0], best[1], out]]))


def _consumers(rng: random.Random) -> Computation:
    """One stage that several others read, with offsets."""
    x = te.placeholder((N + 4,), name="x")
    y = te.compute((N + 4,), lambda i: x[i] * 3.0, "y")
    a, b, c, d = (rng.randint(0, 4) for _ in range(4))
    u = te.compute((N,), lambda i: y[i + a] - y[i + b], "u")
    v = te.compute((N,), lambda i: u[i] * y[i + c], "v")
    w = te.compute((N,), lambda i: v[i] + u[i] + y[i + d], "w")
    return _finished([x], [y, u, v, w], rng)


KINDS: tuple[Callable[[random.Random], Computation], ...] = (
    _chain,
    _stencil,
    _convolution,
    _product,
    _rows,
    _views,
    _argmax,
    _consumers,
)


def computation(seed: int) -> Computation:
    """The computation of a seed."""
    rng = random.Random(seed)
    return KINDS[seed % len(KINDS)](rng)


@dataclass
class Scheduled:
    """A random schedule, the refused steps, and its text."""

    schedule: Any
    refused: list[str]
    source: str
    tensorized: int = 0
    """The number of its stages with intrinsics in place of loops."""


def scheduled(of: Computation, seed: int) -> Scheduled:
    """A random schedule: valid steps, and the number of refused ones."""
    rng = random.Random(seed)
    s = te.create_schedule([tensor.op for tensor in of.outputs])
    refused: list[str] = []
    for _ in range(rng.randint(1, 14)):
        try:
            _step(s, rng)
        except ScheduleError as error:
            refused.append(str(error))
    while True:
        try:
            source = te.lower(s, [*of.inputs, *of.outputs], simple_mode=True)
            return _tensorized(of, Scheduled(s, refused, source), rng)
        except ScheduleError as error:
            refused.append(str(error))
            assert error.stage is not None
            s[error.stage].compute_root()


def _tensorized(of: Computation, found: Scheduled, rng: random.Random) -> Scheduled:
    """A schedule with intrinsics equivalent to some of its loops."""
    for _ in range(rng.randint(0, 3)):
        s = found.schedule
        stages = [stage for stage in s.stages if isinstance(stage.op, ComputeOp) and stage.leaf_iter_vars]
        stage = rng.choice(stages)
        if stage.tensorized is not None or stage.is_inlined:
            continue
        number = rng.randrange(len(stage.leaf_iter_vars))
        before = Trace(s.trace.outputs, list(s.trace.lines))
        try:
            if rng.random() < 0.6:  # a partial tile at most sizes
                stage.split(stage.leaf_iter_vars[number], factor=rng.choice(TILES))
                number += 1
            stage.tensorize(stage.leaf_iter_vars[number], derived(stage, number, rng))
            source = te.lower(s, [*of.inputs, *of.outputs], simple_mode=True)
            found = Scheduled(s, found.refused, source, found.tensorized + 1)
        except (NoIntrin, ScheduleError) as error:
            found.refused.append(str(error))
            found.schedule = te.create_schedule([tensor.op for tensor in of.outputs])
            before.apply(found.schedule)
    return found


def _step(s: Any, rng: random.Random) -> None:
    stages = [stage for stage in s.stages if isinstance(stage.op, ComputeOp)]
    stage = rng.choice(stages)
    leaves = stage.leaf_iter_vars
    kind = rng.choice(STEPS)
    if kind == "cache_read":
        reader = rng.choice(stages)
        source = rng.choice(reader.op.input_tensors) if reader.op.input_tensors else stage.tensors[0]
        s.cache_read(source, rng.choice(["local", "global"]), [reader.tensors[0]])
    elif kind == "cache_write":
        s.cache_write(stage.tensors[0], "local")
    elif kind == "compute_inline":
        stage.compute_inline()
    elif kind == "compute_at":
        readers = s.readers_of(stage, transitively=True)
        parent = rng.choice(readers or stages)
        stage.compute_at(parent, rng.choice(parent.leaf_iter_vars or [None]))
    elif not leaves:
        return
    elif kind == "reverse_compute_at":
        readers = s.readers_of(stage)
        if readers:
            rng.choice(readers).reverse_compute_at(stage, rng.choice(leaves))
    elif kind == "split":
        if rng.random() < 0.7:
            stage.split(rng.choice(leaves), factor=rng.choice(FACTORS))
        else:
            stage.split(rng.choice(leaves), nparts=rng.choice(FACTORS))
    elif kind == "fuse":
        first = rng.randrange(len(leaves))
        stage.fuse(*leaves[first : first + rng.randint(1, 3)])
    elif kind == "reorder":
        stage.reorder(*rng.sample(leaves, rng.randint(1, len(leaves))))
    elif kind == "tile":
        stage.tile(rng.choice(leaves), rng.choice(leaves), rng.choice(FACTORS), rng.choice(FACTORS))
    elif kind == "rfactor":
        reductions = [leaf for leaf in leaves if leaf.iter_type == "reduction"]
        s.rfactor(stage.tensors[0], rng.choice(reductions or leaves), rng.randint(0, len(stage.op.axis)))
    else:
        getattr(stage, kind)(rng.choice(leaves))


STEPS = (
    *("split",) * 5,
    *("reorder",) * 4,
    *("fuse",) * 3,
    *("compute_at",) * 6,
    *("reverse_compute_at",) * 3,
    *("compute_inline", "tile", "cache_read", "cache_write", "rfactor"),
    *("vectorize", "unroll", "parallel"),
)


def sizes(of: Computation, rng: random.Random) -> dict[str, int]:
    """Values of the symbols."""
    return {name: rng.choice(SIZES) for name in of.symbols}


def check(seed: int, count: int = 4) -> int:
    """Compare one random schedule with the computation without a schedule at `count` random sizes; the number of sizes.

    Also: its trace is Python that makes the same schedule, and repeated on a fresh schedule gives the same loops.
    """
    of = computation(seed)
    found = scheduled(of, seed)
    again = te.create_schedule([tensor.op for tensor in of.outputs])
    found.schedule.trace.apply(again)
    assert te.lower(again, [*of.inputs, *of.outputs], simple_mode=True) == found.source, (
        "the trace makes another schedule"
    )
    assert str(again.trace) == str(found.schedule.trace)
    plain = of.plain()
    rng = random.Random(seed)
    for number in range(count):
        chosen = sizes(of, rng)
        ins, expected = of.arrays(chosen, np.random.default_rng(seed + number))
        results = [np.copy(array) for array in expected]
        run(plain, [*ins, *expected], chosen)
        run(found.source, [*ins, *results], chosen)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"sizes {chosen}")
    return count
