"""Random prim funcs in the T language, and random primitives of `tir.Schedule` on their blocks.

Each is written twice: in the scheduled form, with blocks or without, its loops in some order, and in a plain form, with
initial values of reductions in preceding loops, which Python runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from random_intrins import NoIntrin, derived
from random_schedules import FACTORS, SIZES, TILES, UNSET, Array, run
from relax_mlir import symbolic, te, tir
from relax_mlir.error import ScheduleError
from relax_mlir.script import parse

INDENT = "    "


@dataclass
class Nest:
    """Loops that store an element in each of some buffers: `data` axes are their dimensions, in order."""

    name: str
    data: list[tuple[str, str]]
    body: list[str]
    reduced: list[tuple[str, str]] = field(default_factory=list)
    initial: list[str] = field(default_factory=list)

    def plain(self) -> list[str]:
        """The initial values in separate loops, then its loops."""
        lines = self.loops(self.data, self.initial) if self.initial else []
        return lines + self.loops([*self.data, *self.reduced], self.body)

    def written(self, rng: random.Random) -> list[str]:
        """The nest in a random form."""
        axes = [*self.data, *self.reduced]
        rng.shuffle(axes)
        if rng.random() < 0.3:
            first = self.loops(self.data, self.initial) if self.initial else []
            return first + self.loops(axes, self.body)
        names = [f"{name}_l" for name, _ in axes]
        lines = [f"for {', '.join(names)} in T.grid({', '.join(end for _, end in axes)}):"]
        lines.append(f'{INDENT}with T.block("{self.name}"):')
        kinds = "".join("S" if axis in self.data else "R" for axis in axes)
        comma = "," if len(axes) == 1 else ""
        targets = ", ".join(name for name, _ in axes) + comma
        lines.append(f'{INDENT * 2}{targets} = T.axis.remap("{kinds}", [{", ".join(names)}])')
        if self.initial:
            lines.append(f"{INDENT * 2}with T.init():")
            lines += [INDENT * 3 + line for line in self.initial]
        return lines + [INDENT * 2 + line for line in self.body]

    def loops(self, axes: Sequence[tuple[str, str]], body: Sequence[str]) -> list[str]:
        if not axes:
            return list(body)
        names, ends = (", ".join(part) for part in zip(*axes, strict=True))
        loop = f"for {names} in T.grid({ends}):" if len(axes) > 1 else f"for {names} in range({ends}):"
        return [loop, *(INDENT + line for line in body)]


@dataclass
class Prim:
    """A random prim func: buffers by name, with shape and dtype."""

    inputs: dict[str, tuple[tuple[str, ...], str]]
    outputs: dict[str, tuple[tuple[str, ...], str]]
    locals: dict[str, tuple[tuple[str, ...], str]]
    nests: list[Nest]

    def text(self, parts: Sequence[list[str]]) -> str:
        """The whole prim func."""
        buffers = {**self.inputs, **self.outputs}
        head = ", ".join(f'{name}: T.Buffer({_shape(dims)}, "{dtype}")' for name, (dims, dtype) in buffers.items())
        lines = [f'{name} = T.alloc_buffer({_shape(dims)}, "{dtype}")' for name, (dims, dtype) in self.locals.items()]
        body = [INDENT + line for part in [lines, *parts] for line in part]
        return "\n".join(["@T.prim_func", f"def main({head}):", *body]) + "\n"

    def plain(self) -> str:
        return self.text([nest.plain() for nest in self.nests])

    def written(self, rng: random.Random) -> str:
        return self.text([nest.written(rng) for nest in self.nests])

    def sizes(self, rng: random.Random) -> dict[str, int]:
        dims = [dim for shape, _ in (*self.inputs.values(), *self.outputs.values()) for dim in shape]
        names = {name for dim in dims for name in symbolic.symbols(symbolic.parse(dim))}
        return {name: rng.choice(SIZES) for name in sorted(names)}

    def arrays(self, sizes: dict[str, int], rng: np.random.Generator) -> tuple[list[Array], list[Array]]:
        def dims(shape: tuple[str, ...]) -> tuple[int, ...]:
            return tuple(symbolic.evaluate(symbolic.parse(dim), sizes) for dim in shape)

        ins = [rng.integers(-3, 4, dims(shape)).astype(dtype) for shape, dtype in self.inputs.values()]
        return ins, [np.full(dims(shape), UNSET, dtype) for shape, dtype in self.outputs.values()]


def _shape(dims: tuple[str, ...]) -> str:
    items = ", ".join(dim if dim.isdigit() else f'"{dim}"' for dim in dims)
    return f"({items}{',' if len(dims) == 1 else ''})"


F, I = "float32", "int32"  # noqa: E741 - as in the kinds below
IJ = [("i", "n"), ("j", "m")]


def _chain(rng: random.Random) -> Prim:
    first = Nest("first", IJ, ["p = x[i, j] * T.float32(2)", "t[i, j] = p + T.float32(1)"])
    second = Nest("second", IJ, [f"u[i, j] = t[i, j] {rng.choice('+-*')} x[i, j]"])
    third = Nest("third", [("j", "m"), ("i", "n")], ["y[j, i] = u[i, j] + t[i, j]"])
    nm = (("n", "m"), F)
    return Prim({"x": nm}, {"y": (("m", "n"), F)}, {"t": nm, "u": nm}, [first, second, third])


def _product(rng: random.Random) -> Prim:
    product = Nest(
        "product",
        IJ,
        [rng.choice(["c[i, j] = c[i, j] + a[i, r] * b[r, j]", "c[i, j] += b[r, j] * a[i, r]"])],
        [("r", "k")],
        [f"c[i, j] = T.float32({rng.choice([0, 0, 3])})"],
    )
    after = Nest("after", IJ, ["d[i, j] = T.max(c[i, j], T.float32(0)) + T.float32(1)"])
    nm = (("n", "m"), F)
    return Prim({"a": (("n", "k"), F), "b": (("k", "m"), F)}, {"d": nm}, {"c": nm}, [product, after])


def _convolution(rng: random.Random) -> Prim:
    size, step = rng.randint(1, 4), rng.randint(1, 2)
    before = Nest("before", [("i", "n"), ("q", f"m + {step * (size - 1)}")], ["t[i, q] = x[i, q] + T.float32(1)"])
    conv = Nest(
        "conv",
        IJ,
        [f"y[i, j] = y[i, j] + t[i, j + s * {step}] * w[s]"],
        [("s", str(size))],
        ["y[i, j] = T.float32(0)"],
    )
    wide = (("n", f"m + {step * (size - 1)}" if size > 1 else "m"), F)
    if size == 1:
        before.data[1] = ("q", "m")
    return Prim({"x": wide, "w": ((str(size),), F)}, {"y": (("n", "m"), F)}, {"t": wide}, [before, conv])


def _rows(rng: random.Random) -> Prim:
    function, start = rng.choice([("max", -1000), ("min", 1000)])
    top = Nest(
        "top",
        [("i", "n")],
        [f"t[i] = T.{function}(t[i], x[i, r])"],
        [("r", "m")],
        [f"t[i] = T.float32({start})"],
    )
    shifted = Nest("shifted", IJ, ["e[i, j] = x[i, j] - t[i]"])
    total = Nest("total", [("i", "n")], ["s[i] += e[i, r]"], [("r", "m")], ["s[i] = T.float32(0)"])
    out = Nest("out", IJ, ["y[i, j] = e[i, j] + s[i]"])
    nm, n = (("n", "m"), F), (("n",), F)
    return Prim({"x": nm}, {"y": nm}, {"t": n, "e": nm, "s": n}, [top, shifted, total, out])


def _whole(rng: random.Random) -> Prim:
    """A reduction of all elements to one, over two axes."""
    whole = Nest("whole", [], ["y[()] = y[()] + x[p, q]"], [("p", "n"), ("q", "m")], ["y[()] = T.float32(0)"])
    return Prim({"x": (("n", "m"), F)}, {"y": ((), F)}, {}, [whole])


def _argmax(rng: random.Random) -> Prim:
    """argmax with and without an order among equal elements."""
    free = 'b[i] > x[i, r] or (b[i] == x[i, r] and a[i] < T.cast(r, "int32"))'
    test = rng.choice([free, free, "b[i] >= x[i, r]", "b[i] > x[i, r]"])
    best = Nest(
        "best",
        [("i", "n")],
        [
            f'p = T.Select({test}, a[i], T.cast(r, "int32"))',
            f"q = T.Select({test}, b[i], x[i, r])",
            "a[i] = p",
            "b[i] = q",
        ],
        [("r", "m")],
        ["a[i] = -1", "b[i] = T.float32(-1000)"],
    )
    out = Nest("out", [("i", "n")], ['y[i] = b[i] * T.float32(2) + T.cast(a[i], "float32")'])
    n, nm = ("n",), (("n", "m"), F)
    if rng.random() < 0.4:
        return Prim({"x": nm}, {"a": (n, I), "b": (n, F)}, {}, [best])
    return Prim({"x": nm}, {"y": (n, F)}, {"a": (n, I), "b": (n, F)}, [best, out])


def _together(rng: random.Random) -> Prim:
    """Two buffers of one nest, the second computed from the first."""
    both = Nest("both", IJ, ["u[i, j] = x[i, j] * T.float32(2)", "v[i, j] = u[i, j] + x[i, j]"])
    after = Nest("after", IJ, ["y[i, j] = v[i, j] - u[i, j]"])
    nm = (("n", "m"), F)
    return Prim({"x": nm}, {"y": nm}, {"u": nm, "v": nm}, [both, after])


def _in_order(rng: random.Random) -> Prim:
    """Reductions that depend on the order, and one of two values with a constant."""
    horner = Nest(
        "horner",
        [("i", "n")],
        [rng.choice(["h[i] = T.max(h[i], T.float32(-9)) - x[i, r]", "h[i] = x[i, r] - h[i]"])],
        [("r", "m")],
        ["h[i] = T.float32(1)"],
    )
    count = Nest(
        "count",
        [("i", "n")],
        ["s[i] = s[i] + x[i, r] * T.float32(2)", "c[i] = c[i] + T.float32(1)"],
        [("r", "m")],
        ["s[i] = T.float32(0)", "c[i] = T.float32(0)"],
    )
    out = Nest("out", IJ, ["y[i, j] = h[i] + s[i] * c[i] + x[i, j]"])
    n, nm = (("n",), F), (("n", "m"), F)
    return Prim({"x": nm}, {"y": nm}, {"h": n, "s": n, "c": n}, [horner, count, out])


def _chosen(rng: random.Random) -> Prim:
    """A reduction that is a choice."""
    least = Nest(
        "least",
        [("j", "m")],
        ["t[j] = T.Select(t[j] < x[r, j], t[j], x[r, j])"],
        [("r", "n")],
        ["t[j] = T.float32(1000)"],
    )
    out = Nest("out", IJ, ["y[i, j] = x[i, j] - t[j]"])
    nm = (("n", "m"), F)
    return Prim({"x": nm}, {"y": nm}, {"t": (("m",), F)}, [least, out])


def _padded(rng: random.Random) -> Prim:
    left, right = rng.randint(0, 2), rng.randint(0, 2)
    first = Nest("first", IJ, ["t[i, j] = x[i, j] + T.float32(1)"])
    taps = [
        f"T.if_then_else(j >= {left}, t[i, j - {left}], T.float32(0))",
        f"T.if_then_else(j + {right} < m, t[i, j + {right}], T.float32(0))",
    ]
    second = Nest("second", IJ, [f"y[i, j] = {taps[0]} + {taps[1]} * T.float32(2)"])
    nm = (("n", "m"), F)
    return Prim({"x": nm}, {"y": nm}, {"t": nm}, [first, second])


KINDS: tuple[Callable[[random.Random], Prim], ...] = (
    *(_chain, _product, _convolution, _rows, _whole, _argmax),
    *(_together, _in_order, _chosen, _padded),
)


def prim(seed: int) -> Prim:
    """The prim func of a seed."""
    return KINDS[seed % len(KINDS)](random.Random(seed))


def written(seed: int) -> str:
    """The prim func of a seed in the form to be scheduled."""
    return prim(seed).written(random.Random(seed))


@dataclass
class Scheduled:
    """A schedule, its text, the refused primitives, and the number of applied ones."""

    schedule: Any
    source: str
    refused: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


def source_of(schedule: Any) -> str:
    """The loops of the only prim func."""
    function = schedule._function("main")
    lifted = function.lifted
    return te.lower(function.schedule, [*lifted.inputs, *lifted.outputs], simple_mode=True)


def scheduled(source: str, seed: int) -> Scheduled:
    """Random primitives on a prim func; primitives that are refused, immediately or in lowering, are left out."""
    rng = random.Random(seed + 1)
    module = parse(source)
    found = Scheduled(tir.Schedule(module), "")
    found.source = source_of(found.schedule)
    for _ in range(rng.randint(1, 12)):
        before = tir.schedule.PrimTrace(list(found.schedule.trace.lines))
        kind = rng.choice(STEPS)
        try:
            _step(found.schedule, kind, rng)
            found.source = source_of(found.schedule)
            found.done.append(kind)
        except (NoIntrin, ScheduleError) as error:
            found.refused.append(str(error))
            found.schedule = tir.Schedule(module)
            before.apply(found.schedule)
    return found


def _step(sch: Any, kind: str, rng: random.Random) -> None:
    blocks = [sch.get_block(name) for name in sch._function("main").blocks]
    block, other = rng.choice(blocks), rng.choice(blocks)
    if kind in ("compute_at", "reverse_compute_at"):
        stages = sch._function("main").schedule
        pairs = [(a, b) for a in blocks for b in blocks if b.stage in stages.readers_of(a.stage)]
        if pairs:
            read, reader = rng.choice(pairs)
            block, other = (reader, read) if kind == "compute_at" else (read, reader)
    loops = sch.get_loops(block)
    own = [loop for loop in loops if loop.stage is block.stage]
    if kind == "cache_read":
        sch.cache_read(block, rng.randrange(max(len(block.stage.op.input_tensors), 1)), "local")
    elif kind == "cache_write":
        sch.cache_write(block, 0, "local")
    elif kind == "set_scope":
        sch.set_scope(block, 0, "local")
    elif kind == "compute_inline":
        sch.compute_inline(block)
    elif not own:
        return
    elif kind in ("compute_at", "reverse_compute_at"):
        getattr(sch, kind)(other, rng.choice(loops))
    elif kind == "split":
        factors: list[int | None] = [rng.choice(FACTORS) for _ in range(rng.randint(1, 2))]
        factors.insert(rng.randint(0, len(factors)), None)
        sch.split(rng.choice(own), factors=factors)
    elif kind == "fuse":
        first = rng.randrange(len(own))
        sch.fuse(*own[first : first + rng.randint(1, 2)])
    elif kind == "reorder":
        sch.reorder(*rng.sample(own, rng.randint(1, len(own))))
    elif kind == "rfactor":
        sch.rfactor(rng.choice(own), rng.randint(0, len(block.stage.op.axis)))
    elif kind == "tensorize":
        number = rng.randrange(len(own))
        loop = own[number]
        if rng.random() < 0.6:  # a partial tile at most sizes
            _, loop = sch.split(loop, factors=[None, rng.choice(TILES)])
            number += 1
        sch.tensorize(loop, derived(block.stage, number, rng))
    else:
        getattr(sch, kind)(rng.choice(own))


STEPS = (
    *("split",) * 5,
    *("reorder",) * 4,
    *("fuse",) * 2,
    *("compute_at",) * 5,
    *("reverse_compute_at",) * 4,
    *("tensorize",) * 2,
    *("rfactor",) * 2,
    *("compute_inline", "cache_read", "cache_write", "set_scope"),
    *("vectorize", "unroll", "parallel"),
)


def check(seed: int, count: int = 4) -> Scheduled:
    """Compare one random schedule of a prim func with the plain form, at `count` random sizes.

    Also check that replaying its trace gives the same loops.
    """
    of, source = prim(seed), written(seed)
    found = scheduled(source, seed)
    again = tir.Schedule(parse(source))
    found.schedule.trace.apply(again)
    assert source_of(again) == found.source, "the trace makes another schedule"
    plain, rng = of.plain(), random.Random(seed)
    for number in range(count):
        sizes = of.sizes(rng)
        ins, expected = of.arrays(sizes, np.random.default_rng(seed + number))
        results = [np.copy(array) for array in expected]
        run(plain, [*ins, *expected], sizes)
        run(found.source, [*ins, *results], sizes)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"sizes {sizes}")
    return found
