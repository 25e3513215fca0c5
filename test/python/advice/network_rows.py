"""Advice in messages of losses and recurrent layers: what is wrong, the message, what follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import Rows
from relax_mlir import op

RNG = np.random.default_rng(0)
SCORES, TARGETS = RNG.uniform(-1, 1, (3, 4)).astype("f4"), np.array([2, 0, 3])
STEPS = RNG.uniform(-1, 1, (5, 2, 2)).astype("f4")
WEIGHT, RECURRENT = (RNG.uniform(-1, 1, shape).astype("f4") for shape in ((3, 2), (3, 3)))


def _run(infos: Mapping[str, rx.StructInfo], body: Callable[..., Any], *arrays: Any) -> Any:
    bb = rx.BlockBuilder()
    params = [rx.Var(name, info) for name, info in infos.items()]
    with bb.function("main", params):
        bb.emit_func_output(body(*params))
    return rx.build(bb.get(), opt_level=0)["main"](*arrays)


def _loss() -> Any:
    infos = {
        "x": rx.Tensor(("n", None), "float32"),
        "t": rx.Tensor(("n",), "int64"),
        "w": rx.Tensor((4,), "float32"),
    }
    return _run(infos, lambda x, t, w: op.nn.nll_loss(x, t, None), SCORES, TARGETS, np.ones(4, "f4"))


def _states(dtype: str | None, size: int | None) -> Any:
    infos = {
        "x": rx.Tensor(("t", "b", 2), dtype),
        "w": rx.Tensor((3, 2), "float32"),
        "r": rx.Tensor((3, size), "float32"),
    }

    def body(x: Any, w: Any, r: Any) -> Any:
        return op.nn.rnn(x, w, r)[0]

    return _run(infos, body, STEPS, WEIGHT, RECURRENT)


TABLE = Rows(
    {
        "classes": (_loss, "are not known; give 'weights'"),
        "dtype_of_steps": (
            lambda: _states(None, 3),
            "the dtype of 'data'.* is not known; match_shape it first",
        ),
        "size_of_a_state": (
            lambda: _states("float32", None),
            "expected 2 dimensions of which 1 is known; match_shape it first",
        ),
    }
)
