"""Schedules: what they refuse, and the replacements. The loops of valid ones are run in Python on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Row, Rows
from relax_mlir import te, tir

N, M = te.var("n"), te.var("m")
X = np.arange(35, dtype="f4").reshape(5, 7)


class Example:
    """B = A + 1, C the sums of its rows, D twice those; E reads B and C."""

    def __init__(self) -> None:
        self.a = te.placeholder((N, M), name="A")
        self.b = te.compute((N, M), lambda i, j: self.a[i, j] + 1.0, "B")
        self.k = te.reduce_axis((0, M), "k")
        self.c = te.compute((N,), lambda i: te.sum(self.b[i, self.k], axis=self.k), "C")
        self.d = te.compute((N,), lambda i: self.c[i] * 2.0, "D")
        self.e = te.compute((N, M), lambda i, j: self.b[i, j] + self.c[i], "E")
        self.s = te.create_schedule(self.d.op)
        self.i, self.j = self.b.op.axis
        self.row = self.c.op.axis[0]
        self.last = self.d.op.axis[0]

    def other(self) -> Example:
        """The same with the schedule of E."""
        self.s = te.create_schedule(self.e.op)
        return self


Step = Callable[[Example], Any]


def _row(wrong: Step, message: str, of: Callable[[Example], Example] = lambda e: e) -> Row:
    """A refused step."""
    return lambda: wrong(of(Example())), message


def _text(s: Any, *args: Any) -> str:
    return te.lower(s, list(args), simple_mode=True)


def _both(e: Example) -> Any:
    k, q = te.reduce_axis((0, M), "k"), te.reduce_axis((0, M), "q")
    found = te.compute((N,), lambda i: (te.sum(e.a[i, k], axis=k), te.max(e.a[i, q], axis=q)), "both")
    return te.create_schedule(found[0].op)


def _extern() -> Any:
    """A call of a packed function, and a reader of its result."""

    def make(t: Any) -> Any:
        squared = te.extern(t.shape, [t], lambda ins, outs: te.call_packed("test.advice.te.plus", t, t, *outs))
        out = te.compute(t.shape, lambda *i: squared[i] * 2.0, "out")
        return te.create_schedule(out.op)

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(make, x))
    return bb.get()


def _two_functions() -> Any:
    e = Example()
    bb = rx.BlockBuilder()
    for name in ("f", "main"):
        bb.add_func(te.lower(e.s, [e.a, e.d], name), name)
    return rx.build(bb.get())


def _of_blocks(factors: list[int | None]) -> Any:
    """The loops of D's prim func, one of which is split by these factors."""
    e = Example()
    sch = tir.Schedule(te.create_prim_func([e.a, e.d]))
    (loop,) = sch.get_loops(sch.get_block("D"))
    sch.split(loop, factors)
    return sch.mod


ROWS: dict[str, Row] = {
    "one_factor": (lambda: _of_blocks([None]), "give two factors or more, of which one may be None"),
    "factors_of_a_size": (lambda: _of_blocks([4, 2]), "let one factor be None"),
    "one_size": _row(lambda e: e.s[e.b].split(e.i), "give one of factor and nparts"),
    "not_next": _row(lambda e: e.s[e.b].fuse(e.j, e.i), "the loop i does not follow j: reorder them first"),
    "axis_of_another": _row(lambda e: e.s[e.b].unroll(e.row), "the loops of B are: i, j"),
    "bind": _row(lambda e: e.s[e.b].bind(e.i, "threadIdx.x"), "use parallel"),
    "inline_reduction": _row(
        lambda e: e.s[e.c].compute_inline(), "it is a reduction, which is no expression: use compute_at"
    ),
    "prefetch": _row(lambda e: e.s[e.b].prefetch(e.a, e.i, 1), "there is no prefetch: use cache_read and compute_at"),
    "storage_align": _row(lambda e: e.s[e.b].storage_align(e.i, 16, 0), "pad the tensor's shape in the compute"),
    "not_inside": _row(
        lambda e: (e.s[e.b].compute_at(e.s[e.e], e.e.op.axis[0]), _text(e.s, e.a, e.e)),
        "C reads B, too, and is not computed inside the loop i of E: compute it there",
        Example.other,
    ),
    "lower_no_output": _row(
        lambda e: _text(e.s, e.a, e.c, e.d),
        "C is not an output of the schedule: list its op in create_schedule, too",
    ),
    "apart": (lambda: _both(Example()), "are not reduced over the same axes: compute them apart"),
    "extern": (_extern, "emit it, by bb.emit_te or bb.emit"),
    "no_operation": _row(lambda e: te.create_schedule("D"), "is no operation: give C.op"),
    "an_input": _row(lambda e: te.create_schedule(e.a.op), "is an input; give the op of a computed tensor"),
    "no_schedule": _row(lambda e: te.lower(e.d, [e.a, e.d]), r"te.create_schedule gives one"),
    "no_parameters": (
        lambda: rx.build(Example().s),
        r"a schedule needs its parameters: build\(s, \[A, B, C\]\)",
    ),
    "several_functions": (
        lambda: _two_functions()(X, np.zeros(5, "f4")),
        r"call one by its name, as in ex\['main'\]",
    ),
}

TABLE = Rows(ROWS)
