"""Everything public but ops, with arguments that no user means: errors of this package, and no call hangs.

Ops are in `ops/test_hostile_operands.py`, commands in `tools/test_hostile_arguments.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from hostile import findings, methods, public
from relax_mlir import op, te, topi, transform, tuning, vm
from relax_mlir.transform import context

PARTS = 8
Things = dict[str, Callable[..., Any]]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written into an empty folder, no options and code generators remain."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAX_MLIR_REPRODUCERS", "0")
    monkeypatch.setattr(context, "_OPTIONS", dict(context._OPTIONS))


def module() -> rx.IRModule:
    builder, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit_output(op.exp(op.tanh(x)))
        builder.emit_func_output(y)
    return builder.get()


def fitting(mod: rx.IRModule) -> tuple[dict[str, Any], Any]:
    """Arguments by the names of parameters, and one for the others."""
    x = rx.Var("x", rx.Tensor(("n", 8), "float32"))
    modules = {"mod": mod, "module": mod, "left": mod, "right": mod, "given": mod}
    values = {"value": x, "var": x, "args": [x], "params": [x], "struct_info": rx.Tensor((2,), "float32")}
    names = {
        "name": "main",
        "op": "relax.tanh",
        "target": "cpu",
        "text": "tanh",
        "key": "hostile.key",
        "help": "h",
    }
    numbers = {
        "index": 0,
        "opt_level": 1,
        "trials": 1,
        "default": 1,
        "values": (2, 3),
        "data": np.ones(3, "f4"),
    }
    files = {"path": "missing", "database": "missing.json"}
    others = {"type": int, "func": lambda *args: None, "tasks": [], "measurements": [], "global_symbol": "g"}
    return {**modules, **values, **names, **numbers, **files, **others}, x


def of_te(rank: int = 2) -> tuple[dict[str, Any], Any]:
    """Arguments of tensor expressions; data of rank 2 or images."""
    x, i = te.placeholder((4, 8), "float32", "x"), te.placeholder((4,), "int64", "i")
    image = te.placeholder((1, 4, 8, 8), "float32", "image")
    data = {} if rank == 2 else dict.fromkeys(("data", "x", "weight", "input"), image)
    windows = {"kernel": 2, "stride": 1, "dilation": 1, "padding": 0, "pool_type": "max", "rank": 2}
    lists = {"shape": (4, 8), "axes": [0], "dom": (0, 4), "indices": i, "index": i}
    functions = {
        "fcompute": lambda *_: x(0, 0),
        "fcombine": lambda a, b: a + b,
        "fidentity": lambda dtype: te.const(0, dtype),
    }
    return {
        **windows,
        **lists,
        **functions,
        **data,
        "axis": 0,
        "dtype": "float32",
        "name": "t",
        "value": 1,
    }, x


def of_objects(mod: rx.IRModule) -> Things:
    """The methods of objects that users get."""
    executable, bytecode = rx.build(mod), vm.build(mod)
    machine = rx.VirtualMachine(bytecode)
    with machine.profile() as profile:
        pass
    a, k = te.placeholder((8, 16), "float32", "a"), te.reduce_axis((0, 16), "k")
    b = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), "b")
    space = {"a": [1, 2, 4], "b": [True, False]}
    objects = {
        "executable": executable,
        "bytecode": bytecode,
        "function": machine["main"],
        "machine": machine,
        "state": machine.state,
        "profile": profile,
        "module": mod,
        "builder": rx.BlockBuilder(),
        "random": tuning.RandomSearch(space),
        "evolutionary": tuning.EvolutionarySearch(space),
        "model": tuning.ModelSearch(space),
        "optuna": tuning.OptunaSearch(space),
        "database": tuning.Database(),
        "task": tuning.create_task(lambda outs: tuning.tiled_schedule(outs), [a, b], "t"),
        "config": tuning.get_config(),
    }
    return {key: item for name, each in objects.items() for key, item in methods(name, each).items()}


ROOMS = {"te": te, "topi": topi, "transform": transform, "tuning": tuning, "vm": vm, "relax_mlir": rx}


@pytest.mark.parametrize("part", range(PARTS if sweep.ALL else 1))
@pytest.mark.parametrize("room", ROOMS)
def test_hostile_arguments(room: str, part: int) -> None:
    things = dict(list(public(ROOMS[room]).items())[part::PARTS])
    if room in ("te", "topi"):
        found = [each for rank in (2, 4) for each in findings(things, *of_te(rank))]
    else:
        found = findings(things, *fitting(module()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("part", range(PARTS if sweep.ALL else 1))
def test_hostile_arguments_of_methods(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    mod = module()
    good, x = fitting(mod)
    values = {"values": {"a": 1, "b": True}, "score": 1.0, "count": 1, "sizes": [{}]}
    found = findings(dict(list(of_objects(mod).items())[part::PARTS]), {**good, **values}, x)
    assert not found, "\n".join(found)


def test_tensors_of_te_are_no_sequences() -> None:
    """Python would take elements 0, 1, 2 and so on, without end, from whatever has `__getitem__`."""
    x = te.placeholder((4, 8), "float32", "x")
    with pytest.raises(rx.error.ArgumentError, match="the value is the tensor x"):
        list(x)
    with pytest.raises(rx.error.ShapeError, match="1 indices for the tensor x"):
        list(x[0])
