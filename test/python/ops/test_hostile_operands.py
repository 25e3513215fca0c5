"""Every builder of an op, with hostile operands: all errors are those of this package."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
import sweep
from hostile import findings, public
from relax_mlir import op

PARTS = 8


def variables() -> dict[str, rx.Var]:
    """Values of each kind, by the names of the parameters that they fit; "" fits most."""
    return {
        "": rx.Var("x", rx.Tensor(("n", 8), "float32")),
        "state": rx.Var("state", rx.Tensor((3,), "uint64")),
        "heap": rx.Var("heap", rx.Tensor((4,), "int64")),
        "storage": rx.Var("storage", rx.Object()),
        "tuple_value": rx.Var("fields", rx.Tuple([rx.Tensor((4,), "float32")])),
        "data": rx.Var("image", rx.Tensor((1, 4, 8, 8), "float32")),
        "weight": rx.Var("weight", rx.Tensor((4, 4, 3, 3), "float32")),
    }


def literals(x: rx.Var) -> dict[str, Any]:
    """Numbers, names and lists by the names of the parameters that they fit."""
    info = rx.Tensor((4,), "float32")
    sizes = {"shape": (2, 3), "size": (4,), "pattern": (2, 3), "tir_vars": (1,), "pad_width": (1, 1, 1, 1)}
    lists = {
        "codes": [0, 1],
        "values": [1, 1],
        "indices": [0, 1],
        "axes": [0],
        "args": [x],
        "inplace_indices": [0],
    }
    names = {"dtype": "float32", "callee": "f", "func": "f", "relation": "equal", "subscripts": "ab->a"}
    more_names = {"name": "relax.abs", "op_name": "relax.abs", "attr_key": "key"}
    numbers = {
        "low": 0,
        "high": 4,
        "axis": 0,
        "count": 4,
        "n": 4,
        "start": 0,
        "repeats": 2,
        "index": 0,
        "shift": 1,
    }
    more = {"depth": 3, "upscale_factor": 2, "downscale_factor": 2, "num_groups": 2, "channel_axis": 1}
    rest = {"lower": 0, "upper": 3, "window_size": 4, "spatial_scale": 1.0, "pooled_size": 2}
    functions = {"body": lambda *args: args[1:], "then": lambda: x, "otherwise": lambda: x}
    infos = {"out": info, "out_ty": info, "out_sinfo": info}
    return {**sizes, **lists, **names, **more_names, **numbers, **more, **rest, **functions, **infos}


@pytest.mark.parametrize("part", range(PARTS if sweep.ALL else 1))
def test_hostile_operands(part: int) -> None:
    things = dict(list(public(op).items())[part::PARTS])
    values = variables()
    x, image = values[""], values["data"]
    good = {**literals(x), **values}
    builder = rx.BlockBuilder()
    with builder.function("main", list(values.values())):
        found = findings(things, {key: item for key, item in good.items() if item is not image}, x)
        found += findings(things, {**good, "x": image, "output_grad": image, "predictions": image}, x)
        builder.emit_func_output(x)
    assert not found, "\n".join(found)
