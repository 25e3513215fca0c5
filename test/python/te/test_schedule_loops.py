"""Schedules as loops: the text of the loops after each primitive."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from relax_mlir import te
from relax_mlir.error import ScheduleError

N, M, K = te.var("n"), te.var("m"), te.var("k")


def loops(s: Any, *args: Any) -> str:
    """The loops of a schedule, without the head of the prim func."""
    return textwrap.dedent(te.lower(s, list(args), simple_mode=True).split("\n", 2)[2])


def expected(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def elementwise() -> tuple[Any, Any]:
    a = te.placeholder((N, M), name="A")
    return a, te.compute((N, M), lambda i, j: a[i, j] + 1.0, "B")


def matmul() -> tuple[Any, Any, Any]:
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    k = te.reduce_axis((0, K), "k")
    return a, b, te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")


def test_without_primitives_each_axis_is_a_loop() -> None:
    a, b = elementwise()
    assert loops(te.create_schedule(b.op), a, b) == expected(
        """
        for i in range(n):
            for j in range(m):
                B[i, j] = A[i, j] + 1.0
        """
    )


def test_split_by_a_factor_ends_the_last_loops_early() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], factor=8)
    assert (outer.name, inner.name) == ("i_outer", "i_inner")
    assert loops(s, a, b) == expected(
        """
        for i_outer in range((n + 7) // 8):
            for i_inner in range(T.min(8, n - i_outer * 8)):
                for j in range(m):
                    B[i_inner + i_outer * 8, j] = A[i_inner + i_outer * 8, j] + 1.0
        """
    )


def test_split_into_parts() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], nparts=4)
    text = loops(s, a, b)
    assert "for i_outer in range(4):" in text
    assert "for i_inner in range(T.min((n + 3) // 4, n - i_outer * ((n + 3) // 4))):" in text


def test_sizes_that_divide_have_constant_loops() -> None:
    a = te.placeholder((32,), name="A")
    b = te.compute((32,), lambda x: a[x] + 1.0, "B")
    s = te.create_schedule(b.op)
    outer, _ = s[b].split(b.op.axis[0], factor=8)
    s[b].split(outer, nparts=2)
    place = "x_inner + x_outer_inner * 8 + x_outer_outer * 16"
    assert loops(s, a, b) == expected(
        f"""
        for x_outer_outer in range(2):
            for x_outer_inner in range(2):
                for x_inner in range(8):
                    B[{place}] = A[{place}] + 1.0
        """
    )


def test_inner_loops_may_be_outside() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], factor=8)
    s[b].reorder(inner, outer)
    assert loops(s, a, b).startswith(
        expected(
            """
            for i_inner in range(T.min(8, n)):
                for i_outer in range((i_inner * 7 + n + 7) // 8 - i_inner):
            """
        )
    )


def test_tile() -> None:
    _, b = elementwise()
    s = te.create_schedule(b.op)
    names = [axis.name for axis in s[b].tile(*b.op.axis, 8, 4)]
    assert names == ["i_outer", "j_outer", "i_inner", "j_inner"]
    assert [axis.name for axis in s[b].leaf_iter_vars] == names


def test_fuse_divides() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    s[b].fuse(*b.op.axis)
    assert loops(s, a, b) == expected(
        """
        for i_j_fused in range(m * n):
            B[i_j_fused // m, i_j_fused % m] = A[i_j_fused // m, i_j_fused % m] + 1.0
        """
    )


def test_fuse_of_the_two_parts_of_a_split_is_the_axis_again() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    s[b].fuse(*s[b].split(b.op.axis[0], factor=8))
    assert loops(s, a, b) == expected(
        """
        for i_outer_i_inner_fused in range(n):
            for j in range(m):
                B[i_outer_i_inner_fused, j] = A[i_outer_i_inner_fused, j] + 1.0
        """
    )


def test_fuse_of_axes_that_depend_on_each_other_needs_a_condition() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], factor=8)
    middle, _ = s[b].split(inner, factor=2)
    s[b].fuse(outer, middle)
    assert "if " in loops(s, a, b)


def test_kinds_of_loops() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    outer, inner = s[b].split(j, factor=4)
    s[b].parallel(i)
    s[b].unroll(outer)
    s[b].vectorize(inner)
    text = loops(s, a, b)
    for kind, head in (("parallel", "i"), ("unroll", "j_outer"), ("vectorized", "j_inner")):
        assert f"for {head} in T.{kind}(" in text


def test_a_reduction_begins_before_the_outermost_of_its_loops() -> None:
    a, b, c = matmul()
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    (k,) = c.op.reduce_axis
    s[c].reorder(i, k, j)
    assert loops(s, a, b, c) == expected(
        """
        for i in range(n):
            for j_init in range(m):
                C[i, j_init] = 0.0
            for k_1 in range(k):
                for j in range(m):
                    C[i, j] += A[i, k_1] * B[k_1, j]
        """
    )


def test_compute_at_computes_what_is_read_into_a_buffer_of_its_size() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((N,), lambda i: a[i] * 2.0, "B")
    c = te.compute((N,), lambda i: te.if_then_else(i >= 1, b[i - 1] + b[i], b[i]), "C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], factor=8)
    s[b].compute_at(s[c], outer)
    text = loops(s, a, c)
    assert "    B = T.alloc_buffer((9,), " in text
    assert "B[i] = A[i + T.max(0, i_outer * 8 - 1)] * 2.0" in text


def test_compute_at_of_several_readers_computes_the_union() -> None:
    a = te.placeholder((N + 4,), name="A")
    b = te.compute((N + 4,), lambda i: a[i] * 2.0, "B")
    c = te.compute((N,), lambda i: b[i] + 1.0, "C")
    d = te.compute((N,), lambda i: b[i + 3] + c[i], "D")
    s = te.create_schedule(d.op)
    outer, _ = s[d].split(d.op.axis[0], factor=8)
    s[c].compute_at(s[d], outer)
    s[b].compute_at(s[d], outer)
    text = loops(s, a, d)
    assert "B = T.alloc_buffer((11,), " in text
    assert text.index("B = T.alloc") < text.index("C = T.alloc")


def test_compute_inline_leaves_no_buffer() -> None:
    a, b = elementwise()
    c = te.compute((N, M), lambda i, j: b[i, j] * 2.0, "C")
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    text = loops(s, a, c)
    assert "alloc_buffer" not in text
    assert "C[i, j] = (A[i, j] + 1.0) * 2.0" in text
    s[b].compute_root()
    assert "B = T.alloc_buffer((n, m), " in loops(s, a, c)


def test_cache_write_computes_into_a_buffer_that_is_copied() -> None:
    a, b, c = matmul()
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    _, j_outer, _, _ = s[c].tile(*c.op.axis, 8, 16)
    s[local].compute_at(s[c], j_outer)
    (k,) = s[local].op.reduce_axis
    outer, inner = s[local].split(k, factor=4)
    s[local].reorder(outer, inner, *s[local].op.axis)
    text = loops(s, a, b, c)
    assert 'C_local = T.alloc_buffer((8, 16), "float32", scope="local")' in text
    assert "for i_c in range(T.min(8, n - i_outer * 8)):" in text
    assert "C[i_inner + i_outer * 8, j_inner + j_outer * 16] = C_local[i_inner, j_inner]" in text


def test_cache_read_copies_what_its_readers_read() -> None:
    a, b, c = matmul()
    s = te.create_schedule(c.op)
    copy = s.cache_read(b, "local", [c])
    outer, _ = s[c].split(c.op.axis[1], factor=16)
    s[c].reorder(outer, c.op.axis[0])
    s[copy].compute_at(s[c], outer)
    text = loops(s, a, b, c)
    assert 'B_local = T.alloc_buffer((k, 16), "float32", scope="local")' in text
    assert "B_local[ax0, ax1] = B[ax0, ax1 + j_outer * 16]" in text
    assert "A[i, k_1] * B_local[k_1, j_inner]" in text


def test_rfactor_makes_partial_results() -> None:
    a = te.placeholder((N, 64), name="A")
    k = te.reduce_axis((0, 64), "k")
    b = te.compute((N,), lambda i: te.sum(a[i, k], axis=k), "B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=8)
    partial = s.rfactor(b, inner)
    assert partial.shape == (8, N)
    assert [axis.name for axis in s[b].op.reduce_axis] == ["k_inner"]
    s[partial].compute_at(s[b], b.op.axis[0])
    s[partial].reorder(*s[partial].op.reduce_axis, *s[partial].op.axis)
    s[partial].vectorize(s[partial].op.axis[0])
    assert loops(s, a, b) == expected(
        """
        for i in range(n):
            B_rf = T.alloc_buffer((8, 1), "float32")
            for k_inner_init in T.vectorized(8):
                B_rf[k_inner_init, 0] = 0.0
            for k_outer in range(8):
                for k_inner in T.vectorized(8):
                    B_rf[k_inner, 0] = B_rf[k_inner, 0] + A[i, k_inner + k_outer * 8]
            B[i] = 0.0
            for k_inner_1 in range(8):
                B[i] += B_rf[k_inner_1, 0]
        """
    )


def test_rfactor_of_a_length_that_may_not_divide_leaves_out_what_is_not_there() -> None:
    a = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), "k")
    b = te.compute((N,), lambda i: te.max(a[i, k], axis=k), "B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=8)
    partial = s.rfactor(b, inner, factor_axis=1)
    assert partial.shape == (N, 8)
    text = loops(s, a, b)
    assert "for k_inner in range(8):" in text
    assert 'T.if_then_else(k_inner + k_outer * 8 < m, A[i, k_inner + k_outer * 8], -T.float32("inf"))' in text


def test_set_scope_says_where_a_buffer_lives() -> None:
    a, b = elementwise()
    c = te.compute((N, M), lambda i, j: b[i, j] * 2.0, "C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].set_scope("local")
    assert 'B = T.alloc_buffer((1, m), "float32", scope="local")' in loops(s, a, c)


def test_hints_change_nothing() -> None:
    a, b = elementwise()
    s = te.create_schedule(b.op)
    before = loops(s, a, b)
    s[b].pragma(b.op.axis[0], "auto_unroll_max_step", 16)
    assert loops(s, a, b) == before
    s[b].pragma(b.op.axis[1], "vectorize")
    assert "T.vectorized(m)" in loops(s, a, b)
    assert s.normalize() is s


def test_stages_are_found_by_tensor_op_and_name() -> None:
    a, b = elementwise()
    s = te.create_schedule([b.op])
    assert s[b] is s[b.op] is s["B"] is s[s[b]]
    assert [stage.name for stage in s.stages] == ["A", "B"]
    assert s.outputs == [b.op]
    assert s[b].origin_op is b.op
    assert s.stage_map[a.op].is_placeholder


def test_a_loop_that_is_split_later_is_no_place_any_more() -> None:
    a, b = elementwise()
    c = te.compute((N, M), lambda i, j: b[i, j] * 2.0, "C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].split(c.op.axis[0], factor=8)
    with pytest.raises(ScheduleError, match=r"s\[B\].compute_at\(s\[C\], i\): the axis i is no loop of C any more"):
        loops(s, a, c)
