"""Expressions are visited and rebuilt without recursion, and shared parts stay shared."""

from __future__ import annotations

from relax_mlir import te
from relax_mlir.te.expressions import (
    Binary,
    Cast,
    Expr,
    Load,
    fold,
    loads_of,
    post_order,
    shown,
    substitute,
    to_dim,
    variables_of,
    visit,
)

N, M = te.var("n"), te.var("m")
A = te.placeholder((N, M), name="A")
ROWS = te.placeholder((N,), "int32", name="rows")


def body() -> tuple[te.ComputeOp, Expr]:
    made = te.compute(
        (N, M),
        lambda i, j: te.select(
            A[i, j] > 0.0, te.exp(-A[i, j]), te.if_then_else(te.all(i > 0, ~(j < 3)), A[i - 1, j], 1.5)
        ),
    )
    return made.op, made.op.body[0]


def test_orders() -> None:
    op, root = body()
    order = post_order(root)
    assert order[-1] is root and len({id(item) for item in order}) == len(order)
    at = {id(item): number for number, item in enumerate(order)}
    assert all(at[id(child)] < at[id(item)] for item in order for child in item.children)
    seen: list[Expr] = []
    visit(root, seen.append)
    assert [id(item) for item in seen] == [id(item) for item in order]
    assert [load.tensor.name for load in loads_of(root)] == ["A", "A", "A"]
    assert {var.name for var in variables_of(root)} == {"i", "j"} and len(op.axis) == 2


def test_substitution() -> None:
    op, root = body()
    i, j = op.axis
    other = substitute(root, {i: j * 2 + 1, j: 7})
    assert shown(other) == (
        "T.Select((A[((j * 2) + 1), 7] > 0.0), T.exp((-A[((j * 2) + 1), 7])), "
        "T.if_then_else(((((j * 2) + 1) > 0) and (not (7 < 3))), A[(((j * 2) + 1) - 1), 7], 1.5))"
    )
    assert substitute(root, {}) is root and substitute(i, {i: j}) is j
    load = loads_of(root)[0]
    assert shown(substitute(root, {load: 2.0}).children[0]) == "(2.0 > 0.0)"
    part = A[i, j] * 2.0
    shared = substitute(part + part, {i: 0})
    assert shared.children[0] is shared.children[1]


def test_dimensions() -> None:
    op, _ = body()
    i, j = op.axis
    known = {i: te.var("i"), j: te.var("j")}
    index = (i * 4 + N - j // 2) % (M + 1)
    assert to_dim(index, known) == (te.var("i") * 4 + N - te.var("j") // 2) % (M + 1)
    assert to_dim(Cast(i + 1, (i + 1).astype("int64").kind), known) == te.var("i") + 1  # type: ignore[arg-type]  # a dtype
    for none in (ROWS[i] + 1, i // 0, i.astype("int32"), te.maximum(i, j)):
        assert to_dim(none, known) is None
    assert to_dim(i, {}) is None


def test_int32_beside_indices() -> None:
    """The index takes the dtype of an int32 element; a comparison uses int64, so that no index wraps."""
    (i,) = te.compute((N,), lambda i: i).op.axis
    total = ROWS[i] + i
    assert isinstance(total, Binary) and total.dtype == "int32" and isinstance(total.children[1], Cast)
    assert [side.dtype for side in (ROWS[i] < N).children] == ["int64", "index"]
    assert te.maximum(ROWS[i], i).dtype == te.select(i > 0, ROWS[i], i).dtype == "int32"
    assert isinstance(A[ROWS[i], 0], Load)


def test_deep_expressions_are_walked() -> None:
    (i,) = te.compute((N,), lambda i: i).op.axis
    deep: Expr = A[i, 0]
    for _ in range(5000):
        deep = deep + 1.0
    assert fold(deep, lambda item, parts: 1 + max(parts, default=0)) == 5002
    assert fold(substitute(deep, {i: 3}), lambda item, parts: 1 + max(parts, default=0)) == 5002
    assert len(repr(deep)) <= 200
