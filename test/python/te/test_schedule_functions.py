"""Schedules as compiled functions: `build`, `emit_te`, run-time checks, empty reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.dialects.attributes import PROVED, UNCHECKED
from relax_mlir.error import ArgumentError, BoundsError, ScheduleError, ShapeError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.analysis.check_bounds import CheckBounds
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from relax_mlir.transform import PassContext

N, M, K = te.var("n"), te.var("m"), te.var("k")


def product() -> tuple[Any, Any, Any]:
    a, b = te.placeholder((N, K), name="A"), te.placeholder((K, M), name="B")
    k = te.reduce_axis((0, K), "k")
    return a, b, te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")


def tiled(c: Any, rows: int = 8, columns: int = 16, depth: int = 4) -> Any:
    """The schedule of a matmul in tutorials."""
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    i_outer, j_outer, _, j_inner = s[c].tile(*c.op.axis, rows, columns)
    s[c].parallel(i_outer)
    s[c].vectorize(j_inner)
    s[local].compute_at(s[c], j_outer)
    i, j = s[local].op.axis
    (k,) = s[local].op.reduce_axis
    k_outer, k_inner = s[local].split(k, factor=depth)
    s[local].reorder(k_outer, k_inner, i, j)
    s[local].unroll(i)
    s[local].vectorize(j)
    return s


def test_a_product_at_all_kinds_of_sizes() -> None:
    a, b, c = product()
    function = rx.build(tiled(c), [a, b, c])
    rng = np.random.default_rng(0)
    for n, k, m in (
        (1, 1, 1),
        (8, 4, 16),
        (9, 5, 17),
        (7, 3, 15),
        (0, 3, 4),
        (3, 0, 4),
        (3, 4, 0),
        (40, 33, 70),
    ):
        x, y = rng.standard_normal((n, k)).astype("f4"), rng.standard_normal((k, m)).astype("f4")
        out = np.full((n, m), np.nan, "f4")
        function(x, y, out)
        np.testing.assert_allclose(out, x @ y, rtol=1e-5, atol=1e-5)


def test_build_takes_a_target_and_a_name() -> None:
    a, b, c = product()
    executable = rx.build(tiled(c), [a, b, c], "cpu", name="product")
    assert list(executable) == ["product"]
    with pytest.raises(ShapeError, match="product: parameter 'B' dimension 0 is 4, but k = 3"):
        executable(np.zeros((2, 3), "f4"), np.zeros((4, 2), "f4"), np.zeros((2, 2), "f4"))
    with pytest.raises(ArgumentError, match="build: a schedule needs its parameters"):
        rx.build(tiled(c))  # type: ignore[call-overload]  # tested here
    with pytest.raises(ArgumentError, match="build: 1 arguments too many, beginning with 'more'"):
        rx.build(tiled(c), [a, b, c], "cpu", "more")  # type: ignore[call-overload]  # a wrong argument
    with pytest.raises(ArgumentError, match="build: unknown argument 'colour'"):
        rx.build(tiled(c), [a, b, c], colour="red")  # type: ignore[call-overload]  # a wrong argument
    with pytest.raises(ArgumentError, match=r"expected an IRModule .* or a te.Schedule"):
        rx.build(c)  # type: ignore[call-overload]  # a wrong argument


def test_an_executable_of_several_functions_is_not_called_itself() -> None:
    module = parse(
        "@I.ir_module\nclass M:\n"
        '    @T.prim_func\n    def f(A: T.Buffer((1,), "int32")):\n        A[0] = 1\n'
        '    @T.prim_func\n    def g(A: T.Buffer((1,), "int32")):\n        A[0] = 2\n'
    )
    with pytest.raises(ArgumentError, match="the executable has the functions f, g: call one by its name"):
        rx.build(module)(np.zeros(1, "int32"))


def test_emit_te_takes_a_function_that_gives_a_schedule() -> None:
    def scheduled(a: Any, b: Any) -> Any:
        k = te.reduce_axis((0, a.shape[1]), "k")
        c = te.compute((a.shape[0], b.shape[1]), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
        return tiled(c)

    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", 5), "float32"))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit_te(scheduled, x, y, primfunc_name_hint="product"))
        bb.emit_func_output(out)
    module = bb.get()
    assert "T.vectorized" in module.script()
    main = rx.build(module)["main"]
    for n, k in ((3, 4), (0, 2), (17, 9)):
        p, q = np.ones((n, k), "f4"), np.ones((k, 5), "f4")
        np.testing.assert_array_equal(to_numpy(main(p, q)), p @ q)


def test_reductions_over_nothing_leave_the_identity_in_any_order() -> None:
    a = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), "k")
    b = te.compute((N,), lambda i: te.max(a[i, k], axis=k), "B")
    s = te.create_schedule(b.op)
    i_outer, i_inner = s[b].split(b.op.axis[0], factor=4)
    k_outer, k_inner = s[b].split(k, factor=4)
    s[b].reorder(k_inner, i_inner, k_outer, i_outer)
    function = rx.build(s, [a, b])
    for shape in ((5, 0), (0, 5), (5, 3), (9, 9)):
        x = np.random.default_rng(0).standard_normal(shape).astype("f4")
        out = np.full(shape[0], np.nan, "f4")
        function(x, out)
        np.testing.assert_array_equal(out, x.max(1, initial=-np.inf))


def test_rounding_is_that_of_the_order_of_the_loops() -> None:
    """A split reduction without reordering adds in the order of the default loops: the same bits."""
    a, b, c = product()
    s = te.create_schedule(c.op)
    s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].tile(*c.op.axis, 4, 4)
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((9, 33)).astype("f4"), rng.standard_normal((33, 6)).astype("f4")
    out, plain = np.zeros((9, 6), "f4"), np.zeros((9, 6), "f4")
    rx.build(s, [a, b, c])(x, y, out)
    rx.build(te.create_schedule(c.op), [a, b, c])(x, y, plain)
    np.testing.assert_array_equal(out, plain)


# -- checks at run time


def is_checked(module: rx.IRModule, change: Any = None) -> bool:
    """True if a prim func gets run-time checks."""
    work = module.clone()
    with work.context:
        function = work["main"]
        if change is not None:
            change(function)
        CheckPrimFuncs().run(work.mlir, PassContext())
        return UNCHECKED in function.attributes


def neighbours() -> tuple[Any, Any, Any]:
    """A sum of neighbours, whose schedule has indices that provers of linear forms cannot handle."""
    a = te.placeholder((N + 5,), name="A")
    b = te.compute((N + 5,), lambda i: a[i] * 2.0, "B")
    c = te.compute((N,), lambda i: b[i] + b[i + 5], "C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], nparts=3)
    s[b].compute_at(s[c], outer)
    return s, a, c


def test_a_schedule_of_what_is_proved_is_not_checked() -> None:
    s, a, c = neighbours()
    module = te.lower(s, [a, c])
    assert PROVED in module["main"].attributes
    assert not is_checked(module)
    assert is_checked(parse(te.lower(s, [a, c], simple_mode=True))), "the loops alone tell it"


def test_padding_is_proved_by_its_conditions() -> None:
    a = te.placeholder((N, M), name="A")
    b = te.compute(
        (N + 2, M),
        lambda i, j: te.if_then_else(te.all(i >= 1, i < N + 1), a[i - 1, j], 0.0),
        "B",
    )
    k = te.reduce_axis((0, 3), "k")
    c = te.compute((N, M), lambda i, j: te.sum(b[i + k, j], axis=k), "C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], nparts=3)
    s[b].compute_at(s[c], outer)
    module = te.lower(s, [a, c])
    with module.context:
        assert module["main"].attributes[PROVED] == ir.Attribute.parse('["BoundsError"]')
    # The size of B, which is not a parameter, may be too large; no index is checked.
    text = stages(module)
    assert 'kind = "ShapeError"' in text
    assert "out of range" not in text
    assert "out of range" in stages(parse(te.lower(s, [a, c], simple_mode=True)))
    function = rx.build(module)["main"]
    for shape in ((1, 3), (7, 5), (0, 4), (5, 0)):
        x = np.random.default_rng(0).integers(0, 9, shape).astype("f4")
        out = np.zeros(shape, "f4")
        function(x, out)
        wide = np.pad(x, ((1, 1), (0, 0)))
        np.testing.assert_array_equal(out, wide[:-2] + wide[1:-1] + wide[2:])


def stages(module: rx.IRModule) -> str:
    """A prim func with its checks."""
    work = module.clone()
    with work.context, ir.Location.unknown():
        CheckPrimFuncs().run(work.mlir, PassContext())
        CheckBounds().run(work.mlir, PassContext())
        return str(work.mlir)


def test_a_schedule_that_a_prim_func_calls_is_checked() -> None:
    """Nothing checks that such a call passes buffers of the declared sizes."""
    s, a, c = neighbours()
    module = te.lower(s, [a, c])
    assert not is_checked(module)
    with module.context:
        caller = ir.Operation.parse(
            "func.func private @caller(%a: memref<?xf32>, %c: memref<?xf32>) attributes {relax.prim_func} { return }"
        )
        block = caller.regions[0].blocks[0]
        call = ir.Operation.create(
            "func.call",
            operands=list(block.arguments),
            attributes={"callee": ir.FlatSymbolRefAttr.get("main")},
            loc=ir.Location.unknown(),
            ip=ir.InsertionPoint.at_block_begin(block),
        )
        assert call.name == "func.call"
        module.mlir.body.append(caller)
    assert is_checked(module)


def test_a_changed_body_is_checked() -> None:
    s, a, c = neighbours()

    def change(function: Any) -> None:
        constant = next(iter(ops_of(function.operation, "arith.constant")))
        constant.attributes["value"] = ir.IntegerAttr.get(ir.IndexType.get(), 7)

    assert is_checked(te.lower(s, [a, c]), change)


def test_a_schedule_of_what_is_not_proved_is_checked() -> None:
    a, rows = te.placeholder((N, M), name="A"), te.placeholder((K,), "int32", name="rows")
    b = te.compute((K, M), lambda i, j: a[rows[i], j], "B")
    s = te.create_schedule(b.op)
    s[b].tile(*b.op.axis, 4, 4)
    assert is_checked(te.lower(s, [a, rows, b]))
    function = rx.build(s, [a, rows, b])
    out = np.zeros((2, 3), "f4")
    function(np.ones((5, 3), "f4"), np.array([4, 0], "i4"), out)
    assert (out == 1).all()
    with pytest.raises(BoundsError, match="A"):
        function(np.ones((5, 3), "f4"), np.array([5, 0], "i4"), out)


def test_integers_that_may_be_negative_are_not_trusted() -> None:
    a = te.placeholder((N,), name="A")
    b = te.compute((2 * te.floordiv(M, 2),), lambda i: te.if_then_else(i < N, a[i], 0.0), "B")
    s = te.create_schedule(b.op)
    module = te.lower(s, [a, b])
    assert PROVED not in module["main"].attributes


def test_ops_have_the_lines_of_their_stages() -> None:
    s, a, c = neighbours()
    module = te.lower(s, [a, c])
    lines = {c.op.position[1], next(st.op.position[1] for st in s.stages if st.name == "B")}
    with module.context:
        found = {str(op.location) for op in ops_of(module["main"].operation, "memref.store")}
    assert len(found) == 2
    assert all(any(f":{line}:" in text for line in lines) for text in found)
    assert all("test_schedule_functions" in text for text in found)


def test_recurrences_are_stages_without_loops() -> None:
    x = te.placeholder((N, M), name="X")
    scaled = te.compute((N, M), lambda t, i: x[t, i] * 2.0, "scaled")
    first = te.compute((1, M), lambda _, i: scaled[0, i], "first")
    state = te.placeholder((N, M), name="state")
    update = te.compute((N, M), lambda t, i: state[t - 1, i] + scaled[t, i], "update")
    sums = te.scan(first, update, state, name="sums")
    out = te.compute((N, M), lambda t, i: sums[t, i] + 1.0, "out")
    s = te.create_schedule(out.op)
    assert [stage.name for stage in s.stages] == ["X", "scaled", "first", "sums", "out"]
    s[out].tile(*out.op.axis, 4, 4)
    s[scaled].split(scaled.op.axis[1], 4)
    function = rx.build(s, [x, out])
    for shape in ((5, 3), (1, 9), (9, 0)):
        given = np.random.default_rng(0).integers(0, 9, shape).astype("f4")
        found = np.zeros(shape, "f4")
        function(given, found)
        np.testing.assert_array_equal(found, np.cumsum(given * 2, 0) + 1)
    for step in (
        lambda: s[scaled].compute_inline(),
        lambda: s[sums].compute_at(s[out], out.op.axis[0]),
        lambda: s.cache_read(scaled, "local", [sums]),
        lambda: s.cache_write(sums, "local"),
        lambda: s[sums].compute_inline(),
    ):
        with pytest.raises(ScheduleError):
            step()
