"""Regions that attached stages compute: chains of stages, several readers, and unsupported ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import random_schedules
from relax_mlir import symbolic, te
from relax_mlir.error import ScheduleError
from relax_mlir.te.schedule.axes import Facts

N, M = te.var("n"), te.var("m")


def padded_chain(depth: int) -> tuple[Any, list[Any]]:
    """Sums of three neighbours, repeatedly; the ends are unchanged."""
    x = te.placeholder((N,), name="x")
    stages = [x]
    for number in range(depth):
        t = stages[-1]
        stages.append(
            te.compute(
                (N,),
                lambda i, t=t: te.if_then_else(te.all(i >= 1, i < N - 1), t[i - 1] + t[i] + t[i + 1], t[i]),
                f"c{number}",
            )
        )
    return x, stages[1:]


def attached(stages: list[Any], factor: int) -> Any:
    """All stages inside the outer loop of the last one."""
    last = stages[-1]
    s = te.create_schedule(last.op)
    outer, _ = s[last].split(last.op.axis[0], factor=factor)
    for stage in stages[:-1]:
        s[stage].compute_at(s[last], outer)
    return s


def test_a_chain_computes_margins_that_grow_by_the_reach_of_each_stage() -> None:
    x, stages = padded_chain(4)
    text = te.lower(attached(stages, 64), [x, stages[-1]], simple_mode=True)
    assert re.findall(r"c\d = T.alloc_buffer\(\((\d+),\)", text) == ["70", "68", "66"]
    for size in (0, 1, 2, 63, 64, 65, 200):
        given = np.arange(size, dtype="f4") % 5
        expected, found = given.copy(), np.full(size, np.nan, "f4")
        for _ in range(4):
            inner = expected[:-2] + expected[1:-1] + expected[2:]
            expected = expected.copy()
            if size > 2:
                expected[1:-1] = inner
        random_schedules.run(text, [given, found], {"n": size})
        np.testing.assert_array_equal(found, expected)


def test_a_long_chain_is_written_in_one_text_of_linear_length() -> None:
    lengths = []
    for depth in (10, 20, 40):
        x, stages = padded_chain(depth)
        lengths.append(len(te.lower(attached(stages, 64), [x, stages[-1]], simple_mode=True)))
    assert lengths[2] - lengths[1] < 3 * (lengths[1] - lengths[0])


def test_an_index_from_data_reads_the_whole_dimension() -> None:
    a, rows = te.placeholder((N, M), name="A"), te.placeholder((N,), "int32", name="rows")
    b = te.compute((N, M), lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute((N, M), lambda i, j: b[rows[i], j] * 2.0, "C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[1], factor=8)
    s[c].reorder(outer, c.op.axis[0])
    s[b].compute_at(s[c], outer)
    assert "B = T.alloc_buffer((n, 8), " in te.lower(s, [a, rows, c], simple_mode=True)


@pytest.mark.parametrize(("stride", "reach"), [(1, 10), (2, 17), (3, 24)])
def test_strides_and_windows(stride: int, reach: int) -> None:
    a = te.placeholder((3 * N + 2,), name="A")
    b = te.compute((3 * N + 2,), lambda i: a[i] + 1.0, "B")
    k = te.reduce_axis((0, 3), "k")
    c = te.compute((N,), lambda i: te.sum(b[i * stride + k], axis=k), "C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], factor=8)
    s[b].compute_at(s[c], outer)
    assert f"B = T.alloc_buffer(({reach},), " in te.lower(s, [a, c], simple_mode=True)


def test_loops_deeper_than_a_script_may_have_are_an_error() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    s = te.create_schedule(b.op)
    axis = b.op.axis[0]
    for _ in range(90):
        axis, _ = s[b].split(axis, factor=2)
    with pytest.raises(ScheduleError, match="it is inside of 80 others, more than a script may have"):
        te.lower(s, [a, b])


# -- reverse_compute_at


def pair() -> tuple[Any, Any, Any, Any]:
    a = te.placeholder((N, M), name="A")
    b = te.compute((N, M), lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute((N, M), lambda i, j: b[i, j] * 2.0, "C")
    return te.create_schedule(c.op), a, b, c


def test_a_follower_computes_what_a_tile_of_its_leader_allows() -> None:
    s, a, b, c = pair()
    _, j_outer, _, _ = s[b].tile(*b.op.axis, 4, 8)
    s[c].reverse_compute_at(s[b], j_outer)
    text = te.lower(s, [a, c], simple_mode=True)
    assert "C[i + i_outer * 4, j + j_outer * 8] = B[i + i_outer * 4, j + j_outer * 8] * 2.0" in text
    given = np.arange(35, dtype="f4").reshape(5, 7)
    found = np.full((5, 7), np.nan, "f4")
    random_schedules.run(text, [given, found], {"n": 5, "m": 7})
    np.testing.assert_array_equal(found, 2 * given + 2)


def test_a_follower_of_part_of_its_leader() -> None:
    a = te.placeholder((N + 4,), name="A")
    b = te.compute((N + 4,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i + 3] * 2.0, "C")
    s = te.create_schedule(c.op)
    outer, _ = s[b].split(b.op.axis[0], factor=4)
    s[c].reverse_compute_at(s[b], outer)
    text = te.lower(s, [a, c], simple_mode=True)
    for size in (0, 1, 4, 9):
        given, found = np.arange(size + 4, dtype="f4"), np.full(size, np.nan, "f4")
        random_schedules.run(text, [given, found], {"n": size})
        np.testing.assert_array_equal(found, 2 * (given[3 : 3 + size] + 1))


def _refused(make: Any) -> str:
    s, tensors = make()
    with pytest.raises(ScheduleError) as caught:
        te.lower(s, tensors)
    assert caught.value.position is not None
    assert caught.value.position[0] == __file__
    return str(caught.value)


def test_followers_that_read_more_than_is_there() -> None:
    def neighbours() -> Any:
        a = te.placeholder((N + 1,), name="A")
        b = te.compute((N + 1,), lambda i: a[i] + 1.0, "B")
        c = te.compute((N,), lambda i: b[i] + b[i + 1], "C")
        s = te.create_schedule(c.op)
        s[c].reverse_compute_at(s[b], b.op.axis[0])
        return s, [a, c]

    def beyond() -> Any:
        a = te.placeholder((N,), name="A")
        b = te.compute((N,), lambda i: a[i] + 1.0, "B")
        c = te.compute((N,), lambda i: te.if_then_else(i >= 1, b[i - 1], 0.0), "C")
        s = te.create_schedule(c.op)
        s[c].reverse_compute_at(s[b], b.op.axis[0])
        return s, [a, c]

    def reduced() -> Any:
        a = te.placeholder((N, M), name="A")
        b = te.compute((N, M), lambda i, j: a[i, j] + 1.0, "B")
        k = te.reduce_axis((0, M), "k")
        c = te.compute((N,), lambda i: te.sum(b[i, k], axis=k), "C")
        s = te.create_schedule(c.op)
        s[c].reverse_compute_at(s[b], b.op.axis[1])
        return s, [a, c]

    def incomplete() -> Any:
        a = te.placeholder((N, M), name="A")
        k = te.reduce_axis((0, M), "k")
        b = te.compute((N,), lambda i: te.sum(a[i, k], axis=k), "B")
        c = te.compute((N,), lambda i: b[i] * 2.0, "C")
        s = te.create_schedule(c.op)
        s[c].reverse_compute_at(s[b], k)
        return s, [a, c]

    def flattened() -> Any:
        s, a, b, c = pair()
        outer, _ = s[b].split(s[b].fuse(*b.op.axis), factor=8)
        s[c].reverse_compute_at(s[b], outer)
        return s, [a, c]

    assert "C reads B at several places" in _refused(neighbours)
    assert "dimension 0 of B has not, for all sizes, an element for each of C" in _refused(beyond)
    assert "one element of C reads several of B along j" in _refused(reduced)
    assert "the loop k is inside the reduction of B" in _refused(incomplete)
    assert "that do not follow each other along i" in _refused(flattened)


def test_a_follower_that_waits_for_what_comes_later_is_an_error() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[i] * 2.0, "C")
    d = te.compute((N,), lambda i: b[i] + c[N - 1 - i], "D")
    s = te.create_schedule(d.op)
    s[d].reverse_compute_at(s[b], b.op.axis[0])
    with pytest.raises(ScheduleError, match="D reads what is computed behind the loops of B: C"):
        te.lower(s, [a, d])
    with pytest.raises(ScheduleError, match="B does not read C"):
        s[b].reverse_compute_at(s[c], c.op.axis[0])
    with pytest.raises(ScheduleError, match="A is an input, which is not computed"):
        s[a].reverse_compute_at(s[b], b.op.axis[0])


def test_parts_of_a_symbolic_number_of_tiles_share_no_elements() -> None:
    """Each of the three parts computes the elements it needs, not all later ones."""
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] * 2.0, "B")
    c = te.compute((N,), lambda i: b[i] + 1.0, "C")
    for host, guest in ((c, b), (b, c)):
        s = te.create_schedule(c.op)
        outer, _ = s[host].split(host.op.axis[0], factor=4)
        part, _ = s[host].split(outer, nparts=3)
        if guest is b:
            s[guest].compute_at(s[host], part)
        else:
            s[guest].reverse_compute_at(s[host], part)
        first = "i_outer_outer * ((n + 11) // 12)"
        count = f"T.min((n + 11) // 12, (n + 3) // 4 - {first}) * 4"
        assert f"for i in range(T.min({count}, n - {first} * 4)):" in te.lower(s, [a, c], simple_mode=True)


def test_quotients_of_tiles_are_those_of_their_loops() -> None:
    facts = Facts({"i": (0, 7), "j": (0, 15)})
    f, i, j = (symbolic.symbol(name) for name in "fij")
    assert facts.quotient(8 * f + i, 16) == symbolic.floordiv(f, 2)
    assert facts.remainder(8 * f + i, 16) == 8 * symbolic.floormod(f, 2) + i
    assert facts.quotient(16 * f + i + 8, 16) == f and facts.remainder(16 * f + i + 8, 16) == i + 8
    assert facts.quotient(16 * f + 16 * i + j, 16) == f + i
    assert facts.quotient(i, 8) == 0 and facts.remainder(i, 8) == i
    # No multiple of 16 is known to bound the remainder.
    assert facts.quotient(8 * f + j, 16) == symbolic.floordiv(8 * f + j, 16)
    for f_value in range(5):
        for i_value in range(8):
            for constant in (-9, 0, 5, 8, 100):
                values = {"f": f_value, "i": i_value}
                whole = 8 * f + i + constant
                number = 8 * f_value + i_value + constant
                assert symbolic.evaluate(facts.quotient(whole, 16), values) == number // 16
                assert symbolic.evaluate(facts.remainder(whole, 16), values) == number % 16
