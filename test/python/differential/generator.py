"""Random programs: emitted through `BlockBuilder`, each value with a closure that computes it in NumPy."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import generate_control
import generate_handles
import generate_moves
import generate_nn
import generate_ops
import numpy as np
import relax_mlir as rx
from difference import Dims, Frame, Node, Program
from reference import Array, is_float, numpy_dtype
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.types import Shape, Tensor, Tuple
from relax_mlir.error import RelaxError

SIZES = ({"n": 1, "m": 1}, {"n": 0, "m": 3}, {"n": 3, "m": 0}, {"n": 5, "m": 17}, {"n": 33, "m": 6})
BIG_SIZES = ({"n": 130, "m": 2}, {"n": 3, "m": 97}, {"n": 65, "m": 64})
LARGEST = {"n": 33, "m": 17}
MAX_ELEMENTS = 30_000
DTYPES = ("float32",) * 6 + ("int32", "int64", "bool", "float64", "float16", "bfloat16", "uint8", "int8")
RARE_DTYPES = ("int16", "uint16", "uint32", "uint64")
STATIC = (1, 1, 2, 3, 4, 8, 16)
MAX_DEPTH = 2
Move = Callable[["Generator"], object]


class Generator:
    """The functions of one module; all choices are drawn from `seed`. `limit` truncates functions."""

    def __init__(self, seed: int, functions: int = 4, limit: int | None = None, last_only: bool = False) -> None:
        self.random = random.Random(seed)
        self.limit, self.last_only = limit, last_only
        self.bb = rx.BlockBuilder()
        self.programs: list[Program] = []
        self.pool: list[Node] = []
        self.pure = False
        self.depth = 0
        """The number of branches and bodies around the next op."""
        self.scope: object = None
        self.closures: list[generate_control.Closure] = []
        self.largest: dict[str, int] = {}
        for index in range(functions):
            self._function(f"f{index}", self.random.getrandbits(32))

    # -- functions

    def _function(self, name: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = Program(name)
        self.largest = dict(LARGEST)
        variables = []
        for i in range(self.random.randint(2, 4)):
            info = Tensor(self._param_shape(), self.random.choice(DTYPES + RARE_DTYPES[i : i + 1]))
            variables.append(rx.Var(f"x{i}", info))
        with self.bb.function(name, variables):
            for i, variable in enumerate(variables):
                self._param(i, variable)
            self.pool, self.closures = list(self.program.params), []
            self._body(self.random.randint(15, 30))
            self._output()
        self.programs.append(self.program)

    def _param_shape(self) -> list[Any]:
        rank = self.random.choice((0, 1, 2, 2, 2, 3, 3))
        return [self.random.choice(("n", "n", "m", *STATIC[1:])) for _ in range(rank)]

    def _param(self, index: int, variable: rx.Var) -> None:
        def missing(_: Frame) -> Any:
            raise AssertionError("a parameter has its value from the start")

        node = Node(variable, variable.dtype, tuple(variable.shape), missing, text=f"x{index}")
        self.program.params.append(node)
        for axis, dim in enumerate(node.dims):
            name = str(dim)
            if name in LARGEST and name not in self.program.symbols:
                self.program.symbols[name] = lambda f, node=node, axis=axis: f.value(node).shape[axis]

    def _body(self, ops: int) -> None:
        ops = ops if self.limit is None else min(ops, self.limit)
        while ops > 0:
            if self.random.random() < 0.3:
                count = min(self.random.randint(2, 8), ops)
                self._dataflow(count)
                ops -= count
            else:
                self.step()
                ops -= 1

    def _dataflow(self, ops: int) -> None:
        outside = list(self.pool)
        self.pure = True
        with self.bb.dataflow():
            for _ in range(ops):
                self.step()
            inner = [node for node in self.pool if node not in outside] or self.pool[-1:]
            chosen = self.random.sample(inner, min(len(inner), self.random.randint(1, 3)))
            for node in chosen:
                node.value = self.bb.emit_output(node.value)
        self.pure = False
        self.pool = outside + [node for node in chosen if node not in outside]

    def _output(self) -> None:
        chance = self.random.random()
        allowed = [node for node in self.pool if self.may_leave(node)]
        last = allowed[-1]
        leaves = [self.random.choice(allowed[-12:]) for _ in range(self.random.randint(1, 5))]
        if self.last_only or chance < 0.2:
            chosen: Any = last
        elif chance < 0.3:
            chosen = (leaves[0], (leaves[-1], leaves[0]))
        else:
            chosen = tuple({id(x): x for x in (last, *leaves)}.values()) if chance < 0.8 else tuple(leaves)
        self.program.results = chosen
        self.bb.emit_func_output(_values(chosen))

    # -- what the ops use

    def step(self) -> None:
        """Emit one op."""
        moves = list(generate_ops.MOVES + generate_moves.MOVES + generate_nn.MOVES + generate_control.MOVES)
        if not self.pure and self.depth < MAX_DEPTH:
            moves += generate_moves.TOP_MOVES + generate_control.TOP_MOVES + generate_handles.TOP_MOVES
        for _ in range(40):
            if self.random.choice(moves)(self):
                return

    @contextlib.contextmanager
    def branch(self) -> Iterator[None]:
        """Values emitted in the context are removed from the pools at its end."""
        pool, closures = list(self.pool), list(self.closures)
        self.depth += 1
        yield
        self.depth -= 1
        self.pool, self.closures = pool, closures

    @contextlib.contextmanager
    def body(self, scope: object) -> Iterator[None]:
        """A body that runs any number of times, each time with separate values."""
        outer, pure = self.scope, self.pure
        self.scope, self.pure = scope, False
        with self.branch():
            yield
        self.scope, self.pure = outer, pure

    @property
    def outside_branches(self) -> bool:
        """True if ops emitted now always run exactly once."""
        return self.depth == 0

    def may_leave(self, node: Node) -> bool:
        """True if all symbols of `node` are known outside of bodies."""
        return all(set(symbolic.symbols(dim)) <= set(LARGEST) for dim in node.dims)

    def pick(self, accepts: Callable[[Node], bool] = lambda node: True) -> Node | None:
        """A tensor of the pool, preferably a recent one."""
        found = [node for node in self.pool if accepts(node)]
        if not found:
            return None
        recent = found[-6:] if self.random.random() < 0.6 else found
        return self.random.choice(recent)

    def emit(
        self,
        build: Callable[[], Any],
        compute: Callable[..., Any],
        arguments: Sequence[Node] = (),
        text: str = "",
    ) -> Node | None:
        """Emit an op and add its result to the pool; None if the op refuses its operands or gets too large."""
        try:
            value = build()
        except RelaxError:
            return None
        return self.keep(value, compute, tuple(arguments), text)

    def keep(self, value: Any, compute: Callable[..., Any], arguments: tuple[Node, ...], text: str) -> Node | None:
        """A node for `value`: a tensor, or a tuple, whose fields become nodes too."""
        info = value.struct_info
        if isinstance(info, Tuple):
            whole = Node(value, None, (), compute, arguments, text, self.scope)
            self.program.nodes.append(whole)
            fields = [
                self.keep(R.tuple_get_item(value, i), lambda _, t, i=i: t[i], (whole,), f"{text}[{i}]")
                for i in range(len(info.fields))
            ]
            return fields[0] if fields else None
        if isinstance(info, Shape) or info.shape is None:
            return None
        node = Node(value, info.dtype.name, tuple(info.shape), compute, arguments, text, self.scope)
        self.program.nodes.append(node)
        if None in node.dims:
            return self.match(node)
        if self.elements(node.dims) > MAX_ELEMENTS:
            return None
        self.pool.append(node)
        return node

    def match(self, x: Node) -> Node | None:
        """`match_shape` of `x` to fresh symbols."""
        pattern = []
        for axis, dim in enumerate(x.dims):
            if isinstance(dim, int):
                pattern.append(dim)
                continue
            name = f"s{len(self.program.symbols)}"
            self.program.symbols[name] = lambda f, axis=axis: f.value(x).shape[axis]
            self.largest[name] = 40 if dim is None else self.bound(dim)
            pattern.append(name)
        return self.emit(lambda: self.bb.match_shape(x.value, pattern), lambda f, a: a, [x], f"match_shape {pattern}")

    def bound(self, dim: Any) -> int:
        """An upper bound of `dim` (for the usual expressions)."""
        scope = {**self.largest, "min": min, "max": max}
        return dim if isinstance(dim, int) else int(eval(str(dim), {"__builtins__": {}}, scope))

    def elements(self, dims: Dims) -> int:
        """An upper bound of the number of elements."""
        total = 1
        for dim in dims:
            total *= max(self.bound(dim), 1)
        return total

    def constant(self, shape: tuple[int, ...], dtype: str) -> Node | None:
        """A constant of random elements."""
        array = draw(np.random.default_rng(self.random.getrandbits(32)), shape, dtype)
        self.program.constants.append(array)
        exact = array.astype(np.float64) if is_float(dtype) else array
        return self.emit(lambda: R.const(array), lambda _: exact, [], f"const {shape}")


def _values(nested: Any) -> Any:
    return nested.value if isinstance(nested, Node) else tuple(map(_values, nested))


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Random elements: mostly small, sometimes whole numbers, zeros, extremes."""
    kind = rng.random()
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(dtype):
        limits = np.iinfo(numpy_dtype(dtype))
        low, high = (limits.min, limits.max) if kind < 0.15 else (max(-5, limits.min), 9)
        return np.asarray(rng.integers(low, high, shape, dtype=numpy_dtype(dtype), endpoint=True))
    values = rng.uniform(-3, 3, shape)
    if kind < 0.3:
        values = np.round(values)
    elif kind < 0.4:
        special = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, -1e-6]), shape)
        values = np.where(rng.random(shape) < 0.2, special, values)
    return np.asarray(values).astype(numpy_dtype(dtype))
