"""Schedules: what they refuse, and the replacements. The loops of valid ones are run in Python on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import random_schedules
import relax_mlir as rx
from advice_rows import Row, Rows
from relax_mlir import te, tir
from relax_mlir.runtime import to_numpy

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


def _row(wrong: Step, message: str, right: Step, of: Callable[[Example], Example] = lambda e: e) -> Row:
    """A refused step, and its replacement, with the same result."""

    def follow() -> None:
        example = of(Example())
        right(example)
        output = example.s.outputs[0].output(0)
        text = te.lower(example.s, [example.a, output], simple_mode=True)
        sums = (X + 1).sum(1)
        expected = 2 * sums if output is example.d else X + 1 + sums[:, None]
        found = np.full_like(expected, np.nan)
        random_schedules.run(text, [X, found], {"n": 5, "m": 7})
        np.testing.assert_array_equal(found, expected)

    return Row(lambda: wrong(of(Example())), message, follow)


def _text(s: Any, *args: Any) -> str:
    return te.lower(s, list(args), simple_mode=True)


def _both(e: Example, apart: bool) -> Any:
    k, q = te.reduce_axis((0, M), "k"), te.reduce_axis((0, M), "q")
    if not apart:
        found = te.compute((N,), lambda i: (te.sum(e.a[i, k], axis=k), te.max(e.a[i, q], axis=q)), "both")
        return te.create_schedule(found[0].op)
    found = (
        te.compute((N,), lambda i: te.sum(e.a[i, k], axis=k)),
        te.compute((N,), lambda i: te.max(e.a[i, q], axis=q)),
    )
    return te.create_schedule([tensor.op for tensor in found]), found


def _apart() -> None:
    e = Example()
    s, found = _both(e, True)
    results = [np.zeros(5, "f4"), np.zeros(5, "f4")]
    random_schedules.run(_text(s, e.a, *found), [X, *results], {"n": 5, "m": 7})
    np.testing.assert_array_equal(results, [X.sum(1), X.max(1)])


def _extern(scheduled: bool) -> Any:
    """A call of a packed function, and a reader of its result."""

    def make(t: Any) -> Any:
        squared = te.extern(
            t.shape, [t], lambda ins, outs: te.call_packed("test.advice.te.plus", t, t, *outs)
        )
        out = te.compute(t.shape, lambda *i: squared[i] * 2.0, "out")
        return te.create_schedule(out.op) if scheduled else out

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(make, x))
    return bb.get()


def _emitted() -> None:
    found = rx.build(_extern(False))["main"](X)
    np.testing.assert_array_equal(to_numpy(found), 4 * X)


def _compiled(run: Callable[[Example, Any, Any], Any]) -> None:
    out = np.zeros(5, "f4")
    e = Example()
    run(e, X, out)
    np.testing.assert_array_equal(out, 2 * (X + 1).sum(1))


def _two_functions() -> Any:
    e = Example()
    bb = rx.BlockBuilder()
    for name in ("f", "main"):
        bb.add_func(te.lower(e.s, [e.a, e.d], name), name)
    return rx.build(bb.get())


def _nothing(e: Example) -> None:
    """Omit the step."""


def _of_blocks(factors: list[int | None]) -> Any:
    """The loops of D's prim func, one of which is split by these factors."""
    e = Example()
    sch = tir.Schedule(te.create_prim_func([e.a, e.d]))
    (loop,) = sch.get_loops(sch.get_block("D"))
    sch.split(loop, factors)
    return sch.mod


def _halves() -> None:
    _compiled(lambda _, x, out: rx.build(_of_blocks([None, 2]))["main"](x, out))


ROWS: dict[str, Row] = {
    "one_factor": Row(
        lambda: _of_blocks([None]), "give two factors or more, of which one may be None", _halves
    ),
    "factors_of_a_size": Row(lambda: _of_blocks([4, 2]), "let one factor be None", _halves),
    "one_size": _row(
        lambda e: e.s[e.b].split(e.i),
        "give one of factor and nparts",
        lambda e: e.s[e.b].split(e.i, factor=4),
    ),
    "not_next": _row(
        lambda e: e.s[e.b].fuse(e.j, e.i),
        "the loop i does not follow j: reorder them first",
        lambda e: (e.s[e.b].reorder(e.j, e.i), e.s[e.b].fuse(e.j, e.i)),
    ),
    "axis_of_another": _row(
        lambda e: e.s[e.b].unroll(e.row), "the loops of B are: i, j", lambda e: e.s[e.b].unroll(e.i)
    ),
    "bind": _row(
        lambda e: e.s[e.b].bind(e.i, "threadIdx.x"), "use parallel", lambda e: e.s[e.b].parallel(e.i)
    ),
    "inline_reduction": _row(
        lambda e: e.s[e.c].compute_inline(),
        "it is a reduction, which is no expression: use compute_at",
        lambda e: e.s[e.c].compute_at(e.s[e.d], e.last),
    ),
    "prefetch": _row(
        lambda e: e.s[e.b].prefetch(e.a, e.i, 1),
        "there is no prefetch: use cache_read and compute_at",
        lambda e: e.s[e.s.cache_read(e.a, "local", [e.b])].compute_at(e.s[e.b], e.i),
    ),
    "storage_align": _row(
        lambda e: e.s[e.b].storage_align(e.i, 16, 0), "pad the tensor's shape in the compute", _nothing
    ),
    "not_inside": _row(
        lambda e: (e.s[e.b].compute_at(e.s[e.e], e.e.op.axis[0]), _text(e.s, e.a, e.e)),
        "C reads B, too, and is not computed inside the loop i of E: compute it there",
        lambda e: (
            e.s[e.b].compute_at(e.s[e.e], e.e.op.axis[0]),
            e.s[e.c].compute_at(e.s[e.e], e.e.op.axis[0]),
        ),
        Example.other,
    ),
    "lower_no_output": _row(
        lambda e: _text(e.s, e.a, e.c, e.d),
        "C is not an output of the schedule: list its op in create_schedule, too",
        lambda e: setattr(e, "s", te.create_schedule([e.d.op])),
    ),
    "apart": Row(
        lambda: _both(Example(), False), "are not reduced over the same axes: compute them apart", _apart
    ),
    "extern": Row(lambda: _extern(True), "emit it, by bb.emit_te or bb.emit", _emitted),
    "no_operation": _row(
        lambda e: te.create_schedule("D"),
        "is no operation: give C.op",
        lambda e: setattr(e, "s", te.create_schedule(e.d.op)),
    ),
    "an_input": _row(
        lambda e: te.create_schedule(e.a.op),
        "is an input; give the op of a computed tensor",
        lambda e: setattr(e, "s", te.create_schedule(e.d.op)),
    ),
    "no_schedule": _row(
        lambda e: te.lower(e.d, [e.a, e.d]),
        r"te.create_schedule gives one",
        lambda e: setattr(e, "s", te.create_schedule(e.d.op)),
    ),
    "no_parameters": Row(
        lambda: rx.build(Example().s),
        r"a schedule needs its parameters: build\(s, \[A, B, C\]\)",
        lambda: _compiled(lambda e, x, out: rx.build(e.s, [e.a, e.d])(x, out)),
    ),
    "several_functions": Row(
        lambda: _two_functions()(X, np.zeros(5, "f4")),
        r"call one by its name, as in ex\['main'\]",
        lambda: _compiled(lambda e, x, out: _two_functions()["main"](x, out)),
    ),
}

TABLE = Rows(ROWS)
