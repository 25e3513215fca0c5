"""Invalid steps of schedules: each is an immediate error with the stage, the axis, the reason and the source line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir import te
from relax_mlir.error import ArgumentError, RelaxError, ScheduleError, UnknownNameError

N, M = te.var("n"), te.var("m")


class Example:
    """A → B → C (reduces B) → D, and E that reads B and C; D and E are outputs."""

    def __init__(self) -> None:
        self.a = te.placeholder((N, M), name="A")
        self.b = te.compute((N, M), lambda i, j: self.a[i, j] + 1.0, "B")
        self.k = te.reduce_axis((0, M), "k")
        self.c = te.compute((N,), lambda i: te.sum(self.b[i, self.k], axis=self.k), "C")
        self.d = te.compute((N,), lambda i: self.c[i] * 2.0, "D")
        self.s = te.create_schedule(self.d.op)
        self.i, self.j = self.b.op.axis

    def __getitem__(self, tensor: Any) -> Any:
        return self.s[tensor]


Step = Callable[[Example], Any]
CASES: list[tuple[str, str | None, str, Step]] = [
    (
        "B",
        "i",
        r"s\[B\].split\(i\): the axis i is split already, into i_outer, i_inner",
        lambda e: (e[e.b].split(e.i, 4), e[e.b].split(e.i, 4)),
    ),
    (
        "B",
        "i",
        r"the axis i is fused already, into i_j_fused",
        lambda e: (e[e.b].fuse(e.i, e.j), e[e.b].unroll(e.i)),
    ),
    (
        "B",
        "i",
        r"s\[B\].split\(i\): i is an axis of D; the loops of B are: i, j",
        lambda e: e[e.b].split(e.d.op.axis[0], 4),
    ),
    ("B", "q", r"q is no axis of this schedule", lambda e: e[e.b].split(te.reduce_axis((0, N), "q"), 4)),
    ("B", None, r"3 \(int\) is no axis", lambda e: e[e.b].split(3, 4)),
    ("B", "i", r"factor is 0, expected a positive integer", lambda e: e[e.b].split(e.i, 0)),
    ("B", "i", r"factor is -2, expected", lambda e: e[e.b].split(e.i, factor=-2)),
    ("B", "i", r"factor is 1.5, expected", lambda e: e[e.b].split(e.i, factor=1.5)),
    ("B", "i", r"nparts is True, expected", lambda e: e[e.b].split(e.i, nparts=True)),
    (
        "B",
        "i",
        r"factor is 4294967296, expected a positive integer up to 2\*\*31",
        lambda e: e[e.b].split(e.i, 2**32),
    ),
    ("B", "i", r"give one of factor and nparts", lambda e: e[e.b].split(e.i)),
    ("B", "i", r"give one of factor and nparts", lambda e: e[e.b].split(e.i, factor=2, nparts=2)),
    ("B", "i", r"s\[B\].tile\(i, i\): one axis is given twice", lambda e: e[e.b].tile(e.i, e.i, 2, 2)),
    ("B", "j", r"y_factor is 0", lambda e: e[e.b].tile(e.i, e.j, 2, 0)),
    (
        "B",
        "i",
        r"s\[B\].fuse\(j, i\): the loop i does not follow j: reorder them first",
        lambda e: e[e.b].fuse(e.j, e.i),
    ),
    ("B", None, r"no axis is given", lambda e: e[e.b].fuse()),
    (
        "C",
        "k",
        r"one is the loop of a reduction, and one is not",
        lambda e: e[e.c].fuse(*e[e.c].leaf_iter_vars),
    ),
    (
        "B",
        "i",
        r"s\[B\].reorder\(i, j, i\): the axis i is given twice",
        lambda e: e[e.b].reorder(e.i, e.j, e.i),
    ),
    (
        "C",
        "k",
        r"s\[C\].vectorize\(k\): it is the loop of a reduction, .* rfactor",
        lambda e: e[e.c].vectorize(e.k),
    ),
    ("C", "k", r"s\[C\].parallel\(k\): .* rfactor", lambda e: e[e.c].parallel(e.k)),
    (
        "B",
        "i",
        r"s\[B\].bind\(i\): there are no GPUs.*: use parallel",
        lambda e: e[e.b].bind(e.i, "threadIdx.x"),
    ),
    ("B", "i", r"buffers are dense: pad", lambda e: e[e.b].storage_align(e.i, 16, 4)),
    ("B", "i", r"there is no prefetch: use cache_read", lambda e: e[e.b].prefetch(e.a, e.i, 1)),
    (
        "B",
        "i",
        r"it computes `.*` where the intrinsic computes `sum\(.*`",
        lambda e: e[e.b].tensorize(e.i, "axpy_float32"),
    ),
    ("B", None, r"latency of a GPU's memory", lambda e: e[e.b].double_buffer()),
    (
        "B",
        "i",
        r"the pragma 'import_llvm' has no meaning here; known: auto_unroll",
        lambda e: e[e.b].pragma(e.i, "import_llvm", ""),
    ),
    (
        "A",
        None,
        r"s\[A\].compute_inline\(\): A is an input, which is not computed",
        lambda e: e[e.a].compute_inline(),
    ),
    ("A", None, r"s\[A\].compute_root\(\): it is an input", lambda e: e[e.a].compute_root()),
    ("D", None, r"D is an output, which is computed into its buffer", lambda e: e[e.d].compute_inline()),
    (
        "C",
        None,
        r"s\[C\].compute_inline\(\): it is a reduction, which is no expression: use compute_at",
        lambda e: e[e.c].compute_inline(),
    ),
    (
        "D",
        None,
        r"D is an output, which is computed whole",
        lambda e: e[e.d].compute_at(e[e.c], e.c.op.axis[0]),
    ),
    ("A", "i", r"i is an axis of B; the loops of A are: none", lambda e: e[e.b].compute_at(e[e.a], e.i)),
    (
        "C",
        "i",
        r"s\[C\].compute_at\(s\[B\], i\): B does not read C",
        lambda e: e[e.c].compute_at(e[e.b], e.i),
    ),
    (
        "B",
        "i",
        r"s\[B\].compute_at\(s\[B\], i\): B does not read B",
        lambda e: e[e.b].compute_at(e[e.b], e.i),
    ),
    (
        "C",
        "i",
        r"s\[B\].compute_at\(s\[C\], i\): i is an axis of B; the loops of C are: i, k",
        lambda e: e[e.b].compute_at(e[e.c], e.i),
    ),
    ("B", None, r"no stage of this schedule", lambda e: e[e.b].compute_at("C", e.i)),
    ("B", None, r"no stage of this schedule", lambda e: e[e.b].compute_at(Example().s["C"], e.i)),
    (
        "B",
        None,
        r"the scope is 'shared', expected \"global\" or \"local\"",
        lambda e: e[e.b].set_scope("shared"),
    ),
    ("D", None, r"D is an output, which lives where the caller has it", lambda e: e[e.d].set_scope("local")),
    (
        "A",
        None,
        r"s.cache_read\(A, 'local'\): D does not read A",
        lambda e: e.s.cache_read(e.a, "local", [e.d]),
    ),
    ("A", None, r"no reader is given", lambda e: e.s.cache_read(e.a, "local", [])),
    ("A", None, r"the scope is 'wmma'", lambda e: e.s.cache_read(e.a, "wmma", [e.b])),
    ("A", None, r"s.cache_write\(A, 'local'\): A is not computed", lambda e: e.s.cache_write(e.a, "local")),
    (
        "B",
        None,
        r"B has a schedule already, which it would lose: cache_write comes first",
        lambda e: (e[e.b].split(e.i, 4), e.s.cache_write(e.b, "local")),
    ),
    ("B", None, r"s.rfactor\(B, i\): B is no reduction", lambda e: e.s.rfactor(e.b, e.i)),
    ("C", "i", r"the axis i is not one of the reduction", lambda e: e.s.rfactor(e.c, e.c.op.axis[0])),
    ("C", "k", r"factor_axis is 2, expected 0 to 1", lambda e: e.s.rfactor(e.c, e.k, 2)),
    (
        "C",
        "k",
        r"other loops of C than the reduction's are split already: rfactor comes first",
        lambda e: (e[e.c].split(e.c.op.axis[0], 4), e.s.rfactor(e.c, e.k)),
    ),
    (
        "C",
        "k",
        r"C is computed elsewhere already: rfactor comes before compute_at",
        lambda e: (e[e.c].compute_at(e[e.d], e.d.op.axis[0]), e.s.rfactor(e.c, e.k)),
    ),
    (
        "Q",
        None,
        r"the schedule has no such stage; it has A, B, C, D",
        lambda e: e.s[te.compute((N,), lambda i: e.d[i], "Q")],
    ),
]


@pytest.mark.parametrize(
    ("stage", "axis", "message", "step"), CASES, ids=[f"{n}-{c[2][:30]}" for n, c in enumerate(CASES)]
)
def test_an_invalid_step_names_stage_axis_and_reason(stage: str, axis: str | None, message: str, step: Step) -> None:
    example = Example()
    with pytest.raises(ScheduleError, match=message) as caught:
        step(example)
    error = caught.value
    assert (error.stage, error.axis) == (stage, axis)
    assert isinstance(error, RelaxError)
    assert error.position is not None
    assert error.position[0] == __file__
    assert str(error).endswith(f"(at {__file__}:{error.position[1]})")


def test_an_invalid_step_changes_nothing() -> None:
    example = Example()
    s = example.s
    before = str(s), te.lower(s, [example.a, example.d], simple_mode=True)
    for step in (
        lambda: s[example.b].tile(example.i, example.j, 2, 0),
        lambda: s.cache_read(example.a, "local", [example.d]),
        lambda: s.rfactor(example.c, example.k, 7),
        lambda: s[example.c].compute_at(s[example.b], example.i),
    ):
        with pytest.raises(ScheduleError):
            step()
    assert (str(s), te.lower(s, [example.a, example.d], simple_mode=True)) == before


def test_an_attachment_that_does_not_reach_all_readers_is_an_error_of_its_line() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i] * 2.0, "C")
    d = te.compute((N,), lambda i: b[i] + c[i], "D")
    s = te.create_schedule(d.op)
    line = sys._getframe().f_lineno + 1
    s[b].compute_at(s[d], d.op.axis[0])
    with pytest.raises(
        ScheduleError,
        match=r"s\[B\].compute_at\(s\[D\], i\): C reads B, too, and is not computed inside the loop i of D",
    ) as caught:
        te.lower(s, [a, d])
    assert caught.value.position == (__file__, line)
    s[c].compute_at(s[d], d.op.axis[0])
    te.lower(s, [a, d])


def test_an_attachment_that_an_output_prevents_is_an_error_at_once() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i] * 2.0, "C")
    d = te.compute((N,), lambda i: b[i] + 3.0, "D")
    s = te.create_schedule([c.op, d.op])
    with pytest.raises(ScheduleError, match="the output C reads B, too, and is never computed inside D"):
        s[b].compute_at(s[d], d.op.axis[0])


def test_attachments_in_a_circle_are_an_error() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i] * 2.0, "C")
    d = te.compute((N,), lambda i: c[i] * 2.0, "D")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[c], c.op.axis[0])
    with pytest.raises(ScheduleError, match="B does not read C"):
        s[c].compute_at(s[b], b.op.axis[0])


def test_a_stage_in_a_stage_without_loops_is_an_error() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i] * 2.0, "C")
    d = te.compute((N,), lambda i: c[i] * 2.0, "D")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].compute_inline()
    with pytest.raises(ScheduleError, match="C is computed inline, without loops"):
        te.lower(s, [a, d])


def test_what_is_no_schedule() -> None:
    example = Example()
    with pytest.raises(ArgumentError, match=r"create_schedule: A is an input; give the op of a computed tensor"):
        te.create_schedule(example.a.op)
    with pytest.raises(ArgumentError, match=r"create_schedule: 3 .int. is no operation: give C.op"):
        te.create_schedule(3)  # type: ignore[arg-type]  # tested here
    with pytest.raises(ArgumentError, match="no operation is given"):
        te.create_schedule([])
    with pytest.raises(UnknownNameError, match="unknown stage 'BB'; did you mean 'B'"):
        example.s["BB"]
    with pytest.raises(ArgumentError, match=r"s\[…\]: 3 \(int\) is no tensor, op or name of a stage"):
        example.s[3]  # type: ignore[index]  # tested here


def test_parameters_of_lower() -> None:
    e = Example()
    with pytest.raises(ArgumentError, match=r"lower: 'inp' is .* expected a te.Schedule"):
        te.lower(e.d, [e.a, e.d])  # type: ignore[call-overload]  # tested here
    with pytest.raises(ArgumentError, match="lower: 'args' lists the placeholders first"):
        te.lower(e.s, [e.d, e.a])
    with pytest.raises(
        ArgumentError, match=r"lower 'main': the placeholder A: .* is read, but is not among the inputs"
    ):
        te.lower(e.s, [e.d])
    with pytest.raises(
        ArgumentError, match="lower: C is not an output of the schedule: list its op in create_schedule, too"
    ):
        te.lower(e.s, [e.a, e.c, e.d])
    with pytest.raises(ArgumentError, match="lower 'main': nothing is computed"):
        te.lower(e.s, [e.a])
    with pytest.raises(ArgumentError, match="lower: 'name' is 'a b', expected an identifier"):
        te.lower(e.s, [e.a, e.d], "a b")


def test_outputs_that_are_reduced_apart() -> None:
    a = te.placeholder((N, M), name="A")
    k, q = te.reduce_axis((0, M), "k"), te.reduce_axis((0, M), "q")
    both = te.compute((N,), lambda i: (te.sum(a[i, k], axis=k), te.max(a[i, q], axis=q)), "both")
    with pytest.raises(
        ArgumentError, match="the outputs of both are not reduced over the same axes: compute them apart"
    ):
        te.create_schedule(both[0].op)
