"""Operations of tensor expressions: what they refuse, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm_ffi
from advice_rows import BuilderCase, BuilderRows
from relax_mlir import te, topi
from relax_mlir.te.expressions import Expr
from te_rows import INFOS, arguments

WEIGHT = np.array([3], "f4")


@tvm_ffi.register_global_func("test.advice.te.plus", override=True)
def _plus(x: Any, y: Any, out: Any) -> None:
    np.from_dlpack(out)[...] = np.from_dlpack(x) + np.from_dlpack(y)


def _made(make: Callable[..., Any], *names: str) -> Callable[[Any, Any], Any]:
    """`make` of te.Tensors, as a body."""
    return lambda bb, p: bb.emit_te(make, *(p[name] for name in names or ("x",)))


def _extern(inputs: Callable[[Any, Any], Any], **options: Any) -> Callable[[Any, Any], Any]:
    def make(t: Any, j: Any) -> Any:
        def call(ins: Any, outs: Any) -> Any:
            return te.call_packed("test.advice.te.plus", t, j, *outs)

        return te.extern(t.shape, inputs(t, j), call, **options)

    return _made(make, "x", "j")


def _plus_reference(x: Any, j: Any) -> Any:
    return x + j


def _pair(t: Any) -> Any:
    return te.comm_reducer(lambda a, b: (a[0] + b[0], a[1] * b[1]), lambda s, u: (te.const(0, s), te.const(1, u)))


def _both(t: Any) -> Any:
    k = te.reduce_axis((0, t.shape[1]), "k")
    return te.compute((t.shape[0],), lambda i: _pair(t)((t[i, k], t[i, k]), axis=k)[0])


def _nested(t: Any, parts: int) -> Any:
    """The same element under many conditions; its index is computed, so that conditions guard the read."""

    found = t
    per_tensor = 40 // parts
    for _ in range(parts):
        tensor = found

        def body(i: Expr, j: Expr, tensor: Any = tensor) -> Any:
            known: Any = tensor[i, j + 0]
            for _ in range(per_tensor):
                part = known
                known = te.if_then_else(j > 0, te.if_then_else(part > 0.5, part, 1.0), part * 2.0)
            return known

        found = te.compute(t.shape, body)
    return found


def _nested_reference(x: Any) -> Any:
    for _ in range(40):
        x = np.where(np.arange(3) > 0, np.where(x > 0.5, x, 1), x * 2)
    return x


def _prim_of_extern(bb: Any, p: Any) -> Any:
    a = te.placeholder((3, 3), name="a")
    e = te.extern((3, 3), [a], lambda ins, outs: te.call_packed("test.advice.te.plus", a, a, *outs), "e")
    return te.create_prim_func([a, e])


def _scan(t: Any, states: int) -> Any:
    s = te.placeholder(t.shape, name="s")
    first = te.compute((1, t.shape[1]), lambda i, j: t[i, j])
    later = te.compute(t.shape, lambda i, j: s[i - 1, j] + t[i, j])
    return te.scan(first, later, [s] * states)


def _sum_plus_one(t: Any) -> Any:
    k = te.reduce_axis((0, t.shape[1]), "k")
    return te.compute((t.shape[0],), lambda i: te.sum(t[i, k], k) + 1.0)


CASES: dict[str, BuilderCase] = {
    "array": (_made(lambda t: t * WEIGHT), "hand it to emit_te, which makes a constant of it"),
    "one_of_two_results": (_made(lambda t: _both(t)), "give all of them, each once"),
    "extern_dtype": (
        _extern(lambda t, j: [t, j]),
        "give 'dtype'",
        _extern(lambda t, j: [t, j], dtype="float32"),
        _plus_reference,
    ),
    "extern_dtypes": (_extern(lambda t, j: [t, j], dtype=["float32", "int8"]), "give one for each"),
    "extern_input": (_extern(lambda t, j: [t]), "add it there"),
    "popcount": (
        _made(lambda t: te.compute(t.shape, lambda i, k: te.popcount(t[i, k]))),
        "expected an integer; use astype",
    ),
    "fmod": (
        _made(lambda j: te.compute(j.shape, lambda i: te.fmod(j[i], j[i])), "j"),
        "use truncmod of integers",
    ),
    "infinity": (
        _made(lambda j: te.compute(j.shape, lambda i: te.infinity("int8")), "j"),
        r"use te\.max_value",
    ),
    "parts": (
        _made(lambda t: _nested(t, 1)),
        "compute a part of it as a tensor of its own",
        _made(lambda t: _nested(t, 8)),
        _nested_reference,
    ),
    "extern_in_a_prim_func": (
        _prim_of_extern,
        r"emit it, by bb\.emit_te or bb\.emit, where it becomes a call of its own",
        lambda bb, p: bb.emit_te(
            lambda t: te.extern(t.shape, [t], lambda ins, outs: te.call_packed("test.advice.te.plus", t, t, *outs)),
            p["x"],
        ),
        lambda x: x + x,
    ),
    "scan": (
        _made(lambda t: _scan(t, 2)),
        "give as many of each, one at least",
        _made(lambda t: _scan(t, 1)),
        lambda x: x.cumsum(0),
    ),
    "reduction": (
        _made(lambda t: _sum_plus_one(t)),
        "compute it first, then read its elements in another compute",
    ),
}

CASES |= {
    "where_dtypes": (
        _made(lambda t, j: topi.where(t, t, j), "x", "j"),
        "cast one",
        _made(lambda t, j: topi.where(t, t, topi.cast(j, "float32")), "x", "j"),
        lambda x, j: np.where(x, x, j),
    ),
    "where_numbers": (_made(lambda t: topi.where(t, 1.0, 2.0)), r"give te\.const\(x, dtype\)"),
    "mean_of_integers": (
        _made(lambda j: topi.mean(j), "j"),
        "cast it first",
        _made(lambda j: topi.mean(topi.cast(j, "float32")), "j"),
        lambda x, j: np.mean(j, dtype="f4"),
    ),
    "concatenate_dtypes": (
        _made(lambda t, j: topi.concatenate([topi.reshape(t, (-1,)), j]), "x", "j"),
        "cast them to one",
        _made(lambda t, j: topi.concatenate([topi.reshape(t, (-1,)), topi.cast(j, "float32")]), "x", "j"),
        lambda x, j: np.concatenate([x.ravel(), j]).astype("f4"),
    ),
}

TABLE = BuilderRows(INFOS, CASES, arguments)
